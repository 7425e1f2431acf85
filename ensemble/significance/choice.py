"""Which single model the validation period would have picked, and how well such a ranking carries over to other years."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray as xr

from ensemble.task import Array

if TYPE_CHECKING:
    from ensemble.combining import Weighted


class Choice(NamedTuple):
    """A single model, and whether it was picked by the validation period or, for want of its errors, with hindsight."""

    model: str
    hindsight: bool


def validation_errors(combinations: Mapping[str, Weighted]) -> dict[str, xr.DataArray]:
    """(model, lead_time) by combination: root mean squared errors in the validation period [unit of the variable].

    Of those rules that have learnt from errors. Each counts the points that all of its own models have.
    """
    squared = {name: each.rule.errors(each.state) for name, each in combinations.items()}
    return {
        name: xr.DataArray(np.sqrt(each), dims=("model", "lead_time"), coords={"model": list(combinations[name].models)})
        for name, each in squared.items()
        if each is not None
    }


def choices(combinations: Mapping[str, Weighted], test: xr.DataArray) -> dict[str, Choice]:
    """The best single member of each combination by its mean error over all leads in the validation period.

    `test` (model,) holds what was scored, small where good: members that are not in it take no part, and where no rule knows the
    errors of the members it picks, with hindsight. Errors are those that the rule has itself, or else another.
    """
    known, there = validation_errors(combinations), test.dropna("model")
    found = {}
    for name, weighted in combinations.items():
        members = [model for model in weighted.models if model in there["model"].values]
        own = [known[name]] if name in known else []
        errors = next((each for each in (*own, *known.values()) if set(members) <= set(each["model"].values)), None)
        if members and name in there["model"].values:
            means = there.sel(model=members) if errors is None else errors.sel(model=members).mean("lead_time")
            found[name] = Choice(members[int(np.argmin(means.values))], errors is None)
    return found


def widest(known: Mapping[str, xr.DataArray]) -> xr.DataArray | None:
    """The errors of the rule that knows most models, the first of several; None where no rule knows any."""
    return max(known.values(), key=lambda each: each.sizes["model"], default=None)


def rank_correlation(one: Array, other: Array) -> float:
    """Spearman's, of two series (model,): Pearson's of their ranks; equal values share the mean of theirs. NaN where one never varies."""
    a, b = (ranks - ranks.mean() for ranks in map(_ranks, (one, other)))
    spread = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / spread if spread > 0 else float("nan")


def _ranks(values: Array) -> Array:
    """1 for the smallest; equal values share the mean of their ranks."""
    below = (values[None] < values[:, None]).sum(1)
    equal = (values[None] == values[:, None]).sum(1)
    ranks: Array = below + (equal + 1) / 2
    return ranks
