"""The likelihood of a mixture of normal distributions around forecasts, its slopes and curvatures, and steps that climb it.

Expectation and maximisation always climbs, and slows to a creep where models are alike. Its sums have only to be joined by
those of second derivatives for Newton's step, which is at the top in a dozen rounds; where that step lands lower than it
started, the next round goes on from where expectation and maximisation would have gone. Weights alone: mixsqp, Kim et al.
(2020), doi 10.1080/10618600.2019.1689985.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensemble.combine.errors import Past
from ensemble.combine.quadratic import nonnegative
from ensemble.task import Array

PROXIMITY = 1e-6  # of the mean curvature: holds weights where they are when no direction is better
REACH = 1.0  # of the log variance, at most in one step


class Slopes(NamedTuple):
    """Of the log likelihood in weights w and u = log variance: sums over starts and area, or means once divided by their mass."""

    value: Array  # (lead_time,), but for its constants
    gain: Array  # (model, lead_time): slope in w
    bend: Array  # (model, model, lead_time): minus the curvature in w
    squared: Array  # (lead_time,): of the distance between truth and model, in the mean over the shares of models
    twist: Array  # (model, lead_time): curvature in w and u
    sag: Array  # (lead_time,): minus the curvature in u

    def over(self, mass: Array) -> Slopes:
        return Slopes(*(each / mass for each in self))


def slopes(past: Past, offset: Array, slope: Array, weight: Array, variance: Array) -> Slopes:
    """Around the lines `offset` + `slope` x forecast (model, lead_time), at weights (model, lead_time) and variances (lead_time,)."""
    models, leads = weight.shape
    sums = [np.zeros(shape) for shape in ((leads,), (leads, models), (leads, models, models), (leads,), (leads, models), (leads,))]
    for start in range(len(past.truth)):  # one at a time, so that there is no second array of all errors
        there, forecast = past.there[start], past.forecast[:, start]
        error = np.where(there, offset[..., None] + slope[..., None] * forecast - past.truth[start], 0)
        for all_starts, one in zip(sums, _at(error.swapaxes(0, 1), there * past.area, weight.T, variance), strict=True):
            all_starts += one
    return Slopes(*(np.moveaxis(each, 0, -1) for each in sums))


def _at(error: Array, area: Array, weight: Array, variance: Array) -> tuple[Array, ...]:
    """Sums over points, of errors (lead_time, model, point)."""
    half = error**2 / (2 * variance[:, None, None])
    nearest = half.min(1)
    density = np.exp(nearest[:, None] - half)
    whole = (weight[..., None] * density).sum(1)
    ratio = density / whole[:, None]
    share, tilt = weight[..., None] * ratio, half - 0.5
    mean = (share * tilt).sum(1)
    weighed = ratio * area[:, None]
    return (
        (area * (np.log(whole) - nearest)).sum(-1) - area.sum(-1) * np.log(variance) / 2,
        weighed.sum(-1),
        weighed @ ratio.transpose(0, 2, 1),
        2 * variance * (area * (mean + 0.5)).sum(-1),
        (weighed * (tilt - mean[:, None])).sum(-1),
        (area * ((share * (half - tilt**2)).sum(1) + mean**2)).sum(-1),
    )


def step(slopes: Slopes, weight: Array, variance: Array, prior: float) -> tuple[Array, Array]:
    """Newton's next weights (model, lead_time) and log variance (lead_time,), from mean slopes.

    `prior` times the sum of log w is added to the likelihood.
    """
    leads = range(weight.shape[1])
    made = [_step(Slopes(*(each[..., i] for each in slopes)), weight[:, i], variance[i], prior) for i in leads]
    return np.stack([each for each, _ in made], 1), np.log(variance) + np.array([each for _, each in made])


def _step(of: Slopes, weight: Array, variance: Array, prior: float) -> tuple[Array, float]:
    """Weights (model,) and the change of the log variance; the two apart where together they would not climb."""
    count = len(weight)
    rise = (of.squared / variance - 1) / 2
    uphill = of.gain + prior / weight - (1 + prior * count)  # the multiplier is known, for weights add up to one at the top
    bend = of.bend + np.diag(prior / weight**2)
    bend += PROXIMITY * np.trace(bend) / count * np.eye(count)
    if of.sag > 0:
        joint = bend - np.outer(of.twist, of.twist) / of.sag
        try:
            new = nonnegative(joint, joint @ weight + uphill + of.twist * rise / of.sag)
            return new, float(np.clip((rise + of.twist @ (new - weight)) / of.sag, -REACH, REACH))
        except np.linalg.LinAlgError:
            pass
    return nonnegative(bend, bend @ weight + uphill), float(np.log(of.squared / variance))
