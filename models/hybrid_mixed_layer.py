"""Hybrid mixed layer: a mixed layer, and what a small network, trained with it through whole forecasts, adds to its tendency.

T(t + 1) = F(T(t)) + E' [L(m) z + B tanh(A z + a(m))], F a month of `mixed_layer` with fields for each latitude, z the
leading components of T, E' their patterns, L and a following the month m by an annual harmonic. Gauss-Newton
gives F its start; then the error of all leads is differentiated through the forecast, physics and network alike, so that the
correction learns what it does to the months after (solver in the loop: Um et al. 2020, arXiv 2007.00016; Kochkov et al. 2021,
doi 10.1073/pnas.2101784118). Replicas begun from different seeds are the members. Unit: that of the variable. Assumes that
what the physics lacks, El Nino first of all, shows in the large patterns and was seen in the training years.
"""

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
from ensemble.parts import Eof, InTurn, Scaled, Then
from ensemble.parts.stencil import flat, grid, transposed

physics = load("mixed_layer")


def path(parameters: Any, fixed: Any, x: Any, months: Any, substeps: int) -> jax.Array:
    """(start, point) through `months` (start, step) -> (step, start, point)."""
    where, season = fixed["grid"], jnp.asarray(physics.SEASON, jnp.float32)
    weights = physics.stencil(fixed["common"] + parameters["terms"], where, substeps)
    adjoint = jax.lax.stop_gradient(transposed(weights, where))
    linear, bias = jnp.tensordot(season, parameters["linear"], 1), season @ parameters["bias"]  # of each month

    def on(x: jax.Array, at: jax.Array) -> tuple[jax.Array, jax.Array]:
        z = x @ fixed["into"].T
        added = jnp.einsum("nk,nkl->nl", z, linear[at]) + jnp.tanh(z @ parameters["inner"] + bias[at]) @ parameters["outer"]
        x = physics.step(weights[at], adjoint[at], x, len(where.mask), substeps) + added @ fixed["out_of"]
        return x, x

    return jnp.asarray(jax.lax.scan(on, x, months.T)[1])


@dataclass(frozen=True)
class Correction(Gradient):
    """What is added to the common terms of the physics, and the network, trained together through the forecast."""

    modes: int
    width: int
    seeds: int
    rounds: int
    rate: float
    physics_rate: float
    decay: float
    substeps: int

    @property
    def descent(self) -> Descent:
        return Descent(rounds=self.rounds, seeds=self.seeds)

    def optimiser(self) -> optax.GradientTransformation:
        rates = {"physics": optax.adam(self.physics_rate), "network": optax.adam(self.rate)}
        return optax.multi_transform(rates, lambda tree: {name: "physics" if name == "terms" else "network" for name in tree})

    def begin(self, known: tuple[Any, ...], domain: Domain, seed: int) -> Learnt[Training]:
        """The start, from Patterns and a Guess."""
        patterns, guess = known
        state, finished = self.start(domain, seed)
        into, out_of = _projections(patterns)
        fixed = {"grid": guess.grid, "common": guess.terms.astype(np.float32), "into": into, "out_of": out_of}
        return Learnt(state._replace(fixed=fixed), finished)

    def parameters(self, domain: Domain, key: jax.Array) -> Any:
        first, second = jax.random.split(key)
        return {
            "terms": jnp.zeros((len(physics.REST), len(domain.fields[domain.target].mask), 1)),
            "linear": jnp.zeros((3, self.modes, self.modes)),
            "bias": jnp.zeros((3, self.width)),
            "inner": jax.random.normal(first, (self.modes, self.width)) / np.sqrt(self.modes),
            "outer": 0.1 * jax.random.normal(second, (self.width, self.modes)) / np.sqrt(self.width),
        }

    def samples(self, chunk: Chunk) -> Samples:
        return Samples(chunk.pairs().initial["init_time"].values, physics.observed(chunk, grid(chunk.domain)))

    def loss(self, parameters: Any, fixed: Any, inputs: Any, keys: Any) -> jax.Array:
        x, months, y = inputs
        made = path(parameters, fixed, x, months, self.substeps)
        size = sum(jnp.sum(parameters[name] ** 2) for name in ("linear", "inner", "outer"))
        wrong: jax.Array = physics.squared_error(made, fixed["grid"], y)
        return wrong + self.decay * size

    def forecast(self, state: Training, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        where = state.fixed["grid"]
        months = physics.calendar(where, initial, int(max(lead_times)))
        made = np.asarray(_members(state.best, state.fixed, physics.last_seen(initial), months, self.substeps))
        forecast: xr.Dataset = physics.forecast_of(made.transpose(2, 1, 0, 3)[:, lead_times - 1], where, initial, lead_times)
        return forecast


@partial(jax.jit, static_argnames="substeps")
def _members(parameters: Any, fixed: Any, x: Any, months: Any, substeps: int) -> jax.Array:
    """(member, step, start, point)."""
    return jax.vmap(lambda each: path(each, fixed, x, months, substeps))(parameters)


def _projections(patterns: Any) -> tuple[Array, Array]:
    """(mode, point): from a field to components of order one, and back."""
    field = patterns.field
    root = np.sqrt(field.area[field.mask] * field.mask.sum())
    into, out_of = np.zeros((2, len(patterns.vectors), *field.mask.shape), np.float32)
    into[:, field.mask] = patterns.vectors * root / np.sqrt(root.size)
    out_of[:, field.mask] = patterns.vectors / root * np.sqrt(root.size)
    return flat(into), flat(out_of)


@dataclass(frozen=True)
class HybridMixedLayer(Composed):
    """Settings.

    modes: number of EOFs that the network sees and moves. width: hidden units. seeds: replicas, the members of the forecast.
    rounds: full-batch steps of Adam; few, for the network soon learns the training years by heart.
    rate, physics_rate: learning rates of the network and of the physics.
    decay: weight of the squared weights of the network, beside the squared error in units of the variance.
    guesses, substeps: of the physics, see `mixed_layer`.
    """

    modes: int = 8
    width: int = 16
    seeds: int = 3
    rounds: int = 10
    rate: float = 7.5e-3
    physics_rate: float = 0.05
    decay: float = 1e-4
    guesses: int = 3
    substeps: int = 2

    kind = "hybrid"
    effort = 3.5

    def build(self) -> Model[Any, Any]:
        network = Correction(self.modes, self.width, self.seeds, self.rounds, self.rate, self.physics_rate, self.decay, self.substeps)
        return Then(Scaled(), InTurn((Eof(self.modes), physics.GaussNewton(self.substeps, self.guesses)), network))
