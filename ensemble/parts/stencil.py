"""Finite volumes on a grid of latitude and longitude: who borders on whom, and what five-point stencils do there.

A stencil (5, point) says what a point takes of itself and of its neighbours to the east, west, north and south. Points stand
in one row, longitude outermost, so that neighbours are slices, not gathers; the adjoint of a stencil is a stencil too.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ensemble.task import Array, Domain, shift

RADIUS = 6.371e6  # [m]
MONTH = 30.4375 * 86400.0  # [s]


class Grid(NamedTuple):
    """Points stand in one row, longitude outermost; neighbours are those to the east, west, north and south."""

    mask: Array  # (latitude, longitude)
    area: Array  # (point,)
    distance: Array  # (neighbour, point) [m]
    gradient: Array  # 1 / distance, 0 through land and over the rim [m-1]
    exchange: Array  # length of the face / (distance x area of the cell), 0 through land and over the rim [m-2]
    neighbour: Array  # (neighbour, point): its index
    lead_times: Array
    months: Array  # in one step of the record


def grid(domain: Domain) -> Grid:
    """The geometry of a domain; longitude closes upon itself where it spans the globe."""
    field = domain.fields[domain.target]
    if field.dims != ("latitude", "longitude"):
        raise ValueError(f"a mixed layer needs latitude and longitude; {domain.target} has {', '.join(field.dims)}: leave this model out")
    mask, (latitude, longitude) = field.mask, (np.deg2rad(np.asarray(each, dtype=float)) for each in field.coords.values())
    (south, north), (west, east) = _spacing(latitude), _spacing(longitude)
    height, width, cosine = (south + north) / 2, (west + east) / 2, np.maximum(np.cos(latitude), 0.01)
    rows, columns = np.ones(len(latitude)), np.ones(len(longitude))
    distance = [np.outer(cosine, east), np.outer(cosine, west), np.outer(north, columns), np.outer(south, columns)]
    faces = [np.outer(np.maximum(np.cos(latitude + half), 0), width) for half in (north / 2, -south / 2)]
    length = [np.outer(height, columns)] * 2 + faces
    opened = np.stack([np.roll(mask, move, axis) for move, axis in ((-1, 1), (1, 1), (-1, 0), (1, 0))]) & mask
    opened[2, -1] = opened[3, 0] = False
    if np.ptp(longitude) + 1.5 * width[-1] < 2 * np.pi:
        opened[0, :, -1] = opened[1, :, 0] = False
    apart, side, cell = RADIUS * np.stack(distance), RADIUS * np.stack(length), RADIUS**2 * np.outer(cosine * height, width)
    parts = field.area, apart, opened / apart, opened * side / apart / cell
    area, metres, gradient, exchange = (flat(each).astype(np.float32) for each in parts)
    neighbour = (np.arange(mask.size) + np.array([[len(rows)], [-len(rows)], [1], [-1]])) % mask.size
    epoch = np.datetime64("2000-01-01", "s")
    months = (shift(epoch, 48, domain.step) - epoch) / np.timedelta64(1, "s") / MONTH / 48  # of 48 months, one is a leap February
    return Grid(mask, area, metres, gradient, exchange, neighbour, np.asarray(domain.lead_times), np.asarray(months))


def _spacing(x: Array) -> tuple[Array, Array]:
    """From the coordinate before and to the one after; beyond the ends as beside them."""
    apart = np.pad(np.diff(x), 1, mode="edge") if len(x) > 1 else np.deg2rad([5.0, 5.0])
    return apart[:-1], apart[1:]


def flat(field: Any) -> Any:
    """(..., latitude, longitude) -> (..., point)."""
    return field.swapaxes(-1, -2).reshape(*field.shape[:-2], -1)


def unflat(points: Any, where: Grid) -> Any:
    """(..., point) -> (..., latitude, longitude)."""
    return points.reshape(*points.shape[:-1], *where.mask.shape[::-1]).swapaxes(-1, -2)


def transposed(weights: jax.Array, where: Grid) -> jax.Array:
    """The stencil of the adjoint: a point takes from each neighbour what that one has taken from it."""
    size = weights.shape[-1]
    taken = jnp.concatenate([jnp.arange(size)[None], where.neighbour + size * np.array([[2], [1], [4], [3]])])
    return weights.reshape(len(weights), -1)[:, taken]


def here_and_around(x: jax.Array, rows: int) -> tuple[jax.Array, ...]:
    """(..., point) -> it and its neighbours; over the rim stands something finite."""
    wide = jnp.concatenate([x[..., -rows:], x, x[..., :rows]], axis=-1)
    return tuple(wide[..., rows + offset : rows + offset + x.shape[-1]] for offset in (0, rows, -rows, 1, -1))


def substep(weights: jax.Array, x: jax.Array, rows: int) -> jax.Array:
    """(..., 5, point), (..., point) -> (..., point)."""
    terms = [weights[..., i, :] * each for i, each in enumerate(here_and_around(x, rows))]
    return terms[0] + terms[1] + terms[2] + terms[3] + terms[4]


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def advance(weights: jax.Array, adjoint: jax.Array, x: jax.Array, rows: int) -> jax.Array:
    """A `substep` that knows its adjoint, which is a stencil too: XLA's own transpose of it takes three times as long."""
    del adjoint
    return substep(weights, x, rows)


def _forward(weights: jax.Array, adjoint: jax.Array, x: jax.Array, rows: int) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return substep(weights, x, rows), (adjoint, x)


def _backward(rows: int, kept: tuple[jax.Array, jax.Array], y: jax.Array) -> tuple[jax.Array, None, jax.Array]:
    adjoint, x = kept
    return jnp.stack([y * each for each in here_and_around(x, rows)], axis=-2), None, substep(adjoint, y, rows)


advance.defvjp(_forward, _backward)
