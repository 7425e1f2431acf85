"""Who is ahead: the tables behind figures and page, in order, with the best of each lead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from ensemble.errors import InputError, unknown
from ensemble.task import Array

if TYPE_CHECKING:
    from ensemble.results import Run

MUCH = 0.3  # a score this much worse than the best, as a share of it, is shaded no further


def names_of(scores: xr.Dataset) -> list[str]:
    """The scores among the variables, which sample sizes are as well; one that is a table of its own, as `reliability`, ranks nobody."""
    found = {str(name): scores.variables[name] for name in scores.data_vars}
    known = {name: set(each.dims) for name, each in found.items() if "best" in each.attrs}
    return [name for name, dims in known.items() if "region" not in dims or dims <= {"model", "lead_time", "region", "reference"}]


def table(run: Run, score: str = "rmse", region: str = "all", *, reference: str | None = None) -> xr.DataArray:
    """(model, lead_time) of one score, in the order of the study; of a skill score, against one `reference`, the first if none is given."""
    if score not in names_of(run.scores):
        raise unknown("score", score, names_of(run.scores))
    if region not in run.scores["region"].values:
        raise unknown("region", region, run.scores["region"].values)
    values = run.scores[score].sel(region=region)
    if "reference" not in values.dims:
        return values
    references = [str(each) for each in values["reference"].values]
    if not references:
        raise InputError(f"score: {score} is made against a reference, and none was run; add climatology to the models")
    if reference is not None and reference not in references:
        raise unknown("reference", reference, references)
    return values.sel(reference=reference or references[0])


def main_score(run: Run) -> str:
    """The score that the page ranks by: rmse, or the first there is."""
    known = [name for name in names_of(run.scores) if run.scores[name].size]
    return "rmse" if "rmse" in known else known[0]


def mean_of(values: xr.DataArray) -> xr.DataArray:
    """The mean over all leads, undefined where one of them is."""
    return values.isel(lead_time=0, drop=True).copy(data=values.values.mean(values.get_axis_num("lead_time")))


def with_mean(values: xr.DataArray) -> list[xr.DataArray]:
    """Each lead, and behind them their mean where there is more than one: what a table shows."""
    return [values, mean_of(values).expand_dims("lead_time", -1)] if values.sizes["lead_time"] > 1 else [values]


def badness(values: xr.DataArray) -> xr.DataArray:
    """Small where `values` are good, whichever way round the score is read."""
    sign = {"low": 1.0, "high": -1.0}.get(str(values.attrs.get("best")))
    return values.copy(data=np.abs(values.values) if sign is None else sign * values.values)


def ordered(values: xr.DataArray) -> xr.DataArray:
    """Models by their mean over all leads, the best first and those it is undefined for last."""
    mean = badness(values).mean("lead_time", skipna=False)
    return values.isel(model=np.argsort(mean.values, kind="stable"))


def is_best(values: xr.DataArray) -> xr.DataArray:
    """Which model is the best of each lead (or of whatever dimension stands beside `model`); of a spread, none."""
    behind, _ = _behind(values)
    return values.copy(data=(behind == 0) & (values.attrs.get("best") != "neither"))


def nearness(values: xr.DataArray) -> xr.DataArray:
    """1 for the best of each lead, falling to 0 for what is much worse; 0 where more is neither better nor worse."""
    if values.attrs.get("best") == "neither":
        return values.copy(data=np.zeros(values.shape))
    behind, least = _behind(values)
    axis = values.get_axis_num("model")
    much = MUCH * np.abs(least) if values.attrs.get("best") == "low" else np.fmax.reduce(behind, axis, keepdims=True)
    return values.copy(data=(1 - behind / np.where(much > 0, much, 1.0)).clip(0, 1))


def _behind(values: xr.DataArray) -> tuple[Array, Array]:
    """How much worse than the best, and how bad that is, undefined ones left out."""
    bad = badness(values).values
    least: Array = np.fmin.reduce(bad, values.get_axis_num("model"), keepdims=True)
    return bad - least, least


def varies(values: xr.DataArray) -> bool:
    """Whether models differ anywhere."""
    return bool((values.max("model") > values.min("model")).any())


def picked(values: xr.DataArray | xr.Dataset) -> list[int]:
    """The positions of a few leads that stand for all: the first, the third, the sixth and the last."""
    last = values.sizes["lead_time"] - 1
    return sorted({min(each, last) for each in (0, 2, 5, last)})


def spread_out(values: xr.DataArray | xr.Dataset) -> list[int]:
    """As `picked`, where three must do: the first, the middle and the last."""
    last = values.sizes["lead_time"] - 1
    return sorted({0, last // 2, last})


def combined(run: Run) -> dict[str, xr.DataArray]:
    """(model, lead_time) of the weights of each combination, of the models that are part of it."""
    weight = run.weights["weight"]
    if "combination" not in weight.dims:
        return {}
    each = {str(name): weight.sel(combination=name) for name in weight["combination"].values}
    return {name: values.isel(model=(values != 0).any("lead_time").values) for name, values in each.items()}


def unequal(run: Run) -> dict[str, xr.DataArray]:
    """The combinations in which not all models count the same at all leads."""
    return {name: values for name, values in combined(run).items() if values.size and np.ptp(values.values) > 0}


def are_draws(run: Run, name: str) -> bool:
    """Whether the members of a model are draws, rather than quantiles of the distribution that it gives."""
    return "draws" not in run.scores.coords or bool(run.scores["draws"].sel(model=name))


def costs(run: Run) -> dict[str, float]:
    """Wall time of fit and forecasts of each scored model [s]; of a combination, that of its models and of its weights."""
    spent = run.cost()["seconds"].sum("phase").to_series().to_dict()
    parts = {name: [str(each) for each in weights["model"].values] for name, weights in combined(run).items()}
    models = [str(name) for name in run.scores["model"].values]
    return {name: float(spent.get(name, 0.0) + sum(spent.get(each, 0.0) for each in parts.get(name, []))) for name in models}
