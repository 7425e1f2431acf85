"""What is wrong with a study, told in one line with the cure, before anything has been done."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ensemble.errors import InputError, unknown
from ensemble.origins import Origins
from ensemble.score.groups import GROUPINGS
from ensemble.task import Period, moment, month

if TYPE_CHECKING:
    from ensemble.study import Study

YEAR = np.timedelta64(365, "D")
RESERVED = ("reference", "scores", "data")  # what scores are made against, the scoring and the survey, among the units of a run


def check_study(study: Study) -> None:
    """Raise InputError, in one line with the cure, for what cannot be run."""
    _check_periods(study)
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
    _check_starts(study)
    _check_origins(study)
    _check_parts(study)
    _check_dress(study)
    _check_windows(study)
    _check_scores(study)
    for by in study.by:
        if by not in GROUPINGS:
            raise unknown("by", by, GROUPINGS)
    _check_names(study)


def _check_periods(study: Study) -> None:
    """They lie inside the data, and do not overlap where one would know of the other."""
    first, last = study.data.times[0], study.data.times[-1]
    for name, period in study.periods.items():
        span = f"{_day(period.first)} to {_day(period.last)}"
        if period.first > period.last:
            raise InputError(f"{name}: the period {span} ends before it begins; swap its dates")
        if period.first < first or period.last > last:
            raise InputError(f"{name}: the period {span} goes beyond the data, which hold {_day(first)} to {_day(last)}")
    ordered = sorted(study.periods.items(), key=lambda item: item[1].first)
    for (name, period), (other, later) in pairwise(_apart(study, ordered)):
        if later.first <= period.last:
            raise InputError(
                f"{other}: begins {_day(later.first)}, before {name} ends ({_day(period.last)}): what is learnt on one would leak into "
                f"the other; let it begin after that"
            )


def _check_starts(study: Study) -> None:
    """Every period has some that the models share."""
    for name, period in study.periods.items():
        possible = study.possible(period) if name != "train" else period.starts(study.lead_times, study.data.step)
        if not len(possible):
            raise InputError(
                f"{name}: no forecast with leads up to {max(study.lead_times)} fits in {_day(period.first)} to {_day(period.last)} "
                f"with {study.history} steps of the data before it; make the period longer or the leads shorter"
            )
        if name != "train":
            study.sample.check(name, possible, study.issued)


def _check_names(study: Study) -> None:
    """Models and combinations can be told apart, from each other and from what a run calls its own."""
    for name in (*study.models, *study.combinations):
        if not re.fullmatch(r"[^\W\d_]\w*", name):
            raise InputError(f"models: {name!r} cannot be a name; use letters, digits and underscores, a letter first")
        if name in RESERVED:
            raise InputError(f"models: {name} is the name of a part of every run; give the model another")
    both = set(study.models) & set(study.combinations)
    if both:
        raise InputError(f"combine: {sorted(both)[0]} is also the name of a model; give it another name")


def _apart(study: Study, periods: list[tuple[str, Period]]) -> list[tuple[str, Period]]:
    """Of the periods in order those that must not overlap: with rolling origins, all but the training period, which is cut at each."""
    if study.leave_out is not None:
        return []
    rolling = isinstance(study.validate, Origins) and study.train is not None and study.train.last < study.test.first
    return [each for each in periods if not rolling or each[0] != "train"]


def _check_origins(study: Study) -> None:
    """There is something to learn from before the first origin."""
    if not isinstance(study.validate, Origins):
        return
    if study.train is None:
        raise InputError("validate: rolling origins are for models that are fitted anew, and there is no training period; give `train:`")
    (train,) = study.folds[0].train
    whole = not study.anomalies or moment(train.last, 1, study.data.step) - train.first >= YEAR
    if not whole or not len(train.starts(study.lead_times, study.data.step)):
        need = f"for a lead of {max(study.lead_times)}" if whole else "for a climatology, a year,"
        raise InputError(
            f"validate: before the first origin, {_day(study.validate.first)}, there is no training period long enough {need} "
            f"(it begins {_day(study.train.first)}); begin later"
        )


def _check_parts(study: Study) -> None:
    """Enough is left when years are left out."""
    if study.leave_out is None:
        return
    if study.validate is not None or study.train != study.test:
        raise InputError("cross_validate: everything is learnt from the years around; leave out `train:` and `validate:`")
    few = [part for part in study.parts if not any(len(each.starts(study.lead_times, study.data.step)) for each in part.train)]
    if few or len(study.parts) < 3:
        raise InputError(
            f"cross_validate: the starts of {len(study.parts) * study.leave_out.years} years are too few to leave {study.leave_out.years} "
            "out at a time; use a longer record, or fewer"
        )


def _check_dress(study: Study) -> None:
    """There are past errors to dress forecasts with, for every start month."""
    if study.dress is None or study.leave_out is not None:
        return
    if study.validate is None:
        raise InputError("dress: past errors are learnt from the validation period, and there is none; give `validate:`")
    missing = study.dress.reaches(study.starts(study.validate), study.starts(study.test))
    if len(missing):
        raise InputError(
            f"dress: no forecast of the validation period was issued within {study.dress.window} months of {_day(missing[0])}, a start of "
            "the test period; widen it, as in `dress: {window: 3}`, or make the validation period longer"
        )


def _check_windows(study: Study) -> None:
    if len(set(study.labels.tolist())) < len(study.labels):
        raise InputError("leads: two windows end at the same lead time, by which they would be called; run them one by one")
    for each in study.windows:
        if not set(each.steps.tolist()) <= set(study.lead_times.tolist()):
            raise InputError(f"leads: the window {each.name} goes from {each.first} to {each.last}; the leads are {list(study.lead_times)}")


def _check_scores(study: Study) -> None:
    """One of them ranks models, no two have one name, and those that are made with quantiles have a training period that can tell these."""
    if study.scores and not any(each.ranks for each in study.scores):
        names = ", ".join(each.name for each in study.scores)
        raise InputError(
            f"scores: {names} {'is a table' if len(study.scores) == 1 else 'are tables'}; ask for one that ranks models as well"
        )
    twice = [name for name, count in Counter(each.name for each in study.scores).items() if count > 1]
    if twice:
        raise InputError(f"scores: two are called {twice[0]}; name one, as in `{twice[0]}_b: {{rule: {twice[0]}}}`")
    asked = {level: score.name for score in study.scores for each in score.statistics for level in each.levels}
    if not asked:
        return
    if study.train is None:
        name = next(iter(asked.values()))
        raise InputError(
            f"scores.{name}: is made with quantiles of the climatology, and there is no training period to learn them from; give `train:`, "
            "or an event with a threshold in the variable's unit, as in `event: [above, 28]`"
        )
    fewest = min(Counter(month(study.train.times(study.data.step)).tolist()).values())
    for level, name in asked.items():
        if min(level, 1 - level) * (fewest + 1) < 1 - 1e-9:
            raise InputError(
                f"scores.{name}: the quantile {level:g} lies beyond the {fewest} values that the training period has of a month; make it "
                f"longer, or take one from {1 / (fewest + 1):.2g} to {fewest / (fewest + 1):.2g}"
            )


def _day(time: np.datetime64) -> str:
    return str(time.astype("datetime64[D]"))


def check_against_record(study: Study) -> None:
    """Raise InputError for what shows only once the record has been looked at: empty regions, and files that do not fit it."""
    field = study.domain.fields[study.target]
    for name, region in study.regions.items():
        if not region.mask(field).any():
            reach = {axis: field.where(axis) for axis in ("latitude", "longitude")}
            held = ", ".join(f"{axis} {values.min():g} to {values.max():g}" for axis, values in reach.items() if values is not None)
            raise InputError(f"regions.{name}: {region} holds no point with data; the data have {held or 'no latitude or longitude'}")
    for model in study.models.values():
        model.check(study.domain)
