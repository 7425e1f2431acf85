"""Scores of resampled starts: a score is handed resampled means and does with them what it does with any.

    sums (model, start, lead, region)  x  counts (resample, start)  ->  sums (model, lead, region, resample)

This is the one product of matrices; where every start weighs the same, as where no point is missing, weights need none. What a
score makes of each start first, as a correlation in space, is multiplied by the counts in its turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn, final

import numpy as np
import xarray as xr

from ensemble.score.base import Score
from ensemble.score.means import Evidence, Means
from ensemble.score.statistics import Statistic
from ensemble.task import Array

PIECE = 2**23  # bytes of one resampled statistic that are held at a time; what follows the product finds them in the cache


class NotResampled(LookupError):
    """A score is made of sums that are not kept by start."""


@final
@dataclass(frozen=True, eq=False)
class Resampled(Means):
    """Means over resampled starts: `sums` and `weight` by start, as in `Means`, and `counts` (resample, start)."""

    counts: Array
    made: dict[str, xr.DataArray] = field(default_factory=dict, repr=False)  # statistics that scores share are multiplied once

    def __getitem__(self, statistic: Statistic) -> xr.DataArray:
        """(model, lead_time, region, resample)."""
        if statistic.name not in self.made:
            self.made[statistic.name] = _ratio(_product(self.sums[statistic.name], self.counts), _total(self.weight, self.counts))
        return self.made[statistic.name]

    def over_starts(self, of_start: xr.DataArray) -> xr.DataArray:
        """(model, init_time, lead_time, region) -> (model, lead_time, region, resample)."""
        there = self.weight > 0
        return _ratio(_product(of_start.where(there, 0.0), self.counts), _total(there.astype(float), self.counts))


@final
@dataclass(frozen=True, eq=False)
class _Points(Means):
    """What stands where maps would."""

    def __getitem__(self, statistic: Statistic) -> NoReturn:
        raise NotResampled(f"{statistic.name} is kept at each point over all starts together, which cannot be drawn again")


_NOWHERE = _Points(xr.Dataset(), xr.DataArray(np.nan))


def scored(score: Score, means: Means) -> xr.DataArray:
    """The table of a score that is made of sums by start; raises `NotResampled` where it needs each point."""
    return score.table(Evidence(means, _NOWHERE, xr.DataArray(np.nan)))


def resampled(score: Score, means: Means, counts: Array) -> xr.DataArray:
    """(model, lead_time, region, resample) of one score, held in memory as a whole."""
    return scored(score, Resampled(means.sums, means.weight, counts)).transpose(..., "resample")


def with_influence(score: Score, means: Means, counts: Array, whole: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """(model, lead_time, region, resample), and (..., init_time): what each start adds to a score, NaN where it does not count.

    The latter are the pseudo-values of the jackknife, n S - (n - 1) S without the start, of S the `whole`; of a mean they are the
    series itself. Tukey (1958), doi 10.1214/aoms/1177706647, p. 614. Both come of one product.
    """
    starts = means.weight.sizes["init_time"]
    made = resampled(score, means, np.concatenate([counts, 1 - np.eye(starts)]))
    drawn, without = made.isel(resample=slice(len(counts))), made.isel(resample=slice(len(counts), None)).rename(resample="init_time")
    counted = (means.weight > 0).reset_coords(drop=True).drop_vars("init_time", errors="ignore")
    values = (starts * whole - (starts - 1) * without).where(counted)
    return drawn, values.transpose(*without.dims)


def pieces(means: Means, counts: Array) -> Iterator[list[Resampled]]:
    """Resampled means of a few leads and regions at a time, rows of leads made of regions; a model's comparison stays together."""
    series = PIECE // (8 * len(counts) * means.weight.sizes["model"])
    leads, regions = means.weight.sizes["lead_time"], means.weight.sizes["region"]
    wide, high = min(regions, max(1, series)), min(leads, max(1, series // regions))
    for lead in range(0, leads, high):
        row = ({"lead_time": slice(lead, lead + high), "region": slice(first, first + wide)} for first in range(0, regions, wide))
        yield [Resampled(means.sums.isel(part), means.weight.isel(part), counts) for part in row]


def _product(values: xr.DataArray, counts: Array) -> xr.DataArray:
    """(..., init_time, ...) -> (..., resample): the sum over starts, each as often as it was drawn."""
    whole = values.transpose("model", "init_time", ...)
    by_start = whole.values.reshape(*whole.shape[:2], -1)  # a view, so that no copy goes before the product
    summed = np.matmul(by_start.transpose(0, 2, 1), counts.T)
    dims = [dim for dim in whole.dims if dim != "init_time"]
    shape = [whole.sizes[dim] for dim in dims]
    coords = whole.isel(init_time=0, drop=True).coords
    return xr.DataArray(summed.reshape(*shape, len(counts)), dims=(*dims, "resample"), coords=coords)


def _total(weight: xr.DataArray, counts: Array) -> xr.DataArray:
    """Resampled weights; of starts that all weigh the same, and of models that do, they are made once."""
    ordered = weight.transpose("model", "init_time", ...)
    first = ordered.values[0]
    if (ordered.values == first).all():
        ordered = ordered.isel(model=slice(0, 1))
        if (first == first[:1]).all():
            once, drawn = ordered.isel(model=0, init_time=0, drop=True), counts.sum(1)
            return once * (drawn[0] if (drawn == drawn[0]).all() else xr.DataArray(drawn, dims="resample"))
        return _product(ordered, counts).isel(model=0, drop=True)
    return _product(ordered, counts)


def _ratio(total: xr.DataArray, weight: xr.DataArray) -> xr.DataArray:
    return total / weight.where(weight > 0)
