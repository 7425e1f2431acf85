"""A regression of the truth on the models whose width is regressed too: its loss, slopes and curvatures, and steps downhill.

At each point, in units that make all parameters of the order of one,

    location = truth + unit (a + sum_i b_i (f_i - centre_i) / unit)        variance = unit^2 (c + d r)
                                                               or      log deviation = log unit + c + d log(r) / 2

with r = S^2 / spread, S^2 the variance of the models and `spread` its mean. The parameters (a, b, c, d) stand in one column a
lead. `b` has an entry for each model, or a single one that all of them share.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from ensemble.combine.closed import Bends, Loss, crps_loss, likelihood_loss
from ensemble.combine.errors import Past
from ensemble.combine.family import FAMILIES, Family
from ensemble.combine.predictive import by_lead
from ensemble.combine.quadratic import nonnegative
from ensemble.task import Array

PROXIMITY = 1e-6  # of the curvature: holds parameters where they are when no direction is better
REACH = 1.0  # how far a parameter that has no bound may fall in one step
NARROW = 1e-4  # of the unit squared: no constant part of a variance is below it
BLOCK = 2**13  # values of the truth that are looked at together
ALIKE = 1e-6  # of the mean variance of the models: where it is below that, its logarithm is taken as if it were this


class Shape(NamedTuple):
    """What is fitted."""

    family: Literal["normal", "logistic"]
    censored: bool
    link: Literal["variance", "log"]
    loss: Literal["crps", "likelihood"]

    @property
    def wears(self) -> Family:
        """The distribution, by its name."""
        return FAMILIES[self.family]


class Frame(NamedTuple):
    """Where parameters are counted from."""

    centre: Array  # (model, lead_time): mean forecast [unit of the variable]
    truth: Array  # (lead_time,): mean truth, likewise
    unit: Array  # (lead_time,): standard deviation of the error of the equal mean, likewise
    spread: Array  # (lead_time,): mean variance of the models, squared; 0 where they do not differ

    def ratio(self, forecast: Array) -> Array:
        """r (init_time, lead_time, ...) of (model, init_time, lead_time, ...); 1 of a model alone, and of models that never differ."""
        if len(forecast) == 1:
            return np.ones(forecast.shape[1:])
        spread = by_lead(self.spread, forecast.ndim)
        ratio: Array = np.where(spread > 0, forecast.var(0, ddof=1) / np.where(spread > 0, spread, 1), 1)
        return ratio


class Slopes(NamedTuple):
    """Of the loss in (a, b, c, d): sums over starts and area, or means once divided by their mass."""

    value: Array  # (lead_time,)
    slope: Array  # (parameter, lead_time)
    sure: Array  # (parameter, parameter, lead_time): a part of the curvature that is nowhere negative
    whole: Array  # the same shape: the curvature

    def over(self, mass: Array) -> Slopes:
        return Slopes(*(each / mass for each in self))


def slopes(past: Past, frame: Frame, at: Array, shape: Shape) -> Slopes:
    """At the parameters `at` (parameter, lead_time)."""
    count, leads = at.shape
    sums = [np.zeros(each) for each in ((leads,), (leads, count), (leads, count, count), (leads, count, count))]
    centre, unit = frame.centre[:, None, :, None], frame.unit[:, None]
    zero = -(frame.truth / frame.unit)[:, None] if shape.censored else np.zeros((leads, 1))
    together = max(1, BLOCK // max(1, leads * past.truth.shape[-1]))
    for start in range(0, len(past.truth), together):  # a few at a time, so that all stays in the cache
        block = slice(start, start + together)
        there = past.there[block]
        forecast = np.where(there, past.forecast[:, block], centre).astype(float)
        truth = np.where(there, (past.truth[block] - frame.truth[:, None]) / unit, 0)
        lines = _cases((forecast - centre) / unit)
        if count - 3 < len(forecast):
            lines = lines.mean(1, keepdims=True)
        width = _cases(_width(frame.ratio(forecast), shape)[None])
        area, truth = (_cases(each[None])[:, 0] for each in (there * past.area, truth))
        made = _at(truth - zero, zero, _with_one(lines), _with_one(width), area, at.T, shape)
        for all_starts, one in zip(sums, made, strict=True):
            all_starts += one
    return Slopes(*(np.moveaxis(each, 0, -1) for each in sums))


def _cases(values: Array) -> Array:
    """(model, init_time, lead_time, point) -> (lead_time, model, case)."""
    made: Array = np.moveaxis(values, 2, 0).reshape(values.shape[2], len(values), -1)
    return made


def _at(truth: Array, zero: Array, lines: Array, widths: Array, area: Array, at: Array, shape: Shape) -> tuple[Array, ...]:
    """Sums over cases, of truth (lead_time, case) from `zero` on, and predictors of location and width (lead_time, predictor, case)."""
    location = (at[:, None, :-2] @ lines)[:, 0] - zero
    linear = (at[:, None, -2:] @ widths)[:, 0]
    scale, first, second = _scale(linear, shape)
    made = _loss(truth, location, scale, shape)
    by_width = made.scale * first
    slope = np.concatenate([lines @ (area * made.location)[..., None], widths @ (area * by_width)[..., None]], 1)[..., 0]

    def products(one: Array, height: Array, other: Array) -> Array:
        made: Array = (one * (area * height)[:, None]) @ other.swapaxes(1, 2)
        return made

    def bend(of: Bends) -> Array:
        upper, corner = products(lines, of.location, lines), products(lines, of.both * first, widths)
        lower = products(widths, of.scale * first**2, widths)
        return np.concatenate([np.concatenate([upper, corner], 2), np.concatenate([corner.swapaxes(1, 2), lower], 2)], 1)

    sure = bend(made.sure)
    whole = sure.copy() if made.whole is made.sure else bend(made.whole)
    whole[:, -2:, -2:] += products(widths, made.scale * second, widths)
    return (area * made.value).sum(-1), slope, sure, whole


def _loss(truth: Array, location: Array, scale: Array, shape: Shape) -> Loss:
    function = crps_loss if shape.loss == "crps" else likelihood_loss
    return function(shape.wears, truth, location, scale, censored=shape.censored)


def _with_one(predictors: Array) -> Array:
    """(lead_time, predictor, case), with a constant before the others."""
    return np.concatenate([np.ones_like(predictors[:, :1]), predictors], 1)


def _width(ratio: Array, shape: Shape) -> Array:
    """The predictor of the width."""
    width: Array = ratio if shape.link == "variance" else 0.5 * np.log(np.maximum(ratio, ALIKE))
    return width


def _scale(linear: Array, shape: Shape) -> tuple[Array, Array, Array]:
    """The scale, in `unit`, of what is linear in c and d, and its first and second derivative.

    For the variance link, c and d make the variance of a normal distribution, and the scale squared of any other.
    """
    if shape.link == "log":
        scale: Array = np.exp(linear)
        return scale, scale, scale
    scale = np.sqrt(linear)
    return scale, 0.5 / scale, -0.25 / scale**3


def first(models: int, leads: int, shape: Shape, *, shared: bool) -> Array:
    """(parameter, lead_time): the equal mean of what each model says beyond its own mean, as wide as its errors are."""
    scale = 1 / shape.wears.deviation
    b = [1.0] if shared else [1 / models] * models
    wide = [0.5 * scale**2, 0.5 * scale**2] if shape.link == "variance" else [np.log(scale), 0.5]
    return np.repeat(np.array([[0.0, *b, *wide]]).T, leads, axis=1)


def step(of: Slopes, at: Array, shape: Shape) -> Array:
    """Newton's next parameters (parameter, lead_time), from mean slopes, b and d not below 0 nor a variance without a constant part."""
    return np.stack([_step(Slopes(*(each[..., i] for each in of)), at[:, i], shape) for i in range(at.shape[1])], 1)


def _step(of: Slopes, at: Array, shape: Shape) -> Array:
    """(parameter,)."""
    lowest = np.zeros(len(at))
    lowest[0] = at[0] - REACH
    lowest[-2] = NARROW if shape.link == "variance" else at[-2] - REACH
    for bend in (of.whole, of.sure):
        held = np.maximum(np.diag(bend), PROXIMITY * np.trace(of.sure))
        bend = bend + PROXIMITY * np.diag(held)
        try:
            return nonnegative(bend, bend @ (at - lowest) - of.slope) + lowest
        except np.linalg.LinAlgError:
            continue
    return at


def distribution(frame: Frame, at: Array, forecast: Array, shape: Shape) -> tuple[Array, Array]:
    """Location and scale (init_time, lead_time, ...) [unit of the variable], of (model, init_time, lead_time, ...)."""

    def along(values: Array) -> Array:
        return by_lead(values, forecast.ndim)

    b = each_model(at, len(forecast))
    location = along(frame.truth + frame.unit * at[0]) + (along(b) * (forecast - along(frame.centre))).sum(0)
    linear = along(at[-2]) + along(at[-1]) * _width(frame.ratio(forecast), shape)
    return location, along(frame.unit) * _scale(linear, shape)[0]


def each_model(at: Array, models: int) -> Array:
    """b (model, lead_time); what all models share is cut into equal parts."""
    b = at[1:-2]
    return b if len(b) == models else np.repeat(b / models, models, axis=0)
