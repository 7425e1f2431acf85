"""Mixed layer: temperature anomalies that are damped, carried along and spread by an upper ocean whose fields are learnt.

dT/dt = -lambda T - u dT/dx - v dT/dy + div(k grad T)
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import xarray as xr

from ensemble import Array, Chunk, Composed, Domain, Field, Learner, Learnt, Model, Sum, Times
from ensemble.gradient import Descent, Gradient, Samples, Training
from ensemble.task import dataset, month

RADIUS = 6.371e6  # [m]
MONTH = 30.4375 * 86400.0  # [s]
TERMS = 10  # damping, u, v: mean, cosine and sine of the year; diffusivity: mean
FIRST = np.array([-1.7, 0, 0, 0, 0, 0, 0, 0, 0, -0.5])  # 0.17 month-1, at rest, 4.7e3 m2 s-1
DIFFUSIVITY = 1e4  # [m2 s-1]
COURANT = np.array([0.4, 0.3, 0.075])  # largest u dt/dx, v dt/dy, k dt/dx2: 0.4 + 0.3 + 4 x 0.075 = 1 keeps weights positive


class Grid(NamedTuple):
    """Neighbours stand east, west, north, south; their faces are closed at land and at the rim."""

    mask: Array  # (latitude, longitude)
    area: Array
    distance: Array  # (neighbour, latitude, longitude) [m]
    gradient: Array  # 1 / distance, 0 through a closed face [m-1]
    exchange: Array  # length of the face / (distance x area of the cell) [m-2]
    leads: Array  # (lead_time,) whole steps
    months: float  # in a step


def around(x: Any) -> Any:
    """(..., latitude, longitude) -> the values of the four neighbours, around the whole grid."""
    return jnp.roll(x, -1, -1), jnp.roll(x, 1, -1), jnp.roll(x, -1, -2), jnp.roll(x, 1, -2)


def grid_of(domain: Domain) -> Grid:
    field = domain.fields[domain.target]
    if field.dims != ("latitude", "longitude"):
        raise ValueError(f"a mixed layer lives on (latitude, longitude), and {domain.target} on {field.dims}")
    latitude, longitude = (np.deg2rad(field.coords[dim].astype(float)) for dim in field.dims)
    height, width = (_spacing(each) for each in (latitude, longitude))
    mask = field.mask
    opened = np.stack(around(mask)) & mask
    opened[2, -1] = opened[3, 0] = False
    if not np.isclose(longitude[-1] + width[-1] - longitude[0], 2 * np.pi, atol=0.1 * width[-1]):
        opened[0, :, -1] = opened[1, :, 0] = False
    cosine = np.maximum(np.cos(latitude), 1e-3)
    east = np.diff(longitude, append=longitude[-1] + width[-1])
    north = np.diff(latitude, append=latitude[-1] + height[-1])
    to_east = RADIUS * cosine[:, None] * east
    to_north = np.broadcast_to(RADIUS * north[:, None], mask.shape)
    south = np.concatenate([north[:1], north[:-1]])
    west = np.concatenate([east[-1:], east[:-1]])
    distance = np.stack(np.broadcast_arrays(to_east, RADIUS * cosine[:, None] * west, to_north, RADIUS * south[:, None]))
    face = np.cos(np.clip(np.stack([latitude + north / 2, latitude - south / 2]), -np.pi / 2, np.pi / 2))
    side = np.broadcast_to(RADIUS * height[:, None], mask.shape)
    length = np.stack(np.broadcast_arrays(side, side, RADIUS * face[0][:, None] * width, RADIUS * face[1][:, None] * width))
    cell = RADIUS**2 * (cosine * height)[:, None] * width
    months = float(domain.step / np.timedelta64(1, "M")) if False else 1.0
    return Grid(mask.astype(np.float32), field.area.astype(np.float32), distance, opened / distance, opened * length / distance / cell, np.asarray(domain.lead_times), months)


def _spacing(x: Array) -> Array:
    return np.gradient(x) if len(x) > 1 else np.full(1, np.pi / 36)


@partial(jax.jit, static_argnames="substeps")
def stencil(terms: jax.Array, grid: Any, substeps: int) -> jax.Array:
    """(term, latitude, longitude) -> (month, 5, latitude, longitude): weights"""
    dt = grid.months * MONTH / substeps
    angle = 2 * np.pi * np.arange(12) / 12
    season = np.stack([np.ones(12), np.cos(angle), np.sin(angle)], 1)
    damping, u, v = (jnp.tensordot(season, terms[i : i + 3], 1) for i in (0, 3, 6))
    cx = COURANT[0] * jnp.tanh(u / COURANT[0] / substeps) / dt * jnp.minimum(grid.distance[0], grid.distance[1])
    cy = COURANT[1] * jnp.tanh(v / COURANT[1] / substeps) / dt * jnp.minimum(grid.distance[2], grid.distance[3])
    k = jnp.broadcast_to(DIFFUSIVITY * jax.nn.softplus(terms[9]), grid.mask.shape)
    spread = [jnp.minimum((k + each) / 2 * dt * g, COURANT[2]) for each, g in zip(around(k), grid.exchange)]
    inflow = [-cx, cx, -cy, cy]
    weights = jnp.stack([jnp.maximum(s, 0) * dt * g + d for s, g, d in zip(inflow, grid.gradient, spread)], 1)
    kept = jnp.exp(-jax.nn.softplus(damping) * grid.months / substeps) * grid.mask
    return jnp.concatenate([1 - weights.sum(1, keepdims=True), weights], 1) * kept[:, None]


def advance(weights: jax.Array, x: jax.Array) -> jax.Array:
    return sum(weights[:, i] * each for i, each in enumerate((x, *around(x))))


def path(weights: jax.Array, x: jax.Array, months: jax.Array, substeps: int) -> jax.Array:
    def one(x, month):
        here = weights[month]
        for _ in range(substeps):
            x = advance(here, x)
        return x, x
    return jax.lax.scan(one, x, months.T)[1]
