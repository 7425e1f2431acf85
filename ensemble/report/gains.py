"""What combinations gain over the single model that one would have used instead, significant or not."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import xarray as xr

from ensemble.report import words
from ensemble.report.certainty import certainty, ends
from ensemble.report.leads import Leads
from ensemble.report.standing import main_score, table
from ensemble.report.tables import Cell, Table, row_of

if TYPE_CHECKING:
    from ensemble.results import Run

FEW = 3  # combinations that a sentence at the head of the page speaks of

_known: WeakKeyDictionary[Run, xr.Dataset | None] = WeakKeyDictionary()


def gain(run: Run) -> xr.Dataset | None:
    """(combination, region) of the main score; None without a combination, or where nothing can be tested."""
    if run not in _known:
        score = main_score(run)
        testable = certainty(run) is not None and "reference" not in run.scores[score].dims
        found = run.gain(score) if testable and run.combinations else None
        _known[run] = found if found is not None and found.sizes["combination"] else None
    return _known[run]


def sentences(run: Run, region: str = "all") -> list[str]:
    """A sentence for each single model that combinations are held against; the first few of these."""
    found = gain(run)
    if found is None:
        return []
    values = table(run, main_score(run), region)
    places, unit = words.decimals(values), words.unit(values.attrs)
    rows = [found.sel(region=region).isel(combination=i) for i in range(min(FEW, found.sizes["combination"]))]
    made = []
    for (single, hindsight), each in groupby(rows, lambda row: (str(row["single"].values), bool(row["hindsight"]))):
        parts = [f"{row['combination'].values} {_gains(row, places, unit)}" for row in each]
        made.append(f"Over {single}, {_picked(hindsight)}, {words.listed(parts)}.")
    return made


def remark(run: Run) -> tuple[str, str, Table] | None:
    """A headline, how the gain is meant, and the gain of every combination in every region."""
    found = gain(run)
    if found is None:
        return None
    values = table(run, main_score(run))
    rows = [
        row_of(run, str(name), _cells(run, found.sel(combination=name, region=region), words.decimals(values)))
        for name in found["combination"].values
        for region in found["region"].values
    ]
    heads = ["over", "where", words.axis(values.rename("gain")), "95 % interval", "p"]
    caption = f"Gain in {values.name} {Leads.of(run).mean};\nsignificant ones underlined."
    clear, n = int(found["significant"].sel(region="all").sum()), found.sizes["combination"]
    head = f"Gain of combinations over a single model: {clear} of {n} {'is' if clear == 1 else 'are'} significant"
    text = (
        f"Each is held against one of its own members: {_how(found)}. A gain is the {values.name} of that member less that of the "
        "combination, worse less better, on the same starts; interval and p are those of the block bootstrap, each pair for itself."
    )
    return head, text, Table(caption, heads, rows, [], [])


def _cells(run: Run, row: xr.Dataset, places: int) -> list[Cell]:
    """The member, the region, gain, interval and p."""
    single = f"{row['single'].values}{' (hindsight)' if row['hindsight'] else ''}"
    gain = Cell(words.number(float(row["gain"]), places), best=bool(row["significant"]))
    rest = [Cell(ends(row["interval"].values, places)), Cell(chance(float(row["p_value"])))]
    return [Cell(single), Cell(words.place(run, str(row["region"].values))), gain, *rest]


def _gains(row: xr.Dataset, places: int, unit: str) -> str:
    """`gains 0.011 K (95 % interval −0.007 to 0.031, p = 0.22: not significant)`."""
    value, p = float(row["gain"]), float(row["p_value"])
    if not np.isfinite(value):
        return "has no defined gain"
    verb = "gains" if value >= 0 else "loses"
    clear = "significant" if row["significant"] else "not significant"
    inside = f"95 % interval of the gain {ends(row['interval'].values, places)}, p {_is(p)}: {clear}"
    return f"{verb} {words.quantity(abs(value), places, unit)} ({inside})"


def _picked(hindsight: bool) -> str:
    """How a single model was picked."""
    return (
        "the best single model of the test period itself" if hindsight else "the single model that the validation period would have picked"
    )


def _how(found: xr.Dataset) -> str:
    """How the members were picked that combinations are held against."""
    if not found["hindsight"].any():
        return "the one with the smallest mean error in the validation period, which is what one would have used instead"
    if found["hindsight"].all():
        return (
            "the best of the test period itself, picked with hindsight and so too good, for no combination of this study has learnt from "
            "errors in a validation period (inverse_mse, best or stacking would)"
        )
    return "the one with the smallest mean error in the validation period, or, where that is not known, the best of the test period"


def chance(p: float) -> str:
    """A p-value to two digits or so."""
    return words.MISSING if not np.isfinite(p) else "< 0.001" if p < 0.001 else f"{p:.2g}" if p < 0.1 else f"{p:.2f}"


def _is(p: float) -> str:
    said = chance(p)
    return said if said.startswith("<") else f"= {said}"
