"""Units of a run, made for a model, for a combination, and for a piece of the starts that are scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import xarray as xr

from ensemble import plugins
from ensemble.combining import dress, learn
from ensemble.execute import Unit
from ensemble.hindcast import Problem, mean_of, problem_of
from ensemble.parts import Climatology, Quantiles
from ensemble.score.evaluate import statistics_of
from ensemble.score.statistics import SquaredError
from ensemble.significance.spans import block_length
from ensemble.study import Study
from ensemble.task import Period, Times
from ensemble.units import Scoring, column, fit_model, summed

TOGETHER = 8  # columns that are added up at once, a power of two
BLOCKS = 12  # of starts at most, of which maps are kept apart, and
KEPT = 2**29  # bytes of these, beyond which none are
MUCH = 2**26  # values of forecasts, from which compiled passes have their half second of import in each worker back


@dataclass(frozen=True)
class Maker:
    """Makes the units of one model."""

    name: str
    model: Any  # inside the study's anomalies
    problem: Problem
    effort: float
    members: int
    code: frozenset[str]

    def fit(self) -> Unit:
        return Unit(self.name, "fit", fit_model, (self.problem, self.model), guess=self.effort, keep=True, code=self.code)

    def refit(self, *train: Period) -> Unit:
        return Unit(self.name, "refit", fit_model, (self.problem.learning(*train), self.model), guess=self.effort, code=self.code)

    def forecast(self, fit: Unit, piece: Times, function: Callable[..., xr.DataArray]) -> Unit:
        return Unit(self.name, "hindcast", function, (self.problem, self.model, fit, piece), guess=0.2, code=self.code)

    def mean(self, forecast: Unit) -> Unit:
        return forecast if self.members == 1 else Unit(self.name, "hindcast", mean_of, (forecast,), guess=0.02)


def makers(study: Study, size: int) -> dict[str, Maker]:
    """One for each model; `size` is the number of starts in the largest piece."""
    made = {}
    for name, model in study.models.items():
        code = plugins.code_of(type(model.bare))
        made[name] = Maker(name, study.framed[name], problem_of(study, size, name), model.effort, model.ensemble_size, code)
    return made


class Piece(NamedTuple):
    """Some of the starts that are scored, and what is needed for it."""

    starts: Times
    forecasts: Mapping[str, Unit]
    learns: Mapping[str, Unit]
    worn: Mapping[str, Unit]
    climatology: Unit | None
    quantiles: Unit | None


def learns_of(
    study: Study, problem: Problem, by_model: Mapping[str, list[Unit]], fold_of: Sequence[int], verifies: Times, *, keep: bool = True
) -> dict[str, Unit]:
    """What combinations learn from past forecasts; `fold_of` (piece,) says at which origin each was made."""
    return {
        name: Unit(name, "learn", learn, (problem, rule, verifies, by_model, tuple(fold_of), study.dress), 0.1, tolerant=True, keep=keep)
        for name, rule in study.combinations.items()
    }


def worn_of(study: Study, problem: Problem, by_model: Mapping[str, list[Unit]], verifies: Times) -> dict[str, Unit]:
    """How wide the errors of single forecasts were."""
    if study.dress is None:
        return {}
    single = [name for name, model in study.models.items() if model.ensemble_size == 1]
    return {name: Unit(name, "dress", dress, (problem, study.dress, verifies, by_model[name]), guess=0.05) for name in single}


def references_of(study: Study, problem: Problem, *, keep: bool = True) -> tuple[Unit | None, Unit | None]:
    """The climatology and the quantiles that scores are made with, each if there is need of it."""
    if not problem.train:
        return None, None
    asked = _asked(study)
    climatology = Unit("reference", "fit", fit_model, (problem, Climatology()), guess=0.1, keep=keep)
    return climatology, None if asked is None else Unit("reference", "fit", fit_model, (problem, asked), guess=0.2)


def columns_of(study: Study, problem: Problem, pieces: Sequence[Piece], *, keep: bool) -> tuple[list[Unit], list[Unit], list[Unit]]:
    """The scoring of each piece, the sums of these, and the few that are left to be added up."""
    statistics, verifies = statistics_of(study.scores), study.verifies(study.test)
    compiled, block = _values(study) >= MUCH, _block(study) if SquaredError() in statistics else 0
    how = Scoring(problem, study.regions, statistics, verifies, _asked(study), study.dress, keep, compiled, block)
    few = keep or len(pieces) <= TOGETHER  # columns that the run can hold all at once
    columns = [
        Unit(
            "scores", "score", column, (how, each.starts, each.climatology, each.quantiles, each.worn, each.forecasts, each.learns),
            guess=0.3, tolerant=True, keep=few,
        )
        for each in pieces
    ]  # fmt: skip
    sums, left = ([], columns) if few else sums_of(columns)
    return columns, sums, left


def _block(study: Study) -> int:
    """Starts in a block of which maps are kept: no fewer than hang together; 0 where all blocks would fill a memory."""
    starts, longest = study.starts(study.test), int(study.labels.max()) * study.data.step
    models = len(study.models) + len(study.combinations)
    size = 16 * BLOCKS * models * len(study.labels) * study.domain.fields[study.target].mask.size  # bytes
    return 0 if size > KEPT else max(block_length(starts, longest), -(-len(starts) // BLOCKS))


def _asked(study: Study) -> Quantiles | None:
    """The quantiles that the scores are made with."""
    levels = {level for each in statistics_of(study.scores) for level in each.levels}
    return Quantiles(tuple(sorted(levels)), study.windows) if levels else None


def _values(study: Study) -> int:
    """How many values of forecasts are scored, members counted."""
    worn = 1 if study.dress is None else study.dress.members
    members = sum(max(model.ensemble_size, worn) for model in study.models.values()) + worn * len(study.combinations)
    return int(members * len(study.starts(study.test)) * len(study.labels) * study.domain.fields[study.target].mask.sum())


def sums_of(columns: list[Unit]) -> tuple[list[Unit], list[Unit]]:
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
