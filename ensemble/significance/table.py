"""All that can be said of how sure the scores of a run are, as one dataset: what `significance.nc` holds.

Of each score `<score>_interval`, `_n_effective`, and if it is good or bad `_p_value`, `_rank`, `_first`, and if the samples
allow it `_set_p` and `_in_set`; those of its mean over all leads are called `<score>_mean_...`. What is not there is named in
the attributes, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from ensemble.score.base import Score
from ensemble.significance.case import Case
from ensemble.significance.draw import Bootstrap
from ensemble.significance.intervals import FEWEST
from ensemble.significance.judge import Sampled, judged, refused
from ensemble.significance.resample import NotResampled, scored, with_influence

MOST = 2**26  # differences of resamples that are made unasked: a second, a few hundred MB; beyond, it is for who asks `Run.judged`

_MEANING = {
    "interval": "ends of the {level:g} % interval of {of}",
    "n_effective": "independent starts behind {of}, by the autocorrelation of what each adds to it",
    "p_value": "p of no difference between two models in {of}, two-sided, by block bootstrap",
    "rank": "1 and the number of models significantly better in {of}, at a false discovery rate of {rate:g} %",
    "first": "share of resamples in which a model is the best in {of}",
    "set_p": "p of a model in the tests that make the confidence set of {of}",
    "in_set": "whether a model cannot be told from the best in {of}: the {level:g} % confidence set",
}


def certainties(case: Case, units: Mapping[str, str], settings: Bootstrap | None = None) -> xr.Dataset:
    """Every score of a run, by lead and in the mean over all; `units` by score."""
    given = case.settings(settings)
    draw = case.draw(given)
    about: dict[str, object] = {"title": "how sure the scores are", "level": given.level, "resamples": given.resamples}
    about |= {"blocks": draw.blocks, "block_length": draw.length}
    if draw.blocks < FEWEST:
        why = f"{draw.blocks:.1f} independent samples (starts over the length of a block) cannot vary; {FEWEST:g} are needed"
        return xr.Dataset(attrs={**about, "absent": why})
    absent: dict[str, str] = {}
    found: list[xr.Dataset] = []
    for name, score in case.scores.items():
        try:
            value = scored(score, case.means)
            why = _without(value, given.resamples)
            if not why:
                drawn = with_influence(score, case.means, draw.counts, value)
                found.append(_of(score, Sampled(value, *drawn, score.best, draw.blocks), given, units.get(name, "1")))
        except NotResampled as reason:
            why = str(reason)
        absent |= {f"absent_{name}": why} if why else {}
    refusal = refused(draw.blocks, given)
    absent |= {"absent_confidence_sets": refusal} if refusal else {}
    return xr.merge(found, join="outer", compat="override").assign_attrs({**about, **absent})


def _without(table: xr.DataArray, resamples: int) -> str:
    """Why a score is not resampled unasked, or nothing."""
    if not table.size:
        return "it has no value: what it is made against was not run"
    differences = table.size * max(1, table.sizes["model"] - 1) / 2 * resamples
    return f"{differences:.0e} differences of resamples are not made unasked; `Run.judged` makes them" if differences > MOST else ""


def _of(score: Score, found: Sampled, settings: Bootstrap, units: str) -> xr.Dataset:
    """The variables of one score."""
    by_lead, mean = judged(found, settings), judged(found.over_leads(), settings)
    parts = {f"{score.name}_": (by_lead, score.long_name), f"{score.name}_mean_": (mean, f"{score.long_name} in the mean over all leads")}
    named = {
        f"{part}{what}": _said(values.variable, str(what), of, settings.level, units)
        for part, (each, of) in parts.items()
        for what, values in each.items()
        if what != "value"
    }
    return xr.Dataset(named, by_lead.coords)


def _said(values: xr.Variable, what: str, of: str, level: float, units: str) -> xr.Variable:
    """With its meaning in words, and whether a model is in a set as a flag."""
    attrs: dict[str, object] = {"long_name": _MEANING[what].format(of=of, level=100 * level, rate=200 * (1 - level))}
    if what == "in_set":
        flags = {"flag_values": np.array([0, 1], np.int8), "flag_meanings": "outside inside"}
        return xr.Variable(values.dims, values.values.astype(np.int8), attrs | flags)
    return xr.Variable(values.dims, values.values, attrs | {"units": units if what == "interval" else "1"})
