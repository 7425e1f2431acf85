"""A study: one dataset, one forecasting task, many models. What a recipe resolves to, and what `run` runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np

from ensemble.checks import check_study
from ensemble.combine import Combine
from ensemble.combine.dressing import Dressing
from ensemble.crossing import LeaveOut, Part
from ensemble.errors import InputError, unknown
from ensemble.findings import Finding
from ensemble.model import Model, Transform
from ensemble.origins import Fold, folds
from ensemble.parts import Estimator, Then
from ensemble.prepare import Survey, cut, domain_of, survey
from ensemble.sample import Sample
from ensemble.score import SCORES, Region, Score
from ensemble.score.region import placed
from ensemble.sums import total
from ensemble.task import Array, Domain, Period, Source, Times, Window, shift

COMMON = Sample()
STARTS = 50  # forecasts of so many starts are one unit, and of
LEAST, MOST = 2**21, 2**25  # bytes no fewer, for one member, and no more; with all members, no more than twice as many


@dataclass(frozen=True, eq=False)
class Study:
    """All that a run needs to know.

    `anomalies` are taken from the record before each model and put back after it, outermost first; lead times are whole
    steps of the record, or `windows` of them. Without `train` nothing can be learnt, and scores are of full fields; without
    `validate` combinations can learn no weights; with `Origins` there, models are fitted anew for it at each.
    `sample` says which forecasts count.
    """

    data: Source
    target: str
    train: Period | None
    validate: Period | None
    test: Period
    models: Mapping[str, Any]  # a Model, or an estimator with `fit` and `predict`, which becomes one
    lead_times: Array  # those that models forecast
    anomalies: tuple[Transform[Any, Any], ...] = ()
    regions: Mapping[str, Region] = field(default_factory=dict)  # beside `all`, which is always there
    scores: tuple[Score, ...] = tuple(score() for score in SCORES.values() if score.usual)
    combinations: Mapping[str, Combine[Any, Any]] = field(default_factory=dict)
    predictors: tuple[str, ...] = ()  # variables of the record beside the target, for the models that look at them
    windows: tuple[Window, ...] = ()  # of the lead times, scored instead of them
    leave_out: LeaveOut | None = None  # years, where all is learnt from the others; training and test period are then the same
    dress: Dressing | None = None  # what single forecasts wear, learnt from the validation period
    by: tuple[str, ...] = ()  # what starts are grouped by for tables of their own; see `ensemble.score.groups.GROUPINGS`
    sample: Sample = COMMON
    surveyed: Survey | None = None  # what a pass over the record has shown, where one was made already
    seed: int = 0
    shards: int = 1
    name: str = "study"
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "models", {name: _model(each) for name, each in self.models.items()})
        object.__setattr__(self, "regions", {"all": Region(), **self.regions})
        check_study(self)
        object.__setattr__(self, "regions", placed(self.regions, self.data, self.target))
        rules = {name: rule.placed(self.regions, where=f"combine.{name}") for name, rule in self.combinations.items()}
        object.__setattr__(self, "combinations", rules)

    @property
    def periods(self) -> dict[str, Period]:
        """The periods that there are, by name."""
        given = {"train": self.train, "validate": self.validate, "test": self.test}
        return {name: period for name, period in given.items() if period is not None}

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
    def seen(self) -> Survey:
        """What a pass over the record shows; made here where `surveyed` does not bring it."""
        return self.surveyed or total([survey(self.data, self.names, each) for each in cut(self.data, self.names)])

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of the record that are used: the target, then its predictors."""
        return (self.target, *self.predictors)

    @cached_property
    def domain(self) -> Domain:
        """Where the variables live, with the lead times that models forecast; the target's comes first."""
        return domain_of(self.seen, self.data.step, self.lead_times, self.train or self.test, self.sample.missing)

    @cached_property
    def notes(self) -> tuple[Finding, ...]:
        """The data table: what was found in the files that people brought, and what was done."""
        return (*self.data.notes, *(each for model in self.models.values() for each in model.notes))

    @property
    def labels(self) -> Array:
        """(lead_time,): what is scored; a window is called by its last lead time."""
        return np.array([each.last for each in self.windows], dtype=int) if self.windows else self.lead_times

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

    @cached_property
    def issued(self) -> dict[str, Times | None]:
        """Which starts each model has forecasts for."""
        return {name: model.issued for name, model in self.models.items()}

    def starts(self, period: Period) -> Times:
        """The `init_time` of each forecast of `period` that the models have, and for which the record goes back far enough."""
        return self.sample.held(self.possible(period), self.issued)

    def possible(self, period: Period) -> Times:
        """As `starts`, whether or not the models have them."""
        starts = self.sample.starts(period, self.lead_times, self.data.step)
        kept: Times = starts[shift(starts, -self.history, self.data.step) >= self.data.times[0]]
        return kept

    def verifies(self, period: Period) -> Times:
        """The valid times of `period` that count."""
        return self.sample.verifies(period, self.starts(period), self.lead_times, self.data.step)

    @cached_property
    def folds(self) -> list[Fold]:
        """The starts of the validation period, by what has been learnt when they are forecast."""
        return folds(self.validate, self.starts(self.validate), self.train, self.data.step) if self.validate else []

    @cached_property
    def parts(self) -> list[Part]:
        """The starts of the test period by the years that are left out together."""
        longest, step = int(max(self.lead_times)), self.data.step
        return [] if self.leave_out is None else self.leave_out.parts(self.starts(self.test), self.test, longest, step)

    def cut(self, starts: Times) -> list[Times]:
        """Nearly equal pieces of `starts`; the cut depends on the study alone."""
        return list(np.array_split(starts, max(1, -(-len(starts) // self._together))))

    @property
    def _together(self) -> int:
        """How many starts are one unit: many of a small field, for a unit has its price, and few of a large one."""
        one = 8 * len(self.lead_times) * self.domain.fields[self.target].mask.size  # bytes
        most = max(model.ensemble_size for model in self.models.values())
        return int(np.clip(STARTS, max(1, LEAST // one), max(1, min(MOST // one, 2 * MOST // (one * most)))))


def _model(given: Any) -> Model[Any, Any]:
    """What is handed in as a model: one as it is, an estimator of another library inside `Estimator`."""
    if isinstance(given, Model):
        return given
    if not (callable(getattr(given, "fit", None)) and callable(getattr(given, "predict", None))):
        raise InputError(f"models: {given!r} is neither a Model nor an estimator with fit and predict; make it one of them")
    return Estimator(given)
