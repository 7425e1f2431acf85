"""Learners in a row and side by side, so that no model file has a ladder of phases.

`Then(Climatology(), Then(RunningNormal(), Then(Eof(8), beside(pc=..., residual=...))))` is a whole model: each stage is
fitted in turn on chunks that the stages before it have transformed, and its forecast is carried back through them.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import xarray as xr

from ensemble.chunk import Chunk, Expected, Pairs
from ensemble.model import Learner, Learnt, Model, Transform
from ensemble.sums import Sum
from ensemble.task import Array, Domain


class Stages(NamedTuple):
    """What two learners in a row know: the first's state, and the second's once it has begun."""

    first: Any
    second: Any
    began: bool  # the second; until then its place holds the domain that it will begin with
    seed: int


class Row(Model[Stages, Any]):
    """Two learners in a row: the second is fitted once the first is done, on chunks as the first lets it see them."""

    @property
    @abc.abstractmethod
    def learners(self) -> tuple[Learner[Any, Any], Model[Any, Any]]:
        """The first and the second."""

    @abc.abstractmethod
    def seen(self, state: Stages, chunk: Chunk) -> Chunk:
        """What the second sees of a chunk; made once, however many rounds it learns for."""

    def inner(self, state: Any, domain: Domain) -> Domain:
        """Where the second works, from the state of the first."""
        del state
        return domain

    @final
    def start(self, domain: Domain, seed: int) -> Learnt[Stages]:
        return self._go_on(self.learners[0].start(domain, seed), domain, seed)

    @final
    def _go_on(self, learnt: Learnt[Any], domain: Domain, seed: int) -> Learnt[Stages]:
        if not learnt.finished:
            return Learnt(Stages(learnt.state, domain, False, seed), finished=False)
        second, finished = self.learners[1].start(self.inner(learnt.state, domain), seed)
        return Learnt(Stages(learnt.state, second, True, seed), finished)

    @final
    def summarise(self, state: Stages, chunk: Chunk) -> Any:
        first, second = self.learners
        return second.summarise(state.second, self.seen(state, chunk)) if state.began else first.summarise(state.first, chunk)

    @final
    def update(self, state: Stages, total: Any) -> Learnt[Stages]:
        first, second = self.learners
        if not state.began:
            return self._go_on(first.update(state.first, total), state.second, state.seed)
        learnt, finished = second.update(state.second, total)
        return Learnt(state._replace(second=learnt), finished)


@dataclass(frozen=True)
class Then(Row):
    """`second` in the variables that `first` makes."""

    first: Transform[Any, Any]
    second: Model[Any, Any]

    @property
    def learners(self) -> tuple[Learner[Any, Any], Model[Any, Any]]:
        return self.first, self.second

    @property
    def history(self) -> int:
        return self.first.history + self.second.history - 1

    def inner(self, state: Any, domain: Domain) -> Domain:
        return self.first.domain(state, domain)

    def seen(self, state: Stages, chunk: Chunk) -> Chunk:
        known, lost = state.first, self.first.history - 1

        def make() -> Chunk:
            return chunk.mapped(lambda data: self.first.apply(known, data), self.first.domain(known, chunk.domain), lost)

        return chunk.once((self.first, id(known)), known, make)

    def forecast(self, state: Stages, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        inner = self.first.apply(state.first, initial).isel(lag=slice(self.first.history - 1, None))
        forecast = self.second.forecast(state.second, inner, lead_times, forcing, seed)
        forecast = forecast.assign_coords(valid_time=forcing["valid_time"])
        return self.first.restore(state.first, forecast, initial)


@dataclass(frozen=True)
class Correction(Row):
    """`correction` of what `base` forecasts: it learns and forecasts the difference, in the same variables."""

    base: Model[Any, Any]
    correction: Model[Any, Any]

    @property
    def learners(self) -> tuple[Learner[Any, Any], Model[Any, Any]]:
        return self.base, self.correction

    @property
    def history(self) -> int:
        return max(self.base.history, self.correction.history)

    def seen(self, state: Stages, chunk: Chunk) -> Chunk:
        """`chunk` with targets counted from the base's forecast, on top of what they are counted from already."""
        already = chunk.expected

        def expected(pairs: Pairs) -> xr.Dataset:
            initial = pairs.initial.isel(lag=slice(-self.base.history, None))
            made = self.base.forecast(state.first, initial, pairs.targets["lead_time"].values, pairs.forcing, state.seed)
            return made if already is None else made + already.of(pairs)

        history = max(self.base.history, 1 if already is None else already.history)
        key = ("expected", self.base, id(state.first))
        return chunk.once(key, state.first, lambda: replace(chunk.fresh(), expected=Expected(history, expected)))

    def forecast(self, state: Stages, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        seen = [initial.isel(lag=slice(-model.history, None)) for model in (self.base, self.correction)]
        base = self.base.forecast(state.first, seen[0], lead_times, forcing, seed)
        forecast = base + self.correction.forecast(state.second, seen[1], lead_times, forcing, seed)
        return forecast.transpose("init_time", "lead_time", "member", ..., missing_dims="ignore")


@dataclass(frozen=True)
class Beside(Model[dict[str, Any], Sum]):
    """One model for each variable, fitted in the same rounds; `beside` makes it."""

    parts: tuple[tuple[str, Model[Any, Any]], ...]

    @property
    def history(self) -> int:
        return max(model.history for _, model in self.parts)

    def start(self, domain: Domain, seed: int) -> Learnt[dict[str, Any]]:
        return _together({name: model.start(domain.only(name), seed) for name, model in self.parts})

    def summarise(self, state: dict[str, Any], chunk: Chunk) -> Sum:
        return Sum({n: None if state[n].finished else m.summarise(state[n].state, _variable(chunk, n)) for n, m in self.parts})

    def update(self, state: dict[str, Any], total: Sum) -> Learnt[dict[str, Any]]:
        return _together({n: state[n] if state[n].finished else m.update(state[n].state, total.tree[n]) for n, m in self.parts})

    def forecast(self, state: dict[str, Any], initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        forecasts = []
        for name, model in self.parts:
            seen = initial[[name]].isel(lag=slice(self.history - model.history, None))
            forecasts.append(model.forecast(state[name].state, seen, lead_times, forcing, seed))
        return xr.merge(forecasts, join="exact", compat="equals")


def beside(**models: Model[Any, Any]) -> Beside:
    """`beside(pc=Propagator(), residual=Damping())`: a model for each variable."""
    return Beside(tuple(models.items()))


def _together(parts: dict[str, Learnt[Any]]) -> Learnt[dict[str, Any]]:
    return Learnt(parts, finished=all(part.finished for part in parts.values()))


def _variable(chunk: Chunk, name: str) -> Chunk:
    return chunk.once(("variable", name), None, lambda: chunk.mapped(lambda data: data[[name]], chunk.domain.only(name), 0))
