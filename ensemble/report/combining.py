"""How combinations weigh their models: by lead and by region, how far they were drawn to equal weights, and who chose that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import xarray as xr

from ensemble.combine import Emos
from ensemble.origins import Origins
from ensemble.report import words
from ensemble.report.leads import Leads
from ensemble.report.standing import combined, spread_out, unequal
from ensemble.report.tables import Cell, Row, Table, row_of

if TYPE_CHECKING:
    from ensemble.results import Run


def equal(run: Run) -> list[str]:
    """Combinations in which every model counts the same: they need no figure."""
    found = []
    for name, values in combined(run).items():
        if values.size and name not in unequal(run):
            models, each = [str(model) for model in values["model"].values], float(values.values.flat[0])
            share = f"count the same, {each:.3f} each" if len(models) > 1 else "alone"
            how = shrinking(run, name)
            found.append(f"{name}: {words.listed(models)} {share}{f'; {how}' if how else ''}.")
    return found


def tables(run: Run) -> list[Table]:
    """A table a combination, of those in which not all models count the same: weights by lead, and by region where they have them."""
    leads, found = Leads.of(run), []
    for name, values in unequal(run).items():
        how = shrinking(run, name)
        caption = ";\n".join([f"{name}: weights by lead time [{leads.unit}]; {words.learnt(run)}", *([how] if how else [])])
        found.append(Table(f"{caption}.", list(leads.names), _rows(run, values), [], []))
        if "weight_by_region" in run.weights and name in run.weights["weight_by_region"]["combination"].values:
            found.append(_regions(run, name, values["model"]))
    return found


def shrinking(run: Run, name: str) -> str:
    """How far the weights of a combination were drawn to equal ones, and who chose that; nothing of a rule that does not do so."""
    weighted = run.combinations.get(name)
    share = getattr(weighted.rule, "share", None) if weighted is not None else None
    if not isinstance(share, float):
        return ""
    left_open = getattr(run.study.combinations[name], "shrink", None) is None
    several = isinstance(run.study.validate, Origins) and len(run.study.folds) > 1
    chosen = ", as forecasts from rolling origins chose" if left_open and several else ", the default" if left_open else ", as set"
    return f"weights drawn {words.share(share)} of the way to equal ones{chosen}" if share else f"weights not drawn to equal ones{chosen}"


def notes(run: Run) -> list[str]:
    """What the weights of some rules mean."""
    emos = [name for name in _scored(run) if isinstance(run.study.combinations[name], Emos)]
    several = len(emos) > 1
    text = (
        f"{words.listed(emos)} {'are regressions' if several else 'is a regression'}: {'their' if several else 'its'} weights are the "
        "shares of the models' coefficients in their sum, and the forecast may be larger or smaller than the mean that they give."
    )
    return [text] if emos else []


def pooled(run: Run) -> str:
    """What combinations are made of, and which of them have members."""
    names = _scored(run)
    if not names:
        return ""
    parts = dict.fromkeys(str(name) for each in combined(run).values() for name in each["model"].values)
    several = {name: _members(run, name) for name in parts if name in run.scores["model"].values}
    counts = ", ".join(f"{name} {m}" for name, m in several.items() if m > 1)
    made = (
        f"{words.listed(names)} {'is' if len(names) == 1 else 'are'} made of the models' means: members of each model are averaged first"
        f"{f' ({counts} members)' if counts else ''}, so that a model counts by its weight and not by how many members it has."
    )
    return f"{made} {_own(run, names)}"


def _own(run: Run, names: list[str]) -> str:
    """Which combinations have members, and what these are."""
    spread = [name for name in names if _members(run, name) > 1]
    if not spread:
        return f"Members are not pooled, and {'the' if len(names) == 1 else 'a'} combination has none of its own."
    each, several = words.listed([f"{name} ({_members(run, name)})" for name in spread]), len(spread) > 1
    return (
        f"Members are not pooled: those of {each} are equally likely values of the distribution that {'each' if several else 'it'} "
        f"gives{'; the other combinations have none' if len(spread) < len(names) else ''}."
    )


def _scored(run: Run) -> list[str]:
    return [name for name in run.study.combinations if name in run.scores["model"].values]


def _members(run: Run, name: str) -> int:
    return int(run.scores["members"].sel(model=name))


def _rows(run: Run, values: xr.DataArray) -> list[Row]:
    """(model, column) as rows."""
    named = zip(map(str, values["model"].values), values.transpose("model", ...).values, strict=True)
    return [row_of(run, name, [Cell(words.number(float(each), 3)) for each in weights]) for name, weights in named]


def _regions(run: Run, name: str, models: xr.DataArray) -> Table:
    """The weights of one combination in each region, at a few leads side by side."""
    found = run.weights["weight_by_region"].sel(combination=name, model=models)
    at, regions = spread_out(found), [str(region) for region in found["region"].values]
    leads = Leads.of(run).few(at)
    shown = found.isel(lead_time=at).transpose("model", "region", "lead_time").values.reshape(found.sizes["model"], -1)
    few = "at a few lead times" if len(at) > 1 else "at lead time"
    rows = _rows(run, xr.DataArray(shown, {"model": models.values}, ("model", "weight")))
    groups = [(words.place(run, region) if region in run.scores["region"].values else region, len(at)) for region in regions]
    return Table(f"{name}: weights by region, {few} [{leads.unit}].", list(leads.names) * len(regions), rows, groups, [])
