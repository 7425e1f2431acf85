"""The run: fit all models at once, forecast, score and combine piece by piece, write.

`plan` says what is to be done; a dispatcher does it, on the cluster or here; what became of it is collected in a `Run`.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from distributed import Client

from ensemble.assemble import assembled, blocks, together
from ensemble.checks import check_against_record
from ensemble.cluster import connected
from ensemble.combining import Weighted
from ensemble.errors import RunError
from ensemble.execute import Dispatcher, Done, Failure, Here, OnDask, Unit, merged
from ensemble.planning import Plan, plan
from ensemble.prepare import cut, survey
from ensemble.progress import Strict, logged, progress
from ensemble.recipe import cluster_of, read_recipe
from ensemble.results import Run
from ensemble.store import labelled
from ensemble.study import Study
from ensemble.sums import total
from ensemble.task import Times

log = logging.getLogger("ensemble")


def run(
    study: Study | str | Path = "enso", *, out: str | Path | None = None, client: Client | None = None, scheduler: str | None = None,
    workers: int | None = None, settings: Sequence[str] = (), only: Sequence[str] = (), keep_forecasts: bool = False,
    fail_fast: bool = False, show: bool = True,
) -> Run:  # fmt: skip
    """Run a study, or the recipe of that name or path, and write its folder to `out` if that is given.

    It runs on the cluster of `client`, which stays open, or at the address `scheduler`, or that of the recipe, or on
    `workers` processes of this machine (one per core if not given; 0 runs everything here, for debugging). Raises
    InputError for a study that cannot be run, before anything has been done; with `fail_fast` RunError at the first failure of
    a model, where else the others are finished and `Run.failures` says what is missing.
    """
    began = time.perf_counter()
    cluster: Mapping[str, Any] = {"local": {"workers": workers}}
    if not isinstance(study, Study):
        given = cluster_of(study, settings=settings) if workers is None else None
        cluster, study = given or cluster, read_recipe(study, settings=settings, only=only)
    pieces = cut(study.data, study.names)
    if len(pieces) == 1:
        check_against_record(study)  # before anything is started
    here = workers == 0 and client is None and scheduler is None
    with ThreadPoolExecutor(1) as beside, ExitStack() as stack:
        connection = None if here else stack.enter_context(connected(client=client, scheduler=scheduler, cluster=cluster))
        dispatcher: Dispatcher = Here() if connection is None else OnDask(connection, uuid.uuid4().hex[:8])
        with logged(out):
            if len(pieces) > 1:
                study = _surveyed(study, pieces, dispatcher)
                check_against_record(study)
            for note in study.notes:
                log.info("data: %s", note)
            todo = plan(study, keep_forecasts=keep_forecasts, fail_fast=fail_fast)
            with progress(todo.units, show=show, dashboard=None if connection is None else connection.dashboard_link) as watcher:
                outcomes = dispatcher.run(todo.units, Strict(watcher) if fail_fast else watcher)
            count = 1 if connection is None else len(connection.scheduler_info(n_workers=-1)["workers"])
            closed = beside.submit(stack.pop_all().close)  # takes a second, for which the report need not wait
            found = _finished(study, todo, outcomes, time.perf_counter() - began, count)
            found = found if out is None else replace(found, folder=found.save(out))
        closed.result()
        return found


def _surveyed(study: Study, pieces: Sequence[Times], dispatcher: Dispatcher) -> Study:
    """The same study, its record looked at block by block where the workers are."""
    units = [Unit("data", "survey", survey, (study.data, study.names, piece), guess=0.5, keep=True) for piece in pieces]
    with progress(units, show=False, dashboard=None) as watcher:
        seen = dispatcher.run(units, watcher)
    failed = [each for each in seen.values() if isinstance(each, Failure)]
    if failed:
        raise RunError(f"the data could not be read: {failed[0].reason}")
    return replace(study, surveyed=total([seen[unit].value for unit in units]))  # type: ignore[union-attr]  # no failure among them


def _finished(study: Study, todo: Plan, outcomes: Mapping[Unit, Any], seconds: float, workers: int) -> Run:
    """The run, from what became of its units; raises RunError if nothing came of any."""
    whole = [each for each in outcomes.values() if isinstance(each, Failure)]
    done = {unit: each for unit, each in outcomes.items() if isinstance(each, Done)}
    columns = [done[unit].value for unit in todo.scores if unit in done]
    partly = merged(failure for column in columns for failure in column.failures)
    for failure in partly:
        log.error("%s failed in %s: %s", failure.model, failure.phase, failure)
    failures = merged([*whole, *partly])
    if len(columns) < len(todo.scores) or not columns[0].models:
        raise RunError(f"nothing could be scored: {'; '.join(f'{each.model}, {each.phase}: {each}' for each in failures)}")
    learnt = {name: done[unit].value for name, unit in todo.learns.items() if unit in done}
    scores, maps, weights, by_start = assembled(study, columns, learnt)
    inside = [cost for each in (*columns, *learnt.values()) for cost in each.costs]
    costs = tuple(dict.fromkeys([*(cost for each in done.values() for cost in each.costs), *inside]))
    names = scores["model"].values.tolist()
    failures += tuple(Failure(name, "score", _missed(learnt[name], failures), "") for name in learnt if name not in names)
    return Run(
        study=study,
        by_start=by_start,
        blocks=blocks(columns, maps),
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
