"""What a table of one score is worth: intervals, which models differ, the confidence set, shared ranks."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import xarray as xr

from ensemble.score.base import Score
from ensemble.score.means import Means
from ensemble.significance.confidence_set import confidence_set
from ensemble.significance.difference import pairs
from ensemble.significance.draw import Bootstrap, Draw
from ensemble.significance.independent import effective_number
from ensemble.significance.intervals import bounds, tail
from ensemble.significance.ranks import first_share, shared_ranks
from ensemble.significance.resample import scored, with_influence


@dataclass(frozen=True, eq=False)
class Sampled:
    """A score (model, ...) and its resamples (model, ..., resample), which value is `best`, and the `blocks` behind it all."""

    value: xr.DataArray
    resamples: xr.DataArray
    influence: xr.DataArray  # (model, ..., init_time): what each start adds to it
    best: str
    blocks: float

    def over_leads(self) -> Sampled:
        """Of the mean over all leads, undefined where one of them is."""
        value, resamples, influence = (each.mean("lead_time", skipna=False) for each in (self.value, self.resamples, self.influence))
        return Sampled(value, resamples, influence, self.best, self.blocks)

    def effective_number(self) -> xr.DataArray:
        """(model, ...): independent starts by the autocorrelation of what each adds; beside `blocks`, which does not depend on it."""
        ordered = self.influence.transpose("init_time", *self.value.dims)
        return self.value.copy(data=effective_number(ordered.values))


def sampled(score: Score, means: Means, draw: Draw) -> Sampled:
    """A score on the data and on the resamples; raises `NotResampled` for one that is not made of sums by start."""
    value = scored(score, means)
    return Sampled(value, *with_influence(score, means, draw.counts, value), score.best, draw.blocks)


def badness(values: xr.DataArray, best: str) -> xr.DataArray:
    """Small where `values` are good."""
    sign = {"low": 1.0, "high": -1.0}.get(best)
    return abs(values) if sign is None else sign * values


def judged(score: Sampled, settings: Bootstrap | None = None) -> xr.Dataset:
    """`value`, `interval` (bound, model, ...), `n_effective`, and if it is good or bad `p_value` (model, other, ...), `rank`, `first`.

    `first` is the share of resamples in which a model is the best. Ranks hold the false discovery rate at twice 1 - level, as
    tests that depend on one another should (Wilks 2016, doi 10.1175/BAMS-D-15-00267.1). `set_p` and `in_set` are those of the
    confidence set; where that is refused, the attribute `refused` says why.
    """
    settings = settings or Bootstrap()
    attrs = {"level": settings.level, "blocks": score.blocks, "resamples": score.resamples.sizes["resample"]}
    interval = bounds(score.resamples, tail(settings.level, score.blocks))
    parts = {"value": score.value, "interval": interval, "n_effective": score.effective_number()}
    coords: dict[Hashable, xr.DataArray] = {**score.value.coords, "bound": interval["bound"]}
    if score.best == "neither":
        return _together(parts, coords, attrs)
    loss, losses = badness(score.value, score.best), badness(score.resamples, score.best)
    p = pairs(losses, score.blocks)
    parts |= {"p_value": p, "rank": shared_ranks(loss, p, 2 * (1 - settings.level)), "first": first_share(losses)}
    coords["other"] = p["other"]
    reason = refused(score.blocks, settings)
    if reason:
        return _together(parts, coords, {**attrs, "refused": reason})
    set_p = loss.copy(data=confidence_set(loss.values, losses.transpose(*loss.dims, "resample").values))
    return _together({**parts, "set_p": set_p, "in_set": set_p > 1 - settings.level}, coords, attrs)


def _together(parts: Mapping[str, xr.DataArray], coords: Mapping[Hashable, xr.DataArray], attrs: Mapping[str, object]) -> xr.Dataset:
    """Variables that are known to share their labels, which xarray need not compare one by one."""
    return xr.Dataset({name: each.variable for name, each in parts.items()}, coords, attrs)


def refused(blocks: float, settings: Bootstrap) -> str:
    """Why there is no confidence set, or nothing."""
    if blocks >= max(2, settings.fewest):
        return ""
    have = f"{blocks:.1f} independent samples (starts over the length of a block)"
    return f"{have} are too few for a confidence set; {max(2, settings.fewest)} are needed"
