"""Stochastic mixed layer: the mixed layer driven by weather, drawn with the patterns, size and memory that it had in training.

T(t + 1) = F(T(t)) + e(t + 1), F a month of `mixed_layer`, e what F did not foresee (Hasselmann 1976,
doi 10.1111/j.2153-3490.1976.tb00696.x). The leading EOFs of e and what is left of it at each point are red noise,
e(t + 1) = a e(t) + noise, from the last e that was seen. Unit: that of the variable. Assumes weather that is linear, Gaussian
and the same in all seasons, and that the error grows by it alone; `inflation` is for what the training years do not show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr

from ensemble import Array, Chunk, Composed, Domain, Learnt, Model, Sum, load
from ensemble.parts import Eof, InTurn, Scaled, Then, beside
from ensemble.parts.stencil import flat, unflat
from ensemble.task import month

physics = load("mixed_layer")


class Memory(NamedTuple):
    """Of each component: the share that is left after a step, and the standard deviation."""

    share: Array
    deviation: Array


@dataclass(frozen=True)
class Red(Model[Memory, Sum]):
    """Red noise, each component by itself; its draws add up to zero over the members, whose mean is then free of them."""

    members: int
    inflation: float
    stream: int  # of random numbers

    def start(self, domain: Domain, seed: int) -> Learnt[Memory]:
        del seed
        nothing = np.zeros(domain.fields[domain.target].mask.shape)
        return Learnt(Memory(nothing, nothing), finished=False)

    def summarise(self, state: Memory, chunk: Chunk) -> Sum:
        initial, targets, _ = chunk.pairs(1, np.array([1]))
        x, y = initial[chunk.domain.target].values[:, 0], targets[chunk.domain.target].values[:, 0]
        return Sum(((x * y).sum(0), (x * x).sum(0), (y * y).sum(0), len(x)))

    def update(self, state: Memory, total: Sum) -> Learnt[Memory]:
        xy, xx, yy, count = total.tree
        share = np.clip(xy / np.where(xx == 0, 1, xx), 0, 0.95)
        return Learnt(Memory(share, np.sqrt(yy / count)), finished=True)

    def forecast(self, state: Memory, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        (name,) = initial.data_vars
        noise = self._draw(initial["init_time"].values, (int(max(lead_times)), *state.share.shape), seed)
        noise *= self.inflation * state.deviation * np.sqrt(1 - state.share**2)
        e, path = initial[name].values[:, -1:], []
        for lead in range(noise.shape[2]):
            e = state.share * e + noise[:, :, lead]
            path.append(e)
        dims = ("init_time", "lead_time", "member", *initial[name].dims[2:])
        coords = {"init_time": initial["init_time"], "lead_time": lead_times, "member": np.arange(self.members)}
        return xr.Dataset({name: (dims, np.stack(path, axis=1)[:, lead_times - 1])}, coords)

    def _draw(self, init_time: Array, shape: tuple[int, ...], seed: int) -> Array:
        """(init_time, member, lead_time, ...): normal, keyed by seed, start and member."""
        hours = [int(hour) % 2**32 for hour in init_time.astype("datetime64[h]").astype(int)]
        keys = [[(seed, self.stream, hour, member) for member in range(self.members)] for hour in hours]
        noise = np.array([[np.random.default_rng(key).standard_normal(shape) for key in start] for start in keys])
        centred: Array = noise - noise.mean(1, keepdims=True)
        return centred


class Driven(NamedTuple):
    """The physics, and the state of what drives it."""

    terms: Array
    grid: Any
    weather: Any


@dataclass(frozen=True)
class Weather(Model[Driven, Any]):
    """Learns `noise`, a model with members, from what the physics did not foresee, and drives it with that."""

    substeps: int
    noise: Model[Any, Any]

    @property
    def history(self) -> int:
        return 2

    def start(self, domain: Domain, seed: int) -> Learnt[Driven]:
        raise TypeError("weather begins after the physics: InTurn((MixedLayer().core(),), Weather(...))")

    def begin(self, known: tuple[Any, ...], domain: Domain, seed: int) -> Learnt[Driven]:
        """The start, from what `MixedLayer.core` has learnt."""
        noise, finished = self.noise.start(domain, seed)
        terms, where = physics.learnt(known[0])
        return Learnt(Driven(terms, where, noise), finished)

    def summarise(self, state: Driven, chunk: Chunk) -> Any:
        def make() -> Chunk:
            return chunk.mapped(lambda data: self._unforeseen(state, data), chunk.domain, 1)

        return self.noise.summarise(state.weather, chunk.once((self, id(state.terms)), state.terms, make))

    def update(self, state: Driven, total: Any) -> Learnt[Driven]:
        weather, finished = self.noise.update(state.weather, total)
        return Learnt(state._replace(weather=weather), finished)

    def _unforeseen(self, state: Driven, data: xr.Dataset) -> xr.Dataset:
        """(..., time or lag, ...): each step less what the physics makes of the one before; of the first, nothing."""
        (name,) = data.data_vars
        values = data[name].values
        x = np.nan_to_num(flat(values)).astype(np.float32)
        before = np.concatenate([x[..., :1, :], x[..., :-1, :]], axis=-2).reshape(-1, x.shape[-1])
        weights = physics.stencil(state.terms, state.grid, self.substeps)
        made = physics.path(weights, state.grid, before, month(data["time"].values).reshape(-1, 1), self.substeps)
        e = values - unflat(np.asarray(made, dtype=np.float64).reshape(x.shape), state.grid)
        e[..., 0, :, :] *= 0
        return data.assign({name: (data[name].dims, e, data[name].attrs)})

    def forecast(self, state: Driven, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        (name,) = initial.data_vars
        steps, seen = np.arange(1, int(max(lead_times)) + 1), self._unforeseen(state, initial).isel(lag=[-1])
        noise = self.noise.forecast(state.weather, seen, steps, forcing, seed)[name].transpose("lead_time", "init_time", "member", ...)
        push = np.nan_to_num(flat(noise.values)).astype(np.float32)
        count, _, members, points = push.shape
        x = np.repeat(physics.last_seen(initial), members, axis=0)
        months = np.repeat(physics.calendar(state.grid, initial, count), members, axis=0)
        weights = physics.stencil(state.terms, state.grid, self.substeps)
        made = physics.path(weights, state.grid, x, months, self.substeps, push.reshape(count, -1, points))
        values = np.asarray(made).reshape(push.shape).swapaxes(0, 1)[:, lead_times - 1]
        forecast: xr.Dataset = physics.forecast_of(values, state.grid, initial, lead_times)
        return forecast


@dataclass(frozen=True)
class StochasticMixedLayer(Composed):
    """Settings.

    members: draws of the weather. modes: EOFs of it that are drawn as patterns; the rest is drawn at each point by itself.
    inflation: factor on the noise; forecasts of years that nothing was fitted to are further off than those of training.
    fields, rounds, substeps: of the physics, see `mixed_layer`.
    """

    members: int = 16
    modes: int = 8
    inflation: float = 1.17
    fields: Literal["point", "latitude", "uniform"] = "point"
    rounds: int = 15
    substeps: int = 2

    kind = "physics"
    effort = 2.0

    @property
    def ensemble_size(self) -> int:
        return self.members

    def build(self) -> Model[Any, Any]:
        pc, residual = (Red(self.members, self.inflation, stream) for stream in (0, 1))
        weather = Weather(self.substeps, Then(Eof(self.modes), beside(pc=pc, residual=residual)))
        core = physics.MixedLayer(fields=self.fields, rounds=self.rounds, substeps=self.substeps).core()
        return Then(Scaled(), InTurn((core,), weather))
