"""The tables of the page, as rows of cells that the template only has to set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray as xr

from ensemble.report import words
from ensemble.report.certainty import HEADS, beside
from ensemble.report.certainty import certainty as known
from ensemble.report.leads import Leads
from ensemble.report.look import Look, looks
from ensemble.report.standing import (
    are_draws,
    costs,
    is_best,
    main_score,
    mean_of,
    names_of,
    nearness,
    ordered,
    picked,
    table,
    varies,
    with_mean,
)

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

    @property
    def begins(self) -> list[int]:
        """The columns at which a group begins."""
        return [sum(columns for _, columns in self.groups[:i]) for i in range(len(self.groups))]


def ranking(run: Run, score: str, region: str) -> Table:
    """Models by leads, the best in the mean first, and the number of starts below, or beside each where models differ."""
    values, leads = ordered(table(run, score, region)), Leads.of(run)
    cells = cells_of(values, words.decimals(values))
    names, n = [str(name) for name in values["model"].values], run.scores["n_starts"].sel(region=region)
    more, beside = sizes(run, region)
    rows = [row_of(run, name, [*cells[i], *beside[name]]) for i, name in enumerate(names)]
    what = f"{words.axis(values)} by lead time [{leads.unit}], {words.place(run, region)}; n = starts."
    below = [words.counts(each) for each in (*n.transpose("lead_time", "model").values, n.values)][: len(leads.heads)]
    return Table(f"{what} Best of each lead in bold and underlined.", [*leads.heads, *more], rows, [], ["n", *below, *("" for _ in more)])


def certainty(run: Run, region: str) -> Table | None:
    """The main score in the mean over all leads with its interval, and ranks that models share where they cannot be told apart."""
    found, leads = known(run), Leads.of(run)
    if found is None:
        return None
    values = ordered(table(run, main_score(run), region))
    places, mean, at = words.decimals(values), mean_of(values), found.by_lead.sel(region=region)
    several = len(leads.names) if len(leads.names) > 1 else 0
    rows = []
    for name in map(str, values["model"].values):
        standing = [Cell(words.number(float(mean.sel(model=name)), places)), *map(Cell, beside(run, region, name, places))]
        rows.append(row_of(run, name, [*standing, *_ranks(at.sel(model=name))[:several]]))
    groups = [(leads.mean, 1 + len(HEADS)), *([(f"rank at lead time [{leads.unit}]", several)] if several else [])]
    mark = "bold and underlined: in the 95 % confidence set" if not found.refused else f"no confidence set: {found.refused}"
    caption = (
        f"{words.axis(values)}, {words.place(run, region)}; rank: 1 and how many models are significantly better;\n"
        f"first: the share of resamples in which a model is the best;\n{mark}."
    )
    n = [words.number(float(each), 0) for each in at["n_effective"].median("model").values][:several]
    foot = ["independent starts", *[""] * (1 + len(HEADS)), *n] if several else []
    return Table(caption, [words.axis(values), *HEADS, *leads.names[:several]], rows, groups, foot)


def _ranks(at: xr.Dataset) -> list[Cell]:
    """Of one model: its rank at each lead, shaded where it is the first, marked where it is in the confidence set."""
    ranks, inside = at["rank"].values, at["in_set"].values == 1 if "in_set" in at else np.zeros(at.sizes["lead_time"], bool)
    return [Cell(words.number(float(rank), 0), 0.6 * (rank == 1), bool(mark)) for rank, mark in zip(ranks, inside, strict=True)]


def skill_scores(run: Run, region: str) -> Table | None:
    """Skill scores at a few leads, side by side for each reference."""
    score = next((name for name in names_of(run.scores) if "reference" in run.scores[name].dims), None)
    if score is None or not run.scores.sizes["reference"]:
        return None
    order = ordered(table(run, main_score(run), region))["model"]
    at = picked(run.scores)
    leads, parts = Leads.of(run).few(at), []
    for reference in references_of(run, score):
        values = table(run, score, region, reference=reference).sel(model=order)
        cells = cells_of(values, 2)
        parts.append([[*(row[i] for i in at), *row[values.sizes["lead_time"] :]] for row in cells])
    rows = [row_of(run, str(name), [cell for part in parts for cell in part[i]]) for i, name in enumerate(order.values)]
    groups = [(f"against {reference}", len(leads.heads)) for reference in references_of(run, score)]
    few = "at a few lead times" if len(at) > 1 else "at lead time"
    where = f"{few} [{leads.unit}], {words.place(run, region)}; n = {words.starts(run, region)}"
    return Table(f"{score} {where}. 1 is perfect, 0 no better.", leads.heads * len(groups), rows, groups, [])


def members(run: Run, region: str) -> Table | None:
    """Of models with members: error of their mean, spread, the ratio of the two, and crps, by lead."""
    have = [score for score in ("rmse", "spread", "crps") if score in run.scores]
    names = [str(name) for name in run.scores["model"].values[run.scores["members"].values > 1]]
    if not names or "rmse" not in have or len(have) == 1:
        return None
    leads, rows, (more, counted) = Leads.of(run), [], sizes(run, region)
    for name in names:
        for what, values in _reliability(run, name, have, region).items():
            places = 2 if what == "spread / error" else words.decimals(values)
            shown = np.concatenate([each.values for each in with_mean(values)])
            cells = [Cell(what), *(Cell(words.number(float(each), places)) for each in shown), *counted[name]]
            row = row_of(run, name, cells)
            rows.append(row._replace(name=f"{name} ({int(run.scores['members'].sel(model=name))})"))
    where = f"{words.place(run, region)}; n = {words.starts(run, region)}"
    return Table(f"Models with members (how many) by lead time [{leads.unit}], {where}.", ["", *leads.heads, *more], rows, [], [])


def _reliability(run: Run, name: str, scores: Sequence[str], region: str) -> dict[str, xr.DataArray]:
    """(lead_time,) of each of the `scores` of a model, with its unit, and the ratio of spread and error."""
    m = int(run.scores["members"].sel(model=name)) if are_draws(run, name) else np.inf
    lines = {score: table(run, score, region).sel(model=name) for score in scores}
    found = {words.axis(values): values for values in lines.values()}
    if "spread" in lines:
        # Of m members as good as the truth, the mean errs by (m + 1) / m of their variance: Fortin et al. (2014), eq. 15. That of
        # quantiles does not err by chance.
        found["spread / error"] = np.sqrt(1 + 1 / m) * lines["spread"] / lines["rmse"].where(lines["rmse"] > 0)
    return found


def cost(run: Run) -> Table:
    """What each model cost, the dearest first; models that failed are there as far as they came."""
    spent, whole = run.cost(), costs(run)
    seconds = spent["seconds"].to_pandas()
    names = [*whole, *(name for name in run.study.models if name not in whole and name in seconds.index)]
    total = {name: whole.get(name, float(seconds.loc[name].sum() if name in seconds.index else 0.0)) for name in names}
    rows, again = [], ["refit"] if "refit" in seconds else []
    for name in sorted(names, key=lambda each: -total[each]):
        phases = {phase: seconds[phase].get(name, 0.0) if phase in seconds else 0.0 for phase in ("fit", "learn", "hindcast", *again)}
        of = spent.sel(model=name) if name in seconds.index else None
        compiling = float(of["compile_seconds"].sum()) if of is not None else 0.0
        peak = float(of["peak_bytes"].max()) if of is not None else 0.0
        times = (phases["fit"] + phases["learn"], *(phases[each] for each in again), phases["hindcast"], compiling, total[name])
        cells = [Cell(words.seconds(float(each))) for each in times]
        rows.append(row_of(run, name, [*cells, Cell(f"{peak / 1e6:,.0f}".replace(",", " ") if peak else words.MISSING)]))
    heads = [
        "fit [s]",
        *(["fits for the validation [s]"] if again else []),
        "forecasts [s]",
        "of which compiling [s]",
        "total [s]",
        "peak memory [MB]",
    ]
    return Table("Wall time and peak memory of each model.", heads, rows, [], [])


def row_of(run: Run, name: str, cells: list[Cell]) -> Row:
    """The row of a model, with its kind and its colour."""
    kind = run.study.models[name].kind if name in run.study.models else "combination"
    styles: Mapping[str, Look] = looks(run.study)
    return Row(name, kind, styles[name].colour, cells)


def sizes(run: Run, region: str) -> tuple[list[str], dict[str, list[Cell]]]:
    """Where models differ in the size of their samples: the head of a column of them, and what stands in it for each model."""
    n = run.scores["n_starts"].sel(region=region).transpose("model", "lead_time")
    more = varies(n)
    rows = zip(map(str, n["model"].values), n.values, strict=True)
    return ["n"] if more else [], {name: [Cell(words.counts(each))] if more else [] for name, each in rows}


def references_of(run: Run, score: str) -> list[str | None]:
    """What a skill score is made against; None, of any other score."""
    values = run.scores[score]
    return [str(each) for each in values["reference"].values] if "reference" in values.dims else [None]


def cells_of(values: xr.DataArray, places: int, *, over: bool = True) -> list[list[Cell]]:
    """(model, lead_time), or any other second dimension, as rows of cells; if `over`, the mean over leads last where there are several."""
    parts = with_mean(values) if over else [values]
    near, best, numbers = (
        np.concatenate([each.values for each in of], axis=1) for of in (map(nearness, parts), map(is_best, parts), parts)
    )
    near = np.where(np.isfinite(near), near, 0.0)
    rows, columns = (range(size) for size in numbers.shape)
    return [[Cell(words.number(float(numbers[i, j]), places), float(near[i, j]), bool(best[i, j])) for j in columns] for i in rows]
