"""Learners in turn on the same data, the last of them a model that begins with what the others have learnt.

`Then` hands on the data in new variables; `InTurn` hands on what was learnt: patterns and a first guess, say, from which the
last goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import xarray as xr

from ensemble.chunk import Chunk
from ensemble.model import Learner, Learnt, Model
from ensemble.task import Array, Domain


class Heir(Protocol):
    """A model that begins with what others know, in place of `start`."""

    @property
    def history(self) -> int: ...

    def begin(self, known: tuple[Any, ...], domain: Domain, seed: int) -> Learnt[Any]: ...

    def summarise(self, state: Any, chunk: Chunk) -> Any: ...

    def update(self, state: Any, total: Any) -> Learnt[Any]: ...

    def forecast(self, state: Any, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset: ...


class Turns(NamedTuple):
    """What the learners that are done know, the state of the one whose turn it is, and what the next will begin with."""

    known: tuple[Any, ...]
    now: Any
    domain: Domain | None  # none once the last has begun
    seed: int


@dataclass(frozen=True)
class InTurn(Model[Turns, Any]):
    """`last`, a model that `begin`s with what each of `first` has learnt from the same data, one after the other."""

    first: tuple[Learner[Any, Any], ...]
    last: Heir

    @property
    def history(self) -> int:
        return self.last.history

    def start(self, domain: Domain, seed: int) -> Learnt[Turns]:
        return self._go_on((), domain, seed)

    def _go_on(self, known: tuple[Any, ...], domain: Domain, seed: int) -> Learnt[Turns]:
        if len(known) == len(self.first):
            state, finished = self.last.begin(known, domain, seed)
            return Learnt(Turns((), state, None, seed), finished)
        state, finished = self.first[len(known)].start(domain, seed)
        return self._go_on((*known, state), domain, seed) if finished else Learnt(Turns(known, state, domain, seed), False)

    def _learner(self, state: Turns) -> Any:
        return self.last if state.domain is None else self.first[len(state.known)]

    def summarise(self, state: Turns, chunk: Chunk) -> Any:
        return self._learner(state).summarise(state.now, chunk)

    def update(self, state: Turns, total: Any) -> Learnt[Turns]:
        now, finished = self._learner(state).update(state.now, total)
        if finished and state.domain is not None:
            return self._go_on((*state.known, now), state.domain, state.seed)
        return Learnt(state._replace(now=now), finished)

    def forecast(self, state: Turns, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        return self.last.forecast(state.now, initial, lead_times, forcing, seed)
