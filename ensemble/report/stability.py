"""How far a ranking of single models can be trusted: whether it was the same in validation, and whether it outlives a resample."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from ensemble.report import words
from ensemble.report.certainty import certainty, portion
from ensemble.report.leads import Leads
from ensemble.report.standing import badness, main_score, table
from ensemble.report.tables import Cell, Table, row_of

if TYPE_CHECKING:
    from ensemble.results import Run


def remark(run: Run) -> tuple[str, str, Table] | None:
    """A headline, what it rests on, and a table of the single models; None where there are not two of them, or nothing can be tested."""
    score = main_score(run)
    if certainty(run) is None or "reference" in run.scores[score].dims:
        return None
    found = run.stability(score)
    if found.sizes["model"] < 2:
        return None
    best = int(np.argmax(found["first"].values))
    often = f"{found['model'].values[best]} is the best single model in {portion(float(found['first'][best]))} of the resamples"
    if "validation" not in found:
        text = f"Of the test period: {often}. Errors in a validation period are not known, for no combination has learnt from any."
        return "How stable the ranking is", f"{text} {_years(run)}", _table(run, found)
    correlation = words.number(float(found["rank_correlation"]), 2)
    n = found.sizes["model"]
    text = (
        f"The {n} single models that a combination has errors of, ranked {Leads.of(run).mean}: Spearman's rank correlation of the two "
        f"periods is {correlation}, where 1 is the same order and 0 none. Of the test period: {often}. {_years(run)}"
    )
    return f"The ranking in validation and that in the test correlate by {correlation}", text, _table(run, found)


def _years(run: Run) -> str:
    """How long the periods are that rank."""
    periods = {"validation": run.study.validate, "test": run.study.test}
    spans = {name: words.years(period, run.study.data.step) for name, period in periods.items() if period is not None}
    return f"Years that the rankings rest on: {words.listed([f'{name} {length:.2g}' for name, length in spans.items()])}."


def _table(run: Run, found: xr.Dataset) -> Table:
    """Single models, the best of the test first."""
    values = table(run, main_score(run))
    loss = badness(found["test"].assign_attrs(values.attrs)).values
    columns, heads = [found["test"].values], [f"{words.axis(values)}, test"]
    places = [words.decimals(values)]
    if "validation" in found:
        unit = words.unit({"units": run.study.domain.fields[run.study.target].attrs.get("units", "1")})
        columns.insert(0, found["validation"].values)
        heads.insert(0, f"rmse{f' [{unit}]' if unit else ''}, validation")
        places.insert(0, words.decimals(found["validation"]))
    ranks = [1 + np.argsort(np.argsort(each, kind="stable"), kind="stable") for each in ([*columns[:-1], loss])]
    rows = []
    for i in np.argsort(loss, kind="stable"):
        cells = [(words.number(float(each[i]), of), str(rank[i])) for each, of, rank in zip(columns, places, ranks, strict=True)]
        flat = [Cell(text) for pair in cells for text in pair]
        rows.append(row_of(run, str(found["model"].values[i]), [*flat, Cell(portion(float(found["first"][i])))]))
    caption = f"Single models {Leads.of(run).mean};\nfirst: the share of resamples of the test in which a model is the best of these."
    return Table(caption, [text for head in heads for text in (head, "place")] + ["first"], rows, [], [])
