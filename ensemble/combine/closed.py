"""Losses of a forecast distribution in closed form, with slopes and curvatures in its location and scale.

All take arrays that broadcast: the truth, location and scale > 0 [unit of the variable]. Where a distribution is censored at
zero, so is the truth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensemble.combine.family import Family
from ensemble.task import Array


class Bends(NamedTuple):
    """Curvatures at each point."""

    location: Array
    both: Array
    scale: Array


class Loss(NamedTuple):
    """Of each point."""

    value: Array
    location: Array  # slope
    scale: Array  # slope
    sure: Bends  # a part of the curvature that is nowhere negative
    whole: Bends


def crps(family: Family, truth: Array, location: Array, scale: Array, *, censored: bool = False) -> Array:
    """Continuous ranked probability score [unit of the variable], of the censored distribution if asked."""
    score = family.crps(((np.maximum(truth, 0) if censored else truth) - location) / scale)
    made: Array = scale * (score - family.squared_below(-location / scale) if censored else score)
    return made


def crps_loss(family: Family, truth: Array, location: Array, scale: Array, *, censored: bool = False) -> Loss:
    """The same with its derivatives.

    With z = (y - m)/s and C(z) the score of the standard distribution, d(sC)/dm = 1 - 2F, d(sC)/ds = C - z(2F - 1), and the
    curvature is 2f/s times the matrix of 1, z, z^2: the score is convex in m and s. Censoring takes off s G(l), l = -m/s, and
    with it 2Ff/s times 1, l, l^2.
    """
    z = ((np.maximum(truth, 0) if censored else truth) - location) / scale
    rest, score = 2 * family.cdf(z) - 1, family.crps(z)
    value, by_location, by_scale = scale * score, -rest, score - z * rest
    sure = _around(z, 2 * family.density(z) / scale)
    if not censored:
        return Loss(value, by_location, by_scale, sure, sure)
    zero = -location / scale
    below, taken = family.cdf(zero), family.squared_below(zero)
    off = _around(zero, 2 * below * family.density(zero) / scale)
    whole = Bends(*(one - other for one, other in zip(sure, off, strict=True)))
    return Loss(value - scale * taken, by_location + below**2, by_scale - taken + zero * below**2, sure, whole)


def likelihood_loss(family: Family, truth: Array, location: Array, scale: Array, *, censored: bool = False) -> Loss:
    """Minus the log likelihood: g(z) + log s with g = -log f; where the truth is censored, g(z) with g = -log F and nothing else."""
    z = ((np.maximum(truth, 0) if censored else truth) - location) / scale
    g, seen = family.surprise(z), np.ones_like(z)
    if censored:
        hidden = truth <= 0
        g = type(g)(*(np.where(hidden, one, other) for one, other in zip(family.surprise_below(z), g, strict=True)))
        seen = np.where(hidden, 0.0, 1.0)
    sure = _around(z, g.bend / scale**2)
    tilt = g.slope / scale**2
    whole = Bends(sure.location, sure.both + tilt, sure.scale + 2 * z * tilt - seen / scale**2)
    return Loss(g.value + seen * np.log(scale), -g.slope / scale, (seen - z * g.slope) / scale, sure, whole)


def _around(z: Array, height: Array) -> Bends:
    return Bends(height, height * z, height * z**2)
