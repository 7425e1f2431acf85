"""Every score of a run beside every other, each the mean over all leads."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import xarray as xr

from ensemble.report import words
from ensemble.report.leads import Leads
from ensemble.report.standing import main_score, mean_of, names_of, ordered, table
from ensemble.report.tables import Table, cells_of, references_of, row_of, sizes
from ensemble.score import SCORES

if TYPE_CHECKING:
    from ensemble.results import Run

WIDE = 12  # columns of one table: with more, those of members and events stand in a table of their own

_MEMBERS = ("crps", "crps_standard", "spread", "spread_error_ratio", "rank_deviation", "ignorance")
_EVENTS = ("brier", "brier_skill", "roc_area", "rpss", "twcrps", "sedi")
_PROBABLE = tuple(SCORES[name] for name in (*_MEMBERS, *_EVENTS))


class Column(NamedTuple):
    """A score, or a skill score against one reference."""

    head: str
    values: xr.DataArray  # (model,)
    probable: bool  # whether it is of members or of events, rather than of single values


def overviews(run: Run, region: str) -> list[Table]:
    """Models by scores, in one table or two; the order of the models is that of the main score."""
    columns = list(_columns(run, region))
    order = ordered(table(run, main_score(run), region))["model"]
    at = [list(run.scores["model"].values).index(name) for name in order.values]
    more, beside = sizes(run, region)
    what, where = "Every score", f"{Leads.of(run).mean}, {words.place(run, region)}; n = {words.starts(run, region)}"
    made = []
    for part in _parts(columns):
        cells = [cells_of(each.values.isel(model=at).expand_dims("lead_time", 1), words.decimals(each.values)) for each in part]
        names = [str(name) for name in order.values]
        rows = [row_of(run, name, [*(column[i][0] for column in cells), *beside[name]]) for i, name in enumerate(names)]
        caption = f"{what} {where}. A dash: undefined.{_events(part)}"
        made.append(Table(caption, [*(each.head for each in part), *more], rows, [], []))
        what = "Scores of members and events"
    return made


def _columns(run: Run, region: str) -> list[Column]:
    """Of every score, in the order of the study."""
    probable = {each.name for each in run.study.scores if isinstance(each, _PROBABLE)}
    found = []
    for score in names_of(run.scores):
        for reference in references_of(run, score):
            values = table(run, score, region, reference=reference)
            head = f"{score} against {reference}" if reference else words.axis(values)
            found.append(Column(head, mean_of(values), score in probable))
    return found


def _parts(columns: list[Column]) -> list[list[Column]]:
    """All of them, or, where they are too many for one table, those of single values before the others."""
    if len(columns) <= WIDE:
        return [columns]
    parts = [[each for each in columns if each.probable == probable] for probable in (False, True)]
    return [part for part in parts if part]


def _events(columns: list[Column]) -> str:
    """What the scores of events are of, on a line of its own."""
    named = [(str(each.values.attrs["event"]), str(each.values.name)) for each in columns if "event" in each.values.attrs]
    order = sorted(named, key=lambda pair: [event for event, _ in named].index(pair[0]))
    said = [f"{words.listed([name for _, name in each])}: {event}" for event, each in groupby(order, lambda pair: pair[0])]
    return f"\n{'; '.join(said)}." if said else ""
