"""What a model is: something that can be folded over chunks, and then forecasts.

A learner is frozen: its fields are settings. What it learns is its state, which it is handed and hands back, so that the
engine can move, save and resume it. A state is a tree (dicts, lists, tuples, named tuples) of numpy arrays, numbers,
strings and None. `ensemble.fitting.fit` is the only caller and asks no learner what kind it is.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, final

import xarray as xr

from ensemble.chunk import Chunk
from ensemble.findings import Finding
from ensemble.sums import Addable, Rows
from ensemble.task import Array, Domain, Times

State = TypeVar("State")
Summary = TypeVar("Summary", bound=Addable)


class Learnt(NamedTuple, Generic[State]):
    """Where a learner stands, and whether another look at the data is of no use to it."""

    state: State
    finished: bool


class Learner(abc.ABC, Generic[State, Summary]):
    """Something that learns from data it never sees in one piece."""

    @abc.abstractmethod
    def start(self, domain: Domain, seed: int) -> Learnt[State]:
        """The state before any data."""

    @abc.abstractmethod
    def summarise(self, state: State, chunk: Chunk) -> Summary:
        """What one chunk has to say, as something that adds up with what the others say. Runs in parallel."""

    @abc.abstractmethod
    def update(self, state: State, total: Summary) -> Learnt[State]:
        """The next state, from the sum over all chunks. Once a round."""


class Model(Learner[State, Summary]):
    """A way to forecast."""

    kind: ClassVar[str] = "statistical"  # reference, physics, dynamical, statistical, neural, hybrid, external
    multivariate: ClassVar[bool] = False  # whether it is shown the other variables of the record, or its target alone
    may_lack: ClassVar[bool] = False  # whether its forecasts may lack points, as files do; elsewhere a missing value is a failure
    effort: ClassVar[float] = 1.0  # seconds a fit may take: a hint that orders the first fits, until they are measured

    @property
    def history(self) -> int:
        """How many past steps a forecast looks at, the last one seen included."""
        return 1

    @property
    def ensemble_size(self) -> int:
        """How many members a forecast has, as far as that is known: pieces are cut by it so that they fit into memory."""
        return 1

    @property
    def issued(self) -> Times | None:
        """(init_time,): the only starts it has a forecast for; None where it can make one for any."""
        return None

    @property
    def leads(self) -> Array | None:
        """(lead_time,): the only leads it has a forecast for; None where it can make one for any."""
        return None

    @property
    def bare(self) -> Model[Any, Any]:
        """The model itself, out of what is wrapped around it: its file is what a run records."""
        return self

    def check(self, domain: Domain) -> None:
        """Raise InputError if the model cannot forecast for `domain`, where that shows before any work is done."""
        del domain

    @property
    def notes(self) -> tuple[Finding, ...]:
        """What was found in the files of people, and done about it: the data table."""
        return ()

    def found(self, state: State) -> tuple[Finding, ...]:
        """What its fit adds to the data table."""
        del state
        return ()

    @abc.abstractmethod
    def forecast(self, state: State, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        """`initial` (init_time, lag, ...) carried to `lead_times` -> (init_time, lead_time, [member,] ...).

        `lead_times` are whole steps of the record, lag 0 stands last, and `forcing` carries what is known ahead, the
        coordinate `valid_time` (init_time, lead_time) among it. The forecast of a start depends on nothing but that start.
        """

    def framed(self, frame: Callable[[Model[Any, Any]], Model[Any, Any]]) -> Model[Any, Any]:
        """The model inside the anomalies that a study works in; a reference defined on full fields returns itself."""
        return frame(self)


class Transform(Learner[State, Summary]):
    """A learnt change of variables that a forecast made in the new ones can be brought back from."""

    @property
    def history(self) -> int:
        """How many steps a value of the new variables is made from."""
        return 1

    def domain(self, state: State, domain: Domain) -> Domain:
        """Where the new variables live; where the old ones did, unless a transform says otherwise."""
        del state
        return domain

    @abc.abstractmethod
    def apply(self, state: State, data: xr.Dataset) -> xr.Dataset:
        """Old variables to new ones, along the time axis: (time, ...), or (init_time, lag, ...) with coordinate `time`."""

    @abc.abstractmethod
    def restore(self, state: State, forecast: xr.Dataset, initial: xr.Dataset) -> xr.Dataset:
        """A forecast in new variables back in the old ones; `initial` is in the old ones, with its whole history."""


class Untrained(Learner[None, Any]):
    """A learner with nothing to learn."""

    @final
    def start(self, domain: Domain, seed: int) -> Learnt[None]:
        del domain, seed
        return Learnt(None, finished=True)

    @final
    def summarise(self, state: None, chunk: Chunk) -> Any:
        raise AssertionError("finished before it starts")

    @final
    def update(self, state: None, total: Any) -> Learnt[None]:
        raise AssertionError("finished before it starts")


class FitOnce(Model[Any, Rows[Chunk]]):
    """A model that wants all its training data at once, as an estimator of another library does."""

    @abc.abstractmethod
    def fit(self, chunks: tuple[Chunk, ...], seed: int) -> Any:
        """The state learnt from all `chunks`, in the order of the record."""

    @final
    def start(self, domain: Domain, seed: int) -> Learnt[Any]:
        del domain
        return Learnt(seed, finished=False)

    @final
    def summarise(self, state: Any, chunk: Chunk) -> Rows[Chunk]:
        del state
        return Rows((chunk,))

    @final
    def update(self, state: Any, total: Rows[Chunk]) -> Learnt[Any]:
        return Learnt(self.fit(total.pieces, state), finished=True)


class Composed(Model[Any, Any]):
    """A model that is put together from parts: `build` says how, and everything else follows."""

    @abc.abstractmethod
    def build(self) -> Model[Any, Any]:
        """The parts, put together."""

    @property
    @final
    def history(self) -> int:
        return self.build().history

    @final
    def start(self, domain: Domain, seed: int) -> Learnt[Any]:
        return self.build().start(domain, seed)

    @final
    def summarise(self, state: Any, chunk: Chunk) -> Any:
        return self.build().summarise(state, chunk)

    @final
    def update(self, state: Any, total: Any) -> Learnt[Any]:
        return self.build().update(state, total)

    @final
    def forecast(self, state: Any, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        return self.build().forecast(state, initial, lead_times, forcing, seed)
