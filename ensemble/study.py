"""A study: one dataset, one forecasting task, many models. What a recipe resolves to, and what `run` runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any

import numpy as np

from ensemble.combine import Combine
from ensemble.errors import InputError, unknown
from ensemble.model import Model, Transform
from ensemble.parts import Estimator, Then
from ensemble.prepare import domain_of
from ensemble.score import SCORES, Region, Score
from ensemble.task import Array, Domain, Period, Source, Times, shift

RESERVED = ("reference", "scores")  # what scores are made against, and the scoring, among the units of a run
STARTS = 32  # forecasts of at most so many starts are one unit


@dataclass(frozen=True, eq=False)
class Study:
    """All that a run needs to know.

    `anomalies` are taken from the record before each model and put back after it, outermost first; lead times are whole
    steps of the record; a start belongs to the period in which all its leads verify.
    """

    data: Source
    target: str
    train: Period
    validate: Period
    test: Period
    models: Mapping[str, Any]  # a Model, or an estimator with `fit` and `predict`, which becomes one
    lead_times: Array
    anomalies: tuple[Transform[Any, Any], ...] = ()
    regions: Mapping[str, Region] = field(default_factory=dict)  # beside `all`, which is always there
    scores: tuple[Score, ...] = tuple(score() for score in SCORES.values())
    combinations: Mapping[str, Combine[Any, Any]] = field(default_factory=dict)
    seed: int = 0
    shards: int = 1
    name: str = "study"
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "models", {name: _model(each) for name, each in self.models.items()})
        object.__setattr__(self, "regions", {"all": Region(), **self.regions})
        _check(self)

    @property
    def periods(self) -> dict[str, Period]:
        """The three periods by name."""
        return {"train": self.train, "validate": self.validate, "test": self.test}

    def only(self, names: Sequence[str]) -> Study:
        """The same study with some of its models; combinations are of those that are left."""
        for name in names:
            if name not in self.models:
                raise unknown("--only", name, self.models)
        models = {name: model for name, model in self.models.items() if name in names}
        return replace(self, models=models, combinations={name: rule.among(names) for name, rule in self.combinations.items()})

    def beside(self, **models: Any) -> Study:
        """The same study with more models, or estimators."""
        return replace(self, models={**self.models, **models})

    @cached_property
    def domain(self) -> Domain:
        """Where the target lives; read off the record once."""
        return domain_of(self.data, self.target, self.lead_times, self.train)

    @cached_property
    def framed(self) -> dict[str, Model[Any, Any]]:
        """Each model inside the study's anomalies."""
        return {name: model.framed(self._frame) for name, model in self.models.items()}

    def _frame(self, model: Model[Any, Any]) -> Model[Any, Any]:
        return reduce(lambda inner, transform: Then(transform, inner), reversed(self.anomalies), model)

    @cached_property
    def history(self) -> int:
        """The longest past that any of the models looks at: chunks are read with it, once for all."""
        return max(model.history for model in self.framed.values())

    def starts(self, period: Period) -> Times:
        """The `init_time` of each forecast of `period` for which the record goes back far enough."""
        starts = period.starts(self.lead_times, self.data.step)
        kept: Times = starts[shift(starts, -self.history, self.data.step) >= self.data.times[0]]
        return kept

    def pieces(self, period: Period) -> list[Times]:
        """The starts of `period`, cut into nearly equal pieces; the cut depends on the study alone."""
        starts = self.starts(period)
        return list(np.array_split(starts, -(-len(starts) // STARTS)))


def _model(given: Any) -> Model[Any, Any]:
    """What is handed in as a model: one as it is, an estimator of another library inside `Estimator`."""
    if isinstance(given, Model):
        return given
    if not (callable(getattr(given, "fit", None)) and callable(getattr(given, "predict", None))):
        raise InputError(f"models: {given!r} is neither a Model nor an estimator with fit and predict; make it one of them")
    return Estimator(given)


def _check(study: Study) -> None:
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
    for name, model in study.models.items():
        try:
            model.history  # noqa: B018  # a model that is composed is put together here, and its settings are checked
        except ValueError as error:
            raise InputError(f"models.{name}: {error}") from error
    for name, period in study.periods.items():
        if not len(study.starts(period) if name != "train" else period.starts(study.lead_times, study.data.step)):
            raise InputError(
                f"{name}: no forecast with leads up to {max(study.lead_times)} fits in {_day(period.first)} to {_day(period.last)} "
                f"with {study.history} steps of the data before it; make the period longer or the leads shorter"
            )
    for name in (*study.models, *study.combinations):
        if not re.fullmatch(r"[A-Za-z]\w*", name):
            raise InputError(f"models: {name!r} cannot be a name; use letters, digits and underscores, a letter first")
        if name in RESERVED:
            raise InputError(f"models: {name} is the name of a part of every run; give the model another")
    both = set(study.models) & set(study.combinations)
    if both:
        raise InputError(f"combine: {sorted(both)[0]} is also the name of a model; give it another name")


def _day(time: np.datetime64) -> str:
    return str(time.astype("datetime64[D]"))
