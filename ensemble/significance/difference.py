"""Whether scores differ, from differences of the same resamples."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.special import ndtri, stdtr

from ensemble.significance.intervals import FEWEST
from ensemble.task import Array

ROUNDING = 1e-12  # of two numbers; sums in another order, as of a model and a combination that is this model alone, differ by less


def apart(first: Array, second: Array) -> Array:
    """First minus second, and zero where this is rounding: its sign would make twins differ beyond doubt."""
    difference = first - second
    return np.asarray(np.where(np.abs(difference) <= ROUNDING * (np.abs(first) + np.abs(second)), 0.0, difference))


def p_value(difference: Array, blocks: float) -> Array:
    """(..., resample) -> (...): two-sided, that the difference is zero; below 1 - level just where the interval leaves zero out.

    The share of resamples beyond zero has a floor (8 blocks, 1000 resamples: 0.018), at which clear differences and narrow ones are
    all alike. Where no resample lies beyond, p goes on below the floor by the mean of the resamples over their standard deviation,
    read from a t distribution as the tails are. NaN where any resample is, and of fewer than two blocks.
    """
    if blocks < FEWEST:
        return np.full(difference.shape[:-1], np.nan)
    resamples, wider = difference.shape[-1], np.sqrt(blocks / (blocks - 1))
    below = (difference < 0).sum(-1) + (difference == 0).sum(-1) / 2
    share = (below + 0.5) / (resamples + 1)  # of finitely many resamples none is certain
    p = np.minimum(1.0, 2 * stdtr(blocks - 1, -np.abs(ndtri(share)) / wider))
    with np.errstate(divide="ignore", invalid="ignore"):  # a difference that never varies
        beyond = 2 * stdtr(blocks - 1, -np.abs(difference.mean(-1)) / (difference.std(-1, ddof=1) * wider))
    p = np.where((below == 0) | (below == resamples), np.fmin(p, beyond), p)
    return np.asarray(np.where(np.isnan(difference.sum(-1)), np.nan, p))


def pairs(loss: xr.DataArray, blocks: float) -> xr.DataArray:
    """(model, ..., resample) -> (model, other, ...): `p_value` of each pair; 1 of a model with itself."""
    values = loss.transpose("model", ..., "resample").values
    models = len(values)
    made = np.ones((models, models, *values.shape[1:-1]))
    for i in range(models):
        for j in range(i):
            made[i, j] = made[j, i] = p_value(apart(values[i], values[j]), blocks)
    rest = loss.transpose("model", ..., "resample").isel(resample=0, drop=True)
    coords = {name: each for name, each in rest.coords.items() if "model" not in each.dims}
    labels = rest["model"].values
    return xr.DataArray(made, dims=("model", "other", *rest.dims[1:]), coords={**coords, "model": labels, "other": labels})
