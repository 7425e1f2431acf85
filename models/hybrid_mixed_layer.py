"""Hybrid mixed layer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import xarray as xr

from ensemble import Array, Chunk, Composed, Domain, Learnt, Model, load
from ensemble.gradient import Descent, Gradient, Samples, Training
from ensemble.parts import Eof, Scaled, Then

physics = load("mixed_layer")


def tendency(parameters: Any, z: jax.Array, season: jax.Array) -> jax.Array:
    """(start, mode), (start, 3): what is added in a step, as components."""
    linear = jnp.einsum("ns,skl,nk->nl", season, parameters["linear"], z)
    hidden = jnp.tanh(jnp.concatenate([z, season[:, 1:]], axis=1) @ parameters["w1"] + parameters["b1"])
    return linear + hidden @ parameters["w2"]


def rollout(parameters: Any, fixed: Any, x: jax.Array, months: jax.Array, substeps: int) -> jax.Array:
    where = fixed["grid"]
    rows = len(where.mask)
    weights = physics.stencil(fixed["common"] + parameters["fields"], where, substeps)
    adjoint = jax.lax.stop_gradient(physics.transposed(weights, where))

    def on(x: jax.Array, at: jax.Array) -> tuple[jax.Array, jax.Array]:
        learnt = tendency(parameters, x @ fixed["into"].T, fixed["season"][at]) @ fixed["out"]
        x = physics.step(weights[at], adjoint[at], x, rows, substeps) + learnt
        return x, x

    return jax.lax.scan(on, x, months.T)[1]


@dataclass(frozen=True)
class Corrected(Gradient):
    fields: str
    modes: int
    width: int
    seeds: int
    rounds: int
    rate: float
    net_rate: float
    smoothness: float
    decay: float
    substeps: int

    @property
    def descent(self) -> Descent:
        return Descent(rounds=self.rounds, seeds=self.seeds)

    def optimiser(self) -> optax.GradientTransformation:
        rates = {"physics": optax.adam(self.rate), "network": optax.adam(self.net_rate)}
        return optax.multi_transform(rates, lambda tree: {name: "physics" if name == "fields" else "network" for name in tree})

    def begin(self, known: Any, domain: Domain, seed: int) -> Learnt[Training]:
        patterns, guess = known
        root = np.sqrt(patterns.field.area / patterns.field.area.max())
        vectors = np.zeros((self.modes, *root.shape))
        vectors[:, patterns.field.mask] = patterns.vectors
        safe = np.where(root > 0, root, 1)
        size = np.sqrt(patterns.field.mask.sum())
        w = np.sqrt(patterns.field.area[patterns.field.mask] / patterns.field.area[patterns.field.mask].mean())
        into, out = np.zeros((2, self.modes, *root.shape), np.float32)
        into[:, patterns.field.mask] = patterns.vectors * w / size
        out[:, patterns.field.mask] = patterns.vectors / w * size
        angle = 2 * np.pi * np.arange(12) / 12
        season = np.stack([np.ones(12), np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)
        fixed = {"grid": guess.grid, "common": guess.terms.astype(np.float32), "into": physics.flat(into), "out": physics.flat(out), "season": season}
        state, finished = self.start(domain, seed)
        return Learnt(state._replace(fixed=fixed), finished)

    def parameters(self, domain: Domain, key: jax.Array) -> Any:
        latitudes, longitudes = domain.fields[domain.target].mask.shape
        first, second = jax.random.split(key)
        return {
            "fields": jnp.zeros({"point": (10, latitudes, longitudes), "latitude": (10, latitudes, 1), "uniform": (10, 1, 1)}[self.fields]),
            "linear": jnp.zeros((3, self.modes, self.modes)),
            "w1": jax.random.normal(first, (self.modes + 2, self.width)) / np.sqrt(self.modes + 2),
            "b1": jnp.zeros(self.width),
            "w2": 0.1 * jax.random.normal(second, (self.width, self.modes)) / np.sqrt(self.width),
        }

    def samples(self, chunk: Chunk) -> Samples:
        return Samples(chunk.pairs().initial["init_time"].values, physics.observed(chunk, physics.grid(chunk.domain)))

    def loss(self, parameters: Any, fixed: Any, inputs: Any, keys: Any) -> jax.Array:
        x, months, y = inputs
        where = fixed["grid"]
        ahead = rollout(parameters, fixed, x, months, self.substeps)[where.lead_times - 1]
        wrong = jnp.mean(jnp.sum(where.area * (ahead.swapaxes(0, 1) - y) ** 2, axis=-1), axis=1)
        size = sum(jnp.sum(parameters[name] ** 2) for name in ("linear", "w1", "w2"))
        return wrong + self.smoothness * physics.roughness(parameters["fields"], where) + self.decay * size

    def forecast(self, state: Training, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        (name,) = initial.data_vars
        where = state.fixed["grid"]
        months = physics.calendar(where, initial, int(max(lead_times)))
        ahead = _members(state.best, state.fixed, physics.state_of(initial, name), months, self.substeps)
        values = np.asarray(ahead, dtype=float).transpose(2, 1, 0, 3)[:, lead_times - 1]
        values = np.where(where.mask, physics.unflat(values, where), np.nan)
        dims = ("init_time", "lead_time", "member", *initial[name].dims[2:])
        return xr.Dataset({name: (dims, values)}, {"init_time": initial["init_time"], "lead_time": lead_times, "member": np.arange(self.seeds)})


@partial(jax.jit, static_argnames="substeps")
def _members(parameters: Any, fixed: Any, x: Any, months: Any, substeps: int) -> jax.Array:
    """(member, step, start, point)."""
    return jax.vmap(lambda each: rollout(each, fixed, x, months, substeps))(parameters)


@dataclass(frozen=True)
class HybridMixedLayer(Composed):
    """Settings.
    """

    fields: str = "latitude"
    modes: int = 8
    width: int = 16
    seeds: int = 3
    rounds: int = 15
    rate: float = 0.03
    net_rate: float = 5e-3
    smoothness: float = 1e-3
    decay: float = 1e-4
    substeps: int = 3
    guesses: int = 3

    kind = "hybrid"

    def build(self) -> Model[Any, Any]:
        learner = Corrected(self.fields, self.modes, self.width, self.seeds, self.rounds, self.rate, self.net_rate, self.smoothness, self.decay, self.substeps)
        return Then(Scaled(), physics.InTurn((Eof(self.modes), physics.GaussNewton(self.substeps, self.guesses)), learner))
