"""Forecasts that lie in files, scored against truth that lies in files: a study in which nothing is fitted.

The files become a recipe, which is run like any other and can be run again. Several truths are several runs of it, side by side.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import xarray as xr

from ensemble.errors import InputError
from ensemble.place import located
from ensemble.prepare import cut
from ensemble.prepare.time.steps import said
from ensemble.recipe import changed, raw_recipe, source_of, study_of
from ensemble.results import Run
from ensemble.runner import run
from ensemble.store import write_netcdf
from ensemble.study import Study

FEW = 64  # units of work, below which starting processes takes longer than the work


@dataclass(frozen=True, eq=False)
class Scored:
    """A run for each truth; `scores` has the dimension `truth` in front."""

    runs: Mapping[str, Run]

    @property
    def scores(self) -> xr.Dataset:
        """(truth, model, lead_time, region)."""
        each = [run.scores for run in self.runs.values()]
        return xr.concat(each, xr.Variable("truth", list(self.runs)), join="outer", combine_attrs="override", data_vars="all")

    def changes(self, score: str | None = None) -> list[str]:
        """In words, the pairs of models whose order by `score` (the first that ranks, if not given) changes with the truth."""
        score = score or next(each.name for each in next(iter(self.runs.values())).study.scores if each.ranks)
        orders = {truth: [str(name) for name in run.ranking(score)["model"].values] for truth, run in self.runs.items()}
        names = sorted(set.intersection(*map(set, orders.values())))
        found = []
        for i, one in enumerate(names):
            for other in names[i + 1 :]:
                ahead = {truth: one if order.index(one) < order.index(other) else other for truth, order in orders.items()}
                if len(set(ahead.values())) > 1:
                    by = {model: [truth for truth, first in ahead.items() if first == model] for model in (one, other)}
                    found.append("; ".join(f"{model} is ahead by {' and '.join(truths)}" for model, truths in by.items()))
        return found


def score_files(
    forecasts: Sequence[str] | Mapping[str, str], truths: Sequence[str] | Mapping[str, str], *, recipe: str | Path | None = None,
    settings: Sequence[str] = (), out: str | Path | None = None, workers: int | None = None, show: bool = True,
) -> Scored:  # fmt: skip
    """Score forecasts in files against each truth; paths, patterns or addresses, by name or each called by its file.

    A `recipe` brings all but the files: periods, leads, regions, scores; `settings` are changes to it, such as
    "models.seas5.regrid=bilinear" or "data.files.units=degC". Raises InputError for what cannot be understood.
    """
    named, against = _named("forecasts", forecasts), _named("truth", truths)
    studies = {name: study_of_files(named, place, recipe=recipe, settings=settings) for name, place in against.items()}
    runs = {}
    for name, study in studies.items():
        folder = None if out is None else Path(out) if len(studies) == 1 else Path(out) / name
        runs[name] = run(study, out=folder, workers=0 if workers is None and _is_short(study) else workers, show=show)
    scored = Scored(runs)
    if out is not None and len(runs) > 1:
        write_netcdf(Path(out) / "scores.nc", scored.scores)
    return scored


def _is_short(study: Study) -> bool:
    """Whether there is little to do; a record of several blocks is for the workers to look at, and not a short one."""
    return len(cut(study.data, study.names)) == 1 and len(study.cut(study.starts(study.test))) * (len(study.models) + 1) <= FEW


def study_of_files(forecasts: Mapping[str, str], truth: str, *, recipe: str | Path | None = None, settings: Sequence[str] = ()) -> Study:
    """The study in which `forecasts` are the models and `truth` is the data."""
    raw = {} if recipe is None else raw_recipe(recipe)
    given = {name: entry for each in raw.get("models", ()) if isinstance(each, dict) for name, entry in each.items()}
    models = [{name: {**(given.get(name) or {}), "model": "archive", "path": located(path)}} for name, path in forecasts.items()]
    files = dict(raw.get("data", {}).get("files") or {}) if isinstance(raw.get("data"), dict) else {}
    combine = [] if len(models) == 1 or "mean" in forecasts else ["mean"]
    sample = {"align": "pairs", **raw.get("sample", {})}
    mine = {"combine": combine, **raw, "sample": sample, "data": {"files": {**files, "path": located(truth)}}, "models": models}
    folder, made = Path.cwd() if recipe is None else Path(recipe).parent, changed(mine, settings)
    step = said(source_of(made, folder).step)
    for entry in made["models"]:
        for given in entry.values():
            if given["model"] == "archive":
                given.setdefault("default_step", step)
    return study_of(made, folder, name="score")


def _named(what: str, places: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """`name=place`, or a place that lends its name."""
    if isinstance(places, Mapping):
        return dict(places)
    found: dict[str, str] = {}
    for each in places:
        name, equals, place = each.partition("=")
        if not equals or not re.fullmatch(r"[^\W\d]\w*", name):
            name, place = _called(each), each
        if name in found:
            raise InputError(f"{what}: two are called {name} ({found[name]} and {place}); name them, as in {name}_b={place}")
        found[name] = place
    if not found:
        raise InputError(f"{what}: no file is given")
    return found


def _called(place: str) -> str:
    """What a file, a pattern or a store is called by: letters, digits and underscores."""
    stem = Path(place.rstrip("/")).name
    stem = re.sub(r"\.(nc4?|netcdf|zarr|grib2?|grb2?|h5|cdf)$", "", stem)
    if not re.search(r"[^\W_]", re.sub(r"[*?\[\]]", "", stem)):
        stem = Path(place.rstrip("/")).parent.name
    name = re.sub(r"\W+", "_", stem).strip("_") or "forecast"
    return name if not name[0].isdigit() else f"f{name}"
