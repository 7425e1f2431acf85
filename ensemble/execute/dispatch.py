"""The run's dispatcher: units that wait for one another, pulled by free workers, the longest first.

Dask's own assignment places a unit when it is submitted, and durations it has not seen count as half a second; with units
of very different cost that leaves workers idle at the end. Here a unit is submitted when a worker has room for it: one in
flight per thread, two while units cost less than half a second (one costs 23 % at 50 ms a unit, two 4 %). A unit that another
worker is better prepared for (it holds the fitted state, or has compiled the code) counts as shorter by what that is worth,
so that it goes elsewhere only where nothing of that length is left to do.
"""

from __future__ import annotations

import logging
import math
import queue
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from distributed import Client, Future

from ensemble.execute.cost import Done, measured
from ensemble.execute.unit import Failure, Unit, Watcher, failure_of, filled, inherited

log = logging.getLogger("ensemble")

SHORT = 0.5  # seconds: below this a worker is given a second unit to have at hand
PREPARED = 1.0  # seconds: what importing and compiling a model's code once more is taken to cost until that has been seen
AHEAD = 8  # units a thread, among which the longest is first
LOOK_AGAIN = 2.0  # seconds between looks for workers that came or went


class Here:
    """In this process, one after the other: for debugging, and to hold the cluster against."""

    def run(self, units: Sequence[Unit], watcher: Watcher) -> dict[Unit, Done[Any] | Failure]:
        """As `Dispatcher.run`."""
        values: dict[Unit, Any] = {}
        for unit in units:
            watcher.began(unit)
            values[unit] = inherited(unit, values) or self._one(unit, values)
            watcher.ended(unit, values[unit])
        return {unit: value for unit, value in values.items() if unit.keep or isinstance(value, Failure)}

    def _one(self, unit: Unit, values: Mapping[Unit, Any]) -> Any:
        try:
            return measured(unit.model, unit.phase, unit.function, *filled(unit.arguments, values))
        except Exception as error:
            return failure_of(unit.model, unit.phase, error)


class OnDask:
    """On the workers of a Dask cluster; `run_id` keeps two runs on one scheduler apart."""

    def __init__(self, client: Client, run_id: str) -> None:
        self.client = client
        self.run_id = run_id

    def run(self, units: Sequence[Unit], watcher: Watcher) -> dict[Unit, Done[Any] | Failure]:
        """As `Dispatcher.run`."""
        flight = _Flight(self.client, self.run_id, units, watcher)
        try:
            while flight.unfinished:
                flight.fill()
                flight.wait()
        finally:
            flight.land()
        return flight.kept()


class _Flight:
    """The live side of one `OnDask.run`: what is ready, what is on which worker, and what came of the rest."""

    def __init__(self, client: Client, run_id: str, units: Sequence[Unit], watcher: Watcher) -> None:
        self.client, self.run_id, self.watcher = client, run_id, watcher
        self.unfinished = set(units)
        self.order = {unit: i for i, unit in enumerate(units)}
        self.waits = {unit: len(set(unit.needs)) for unit in units}
        self.users: dict[Unit, set[Unit]] = defaultdict(set)
        for unit in units:
            for need in unit.needs:
                self.users[need].add(unit)
        self.ready = [unit for unit in units if not self.waits[unit]]
        self.outcomes: dict[Unit, Future[Any] | Failure] = {}
        self.seen: dict[str, set[object]] = defaultdict(set)  # code and models that a worker has run
        self.flying: dict[Unit, tuple[Future[Any], str, float]] = {}
        self.landed: queue.SimpleQueue[Unit] = queue.SimpleQueue()
        self.first: dict[tuple[str, str], float] = {}  # seconds of the first unit of a model and phase, which compiles
        self.seconds: dict[tuple[str, str], float] = {}
        self.threads: dict[str, int] = {}
        self.looked = -math.inf

    def fill(self) -> None:
        """Give every worker with room the first unit of those that are ready, by `_rank`."""
        self._look_for_workers()
        while self.ready:
            room = {worker: self._room(worker) for worker in self.threads}
            free = [worker for worker, places in room.items() if places > 0]
            if not free:
                return
            worker = max(free, key=lambda w: room[w])
            unit = max(self.ready, key=lambda u: self._rank(u, worker))
            self.ready.remove(unit)
            self._submit(unit, worker)

    def _look_for_workers(self) -> None:
        now = time.monotonic()
        if now - self.looked >= LOOK_AGAIN:
            self.looked = now
            known = self.client.scheduler_info(n_workers=-1)["workers"]
            self.threads = {address: worker["nthreads"] for address, worker in sorted(known.items())}
            if not self.threads:
                log.warning("no worker has joined yet; waiting for one")

    def _room(self, worker: str) -> int:
        """How many units more a worker may be given: one a thread, and as many again where all it has are short."""
        flying = [self._expected(unit) for unit, (_, where, _) in self.flying.items() if where == worker]
        short = bool(flying) and max(flying) < SHORT
        return self.threads[worker] * (2 if short else 1) - len(flying)

    def _rank(self, unit: Unit, worker: str) -> tuple[bool, int, float, int]:
        """What frees memory first; of the rest the next in the order of the run, and of these the longest.

        Length is less what it costs that another worker is better prepared. Were the longest of all first, all forecasts of a
        slow model would lie in memory before the first piece is scored.
        """
        here = self._prepared(unit, worker)
        better = any(self._prepared(unit, other) > here for other in self.threads)
        frees = any(not need.keep for need in unit.needs)
        late = 0 if unit.keep else self.order[unit] // (AHEAD * sum(self.threads.values()))
        return frees, -late, self._expected(unit) - (self._unprepared(unit) if better else 0.0), -self.order[unit]

    def _prepared(self, unit: Unit, worker: str) -> int:
        """How much of what a unit wants a worker has: the model as such, and the code that it shares with others."""
        return len({unit.model, *unit.code} & self.seen[worker])

    def _unprepared(self, unit: Unit) -> float:
        """What it costs to begin with a model's units on a worker, as the first of them has shown [s]."""
        key = (unit.model, unit.phase)
        return max(self.first[key] - self.seconds[key], 0.0) if key in self.first else PREPARED

    def _expected(self, unit: Unit) -> float:
        return self.seconds.get((unit.model, unit.phase), unit.guess)

    def _submit(self, unit: Unit, worker: str) -> None:
        failed = inherited(unit, self.outcomes)
        if failed is not None:
            self._end(unit, failed)
            return
        arguments = filled(unit.arguments, self.outcomes)
        future = self.client.submit(
            measured, unit.model, unit.phase, unit.function, *arguments,
            key=(f"{unit.model}-{unit.phase}-{self.run_id}", self.order[unit]), workers=[worker], allow_other_workers=True, pure=False,
        )  # fmt: skip
        self.flying[unit] = (future, worker, time.monotonic())
        self.seen[worker] |= {unit.model, *unit.code}
        self.watcher.began(unit)
        future.add_done_callback(lambda _: self.landed.put(unit))

    def wait(self) -> None:
        """Until a unit has landed, or it is time to look for workers again."""
        try:
            unit = self.landed.get(timeout=LOOK_AGAIN)
        except queue.Empty:
            return
        future, _, began = self.flying.pop(unit)
        if future.status == "finished":
            key, seconds = (unit.model, unit.phase), time.monotonic() - began
            self.first.setdefault(key, seconds)
            self.seconds[key] = (self.seconds.get(key, seconds) + seconds) / 2
            self._end(unit, future)
        else:
            error = future.exception() or RuntimeError(f"the task was {future.status}")
            self._end(unit, failure_of(unit.model, unit.phase, error))

    def _end(self, unit: Unit, outcome: Future[Any] | Failure) -> None:
        self.outcomes[unit] = outcome
        self.unfinished.discard(unit)
        for user in self.users[unit]:
            self.waits[user] -= 1
            if not self.waits[user]:
                self.ready.append(user)
        for need in set(unit.needs):
            if not need.keep and not self.users[need] & self.unfinished and not isinstance(self.outcomes[need], Failure):
                del self.outcomes[need]  # the last holder lets go, and the worker may forget
        self.watcher.ended(unit, outcome if isinstance(outcome, Failure) else None)

    def land(self) -> None:
        """Cancel what is still flying; after a whole run there is nothing."""
        if self.flying:
            self.client.cancel([future for future, _, _ in self.flying.values()])

    def kept(self) -> dict[Unit, Done[Any] | Failure]:
        """Values of the units with `keep`, and all failures."""
        futures = {unit: outcome for unit, outcome in self.outcomes.items() if unit.keep and not isinstance(outcome, Failure)}
        values = dict(zip(futures, self.client.gather(list(futures.values())), strict=True))
        failures = {unit: outcome for unit, outcome in self.outcomes.items() if isinstance(outcome, Failure)}
        return {**failures, **values}
