"""The run: fit all models at once, forecast, score and combine piece by piece, write.

`plan` says what is to be done, as units that wait for one another; a dispatcher runs them, on the cluster or here; what became
of them is collected in a `Run`.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from distributed import Client

from ensemble import plugins
from ensemble.cluster import connected
from ensemble.errors import RunError
from ensemble.execute import Dispatcher, Done, Failure, Here, OnDask, Unit
from ensemble.parts import Climatology
from ensemble.progress import logged, progress
from ensemble.recipe import cluster_of, read_recipe
from ensemble.results import Run, assembled, together
from ensemble.score.evaluate import statistics_of
from ensemble.store import labelled
from ensemble.study import Study
from ensemble.task import Period, Times
from ensemble.units import Problem, Weighted, column, fit_model, forecast, learn, mean_forecast


class Plan(NamedTuple):
    """The units of a run by what they are for; each list in the order of the study."""

    fits: dict[str, Unit]
    forecasts: list[Unit]
    learns: dict[str, Unit]
    climatology: Unit
    columns: list[Unit]

    @property
    def units(self) -> list[Unit]:
        """All of them, none before what it needs."""
        return [self.climatology, *self.fits.values(), *self.forecasts, *self.learns.values(), *self.columns]


def plan(study: Study, *, keep_forecasts: bool = False) -> Plan:
    """What is to be done."""
    size = max(len(piece) for period in (study.validate, study.test) for piece in study.pieces(period))
    problem = Problem(study.data, study.domain, study.train, study.shards, study.history, size, study.seed)
    climatology = Unit("reference", "fit", fit_model, (problem, Climatology()), guess=0.1, keep=True)
    code = {n: plugins.code_of(type(model)) for n, model in study.models.items()}
    fits = {
        n: Unit(n, "fit", fit_model, (problem, model), guess=study.models[n].effort, keep=True, code=code[n])
        for n, model in study.framed.items()
    }

    def forecasts(period: Period, function: Callable[..., Any]) -> list[dict[str, Unit]]:
        return [
            {n: Unit(n, "hindcast", function, (problem, study.framed[n], fits[n], piece), guess=0.2, code=code[n]) for n in study.models}
            for piece in study.pieces(period)
        ]

    past = forecasts(study.validate, mean_forecast) if study.combinations else []
    present = forecasts(study.test, forecast)
    by_model = {name: [piece[name] for piece in past] for name in study.models}
    learns = {
        n: Unit(n, "learn", learn, (problem, rule, by_model), 0.1, tolerant=True, keep=True) for n, rule in study.combinations.items()
    }
    statistics = statistics_of(study.scores)

    def scored(piece: Times, made: dict[str, Unit]) -> Unit:
        arguments = (problem, climatology, study.regions, statistics, piece, made, learns, keep_forecasts)
        return Unit("scores", "score", column, arguments, guess=0.3, tolerant=True, keep=True)

    columns = [scored(piece, made) for piece, made in zip(study.pieces(study.test), present, strict=True)]
    return Plan(fits, [unit for piece in (*past, *present) for unit in piece.values()], learns, climatology, columns)


def run(
    study: Study | str | Path = "enso", *, out: str | Path | None = None, client: Client | None = None, scheduler: str | None = None,
    workers: int | None = None, settings: Sequence[str] = (), only: Sequence[str] = (), keep_forecasts: bool = False, show: bool = True,
) -> Run:  # fmt: skip
    """Run a study, or the recipe of that name or path, and write its folder to `out` if that is given.

    It runs on the cluster of `client`, which stays open, or at the address `scheduler`, or that of the recipe, or on
    `workers` processes of this machine (one per core if not given; 0 runs everything here, for debugging). Raises
    InputError for a study that cannot be run, before anything has been done.
    """
    began = time.perf_counter()
    cluster: Mapping[str, Any] = {"local": {"workers": workers}}
    if not isinstance(study, Study):
        given = cluster_of(study, settings=settings) if workers is None else None
        cluster, study = given or cluster, read_recipe(study, settings=settings, only=only)
    todo = plan(study, keep_forecasts=keep_forecasts)
    here = workers == 0 and client is None and scheduler is None
    with logged(out), ThreadPoolExecutor(1) as beside:
        with ExitStack() as stack:
            connection = None if here else stack.enter_context(connected(client=client, scheduler=scheduler, cluster=cluster))
            with progress(todo.units, show=show, dashboard=None if connection is None else connection.dashboard_link) as watcher:
                dispatcher: Dispatcher = Here() if connection is None else OnDask(connection, uuid.uuid4().hex[:8])
                outcomes = dispatcher.run(todo.units, watcher)
            count = 1 if connection is None else len(connection.scheduler_info(n_workers=-1)["workers"])
            closed = beside.submit(stack.pop_all().close)  # takes a second, for which the report need not wait
        found = _finished(study, todo, outcomes, time.perf_counter() - began, count)
        found = found if out is None else replace(found, folder=found.save(out))
        closed.result()
        return found


def _finished(study: Study, todo: Plan, outcomes: Mapping[Unit, Any], seconds: float, workers: int) -> Run:
    """The run, from what became of its units; raises RunError if nothing came of any."""
    failures = tuple({each[:3]: each for each in outcomes.values() if isinstance(each, Failure)}.values())
    done = {unit: each for unit, each in outcomes.items() if isinstance(each, Done)}
    columns = [done[unit].value for unit in todo.columns if unit in done]
    if len(columns) < len(todo.columns) or not columns[0].models:
        raise RunError(f"nothing could be scored: {'; '.join(f'{each.model}, {each.phase}: {each.reason}' for each in failures)}")
    learnt = {name: done[unit].value for name, unit in todo.learns.items() if unit in done}
    scores, maps, weights = assembled(study, columns, learnt)
    inside = [cost for each in (*columns, *learnt.values()) for cost in each.costs]
    costs = tuple(dict.fromkeys([*(cost for each in done.values() for cost in each.costs), *inside]))
    names = scores["model"].values.tolist()
    failures += tuple(Failure(name, "score", _missed(learnt[name], failures), "") for name in learnt if name not in names)
    return Run(
        study=study,
        scores=labelled(scores, study.data.step),
        maps=labelled(maps, study.data.step),
        weights=labelled(weights, study.data.step),
        states={name: done[unit].value for name, unit in todo.fits.items() if unit in done},
        combinations=learnt,
        costs=costs,
        failures=failures,
        seconds=seconds,
        workers=workers,
        forecasts=together(study, columns, names) if columns[0].forecasts else None,
    )


def _missed(combination: Weighted, failures: Sequence[Failure]) -> str:
    """Why a combination that has its weights could not be scored."""
    failed = dict.fromkeys(each.model for each in failures if each.model in combination.models)
    return f"it needs {', '.join(failed)}, which failed"
