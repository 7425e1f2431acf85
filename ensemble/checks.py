"""What is wrong with a study, told in one line with the cure, before anything has been done."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ensemble.errors import InputError

if TYPE_CHECKING:
    from ensemble.study import Study

RESERVED = ("reference", "scores", "data")  # what scores are made against, the scoring and the survey, among the units of a run


def check_study(study: Study) -> None:
    """Raise InputError, in one line with the cure, for what cannot be run."""
    first, last = study.data.times[0], study.data.times[-1]
    for name, period in study.periods.items():
        span = f"{_day(period.first)} to {_day(period.last)}"
        if period.first > period.last:
            raise InputError(f"{name}: the period {span} ends before it begins; swap its dates")
        if period.first < first or period.last > last:
            raise InputError(f"{name}: the period {span} goes beyond the data, which hold {_day(first)} to {_day(last)}")
    ordered = sorted(study.periods.items(), key=lambda item: item[1].first)
    for (name, period), (other, later) in pairwise(ordered):
        if later.first <= period.last:
            raise InputError(
                f"{other}: begins {_day(later.first)}, before {name} ends ({_day(period.last)}): what is learnt on one would leak into "
                f"the other; let it begin after that"
            )
    if len(study.lead_times) == 0 or min(study.lead_times) < 1:
        raise InputError(f"leads: {list(study.lead_times)}; give at least one, the first being 1 or more")
    if not study.models:
        raise InputError("models: none is given; name at least one")
    if study.anomalies and study.train is None:
        raise InputError("anomalies: a climatology is learnt from the training period, and there is none; give `train:`")
    for name, model in study.models.items():
        try:
            model.history  # noqa: B018  # a model that is composed is put together here, and its settings are checked
        except ValueError as error:
            raise InputError(f"models.{name}: {error}") from error
    for name, period in study.periods.items():
        possible = study.possible(period) if name != "train" else period.starts(study.lead_times, study.data.step)
        if not len(possible):
            raise InputError(
                f"{name}: no forecast with leads up to {max(study.lead_times)} fits in {_day(period.first)} to {_day(period.last)} "
                f"with {study.history} steps of the data before it; make the period longer or the leads shorter"
            )
        if name != "train":
            study.sample.check(name, possible, study.issued)
    _check_windows(study)
    for name in (*study.models, *study.combinations):
        if not re.fullmatch(r"[^\W\d_]\w*", name):
            raise InputError(f"models: {name!r} cannot be a name; use letters, digits and underscores, a letter first")
        if name in RESERVED:
            raise InputError(f"models: {name} is the name of a part of every run; give the model another")
    both = set(study.models) & set(study.combinations)
    if both:
        raise InputError(f"combine: {sorted(both)[0]} is also the name of a model; give it another name")


def _check_windows(study: Study) -> None:
    if len(set(study.labels.tolist())) < len(study.labels):
        raise InputError("leads: two windows end at the same lead time, by which they would be called; run them one by one")
    for each in study.windows:
        if not set(each.steps.tolist()) <= set(study.lead_times.tolist()):
            raise InputError(f"leads: the window {each.name} goes from {each.first} to {each.last}; the leads are {list(study.lead_times)}")


def _day(time: np.datetime64) -> str:
    return str(time.astype("datetime64[D]"))


def check_against_record(study: Study) -> None:
    """Raise InputError for what shows only once the record has been looked at: empty regions, and files that do not fit it."""
    field = study.domain.fields[study.target]
    for name, region in study.regions.items():
        if not region.mask(field).any():
            reach = {axis: field.where(axis) for axis in ("latitude", "longitude")}
            held = ", ".join(f"{axis} {values.min():g} to {values.max():g}" for axis, values in reach.items() if values is not None)
            raise InputError(
                f"regions.{name}: latitude {region.latitude[0]:g} to {region.latitude[1]:g}, longitude {region.longitude[0]:g} to "
                f"{region.longitude[1]:g} holds no point with data; the data have {held or 'no latitude or longitude'}"
            )
    for model in study.models.values():
        model.check(study.domain)
