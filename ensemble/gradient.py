"""Write a loss, get data-parallel training: models whose parameters follow the gradient of a sum over samples.

Each round every chunk hands in the gradient of its share of a minibatch, and `update` takes one step of an Optax optimiser
with the sum. A model says what its parameters, its samples and the loss of a sample are; several replicas, each begun from
a seed of its own, are trained side by side in one vectorised pass and become the members of its forecast.

What a round draws is keyed by seed, round and start, so that it does not depend on how the data are cut. With three
minibatches an epoch, each start falls in one of them, and each of them has one start of every three that follow each other:

    start        0 1 2   3 4 5   6 7 8          noise of start 4 in round 7: the key (word of seed, round and replica; 4)
    minibatch    1 0 2   2 1 0   0 2 1

With a `holdout`, the last part of the training period is not trained on but watched: the parameters that did best there are
the ones kept, and training ends when no replica has improved there for `patience` rounds.
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
from ensemble.task import Array, Domain, Times, steps_between

Tree = Any  # a tree of arrays

# At its default level LLVM takes up to six seconds over drawing a few random matrices, and the rounds run no faster for it.
_QUICK = {"xla_backend_optimization_level": 1}
_compiled = partial(jax.jit, static_argnums=0, compiler_options=_QUICK)


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


class _Share(NamedTuple):
    """A chunk's samples, filled up to a multiple of eight, so that chunks of nearly the same size share compiled code."""

    inputs: Tree
    position: Array  # (sample,): steps from the beginning of the training period to the start
    trained: Array  # indices of the samples that are trained on,
    watched: Array  # and of those that are watched; a sample that sees both parts is neither


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
        """First parameters of one replica. Pure JAX of `key`."""

    def fixed(self, domain: Domain) -> Tree:
        """Arrays that the loss and the forecast need and that are not trained, such as a mask."""
        del domain
        return ()

    @abc.abstractmethod
    def samples(self, chunk: Chunk) -> Samples:
        """What a chunk has to train on; asked once per chunk and process."""

    @abc.abstractmethod
    def loss(self, parameters: Tree, fixed: Tree, inputs: Tree, keys: jax.Array | None) -> jax.Array:
        """(sample,): the loss of each sample under one replica; `keys` (sample,) for noise, None while watching. Pure JAX."""

    def start(self, domain: Domain, seed: int) -> Learnt[Training]:
        seeds = self.descent.seeds

        def begin() -> tuple[Tree, Tree]:
            keys = jax.random.split(jax.random.key(seed, impl="threefry2x32"), seeds)
            parameters = jax.vmap(lambda key: self.parameters(domain, key))(keys)
            return parameters, jax.vmap(self.optimiser().init)(parameters)

        parameters, optimiser = _numpy(jax.jit(begin, compiler_options=_QUICK)())
        state = Training(parameters, optimiser, 0, parameters, np.full(seeds, np.inf), 0, _numpy(self.fixed(domain)), seed)
        return Learnt(state, finished=self.descent.rounds == 0)

    def summarise(self, state: Training, chunk: Chunk) -> Sum:
        share = chunk.once((self, "share"), None, lambda: self._share(chunk))
        gradient, held = tree_map(np.zeros_like, state.parameters), np.zeros(self.descent.seeds)
        chosen, weight = self._minibatch(state, share)
        if weight.any():
            words = np.random.SeedSequence((state.seed, state.round)).generate_state(self.descent.seeds)
            starts = share.position[chosen].astype(np.uint32)
            gradient = _numpy(_gradients(self, state.parameters, state.fixed, share.inputs, chosen, weight, words, starts))
        watching = len(share.watched) if self._looks(state) else 0
        if watching:
            index, of = _filled(share.watched, watching)
            held = np.asarray(_losses(self, state.parameters, state.fixed, share.inputs, index, of), dtype=np.float64)
        return Sum((gradient, float(weight.sum()), held, watching))

    def _looks(self, state: Training) -> bool:
        return self.descent.holdout > 0 and state.round % self.descent.every == 0

    def _share(self, chunk: Chunk) -> _Share:
        init_time, inputs = self.samples(chunk)
        first, last = chunk.domain.period.first, chunk.domain.period.last
        position = np.array([steps_between(first, each, chunk.domain.step) for each in init_time], dtype=int)
        last_valid = chunk.domain.valid_time(init_time, np.array([max(chunk.domain.lead_times)]))[:, 0]
        begins = last - (last - first) * self.descent.holdout
        trained = last_valid < begins if self.descent.holdout else np.ones(len(init_time), bool)
        extra = -len(init_time) % 8
        filled = jax.tree.map(lambda x: jnp.asarray(np.concatenate([x, np.zeros((extra, *x.shape[1:]), x.dtype)])), inputs)
        return _Share(filled, position, np.flatnonzero(trained), np.flatnonzero(~trained & (init_time >= begins)))

    def _minibatch(self, state: Training, share: _Share) -> tuple[Array, Array]:
        """Indices of this round's samples and their weights; the same number each round."""
        batches, position = self.descent.batches, share.position[share.trained]
        if not len(position):
            return _filled(position, 0)
        epoch, batch = divmod(state.round, batches)
        block, place = np.divmod(position, batches)
        order = np.random.default_rng((state.seed, epoch)).random((block.max() + 1, batches)).argsort(1)
        return _filled(share.trained[order[block, place] == batch], len(np.unique(block)))

    def update(self, state: Training, total: Sum) -> Learnt[Training]:
        gradient, count, held, watching = total.tree
        if not count:
            raise ValueError(f"no start to train on in round {state.round}; lengthen the training period, or lower holdout or batches")
        if self._looks(state):
            state = self._remember(state, held, watching)
        parameters, optimiser = _numpy(_step(self, state.parameters, state.optimiser, gradient, np.float32(count)))
        moved = state._replace(parameters=parameters, optimiser=optimiser, round=state.round + 1)
        if not self.descent.holdout:
            moved = moved._replace(best=parameters, best_round=moved.round)
        finished = moved.round >= self.descent.rounds or state.round - moved.best_round >= self.descent.patience
        return Learnt(moved._replace(optimiser=()) if finished else moved, finished)

    def _remember(self, state: Training, held: Array, watching: int) -> Training:
        """The state with the parameters of each replica that did better than ever on what is watched."""
        if not watching:
            raise ValueError(f"all leads of no start verify in the last {self.descent.holdout:.0%} of the training period; raise holdout")
        loss = held / watching
        better = loss < state.best_loss
        best = tree_map(lambda new, old: np.where(better.reshape(-1, *[1] * (new.ndim - 1)), new, old), state.parameters, state.best)
        best_round = state.round if better.any() else state.best_round
        return state._replace(best=best, best_loss=np.where(better, loss, state.best_loss), best_round=best_round)


def noisy(x: jax.Array, scale: float, keys: jax.Array | None) -> jax.Array:
    """`x` (sample, ...) with normal noise of each sample's own; as it is where there are no keys."""
    if keys is None:
        return x
    return x + scale * jax.vmap(lambda key: jax.random.normal(key, x.shape[1:], x.dtype))(keys)


@_compiled
def _gradients(model: Gradient, parameters: Tree, fixed: Tree, inputs: Tree, chosen: Any, weight: Any, words: Any, starts: Any) -> Tree:
    """The gradient, summed over the samples chosen, of every replica."""
    batch = jax.tree.map(lambda each: each[chosen], inputs)

    def of_replica(each: Tree, word: jax.Array) -> Tree:
        keys = jax.vmap(lambda start: jax.random.wrap_key_data(jnp.stack([word, start]), impl="threefry2x32"))(starts)
        return jax.grad(lambda p: jnp.sum(model.loss(p, fixed, batch, keys) * weight))(each)

    return jax.vmap(of_replica)(parameters, words)


@_compiled
def _losses(model: Gradient, parameters: Tree, fixed: Tree, inputs: Tree, chosen: Any, weight: Any) -> jax.Array:
    """(seed,): the loss, summed over the samples chosen, without noise."""
    batch = jax.tree.map(lambda each: each[chosen], inputs)
    return jax.vmap(lambda each: jnp.sum(model.loss(each, fixed, batch, None) * weight))(parameters)


@_compiled
def _step(model: Gradient, parameters: Tree, optimiser: Tree, gradient: Tree, count: Any) -> tuple[Tree, Tree]:
    """One step of the optimiser, of every replica on its own."""

    def of_replica(p: Tree, o: Tree, g: Tree) -> tuple[Tree, Tree]:
        moves, state = model.optimiser().update(jax.tree.map(lambda x: x / count, g), o, p)
        return optax.apply_updates(p, moves), state

    return jax.vmap(of_replica)(parameters, optimiser, gradient)


def _filled(index: Array, size: int) -> tuple[Array, Array]:
    """`index` filled up to `size`, and on to a multiple of eight, with weights that are 0 where it was."""
    size += -size % 8
    weight = (np.arange(size) < len(index)).astype(np.float32)
    return np.concatenate([index, np.zeros(size - len(index), index.dtype)]), weight


def _numpy(tree: Tree) -> Tree:
    """A tree of numpy arrays, that pickles, saves and adds up without JAX."""
    return jax.tree.map(np.asarray, tree)
