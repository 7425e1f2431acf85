"""Write a loss, get data-parallel training: models whose parameters follow the gradient of a sum over samples.

Each round every chunk hands in the gradient of its share of a minibatch, and `update` takes one step of an Optax optimiser
with the sum. A model says what its parameters, its samples and the loss of a sample are; several replicas, each begun from
a seed of its own, are trained side by side in one vectorised pass and become the members of its forecast.

The draws of a round (minibatch, noise) are keyed by seed, round and start, so that they do not depend on how the data are
cut. With a `holdout`, the last part of the training period is not trained on but watched: the parameters that did best
there are the ones kept, and training ends when they have not improved for `patience` rounds.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from ensemble.chunk import Chunk
from ensemble.model import Learnt, Model
from ensemble.sums import Sum, tree_map
from ensemble.task import Array, Domain, Times

Tree = Any  # a tree of arrays


@dataclass(frozen=True)
class Descent:
    """How long and how to descend.

    rounds: steps of the optimiser at most. batches: minibatches an epoch, one a round. seeds: replicas trained side by side.
    holdout: the share of the training period, its end, that is watched. patience: rounds without a better holdout loss
    after which training ends; `every`: rounds between looks at it.
    """

    rounds: int
    batches: int = 1
    seeds: int = 1
    holdout: float = 0.0
    patience: int = 50
    every: int = 1


class Training(NamedTuple):
    """Where the descent stands; the leaves of `parameters`, `best` and `optimiser` begin with the axis of seeds."""

    parameters: Tree
    optimiser: Tree
    round: int
    best: Tree
    best_loss: Array  # (seed,)
    best_round: int
    fixed: Tree
    seed: int


class Samples(NamedTuple):
    """What a chunk has to train on: arrays that begin with the sample, and the start of each."""

    init_time: Times
    inputs: Tree


class Gradient(Model[Training, Sum]):
    """A model that is trained by the gradient of a loss."""

    @property
    @abc.abstractmethod
    def descent(self) -> Descent:
        """How long and how to descend."""

    @abc.abstractmethod
    def optimiser(self) -> optax.GradientTransformation:
        """The optimiser, with its rate."""

    @abc.abstractmethod
    def parameters(self, domain: Domain, key: jax.Array) -> Tree:
        """First parameters of one replica."""

    def fixed(self, domain: Domain) -> Tree:
        """Arrays that the loss and the forecast need and that are not trained, such as a mask."""
        del domain
        return ()

    @abc.abstractmethod
    def samples(self, chunk: Chunk) -> Samples:
        """What a chunk has to train on; asked once per chunk and process."""

    @abc.abstractmethod
    def loss(self, parameters: Tree, fixed: Tree, inputs: Tree, keys: jax.Array) -> jax.Array:
        """(sample,): the loss of each sample under one replica; `keys` (sample,) for noise. Pure JAX."""

    def start(self, domain: Domain, seed: int) -> Learnt[Training]:
        keys = jax.random.split(jax.random.key(seed), self.descent.seeds)
        parameters = _numpy(jax.vmap(lambda key: self.parameters(domain, key))(keys))
        optimiser = _numpy(jax.vmap(self.optimiser().init)(parameters))
        lost = np.full(self.descent.seeds, np.inf)
        state = Training(parameters, optimiser, 0, parameters, lost, 0, _numpy(self.fixed(domain)), seed)
        return Learnt(state, finished=self.descent.rounds == 0)

    def summarise(self, state: Training, chunk: Chunk) -> Sum:
        samples, trained, watched = chunk.once((self, "samples"), None, lambda: self._split(chunk))
        chosen, weight = self._batch(state, samples.init_time, trained)
        months = jnp.asarray(samples.init_time[chosen].astype("datetime64[h]").astype(np.int64) % 2**31)
        inputs = jax.tree.map(lambda each: each[chosen], samples.inputs)
        gradient, loss = _gradients(self, state.parameters, state.fixed, inputs, weight, state.seed, state.round, months)
        held = np.zeros(self.descent.seeds)
        if watched.any() and state.round % self.descent.every == 0:
            held = np.asarray(_losses(self, state.parameters, state.fixed, samples.inputs, watched.astype(np.float32)))
        return Sum((_numpy(gradient), np.asarray(loss, dtype=float), weight.sum(), held.astype(float), watched.sum()))

    def _split(self, chunk: Chunk) -> tuple[Samples, Array, Array]:
        """The samples, and which of them are trained on and which watched; a sample that sees both is neither."""
        samples = self.samples(chunk)
        first, last = chunk.domain.period.first, chunk.domain.period.last
        begins = last - (last - first) * self.descent.holdout
        last_valid = chunk.domain.valid_time(samples.init_time, np.array([max(chunk.domain.lead_times)]))[:, 0]
        on_device = samples._replace(inputs=jax.tree.map(jnp.asarray, samples.inputs))
        if not self.descent.holdout:
            return on_device, np.ones(len(last_valid), bool), np.zeros(len(last_valid), bool)
        return on_device, last_valid < begins, samples.init_time >= begins

    def _batch(self, state: Training, init_time: Times, trained: Array) -> tuple[Array, Array]:
        """Indices of this round's minibatch, always as many, and their weights, 0 for those that fill up."""
        index = np.flatnonzero(trained)
        batches = self.descent.batches
        if batches == 1:
            return index, np.ones(len(index), np.float32)
        epoch, batch = divmod(state.round, batches)
        drawn = np.array([np.random.default_rng((state.seed, epoch, int(t.astype("datetime64[h]").astype(int)) % 2**31)).random() for t in init_time[index]])
        mine = index[np.argsort(drawn, kind="stable")][batch::batches]
        size = -(-len(index) // batches)
        weight = (np.arange(size) < len(mine)).astype(np.float32)
        return np.concatenate([mine, np.repeat(index[:1], size - len(mine))]), weight

    def update(self, state: Training, total: Sum) -> Learnt[Training]:
        gradient, _, count, held, watched = total.tree
        best, best_loss, best_round = state.best, state.best_loss, state.best_round
        if watched and state.round % self.descent.every == 0:
            better = held / watched < best_loss
            best = tree_map(lambda new, old: np.where(better.reshape(-1, *[1] * (new.ndim - 1)), new, old), state.parameters, best)
            best_loss = np.where(better, held / watched, best_loss)
            best_round = state.round if better.any() else best_round
        parameters, optimiser = _numpy(_step(self, state.parameters, state.optimiser, gradient, np.float32(count)))
        done = state.round + 1 >= self.descent.rounds or bool(watched and state.round - best_round >= self.descent.patience)
        if not watched:
            best = parameters
        moved = state._replace(
            parameters=parameters, optimiser=optimiser, round=state.round + 1, best=best, best_loss=best_loss, best_round=best_round
        )
        return Learnt(moved._replace(optimiser=()) if done else moved, finished=done)


@partial(jax.jit, static_argnums=0)
def _gradients(model: Gradient, parameters: Tree, fixed: Tree, inputs: Tree, weight: Any, seed: int, round: int, starts: jax.Array) -> Any:
    """Gradient and loss, summed over samples, of every replica."""

    def summed(each: Tree, keys: jax.Array) -> jax.Array:
        return jnp.sum(model.loss(each, fixed, inputs, keys) * weight)

    def keys_of(replica: jax.Array) -> jax.Array:
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), replica), round)
        return jax.vmap(lambda start: jax.random.fold_in(key, start))(starts)

    replicas = jnp.arange(jax.tree.leaves(parameters)[0].shape[0])
    loss, gradient = jax.vmap(lambda p, r: jax.value_and_grad(summed)(p, keys_of(r)))(parameters, replicas)
    return gradient, loss


@partial(jax.jit, static_argnums=0)
def _losses(model: Gradient, parameters: Tree, fixed: Tree, inputs: Tree, weight: Any) -> jax.Array:
    """The loss summed over samples of every replica; keys are handed in for form's sake, and the same for all."""
    keys = jax.vmap(jax.random.key)(jnp.zeros(weight.shape, jnp.uint32))
    return jax.vmap(lambda each: jnp.sum(model.loss(each, fixed, inputs, keys) * weight))(parameters)


@partial(jax.jit, static_argnums=0)
def _step(model: Gradient, parameters: Tree, optimiser: Tree, gradient: Tree, count: Any) -> tuple[Tree, Tree]:
    """One step of the optimiser, of every replica on its own."""

    def one(p: Tree, o: Tree, g: Tree) -> tuple[Tree, Tree]:
        moves, state = model.optimiser().update(jax.tree.map(lambda x: x / count, g), o, p)
        return optax.apply_updates(p, moves), state

    return jax.vmap(one)(parameters, optimiser, gradient)


def _numpy(tree: Tree) -> Tree:
    """A tree of owned numpy arrays, that pickles, saves and adds up without JAX."""
    return jax.tree.map(np.asarray, tree)
