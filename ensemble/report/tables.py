"""The tables of the page, as rows of cells that the template only has to set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray as xr

from ensemble.report import words
from ensemble.report.look import Look, looks
from ensemble.report.standing import costs, is_best, main_score, nearness, ordered, picked, table, unequal

if TYPE_CHECKING:
    from ensemble.results import Run


class Cell(NamedTuple):
    """A text, how near it is to the best of its column (0 to 1), and whether it is the best."""

    text: str
    near: float = 0.0
    best: bool = False


class Row(NamedTuple):
    """What it is about, of which kind that is, the colour it has in the figures, and its cells."""

    name: str
    kind: str
    colour: str
    cells: list[Cell]


class Table(NamedTuple):
    """Column names, perhaps with groups [(name, columns)] above them, rows, and a last row of sample sizes."""

    caption: str
    heads: list[str]
    rows: list[Row]
    groups: list[tuple[str, int]]
    foot: list[str]


def ranking(run: Run, score: str, region: str) -> Table:
    """Models by leads, the best in the mean first, and the number of starts below."""
    values = ordered(table(run, score, region))
    leads, unit = words.leads(values["lead_time"])
    places = words.decimals(values)
    each = _cells(values, places)
    mean = _cells(values.mean("lead_time", skipna=False).assign_attrs(values.attrs), places)
    rows = [_row(run, values, i, [*each[i], *mean[i]]) for i in range(values.sizes["model"])]
    n = run.scores["n_starts"].sel(region=region).values
    caption = f"{words.axis(values)} by lead time [{unit}], {words.place(region)}; n = starts. Best of each lead in bold and underlined."
    foot = ["n", *map(words.count, n), words.count(n.min())]
    return Table(caption, [*(f"{lead:g}" for lead in leads), "mean"], rows, [], foot)


def overview(run: Run, region: str) -> Table:
    """Models by scores, each the mean over all leads; skill scores against each reference."""
    columns: list[tuple[str, xr.DataArray]] = []
    for score in [str(name) for name, values in run.scores.data_vars.items() if "model" in values.dims]:
        for reference in _references(run, score):
            values = table(run, score, region, reference=reference)
            head = f"{score} against {reference}" if reference else words.axis(values)
            columns.append((head, values.mean("lead_time", skipna=False).assign_attrs(values.attrs)))
    order = ordered(table(run, main_score(run), region))["model"]
    cells = [_cells(values.sel(model=order), words.decimals(values)) for _, values in columns]
    rows = [_row(run, order, i, [column[i][0] for column in cells]) for i in range(order.size)]
    n = run.scores["n_starts"].sel(region=region).values.min()
    caption = f"Every score in the mean over all leads, {words.place(region)}; n = {words.count(n)} starts. A dash: undefined."
    return Table(caption, [head for head, _ in columns], rows, [], [])


def skill_scores(run: Run, region: str) -> Table | None:
    """Skill scores at a few leads, side by side for each reference."""
    score = next((str(name) for name, values in run.scores.data_vars.items() if "reference" in values.dims), None)
    if score is None or not run.scores.sizes["reference"]:
        return None
    order = ordered(table(run, main_score(run), region))["model"]
    at = picked(run.scores)
    leads, unit = words.leads(run.scores["lead_time"][at])
    parts = []
    for reference in _references(run, score):
        values = table(run, score, region, reference=reference).sel(model=order)
        mean = values.mean("lead_time", skipna=False).assign_attrs(values.attrs)
        parts.append([[*few, *whole] for few, whole in zip(_cells(values.isel(lead_time=at), 2), _cells(mean, 2), strict=True)])
    rows = [_row(run, order, i, [cell for part in parts for cell in part[i]]) for i in range(order.size)]
    groups = [(f"against {reference}", len(at) + 1) for reference in _references(run, score)]
    caption = f"{score} at a few lead times [{unit}], {words.place(region)}; n = {words.starts(run, region)}. 1 is perfect, 0 no better."
    return Table(caption, [*(f"{lead:g}" for lead in leads), "mean"] * len(groups), rows, groups, [])


def members(run: Run, region: str) -> Table | None:
    """Of models with members: error of their mean, spread, the ratio of the two, and crps, by lead."""
    have = [score for score in ("rmse", "spread", "crps") if score in run.scores]
    names = [str(name) for name in run.scores["model"].values[run.scores["members"].values > 1]]
    if not names or "rmse" not in have or len(have) == 1:
        return None
    leads, unit = words.leads(run.scores["lead_time"])
    rows = []
    for name in names:
        lines = {score: table(run, score, region).sel(model=name) for score in have}
        if "spread" in lines:
            m = int(run.scores["members"].sel(model=name))
            # Of m members as good as the truth, the mean errs by (m + 1) / m of their variance: Fortin et al. (2014), eq. 15.
            lines["spread / error"] = np.sqrt((m + 1) / m) * lines["spread"] / lines["rmse"].where(lines["rmse"] > 0)
        for what, values in lines.items():
            places = 2 if what == "spread / error" else words.decimals(values)
            mean = float(values.mean("lead_time", skipna=False))
            cells = [Cell(words.number(float(value), places)) for value in [*values.values, mean]]
            row = _row(run, lines["rmse"].expand_dims("model"), 0, [Cell(what), *cells])
            rows.append(row._replace(name=f"{name} ({int(run.scores['members'].sel(model=name))})"))
    caption = f"Models with members (how many) by lead time [{unit}], {words.place(region)}; n = {words.starts(run, region)}."
    return Table(caption, ["", *(f"{lead:g}" for lead in leads), "mean"], rows, [], [])


def cost(run: Run) -> Table:
    """What each model cost, the dearest first; models that failed are there as far as they came."""
    spent, whole = run.cost(), costs(run)
    seconds = spent["seconds"].to_pandas()
    names = [*whole, *(name for name in run.study.models if name not in whole and name in seconds.index)]
    total = {name: whole.get(name, float(seconds.loc[name].sum() if name in seconds.index else 0.0)) for name in names}
    rows = []
    for name in sorted(names, key=lambda each: -total[each]):
        phases = {phase: seconds[phase].get(name, 0.0) if phase in seconds else 0.0 for phase in ("fit", "learn", "hindcast")}
        of = spent.sel(model=name) if name in seconds.index else None
        compiling = float(of["compile_seconds"].sum()) if of is not None else 0.0
        peak = float(of["peak_bytes"].max()) if of is not None else 0.0
        times = (phases["fit"] + phases["learn"], phases["hindcast"], compiling, total[name])
        cells = [Cell(words.seconds(float(each))) for each in times]
        rows.append(Row(name, *_shown(run, name), [*cells, Cell(f"{peak / 1e6:,.0f}".replace(",", " ") if peak else words.MISSING)]))
    heads = ["fit [s]", "forecasts [s]", "of which compiling [s]", "total [s]", "peak memory [MB]"]
    return Table("Wall time and peak memory of each model.", heads, rows, [], [])


def weights(run: Run) -> list[Table]:
    """A table a combination, of those in which not all models count the same: weights by lead."""
    found = []
    for name, values in unequal(run).items():
        leads, unit = words.leads(values["lead_time"])
        rows = [_row(run, values, i, [Cell(f"{each:.3f}") for each in values.values[i]]) for i in range(values.sizes["model"])]
        found.append(Table(f"{name}: weights by lead time [{unit}].", [f"{lead:g}" for lead in leads], rows, [], []))
    return found


def _references(run: Run, score: str) -> list[str | None]:
    values = run.scores[score]
    return [str(each) for each in values["reference"].values] if "reference" in values.dims else [None]


def _cells(values: xr.DataArray, places: int) -> list[list[Cell]]:
    """(model, lead_time) or (model,) as rows of cells."""
    whole = values if "lead_time" in values.dims else values.expand_dims(lead_time=1, axis=1).assign_attrs(values.attrs)
    near, best = nearness(whole).values, is_best(whole).values
    near = np.where(np.isfinite(near), near, 0.0)
    rows = range(whole.sizes["model"])
    columns = range(whole.sizes["lead_time"])
    return [[Cell(words.number(float(whole.values[i, j]), places), float(near[i, j]), bool(best[i, j])) for j in columns] for i in rows]


def _row(run: Run, values: xr.DataArray, i: int, cells: list[Cell]) -> Row:
    name = str(values["model"].values[i])
    return Row(name, *_shown(run, name), cells)


def _shown(run: Run, name: str) -> tuple[str, str]:
    """The kind and the colour of a model."""
    kind = run.study.models[name].kind if name in run.study.models else "combination"
    styles: Mapping[str, Look] = looks(run.study)
    return kind, styles[name].colour
