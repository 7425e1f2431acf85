"""A piece of the record, as a learner meets it.

A chunk owns some steps of the record and brings an overlap of others on both sides, so that each pair of an initial state
and its targets is whole in exactly one chunk:

        | overlap: history |      own steps      | overlap: leads |
                        lag ... lag 0 | lead 1 ... lead L
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import xarray as xr

from ensemble.task import Array, Domain, Times, dataset, shift

T = TypeVar("T")


class Pairs(NamedTuple):
    """Initial states and what followed; forcing is what is known ahead."""

    initial: xr.Dataset  # (init_time, lag, ...), lag 0 last; coordinate `time` (init_time, lag)
    targets: xr.Dataset  # (init_time, lead_time, ...)
    forcing: xr.Dataset  # coordinate `valid_time` (init_time, lead_time)


class Expected(NamedTuple):
    """What another model makes of the targets, from pairs with at least its `history`."""

    history: int
    of: Callable[[Pairs], xr.Dataset]


@dataclass(frozen=True, eq=False)
class Chunk:
    """`data` (time, ...) of which the steps `start` to `stop` are owned; `first` where the record begins with it."""

    data: xr.Dataset
    domain: Domain
    start: int
    stop: int
    first: bool
    expected: Expected | None = None  # targets are counted from here
    _memo: dict[Hashable, tuple[Any, Any]] = field(default_factory=dict, repr=False)

    def own(self) -> xr.Dataset:
        """(time, ...): each step of the record is in exactly one chunk's own."""
        return self.data.isel(time=slice(self.start, self.stop))

    def pairs(self, history: int = 1, lead_times: Array | None = None) -> Pairs:
        """The starts owned here whose history and leads (the task's, if not given) lie inside the data."""
        leads = self.domain.lead_times if lead_times is None else np.asarray(lead_times)
        return self.once(("pairs", history, tuple(leads)), None, lambda: self._pairs(history, leads))

    def _pairs(self, history: int, leads: Array) -> Pairs:
        longest = history if self.expected is None else max(history, self.expected.history)
        times = self.data["time"].values
        last_seen = np.arange(max(self.start, longest - 1), min(self.stop, len(times) - int(max(leads))))
        init_time = shift(times[last_seen], 1, self.domain.step)
        ahead = last_seen[:, None] + leads[None, :]
        values = {str(name): each.values[ahead] for name, each in self.data.items()}
        targets = dataset(self.domain, values, init_time=init_time, lead_time=leads)
        pairs = Pairs(windows(self.data, self.domain, init_time, longest), targets, known_ahead(self.domain, init_time, leads))
        if self.expected is None:
            return pairs
        return pairs._replace(initial=pairs.initial.isel(lag=slice(-history, None)), targets=targets - self.expected.of(pairs))

    def mapped(self, function: Callable[[xr.Dataset], xr.Dataset], domain: Domain, lost: int) -> Chunk:
        """`function` of the data, in `domain`; the first `lost` steps lack history, except where the record begins."""
        if self.expected is not None:
            raise ValueError(
                "a correction works in the variables of its base; put the transform around both: Then(transform, Correction(...))"
            )
        data = function(self.data)
        if self.first:
            return Chunk(data, domain, self.start, self.stop, True)
        return Chunk(data.isel(time=slice(lost, None)), domain, self.start - lost, self.stop - lost, False)

    def once(self, key: Hashable, holds: Any, make: Callable[[], T]) -> T:
        """What `make` returns, made once per process; `holds` keeps alive what the key names by identity."""
        if key not in self._memo:
            self._memo[key] = (make(), holds)
        made: T = self._memo[key][0]
        return made

    def fresh(self) -> Chunk:
        """The same data with nothing remembered, so that what a fit derives from it goes when the fit goes."""
        return replace(self, _memo={})

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_memo": {}}


def windows(data: xr.Dataset, domain: Domain, init_time: Times, history: int) -> xr.Dataset:
    """The `history` steps before each `init_time` -> (init_time, lag, ...), lag 0 (the last step seen) last."""
    times = data["time"].values
    seen = shift(init_time[:, None], np.arange(-history, 0)[None, :], domain.step)
    index = np.searchsorted(times, seen)
    if index.size and (index.max() >= len(times) or (times[index] != seen).any()):
        raise ValueError(f"a forecast issued at {init_time[0]} needs {history} steps before it; the data begin at {times[0]}")
    values = {str(name): each.values[index] for name, each in data.items()}
    initial = dataset(domain, values, init_time=init_time, lag=np.arange(history)[::-1])
    return initial.assign_coords(time=(("init_time", "lag"), seen))


def known_ahead(domain: Domain, init_time: Times, lead_times: Array) -> xr.Dataset:
    """What is known of the verifying times before they come: for now the times themselves."""
    valid = domain.valid_time(init_time, lead_times)
    return xr.Dataset(coords={"init_time": init_time, "lead_time": lead_times, "valid_time": (("init_time", "lead_time"), valid)})
