"""Coordinates as numbers: longitudes on their circle, decimals behind single precision, orders that files read fast."""

from __future__ import annotations

import numpy as np

from ensemble.task import Array

SPACE = ("latitude", "longitude")
CLOSE = 5e-5  # [degrees]: what single precision may be off by at 360, and five metres on the ground


def rounded(values: Array) -> Array:
    """The decimals that `values` [degrees] stand for: 0.1 for the single 0.1, ten decimals for doubles."""
    single = np.asarray(values, np.float32)
    if np.array_equal(single.astype(float), np.asarray(values, float)):
        values = np.array([float(str(each)) for each in single.ravel()]).reshape(single.shape)
    return np.asarray(np.round(np.asarray(values, float), 10) + 0.0)  # no minus zero


def eastward(longitude: Array) -> Array:
    """Longitudes of any convention as 0 <= longitude < 360."""
    values = np.round(np.asarray(longitude, float) % 360, 10)
    return np.asarray(np.where(values >= 360 - CLOSE, 0.0, values))


def apart(a: Array, b: Array) -> Array:
    """How far degrees are from each other, the short way round."""
    difference = np.abs(a - b) % 360
    return np.asarray(np.minimum(difference, 360 - difference))


def index(order: Array) -> Array | slice:
    """`order` as a slice where it is one: files read those in one go."""
    steps = set(np.diff(order).tolist())
    if steps == {1}:
        return slice(int(order[0]), int(order[-1]) + 1)
    if steps == {-1}:
        return slice(int(order[0]), int(order[-1]) - 1 if order[-1] else None, -1)
    return order


def span(values: Array) -> str:
    """First and last of some values, for messages."""
    first, last = (f"{each:.6g}" if values.dtype.kind in "iuf" else str(each) for each in (values.flat[0], values.flat[-1]))
    return f"{first}..{last}"
