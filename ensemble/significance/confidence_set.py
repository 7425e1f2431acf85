"""Which models cannot be told from the best: the worst is taken away until the rest cannot be told apart.

With t_ij the difference of the losses of i and j over its bootstrap standard deviation, the set is tested by the largest of
them, T, against the largest of the resampled ones, which are centred on the data; then the model with the largest t_ij goes.
Who goes when depends on the data alone, so models are put in order first, and the largest resampled difference of ever larger
sets is a running maximum from the best one upwards: one pass over pairs for all sets.

    best ... worst     sets tested: {1, 2}, {1, 2, 3}, ..., all; a model's p is the largest of the sets from all down to its own
"""

from __future__ import annotations

import numpy as np

from ensemble.significance.difference import apart
from ensemble.task import Array


def confidence_set(loss: Array, resampled: Array) -> Array:
    """(model, ...), (model, ..., resample) -> (model, ...): p of each model; the set at 1 - alpha is where p > alpha.

    1 for the last to stay, NaN for a model whose loss is undefined. Hansen, Lunde and Nason (2011), doi 10.3982/ECTA5771, T_R.
    """
    defined = np.isfinite(loss) & np.isfinite(resampled.sum(-1))
    deviation = _deviations(loss, resampled)
    order, largest = _order(_over(apart(loss[:, None], loss[None]), deviation), defined)
    ordered = np.take_along_axis(loss, order, 0), np.take_along_axis(resampled, order[..., None], 0)
    p = _tests(*ordered, _reordered(deviation, order), largest)
    p = np.maximum.accumulate(np.where(np.isnan(p), 0.0, p)[::-1], axis=0)[::-1]
    p[0] = 1.0
    made = np.empty_like(loss)
    np.put_along_axis(made, order, p, 0)
    return np.asarray(np.where(defined, made, np.nan))


def _centred(loss: Array, resampled: Array, i: int, j: int) -> Array:
    """(..., resample): the resampled difference of a pair, less the one of the data."""
    return apart(resampled[i], resampled[j]) - apart(loss[i], loss[j])[..., None]


def _deviations(loss: Array, resampled: Array) -> Array:
    """(model, model, ...): standard deviation of the difference of each pair."""
    models = len(loss)
    made = np.zeros((models, *loss.shape))
    for i in range(models):
        for j in range(i):
            made[i, j] = made[j, i] = np.sqrt(np.square(_centred(loss, resampled, i, j)).mean(-1))
    return made


def _order(studentised: Array, defined: Array) -> tuple[Array, Array]:
    """(place, ...): the models, the last to stay first and the undefined ones last; and the largest t of each set that ends there."""
    models = len(studentised)
    left, places = defined.copy(), np.arange(models).reshape(-1, *[1] * (defined.ndim - 1))
    order, largest = np.zeros(defined.shape, int), np.full(defined.shape, np.nan)
    gone = np.zeros(defined.shape, bool)
    for place in reversed(range(models)):
        undefined = ~defined & ~gone
        worst = np.where(left[:, None] & left[None], studentised, -np.inf).max(1)
        some = undefined.any(0)
        out = np.where(some, undefined.argmax(0), np.where(left, worst, -np.inf).argmax(0))
        largest[place] = np.where(some, np.nan, worst.max(0))
        order[place] = out
        chosen = places == out
        gone |= chosen
        left &= ~chosen
    return order, largest


def _tests(loss: Array, resampled: Array, deviation: Array, largest: Array) -> Array:
    """(place, ...): how often the resampled T of the set that ends at each place reaches its own, which is 0 of twins."""
    running = np.zeros(resampled.shape[1:])
    p = np.ones(largest.shape)
    for k in range(1, len(loss)):
        for j in range(k):
            np.maximum(running, _over(np.abs(_centred(loss, resampled, k, j)), deviation[k, j][..., None]), out=running)
        p[k] = (running >= largest[k][..., None]).mean(-1)
    return p


def _reordered(deviation: Array, order: Array) -> Array:
    """(model, model, ...) in the order of places."""
    rows = np.take_along_axis(deviation, order[:, None], 0)
    return np.take_along_axis(rows, order[None], 1)


def _over(difference: Array, deviation: Array) -> Array:
    """Their ratio; of what differs by nothing, 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(difference == 0, 0.0, difference / deviation))
