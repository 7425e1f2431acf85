"""Many models against one, or each against one of its own: what they differ by, how sure that is, and which of many tests stand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from ensemble.errors import InputError, unknown
from ensemble.significance.difference import apart, p_value
from ensemble.significance.discovery import false_discovery
from ensemble.significance.draw import Bootstrap
from ensemble.significance.intervals import bounds, tail
from ensemble.significance.judge import Sampled, badness


def against(score: Sampled, others: Mapping[str, str], settings: Bootstrap) -> xr.Dataset:
    """`difference` (model, ...) of each model less that of the one that `others` names for it, its `interval` (bound, ...) and `p_value`.

    The same resamples serve both of a pair, so that what all forecasts of a year have in common drops out.
    """
    check_known(score, [*others, *others.values()])
    first, second = list(others), list(others.values())
    p = p_value(_less(badness(score.resamples, score.best), first, second).values, score.blocks)
    difference = _less(score.value, first, second)
    interval = bounds(_less(score.resamples, first, second), tail(settings.level, score.blocks))
    made = xr.Dataset({"difference": difference, "interval": interval, "p_value": (difference.dims, p)})
    return made.assign_attrs(level=settings.level, blocks=score.blocks, resamples=score.resamples.sizes["resample"])


def significant(score: Sampled, baseline: str, settings: Bootstrap | None = None) -> xr.Dataset:
    """Each model against one `baseline`, as `against`, with `significant` (model, lead_time, region).

    The false discovery rate is held over the leads and regions of each model at twice 1 - level, as tests that depend on one
    another should be (Wilks 2016, doi 10.1175/BAMS-D-15-00267.1).
    """
    settings = settings or Bootstrap()
    check_known(score, [baseline])
    names = [str(name) for name in score.value["model"].values if name != baseline]
    made = against(score, dict.fromkeys(names, baseline), settings)
    p = made["p_value"]
    axes = tuple(i for i, dim in enumerate(p.dims) if dim != "model")
    found = false_discovery(p.values, 2 * (1 - settings.level), axis=axes)
    return made.assign(significant=(p.dims, found)).assign_attrs(baseline=baseline)


def gained(score: Sampled, singles: Mapping[str, str], settings: Bootstrap | None = None) -> xr.Dataset:
    """(combination, ...): what each combination gains over the `single` model that is named for it; above 0 it is the better one.

    `gain` in units of the score, its `interval` (bound, ...), `p_value`, and whether it is `significant` at the level.
    Raises InputError for a score that is neither good nor bad.
    """
    settings = settings or Bootstrap()
    if score.best == "neither":
        raise InputError("gain: this score has no better and no worse; use one that has, such as rmse")
    loss = Sampled(badness(score.value, score.best), badness(score.resamples, score.best), score.influence, "low", score.blocks)
    made = against(loss, singles, settings)
    ends = made["interval"]
    interval = -ends.isel(bound=[1, 0]).assign_coords(bound=ends["bound"])
    gain = xr.Dataset({"gain": 0.0 - made["difference"], "interval": interval, "p_value": made["p_value"]}, attrs=made.attrs)
    gain = gain.assign(significant=gain["p_value"] < 1 - settings.level).rename(model="combination")
    return gain.assign_coords(single=("combination", list(singles.values())))


def check_known(score: Sampled, names: list[str]) -> None:
    """Raise InputError for a model that was not scored."""
    models = [str(each) for each in score.value["model"].values]
    for name in names:
        if name not in models:
            raise unknown("model", name, models)


def _less(values: xr.DataArray, first: list[str], second: list[str]) -> xr.DataArray:
    """(model, ...): each of the first, less its partner among the second."""
    ordered = values.transpose("model", ...)
    index = ordered.get_index("model")
    here, there = (ordered.isel(model=index.get_indexer(np.array(names, object))) for names in (first, second))
    return here.copy(data=apart(here.values, there.values))
