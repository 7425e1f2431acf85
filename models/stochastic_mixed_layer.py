"""Stochastic mixed layer: the mixed layer, driven by weather that is drawn as it was in the training years.

T(t + 1) = F(T(t)) + e(t + 1), e red noise with the covariance of what F missed (Hasselmann 1976,
doi 10.1111/j.2153-3490.1976.tb00696.x)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from ensemble import Array, Chunk, Composed, Domain, Learnt, Model, Sum, load
from ensemble.parts import Eof, Then, beside
from ensemble.task import month

physics = load("mixed_layer")


class Persistence(NamedTuple):
    """Of each component: what is left of it after a step, and the standard deviation [unit of the variable]."""

    share: Array
    deviation: Array


@dataclass(frozen=True)
class Red(Model[Persistence, Sum]):
    """Each component on its own: e(t + 1) = share e(t) + noise, the noise of the members adding up to zero."""

    members: int
    stream: int  # of random numbers

    def start(self, domain: Domain, seed: int) -> Learnt[Persistence]:
        del seed
        nothing = np.zeros(domain.fields[domain.target].mask.shape)
        return Learnt(Persistence(nothing, nothing), finished=False)

    def summarise(self, state: Persistence, chunk: Chunk) -> Sum:
        initial, targets, _ = chunk.pairs(1, np.array([1]))
        x, y = initial[chunk.domain.target].values[:, 0], targets[chunk.domain.target].values[:, 0]
        return Sum(((x * y).sum(0), (x * x).sum(0), (y * y).sum(0), len(x)))

    def update(self, state: Persistence, total: Sum) -> Learnt[Persistence]:
        xy, xx, yy, count = total.tree
        share = np.clip(xy / np.where(xx > 0, xx, 1), 0, 0.95)
        return Learnt(Persistence(share, np.sqrt(yy / count)), finished=True)

    def forecast(self, state: Persistence, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        (name,) = initial.data_vars
        e = initial[name].values[:, -1:]
        e = COND * e + np.zeros((1, self.members, *e.shape[2:]))
        noise = self._noise(initial["init_time"].values, (int(max(lead_times)), *e.shape[2:]), seed)
        fresh = state.deviation * np.sqrt(1 - state.share**2)
        path = []
        for lead in range(noise.shape[2]):
            e = state.share * e + (fresh if lead or COND else state.deviation) * noise[:, :, lead]
            path.append(e)
        values = np.stack(path, axis=1)[:, lead_times - 1]
        dims = ("init_time", "lead_time", "member", *initial[name].dims[2:])
        coords = {"init_time": initial["init_time"], "lead_time": lead_times, "member": np.arange(self.members)}
        return xr.Dataset({name: (dims, values)}, coords)

    def _noise(self, init_time: Array, shape: tuple[int, ...], seed: int) -> Array:
        """(init_time, member, lead_time, ...) standard normal, drawn for each start and member by itself."""
        hours = init_time.astype("datetime64[h]").astype(int) % 2**32
        drawn = [[np.random.default_rng((seed, self.stream, int(h), m)).standard_normal(shape) for m in range(self.members)] for h in hours]
        noise = np.array(drawn)
        return noise - noise.mean(1, keepdims=True)
import os
COND=float(os.environ.get("COND","1"))


class Forced(NamedTuple):
    terms: Array
    grid: Any
    weather: Any


@dataclass(frozen=True)
class Driven(Model[Forced, Any]):
    """The physics and what drives it; learns from what the physics missed a month ahead."""

    substeps: int
    weather: Model[Any, Any]

    @property
    def history(self) -> int:
        return 2

    def begin(self, known: tuple[Any, ...], domain: Domain, seed: int) -> Learnt[Forced]:
        terms, where = physics.learnt(known[0])
        state, finished = self.weather.start(domain, seed)
        return Learnt(Forced(terms, where, state), finished)

    def summarise(self, state: Forced, chunk: Chunk) -> Any:
        missed = chunk.once(("missed", id(state.terms)), state.terms, lambda: chunk.mapped(lambda data: self._missed(state, data), chunk.domain, 1))
        return self.weather.summarise(state.weather, missed)

    def update(self, state: Forced, total: Any) -> Learnt[Forced]:
        weather, finished = self.weather.update(state.weather, total)
        return Learnt(state._replace(weather=weather), finished)

    def start(self, domain: Domain, seed: int) -> Learnt[Forced]:
        raise AssertionError

    def _missed(self, state: Forced, data: xr.Dataset) -> xr.Dataset:
        """What the physics, from the month before, did not foresee of each month; nothing of the first one."""
        (name,) = data.data_vars
        axis = data["time"].ndim - 1
        values = data[name].values
        x = np.nan_to_num(physics.flat(values)).astype(np.float32)
        before = np.concatenate([x[:1], x[:-1]]) if axis == 0 else np.concatenate([x[:, :1], x[:, :-1]], axis=1)
        months = month(data["time"].values)
        made = physics.carried(state.terms, state.grid, before.reshape(-1, x.shape[-1]), months.reshape(-1, 1), self.substeps)[0]
        made = physics.unflat(np.asarray(made, dtype=float).reshape(x.shape), state.grid)
        missed = values - made
        missed[(slice(None),) * axis + (0,)] *= 0
        return data.assign({name: (data[name].dims, missed, data[name].attrs)})

    def forecast(self, state: Forced, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        (name,) = initial.data_vars
        steps = np.arange(1, int(max(lead_times)) + 1)
        missed = self._missed(state, initial).isel(lag=[-1])
        weather = self.weather.forecast(state.weather, missed, steps, forcing, seed)
        e = np.nan_to_num(physics.flat(weather[name].transpose("lead_time", "init_time", "member", ...).values)).astype(np.float32)
        x = np.repeat(physics.state_of(initial, name), e.shape[2], axis=0)
        months = np.repeat(physics.calendar(state.grid, initial, len(steps)), e.shape[2], axis=0)
        made = _driven(state.terms, state.grid, x, months, e.reshape(len(steps), *x.shape), self.substeps)
        values = np.asarray(made, dtype=float).reshape(e.shape).swapaxes(0, 1)[:, lead_times - 1]
        values = np.where(state.grid.mask, physics.unflat(values, state.grid), np.nan)
        return xr.Dataset({name: (("init_time", "lead_time", "member", *initial[name].dims[2:]), values)}, {"init_time": initial["init_time"], "lead_time": lead_times, "member": weather["member"]})


@partial(jax.jit, static_argnames="substeps")
def _driven(terms: Any, where: Any, x: Any, months: Any, e: Any, substeps: int) -> jax.Array:
    weights = physics.stencil(terms, where, substeps)
    def on(x, now):
        at, push = now
        here = weights[at]
        for _ in range(substeps):
            x = physics.apply(here, x, len(where.mask))
        x = x + push
        return x, x
    return jax.lax.scan(on, x, (months.T, e))[1]


@dataclass(frozen=True)
class StochasticMixedLayer(Composed):
    """Settings.
    """

    members: int = 16
    modes: int = 8
    substeps: int = 3

    kind = "physics"

    def build(self) -> Model[Any, Any]:
        weather = Then(Eof(self.modes), beside(pc=Red(self.members, 0), residual=Red(self.members, 1)))
        core = physics.MixedLayer()
        return physics.InTurn((core,), Driven(core.substeps, weather))
