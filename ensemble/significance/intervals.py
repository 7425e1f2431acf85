"""Percentile intervals of scores, the tails moved out where there are few blocks.

Resamples of k blocks vary less than samples would, by (k - 1) / k, and a normal tail is too short where the variance is
estimated from k values. The percentiles are therefore taken where a t interval would stand: at
Phi(-sqrt(k / (k - 1)) t_(k-1, alpha/2)). Hesterberg (2015), doi 10.1080/00031305.2015.1089789, section 4.3 ("expanded percentile").
With many blocks this is alpha/2. Where less than one resample lies beyond (five blocks or fewer, of a thousand), the interval is the
range of all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from scipy.special import ndtr, stdtrit

from ensemble.errors import InputError
from ensemble.score.base import Score
from ensemble.score.means import Means
from ensemble.significance.draw import Draw
from ensemble.significance.resample import NotResampled, pieces, scored
from ensemble.task import Array

FEWEST = 2.0  # blocks; of fewer there is nothing to vary


def tail(level: float, blocks: float) -> float:
    """The share of resamples beyond each end of an interval; NaN of fewer than two blocks."""
    if blocks < FEWEST:
        return float("nan")
    wider = np.sqrt(blocks / (blocks - 1))
    return float(ndtr(wider * stdtrit(blocks - 1, (1 - level) / 2)))


def percentiles(values: Array, share: float) -> tuple[Array, Array]:
    """(..., resample) -> (...) twice: what the `share` of all lies below, and what it lies above.

    Interpolated linearly as numpy does; undefined (NaN) where any resample is.
    """
    last = values.shape[-1] - 1
    if np.isnan(share):
        nothing = np.full(values.shape[:-1], np.nan)
        return nothing, nothing
    below = int(share * last)
    part = share * last - below
    ends = sorted({below, min(below + 1, last), max(last - below - 1, 0), last - below})
    split = np.partition(values, ends, axis=-1)
    low = split[..., below] + part * (split[..., min(below + 1, last)] - split[..., below])
    high = split[..., last - below] + part * (split[..., max(last - below - 1, 0)] - split[..., last - below])
    undefined = np.isnan(values.sum(-1))
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)


def bounds(values: xr.DataArray, share: float) -> xr.DataArray:
    """(..., resample) -> (bound, ...), `low` and `high`."""
    ordered = values.transpose(..., "resample")
    ends = np.stack(percentiles(np.ascontiguousarray(ordered.values), share))
    coords = ordered.isel(resample=0, drop=True).coords
    return xr.DataArray(ends, dims=("bound", *ordered.dims[:-1]), coords={**coords, "bound": ["low", "high"]})


def intervals(scores: Sequence[Score], means: Means, draw: Draw, level: float = 0.95) -> xr.Dataset:
    """(bound, model, lead_time, region) of each score that is made of sums by start, a piece of leads and regions at a time.

    `means` by start, over regions or over points. What is left out stands in the attribute `left_out`.
    """
    share = tail(level, draw.blocks)
    possible = [each for each in scores if resamples(each, means)]
    if not possible:
        raise InputError(f"scores: {', '.join(each.name for each in scores)} cannot be resampled by start; ask for rmse or mae as well")
    rows = [
        [xr.Dataset({each.name: bounds(scored(each, piece), share) for each in possible}) for piece in row]
        for row in pieces(means, draw.counts)
    ]
    made = _joined([_joined(row, "region") for row in rows], "lead_time")
    left_out = ", ".join(each.name for each in scores if each not in possible)
    return made.assign_attrs(
        level=level, block_length=draw.length, blocks=draw.blocks, resamples=len(draw.counts), share=share, left_out=left_out
    )


def _joined(parts: Sequence[xr.Dataset], dim: str) -> xr.Dataset:
    return xr.concat(parts, dim, join="exact", coords="minimal", compat="override", data_vars="minimal")


def resamples(score: Score, means: Means) -> bool:
    """Whether a score is made of sums by start; tried on one lead and region."""
    try:
        scored(score, Means(means.sums.isel(lead_time=[0], region=[0]), means.weight.isel(lead_time=[0], region=[0])))
    except NotResampled:
        return False
    return True
