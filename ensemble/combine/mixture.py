"""Quantiles of a mixture of normal distributions of one width, for which there is no formula."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from ensemble.task import Array

REACH = 8.5  # standard deviations beyond the outermost centre: what lies there is lost in double precision
CLOSE = 1e-9  # standard deviations between two steps that end the search


def quantile(level: float, weight: Array, centre: Array, deviation: Array) -> Array:
    """(...): the x at which sum w_i Phi((x - m_i)/s) is `level`, of w and m (model, ...) and s that broadcast; missing where one m is.

    Newton's steps, and halves of the bracket where they leave it.
    """
    low, high = centre.min(0) - REACH * deviation, centre.max(0) + REACH * deviation
    x: Array = (weight * centre).sum(0)
    for _ in range(200):
        z = (x - centre) / deviation
        above = (weight * ndtr(z)).sum(0) - level
        slope = (weight * np.exp(-0.5 * z**2)).sum(0) / (np.sqrt(2 * np.pi) * deviation)
        low, high = np.where(above < 0, x, low), np.where(above < 0, high, x)
        newton = x - above / np.maximum(slope, 1e-300)
        nearer = np.where((newton > low) & (newton < high), newton, (low + high) / 2)
        moved, x = np.abs(nearer - x) > CLOSE * deviation, nearer
        if not moved.any():
            break
    return x
