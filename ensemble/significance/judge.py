"""What a table of one score is worth: intervals, which models differ, the confidence set, shared ranks."""

from __future__ import annotations

from dataclasses import dataclass

import xarray as xr

from ensemble.score.base import Score
from ensemble.score.means import Means
from ensemble.significance.confidence_set import confidence_set
from ensemble.significance.difference import pairs
from ensemble.significance.draw import Bootstrap, Draw
from ensemble.significance.independent import effective_number
from ensemble.significance.intervals import bounds, tail
from ensemble.significance.ranks import shared_ranks
from ensemble.significance.resample import influence, resampled, scored


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
    resamples = resampled(score, means, draw.counts)
    return Sampled(scored(score, means), resamples, influence(score, means), score.best, draw.blocks)


def badness(values: xr.DataArray, best: str) -> xr.DataArray:
    """Small where `values` are good."""
    sign = {"low": 1.0, "high": -1.0}.get(best)
    return abs(values) if sign is None else sign * values


def judged(score: Sampled, settings: Bootstrap | None = None) -> xr.Dataset:
    """`value`, `interval` (bound, model, ...), `n_effective`, `p_value` (model, other, ...), `rank`, and if it can be `set_p`, `in_set`.

    Ranks hold the false discovery rate at twice 1 - level, as tests that depend on one another should (Wilks 2016, doi
    10.1175/BAMS-D-15-00267.1). Of what is neither good nor bad, as a spread, there are intervals alone. Where the confidence set
    is refused, the attribute `refused` says why.
    """
    settings = settings or Bootstrap()
    interval = bounds(score.resamples, tail(settings.level, score.blocks))
    made = xr.Dataset({"value": score.value, "interval": interval, "n_effective": score.effective_number()})
    made = made.assign_attrs(level=settings.level, blocks=score.blocks, resamples=score.resamples.sizes["resample"])
    if score.best == "neither":
        return made
    loss, losses = badness(score.value, score.best), badness(score.resamples, score.best)
    p = pairs(losses, score.blocks)
    made = made.assign(p_value=p, rank=shared_ranks(loss, p, 2 * (1 - settings.level)))
    reason = refused(score.blocks, settings)
    if reason:
        return made.assign_attrs(refused=reason)
    set_p = loss.copy(data=confidence_set(loss.values, losses.transpose(*loss.dims, "resample").values))
    return made.assign(set_p=set_p, in_set=set_p > 1 - settings.level)


def refused(blocks: float, settings: Bootstrap) -> str:
    """Why there is no confidence set, or nothing."""
    if blocks >= max(2, settings.fewest):
        return ""
    have = f"{blocks:.1f} independent samples (starts over the length of a block)"
    return f"{have} are too few for a confidence set; {max(2, settings.fewest)} are needed"
