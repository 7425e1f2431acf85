"""Multilayer perceptron in EOF space: from the last months' principal components to those of every lead at once.

One hidden layer of tanh units corrects seasonally damped persistence of each component; noise on the inputs keeps 200
samples from being learnt by heart (Bishop 1995, doi 10.1162/neco.1995.7.1.108: noise is a penalty on the derivatives).
Replicas begun from different seeds are the members (lagged-input networks for tropical sea surface temperature: Wu, Hsieh
and Tang 2006, doi 10.1016/j.neunet.2006.01.004). Unit: that of the variable. Assumes that the training years hold what is to come.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import xarray as xr

from ensemble import Array, Chunk, Composed, Domain, Model
from ensemble.gradient import Descent, Gradient, Samples, Training, noisy
from ensemble.parts import Correction, Damping, Eof, Scaled, Then, Trailing, beside, lead_index, seasonal


def inputs_of(initial: xr.Dataset) -> Array:
    """Components at each lag, their mean of a year, and the season: (init_time, feature)."""
    lags = initial["pc"].values[:, ::-1].reshape(initial.sizes["init_time"], -1)
    slow = initial["pc_slow"].values[:, -1]
    features: Array = np.concatenate([lags, slow, 0.5 * seasonal(initial["init_time"].values)], axis=1).astype(np.float32)
    return features


@jax.jit
def apply(parameters: Any, x: jax.Array) -> jax.Array:
    """(sample, feature) -> (sample, lead_time, mode)."""
    hidden = jnp.tanh(x @ parameters["w1"] + parameters["b1"])
    correction: jax.Array = jnp.einsum("nh,hlm->nlm", hidden, parameters["w2"]) + parameters["b2"]
    return correction


@dataclass(frozen=True)
class Network(Gradient):
    """The correction, in scaled components."""

    lags: int
    width: int
    seeds: int
    rounds: int
    rate: float
    decay: float
    noise: float

    @property
    def history(self) -> int:
        return self.lags

    @property
    def descent(self) -> Descent:
        return Descent(rounds=self.rounds, seeds=self.seeds)

    def optimiser(self) -> optax.GradientTransformation:
        return optax.adamw(self.rate, weight_decay=self.decay)

    def parameters(self, domain: Domain, key: jax.Array) -> Any:
        """Tanh units begin in their linear range; what they begin with averages out over the replicas."""
        modes, leads = domain.fields["pc"].mask.size, len(domain.lead_times)
        features = modes * (self.lags + 1) + 2
        first, second = jax.random.split(key)
        return {
            "w1": 0.3 * jax.random.normal(first, (features, self.width)) / np.sqrt(features),
            "b1": jnp.zeros(self.width),
            "w2": jax.random.normal(second, (self.width, leads, modes)) / np.sqrt(self.width),
            "b2": jnp.zeros((leads, modes)),
        }

    def fixed(self, domain: Domain) -> Array:
        return domain.lead_times

    def samples(self, chunk: Chunk) -> Samples:
        """The last starts too, of which not all leads lie in the data; a lead that does not weighs nothing."""
        leads = chunk.domain.lead_times
        pairs = [chunk.pairs(self.history, np.array([lead])) for lead in leads]
        initial = pairs[int(np.argmin(leads))].initial
        x = inputs_of(initial)
        y = np.zeros((len(x), len(leads), initial.sizes["mode"]), np.float32)
        there = np.zeros((len(x), len(leads), 1), np.float32)
        for i, (_, targets, _) in enumerate(pairs):
            count = targets.sizes["init_time"]
            y[:count, i], there[:count, i] = targets["pc"].values[:, 0], 1
        return Samples(initial["init_time"].values, (x, y, there))

    def loss(self, parameters: Any, fixed: Any, inputs: Any, keys: jax.Array | None) -> jax.Array:
        x, y, there = inputs
        return jnp.mean(there * (apply(parameters, noisy(x, self.noise, keys)) - y) ** 2, axis=(1, 2))

    def forecast(self, state: Training, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        every = np.asarray(jax.vmap(apply, in_axes=(0, None), out_axes=2)(state.best, jnp.asarray(inputs_of(initial))))
        pc = every[:, lead_index(state.fixed, lead_times)]
        dims = ("init_time", "lead_time", "member", "mode")
        coords = {"init_time": initial["init_time"], "lead_time": lead_times, "member": np.arange(self.seeds), "mode": initial["mode"]}
        return xr.Dataset({"pc": (dims, pc.astype(np.float64))}, coords)


@dataclass(frozen=True)
class Mlp(Composed):
    """Settings.

    modes: number of EOFs. lags: months of components the network sees, beside their mean of a year.
    width: hidden units. seeds: replicas, the members of the forecast.
    rounds: full-batch steps of AdamW. rate, decay: its learning rate and weight decay. noise: on the inputs, in units of
    the components' root mean square.
    """

    modes: int = 8
    lags: int = 3
    width: int = 32
    seeds: int = 8
    rounds: int = 300
    rate: float = 3e-3
    decay: float = 0.1
    noise: float = 0.6

    kind = "neural"
    effort = 1.3

    def build(self) -> Model[Any, Any]:
        network = Network(self.lags, self.width, self.seeds, self.rounds, self.rate, self.decay, self.noise)
        pc = Then(Scaled(), Then(Trailing(12), Correction(beside(pc=Damping()), network)))
        return Then(Eof(self.modes), beside(pc=pc, residual=Damping()))
