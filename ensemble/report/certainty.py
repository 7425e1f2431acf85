"""How sure the ranking is, as the page says it: intervals, shared ranks, confidence sets, and how many independent samples there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import xarray as xr

from ensemble.report import words
from ensemble.report.standing import main_score, ordered, table
from ensemble.task import Array

if TYPE_CHECKING:
    from ensemble.results import Run

HEADS = ("95 % interval", "rank", "first")


class Certainty(NamedTuple):
    """Of the main score: `mean` (model, region) over all leads, `by_lead` (model, lead_time, region), and what they rest on.

    Both have `interval` (bound, ...), `rank`, `n_effective`, `first`, the share of resamples in which a model is the best, and
    `in_set` if it could be made.
    """

    mean: xr.Dataset
    by_lead: xr.Dataset
    blocks: float
    resamples: int
    refused: str  # why there is no confidence set, or nothing


_known: WeakKeyDictionary[Run, Certainty | None] = WeakKeyDictionary()


def certainty(run: Run) -> Certainty | None:
    """None where the starts are too few to vary, or the main score cannot be resampled."""
    if run not in _known:
        _known[run] = _certainty(run)
    return _known[run]


def _certainty(run: Run) -> Certainty | None:
    found, score = run.significance, main_score(run)
    if f"{score}_rank" not in found:
        return None
    mean, by_lead = _part(found, f"{score}_mean_"), _part(found, f"{score}_")
    about = found.attrs
    return Certainty(mean, by_lead, about["blocks"], about["resamples"], str(about.get("absent_confidence_sets", "")))


def _part(found: xr.Dataset, prefix: str) -> xr.Dataset:
    """What is said of one score, by the short names; of a skill score against the reference that the page ranks by."""
    names = {f"{prefix}{what}": what for what in ("interval", "rank", "first", "n_effective", "in_set") if f"{prefix}{what}" in found}
    part = found[list(names)].rename(names)
    return part.isel(reference=0) if "reference" in part.dims else part


def interval(run: Run, score: str, region: str, model: str, reference: str | None = None) -> Array | None:
    """(bound, lead_time): the ends of the interval of a model's score; None where there is none."""
    name = f"{score}_interval"
    if name not in run.significance:
        return None
    ends = run.significance[name].sel(region=region, model=model)
    if "reference" in ends.dims:
        ends = ends.isel(reference=0) if reference is None else ends.sel(reference=reference)
    return np.asarray(ends.transpose("bound", "lead_time").values)


def leading(values: xr.DataArray) -> list[str]:
    """The two models whose intervals are drawn: the best of `values` (model, lead_time) and the best single one, or the next best."""
    names = ordered(values.dropna("model"))["model"]
    single = names[names["kind"] != "combination"].values.tolist()
    return [str(each) for each in dict.fromkeys([*names.values[:1], *single[:1], *names.values[1:2]])][:2]


def heads(run: Run) -> list[str]:
    """The heads of the columns that say how sure it is."""
    return list(HEADS) if certainty(run) is not None else []


def beside(run: Run, region: str, name: str, places: int) -> list[str]:
    """What stands in them for one model."""
    found = certainty(run)
    if found is None:
        return []
    here = found.mean.sel(model=name, region=region)
    return [ends(here["interval"].values, places), words.number(float(here["rank"]), 0), portion(float(here["first"]))]


def ends(interval: Array, places: int) -> str:
    """`0.39 to 0.47` of (bound,), or a dash."""
    low, high = (words.number(float(each), places) for each in interval)
    return words.MISSING if words.MISSING in (low, high) else f"{low} to {high}"


def portion(share: float) -> str:
    """A share in per cent, or a dash."""
    return words.share(share) if np.isfinite(share) else words.MISSING


def said(run: Run) -> tuple[str, str] | None:
    """What the intervals and ranks are made of, and what they cannot tell."""
    if run.scores.sizes["model"] < 2:
        return None
    found = certainty(run)
    if found is None:
        text = f"Models whose scores stand close together may come out in another order on other years. {_why(run)}".rstrip()
        return "There are too few starts for a test of significance", text
    n = found.by_lead["n_effective"].sel(region="all").median("model").values
    tied = [str(name) for name in found.mean["model"].values if found.mean["rank"].sel(model=name, region="all") == 1]
    share = f"{words.listed(tied)} share the first rank" if len(tied) > 1 else f"{words.listed(tied) or 'nobody'} alone has the first rank"
    text = (
        f"Starts that overlap in time are drawn together, in blocks as long as the longest lead and, if they are monthly, a year: "
        f"{found.blocks:.1f} blocks stand behind every number, and {found.resamples} resamples of them behind every interval. Intervals of "
        "two models may overlap and the models still differ, for both face the same years: what tells them apart is the rank, one more "
        f"than the number of models that are significantly better (false discovery rate 10 %). {share}. By the autocorrelation of what "
        f"each start adds to the score there are {_range(n)} independent ones, depending on the lead. {_sets(run, found)}"
    )
    return f"{found.blocks:.0f} independent samples decide the ranking", text


def _sets(run: Run, found: Certainty) -> str:
    """Which models cannot be told from the best in the mean over all leads, or why that is not known."""
    if found.refused:
        return f"There is no confidence set: {found.refused}."
    inside = found.mean["in_set"].sel(region="all")
    names = [str(name) for name in ordered(table(run, main_score(run)))["model"].values if inside.sel(model=name) == 1]
    return f"The 95 % confidence set, of models that cannot be told from the best, is {words.listed(names)}."


def _why(run: Run) -> str:
    about = run.significance.attrs
    why = str(about.get("absent", about.get(f"absent_{main_score(run)}", "")))
    return f"{why[:1].upper()}{why[1:]}." if why else ""


def _range(values: Array) -> str:
    """`7`, or `7 to 31`, of what is defined."""
    known = values[np.isfinite(values)]
    return "not known how many" if not known.size else words.counts(np.round(known))
