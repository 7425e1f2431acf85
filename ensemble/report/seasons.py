"""Who is ahead in each group of starts: by season, by month, by year, as the study asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ensemble.report import words
from ensemble.report.leads import Leads
from ensemble.report.standing import main_score, mean_of, ordered, table
from ensemble.report.tables import Table, cells_of, row_of
from ensemble.score.groups import GROUPINGS

if TYPE_CHECKING:
    from ensemble.results import Run


class Groups(NamedTuple):
    """One way of grouping: its name in a recipe, a title, and models by groups."""

    by: str
    title: str
    table: Table


def groups(run: Run) -> list[Groups]:
    """Of each way that the study groups its starts; none where the sums of each start are not at hand."""
    found = [] if run.by_start is None else [(by, _table(run, by)) for by in run.study.by]
    return [Groups(by, f"By {GROUPINGS[by].long_name}", made) for by, made in found if made is not None]


def _table(run: Run, by: str) -> Table | None:
    """The main score in the mean over all leads, models in the order of all starts, the best of each group marked."""
    made, score = run.grouped(by), main_score(run)
    if score not in made:
        return None
    values = made[score].sel(region="all")
    values = values.isel(reference=0) if "reference" in values.dims else values
    order = ordered(table(run, score))["model"]
    mean = mean_of(values).sel(model=order).transpose("model", by)
    cells = cells_of(mean, words.decimals(mean), over=False)
    rows = [row_of(run, str(name), cells[i]) for i, name in enumerate(order.values)]
    n = made["n_starts"].sel(region="all").transpose(by, ...).values
    below = [words.counts(each) for each in n.reshape(len(n), -1)]
    few = " A dash: no start verifies there at some lead." if np.isnan(mean.values).all(0).any() else ""
    caption = f"{words.axis(values)} {Leads.of(run).mean}, {words.place(run, 'all')}; n = starts. Best of each group underlined.{few}"
    return Table(caption, [str(each) for each in made[by].values], rows, [], ["n", *below])
