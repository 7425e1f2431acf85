"""What a run is made of: units that wait for one another, from the fits to the sums that scores are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import xarray as xr

from ensemble import plugins
from ensemble.combining import dress, learn
from ensemble.execute import Unit
from ensemble.hindcast import Problem, forecast, forecast_partly, mean_forecast, problem_of
from ensemble.origins import Fold
from ensemble.parts import Climatology, Quantiles
from ensemble.score.evaluate import statistics_of
from ensemble.study import Study
from ensemble.task import Times
from ensemble.units import Scoring, column, fit_model, summed

TOGETHER = 8  # columns that are added up at once, a power of two
MUCH = 2**26  # values of forecasts, from which compiled passes have their half second of import in each worker back


class Plan(NamedTuple):
    """The units of a run by what they are for; each list in the order of the study."""

    fits: dict[str, Unit]
    past: list[Unit]  # fits at earlier origins, and forecasts of the validation period
    forecasts: list[Unit]
    learns: dict[str, Unit]
    worn: dict[str, Unit]  # how models are dressed
    references: list[Unit]  # what scores are made against
    columns: list[Unit]
    sums: list[Unit]  # of columns, each of what stands before it
    scores: list[Unit]  # the few of both that are left

    @property
    def units(self) -> list[Unit]:
        """All of them, none before what it needs."""
        fits, learns = self.fits.values(), self.learns.values()
        return [*self.references, *fits, *self.past, *self.forecasts, *learns, *self.worn.values(), *self.columns, *self.sums]


@dataclass(frozen=True)
class _Maker:
    """Makes the units of one model."""

    name: str
    model: Any  # inside the study's anomalies
    problem: Problem
    effort: float
    code: frozenset[str]

    def fit(self) -> Unit:
        return Unit(self.name, "fit", fit_model, (self.problem, self.model), guess=self.effort, keep=True, code=self.code)

    def refit(self, fold: Fold) -> Unit:
        return Unit(self.name, "refit", fit_model, (self.problem.learning(fold.train), self.model), guess=self.effort, code=self.code)

    def forecast(self, fit: Unit, piece: Times, function: Callable[..., xr.DataArray]) -> Unit:
        return Unit(self.name, "hindcast", function, (self.problem, self.model, fit, piece), guess=0.2, code=self.code)


def plan(study: Study, *, keep_forecasts: bool = False, fail_fast: bool = False) -> Plan:
    """What is to be done; unless it shall `fail_fast`, a model that fails at some starts of the test period hands over the others."""
    past = [(fold, study.cut(fold.starts)) for fold in study.folds] if study.combinations or study.dress else []
    test = study.cut(study.starts(study.test))
    size = max(len(piece) for piece in chain(test, *(pieces for _, pieces in past)))
    problem, makers = problem_of(study, size), _makers(study, size)
    fits = {name: maker.fit() for name, maker in makers.items()}
    before = [_hindcasts(maker, fits[name], past) for name, maker in makers.items()]
    by_model = {name: hindcasts for name, (_, hindcasts) in zip(makers, before, strict=True)}
    refits = [unit for each, _ in before for unit in each]
    function = forecast if fail_fast else forecast_partly
    present = [{name: maker.forecast(fits[name], piece, function) for name, maker in makers.items()} for piece in test]
    learns = _learns(study, problem, by_model, [i for i, (_, pieces) in enumerate(past) for _ in pieces])
    worn = _worn(study, problem, by_model)
    references, columns = _columns(study, problem, list(zip(test, present, strict=True)), worn, learns, keep=keep_forecasts)
    sums, left = ([], columns) if keep_forecasts or len(columns) <= TOGETHER else _sums(columns)
    by_piece = chain.from_iterable(zip(*by_model.values(), strict=True))
    now = [unit for piece in present for unit in piece.values()]
    return Plan(fits, [*refits, *by_piece], now, learns, worn, references, columns, sums, left)


def _makers(study: Study, size: int) -> dict[str, _Maker]:
    return {
        name: _Maker(name, study.framed[name], problem_of(study, size, name), model.effort, plugins.code_of(type(model.bare)))
        for name, model in study.models.items()
    }


def _hindcasts(maker: _Maker, fit: Unit, past: Sequence[tuple[Fold, list[Times]]]) -> tuple[list[Unit], list[Unit]]:
    """A model's fits at earlier origins, and its forecasts of the validation period, piece by piece."""
    anew: dict[int, Unit] = {}
    hindcasts = []
    for i, (fold, pieces) in enumerate(past):
        last = fold.fitted(i, maker.effort)
        if last is not None and last not in anew:
            anew[last] = maker.refit(fold)
        hindcasts += [maker.forecast(fit if last is None else anew[last], piece, mean_forecast) for piece in pieces]
    return list(anew.values()), hindcasts


def _learns(study: Study, problem: Problem, by_model: dict[str, list[Unit]], fold_of: list[int]) -> dict[str, Unit]:
    """What combinations learn, from forecasts of the validation period; `fold_of` (piece,) says at which origin each was made."""
    known = study.verifies(study.validate) if study.validate else study.data.times[:0]
    return {
        name: Unit(name, "learn", learn, (problem, rule, known, by_model, tuple(fold_of), study.dress), 0.1, tolerant=True, keep=True)
        for name, rule in study.combinations.items()
    }


def _worn(study: Study, problem: Problem, by_model: dict[str, list[Unit]]) -> dict[str, Unit]:
    """How wide the errors of single forecasts were."""
    if study.dress is None or study.validate is None:
        return {}
    known = study.verifies(study.validate)
    single = [name for name, model in study.models.items() if model.ensemble_size == 1]
    return {name: Unit(name, "dress", dress, (problem, study.dress, known, by_model[name]), guess=0.05) for name in single}


def _columns(
    study: Study, problem: Problem, pieces: Sequence[tuple[Times, dict[str, Unit]]], worn: dict[str, Unit], learns: dict[str, Unit],
    *, keep: bool,
) -> tuple[list[Unit], list[Unit]]:  # fmt: skip
    """What scores are made against, and the scoring of each piece."""
    statistics = statistics_of(study.scores)
    climatology = None if study.train is None else Unit("reference", "fit", fit_model, (problem, Climatology()), guess=0.1, keep=True)
    learner = Quantiles(tuple(sorted({level for each in statistics for level in each.levels})), study.windows)
    quantiles = Unit("reference", "fit", fit_model, (problem, learner), guess=0.2) if learner.levels else None
    verifies, asked = study.verifies(study.test), learner if quantiles else None
    how = Scoring(problem, study.regions, statistics, verifies, asked, study.dress, keep, _values(study) >= MUCH)
    few = keep or len(pieces) <= TOGETHER  # columns that the run can hold all at once
    columns = [
        Unit("scores", "score", column, (how, piece, climatology, quantiles, worn, made, learns), guess=0.3, tolerant=True, keep=few)
        for piece, made in pieces
    ]
    return [each for each in (climatology, quantiles) if each is not None], columns


def _values(study: Study) -> int:
    """How many values of forecasts are scored, members counted."""
    worn = 1 if study.dress is None else study.dress.members
    members = sum(max(model.ensemble_size, worn) for model in study.models.values()) + worn * len(study.combinations)
    return int(members * len(study.starts(study.test)) * len(study.labels) * study.domain.fields[study.target].mask.sum())


def _sums(columns: list[Unit]) -> tuple[list[Unit], list[Unit]]:
    """Sums of columns on the workers, sums of these and so on, and the last: maps of a long record would fill a memory.

    Groups are a power of two, so that every number is added to its neighbour as `total` would have it.
    """
    made: list[Unit] = []
    while len(columns) > TOGETHER:
        groups = [columns[i : i + TOGETHER] for i in range(0, len(columns), TOGETHER)]
        last = len(groups) <= TOGETHER
        columns = [Unit("scores", "score", summed, (group,), guess=0.05, keep=last) for group in groups]
        made += columns
    return made, columns
