"""Quantiles of a mixture of normal distributions of one width, for which there is no formula."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from ensemble.task import Array

REACH = 8.5  # standard deviations beyond the outermost centre: what lies there is lost in double precision
CLOSE = 3e-4  # standard deviations that the last step is short of; what it leaves is of the order of its third power
ROUNDING = 1e-13  # standard deviations between the ends of a bracket that has nothing between them
LOST = 1e-13  # weights below it move no quantile


def quantile(level: float, weight: Array, centre: Array, deviation: Array) -> Array:
    """(...): the x at which sum w_i Phi((x - m_i)/s) is `level`, of w and m (model, ...) and s that broadcast; missing where one m is.

    Halley's steps from the quantile of a normal distribution of the same mean and variance, and halves of the bracket where they
    leave it; points that are done wait no longer for the others.
    """
    shape = centre.shape[1:]
    missing = np.isnan(centre).any(0).ravel()
    share, middle = (np.broadcast_to(each, centre.shape).reshape(len(centre), -1) for each in (weight, centre / deviation))
    counts = (share > LOST).any(1)
    share, middle = share[counts], middle[counts]
    mean = (share * middle).sum(0)
    made: Array = np.where(missing, np.nan, mean + ndtri(level) * np.sqrt(1 + (share * (middle - mean) ** 2).sum(0)))
    left = np.flatnonzero(~missing)
    low, high = middle.min(0)[left] - REACH, middle.max(0)[left] + REACH
    share, middle = share[:, left], middle[:, left]
    while left.size:
        x = made[left]
        above, step = _halley(x, level, share, middle)
        low, high = np.where(above < 0, x, low), np.where(above < 0, high, x)
        inside = (x - step >= low) & (x - step <= high)
        moved = np.where(inside, x - step, (low + high) / 2)
        made[left] = moved
        on = (~inside | (np.abs(step) > CLOSE)) & (high - low > ROUNDING)
        left, low, high, share, middle = left[on], low[on], high[on], share[:, on], middle[:, on]
    return made.reshape(shape) * deviation


def _halley(x: Array, level: float, share: Array, middle: Array) -> tuple[Array, Array]:
    """How far the distribution at x (point,) is above `level`, and the step to take off x."""
    above, slope, bend = np.full(x.shape, -level), np.zeros(x.shape), np.zeros(x.shape)
    for w, m in zip(share, middle, strict=True):  # one at a time, so that all stays in the cache
        z = x - m
        density = w * np.exp(-0.5 * z * z)
        above += w * ndtr(z)
        slope += density
        bend -= z * density
    slope = np.maximum(slope, 1e-300)
    newton = above * np.sqrt(2 * np.pi) / slope
    return above, newton / np.maximum(1 - 0.5 * newton * bend / slope, 0.5)
