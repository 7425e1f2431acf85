"""The weights of bilinear, nearest and conservative regridding from a grid of latitude and longitude.

Such a weight is a product, of one along the meridian and one around the circle, so that each axis is solved by itself:

    cells         |   c0   |   c1   |   c2   |        a point lies a share of the way from one centre to the next;
    centres           x        x        x             a band overlaps some of the cells
    point, band          ^        [-----]

The cells of an axis end halfway between its centres, the outer ones as far on the other side; one that ends within a third of
its width of a pole ends at the pole (Gaussian rows fall short of it by 0.27 of their distance). Between the last centre and the
end of its cell the value stays as it is, or goes over to the mean of the row where that end is a pole.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import sparse

from ensemble.prepare.space.circle import CLOSE, eastward
from ensemble.task import Array

Axis = tuple[float, ...]
TIE = 0.5 + 1e-6  # a point halfway goes to the first of two cells, whatever the rounding
LEAST = 1e-9  # an overlap smaller than this share of a band is rounding


@lru_cache(maxsize=16)
def between_grids(latitude: Axis, longitude: Axis, to_latitude: Axis, to_longitude: Axis, how: str) -> sparse.csr_array:
    """(target, source) cells, longitude fastest; the axes in any order."""
    rows, columns, to_rows, to_columns = map(np.array, (latitude, longitude, to_latitude, to_longitude))
    if how != "conservative":
        each_row, each_column = np.meshgrid(to_rows, to_columns, indexing="ij")
        return at_points(rows, columns, each_row.ravel(), each_column.ravel(), how)
    along = _overlap(_latitude_bands(to_rows), _latitude_bands(rows))
    turns = [_overlap(_longitude_bands(to_columns), _longitude_bands(columns) + turn) for turn in (-360.0, 0.0, 360.0)]
    return sparse.csr_array(sparse.kron(sparse.coo_array(along), sparse.coo_array(np.sum(turns, axis=0))))


def at_points(latitude: Array, longitude: Array, to_latitude: Array, to_longitude: Array, how: str) -> sparse.csr_array:
    """(points, source cells): `bilinear`, or `nearest`, which is the cell that a point lies in."""
    row, along, polar = _along(latitude, to_latitude, how)
    column, around, closed = _around(longitude, to_longitude, how)
    polar &= closed & (how == "bilinear")
    cells = row[:, :, None] * len(longitude) + column[:, None, :]
    inner = _sparse(np.where(polar, 0.0, along)[:, :, None] * around[:, None, :], cells, len(latitude) * len(longitude))
    mean = sparse.kron(sparse.eye_array(len(latitude)), sparse.coo_array(np.full((1, len(longitude)), 1 / len(longitude))))
    return sparse.csr_array(inner + _sparse(np.where(polar, along, 0.0), row, len(latitude)) @ sparse.csr_array(mean))


def _sparse(weight: Array, index: Array, size: int) -> sparse.csr_array:
    """(points, ...) weights of columns `index` as a matrix (points, size); what weighs nothing must not count as missing."""
    point = np.broadcast_to(np.arange(len(weight)).reshape(-1, *[1] * (weight.ndim - 1)), weight.shape)
    some = weight > 0
    return sparse.csr_array(sparse.coo_array((weight[some], (point[some], index[some])), shape=(len(weight), size)))


def _along(latitude: Array, points: Array, how: str) -> tuple[Array, Array, Array]:
    """The rows (points, 2) around points, their weights, and whether it is the pole behind the row that is meant."""
    order = np.argsort(latitude)
    edges = _latitude_edges(latitude[order])
    ends = edges[[0, -1]]
    slot, weight = _between(np.concatenate([ends[:1], latitude[order], ends[1:]]), points, how)
    polar = ((slot == 0) & (ends[0] <= -90)) | ((slot > len(order)) & (ends[1] >= 90))
    return np.concatenate([order[:1], order, order[-1:]])[slot], weight, polar


def _around(longitude: Array, points: Array, how: str) -> tuple[Array, Array, bool]:
    """The columns (points, 2) around points, their weights, and whether the circle is closed."""
    order, centres, closed = _circle(longitude)
    if closed:
        centres, order = np.append(centres, centres[0] + 360), np.append(order, order[0])
    else:
        west, *_, east = _edges(centres)
        centres, order = np.concatenate([[west], centres, [east]]), np.concatenate([order[:1], order, order[-1:]])
    west = centres[0] if closed else centres[0] - CLOSE
    slot, weight = _between(centres, (points - west) % 360 + west, how)
    return order[slot], weight, closed


def _between(centres: Array, points: Array, how: str) -> tuple[Array, Array]:
    """The two ascending `centres` around each point and their weights, none where it is beyond the first or last."""
    at = np.clip(points, centres[0], centres[-1])
    left = np.clip(np.searchsorted(centres, at, side="right") - 1, 0, len(centres) - 2)
    share = (at - centres[left]) / np.maximum(centres[left + 1] - centres[left], 1e-12)
    if how == "nearest":
        share = (share > TIE).astype(float)
    inside = np.abs(points - at) <= CLOSE
    return np.stack([left, left + 1], -1), np.stack([1 - share, share], -1) * inside[:, None]


def _circle(longitude: Array) -> tuple[Array, Array, bool]:
    """Longitudes in order from behind their widest gap on, that order, and whether that gap is no wider than the others."""
    order = np.argsort(eastward(longitude))
    centres = eastward(longitude)[order]
    gaps = np.diff(centres, append=centres[0] + 360)
    seam = int(np.argmax(gaps))
    others = np.delete(gaps, seam)
    order, centres = np.roll(order, -seam - 1), np.roll(centres, -seam - 1)
    return order, centres[0] + (centres - centres[0]) % 360, bool(others.size and gaps[seam] <= 1.5 * others.max())


def _edges(centres: Array) -> Array:
    """The ends of the cells around ascending centres; a single one has no width."""
    middle = (centres[1:] + centres[:-1]) / 2
    outer = (2 * centres[0] - middle[0], 2 * centres[-1] - middle[-1]) if middle.size else (centres[0], centres[-1])
    return np.concatenate([outer[:1], middle, outer[1:]])


def _latitude_edges(centres: Array) -> Array:
    edges = _edges(centres)
    width = np.diff(edges)
    edges[0] = -90.0 if edges[0] + 90 < width[0] / 3 else edges[0]
    edges[-1] = 90.0 if 90 - edges[-1] < width[-1] / 3 else edges[-1]
    return edges


def _latitude_bands(latitude: Array) -> Array:
    """(rows, 2): the ends of each row's band, in the sine of latitude, which is proportional to area."""
    order = np.argsort(latitude)
    edges = np.sin(np.deg2rad(_latitude_edges(latitude[order])))
    return _pairs(edges, order)


def _longitude_bands(longitude: Array) -> Array:
    """(columns, 2): the ends of each column's band [degrees]."""
    order, centres, closed = _circle(longitude)
    edges = _edges(np.append(centres, centres[0] + 360))[:-1] if closed else _edges(centres)
    if closed:
        edges[0] = edges[-1] - 360
    return _pairs(edges, order)


def _pairs(edges: Array, order: Array) -> Array:
    bands = np.empty((len(order), 2))
    bands[order] = np.stack([edges[:-1], edges[1:]], -1)
    return bands


def _overlap(target: Array, source: Array) -> Array:
    """(target, source): the share of each target band that lies in each source band."""
    low, high = np.maximum(target[:, None, 0], source[:, 0]), np.minimum(target[:, None, 1], source[:, 1])
    share = np.maximum(high - low, 0.0) / np.diff(target, axis=1)
    return np.where(share > LEAST, share, 0.0)
