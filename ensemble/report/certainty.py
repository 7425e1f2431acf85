"""How sure the ranking is, as the page says it: intervals, shared ranks, and how many independent samples they rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import xarray as xr

from ensemble.report import words
from ensemble.report.standing import main_score
from ensemble.significance.resample import NotResampled

if TYPE_CHECKING:
    from ensemble.results import Run

_known: WeakKeyDictionary[Run, xr.Dataset | None] = WeakKeyDictionary()
HEADS = ("95 % interval", "rank")


def certainty(run: Run) -> xr.Dataset | None:
    """(model, region): of the main score in the mean over all leads; None where the starts are too few to vary."""
    if run not in _known:
        _known[run] = _judged(run)
    return _known[run]


def _judged(run: Run) -> xr.Dataset | None:
    if run.by_start is None or run.by_start.sums.sizes["init_time"] < 2:
        return None
    try:
        found = run.judged(main_score(run), over_leads=True)
    except NotResampled:
        return None
    return found if found.attrs["blocks"] >= 2 and "rank" in found else None


def heads(run: Run) -> list[str]:
    """The heads of the columns that say how sure it is."""
    return list(HEADS) if certainty(run) is not None else []


def beside(run: Run, region: str, name: str, places: int) -> list[str]:
    """What stands in them for one model."""
    found = certainty(run)
    if found is None:
        return []
    here = found.sel(model=name, region=region)
    low, high = (words.number(float(here["interval"].sel(bound=bound)), places) for bound in ("low", "high"))
    rank = float(here["rank"])
    return [words.MISSING if words.MISSING in (low, high) else f"{low} to {high}", words.number(rank, 0)]


def said(run: Run) -> tuple[str, str] | None:
    """What the intervals and ranks are made of, and what they cannot tell."""
    found = certainty(run)
    if run.scores.sizes["model"] < 2:
        return None
    if found is None:
        text = "Models whose scores stand close together may come out in another order on other years."
        return "There are too few starts for a test of significance", text
    blocks, resamples = found.attrs["blocks"], found.attrs["resamples"]
    tied = [str(name) for name in found["model"].values if int(found["rank"].sel(model=name, region="all").fillna(0)) == 1]
    leading = f"{words.listed(tied)} share the first rank" if len(tied) > 1 else f"{words.listed(tied)} alone has the first rank"
    text = (
        f"Starts that overlap in time are drawn together, in blocks as long as the longest lead and, if they are monthly, a year: "
        f"{blocks:.1f} blocks stand behind every number, and {resamples} resamples of them behind every interval. A model's rank is one "
        f"more than the number of models that are significantly better (false discovery rate 10 %): {leading}."
    )
    refused = found.attrs.get("refused")
    return f"{blocks:.0f} independent samples decide the ranking", f"{text} There is no confidence set: {refused}." if refused else text
