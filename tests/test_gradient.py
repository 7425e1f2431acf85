"""Training by gradient: what is drawn does not depend on the cut, what is held out is not trained on, the best is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.execute import Serial
from ensemble.fitting import fit
from ensemble.gradient import Descent, Gradient, Samples, Training, noisy
from ensemble.prepare import chunk_of
from ensemble.sums import total
from ensemble.task import Array, Domain
from ensemble.testing import Basin, Changed, basin_study


@dataclass(frozen=True)
class Fading(Gradient):
    """One number: the share of the last value that is left after a month."""

    rounds: int = 200
    batches: int = 1
    seeds: int = 2
    holdout: float = 0.0
    patience: int = 1000
    noise: float = 0.0
    rate: float = 0.05

    @property
    def descent(self) -> Descent:
        return Descent(self.rounds, self.batches, self.seeds, self.holdout, self.patience)

    def optimiser(self) -> optax.GradientTransformation:
        return optax.sgd(self.rate)

    def parameters(self, domain: Domain, key: jax.Array) -> Any:
        return {"share": jax.random.normal(key)}

    def samples(self, chunk: Chunk) -> Samples:
        initial, targets, _ = chunk.pairs(1, np.array([1]))
        mask = chunk.domain.fields["sst"].mask
        x, y = initial["sst"].values[:, 0, mask], targets["sst"].values[:, 0, mask]
        return Samples(initial["init_time"].values, (x.astype(np.float32), y.astype(np.float32)))

    def loss(self, parameters: Any, fixed: Any, inputs: Any, keys: jax.Array | None) -> jax.Array:
        x, y = inputs
        return jnp.mean((parameters["share"] * noisy(x, self.noise, keys) - y) ** 2, axis=1)

    def forecast(self, state: Training, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        raise NotImplementedError


def chunks(shards: int = 1, source: Any = None) -> tuple[Domain, list[Chunk]]:
    """The first five years of the basin as anomalies, cut into `shards`."""
    study = basin_study(fading=Fading())
    data = Basin() if source is None else source
    cut = [chunk_of(data, study.domain, study.train, shards, i, 3) for i in range(shards)]
    normal = xr.zeros_like(cut[0].data["sst"].isel(time=0, drop=True)) + 20.0
    return study.domain, [replace(each.fresh(), data=each.data - normal) for each in cut]


def trained(model: Fading, shards: int = 1, source: Any = None) -> Training:
    domain, cut = chunks(shards, source)
    state: Training = fit(model, [[chunk] for chunk in cut], domain, Serial(), 7)
    return state


def test_it_finds_the_least_squares() -> None:
    _, (chunk,) = chunks()
    x, y = Fading().samples(chunk).inputs
    np.testing.assert_allclose(trained(Fading()).best["share"], (x * y).sum() / (x * x).sum(), rtol=1e-4)


@pytest.mark.parametrize(
    "model", [Fading(rounds=20), Fading(rounds=20, batches=3, noise=0.3), Fading(rounds=20, batches=3, holdout=0.3, noise=0.3)]
)
def test_the_cut_moves_the_last_digits_only(model: Fading) -> None:
    one = trained(model).best["share"]
    for shards in (2, 5):
        np.testing.assert_allclose(trained(model, shards).best["share"], one, rtol=2e-5)


def test_the_minibatches_of_an_epoch_share_out_the_starts() -> None:
    model = Fading(batches=4, seeds=1)
    domain, cut = chunks(3)
    state = model.start(domain, 7).state
    counts = []
    for epoch in range(2):
        rounds = [total([model.summarise(state._replace(round=4 * epoch + i), chunk) for chunk in cut]).tree for i in range(4)]
        counts.append([each[1] for each in rounds])
        gradient = sum(each[0]["share"] for each in rounds)
        full = Fading(seeds=1).summarise(state, chunks()[1][0]).tree
        np.testing.assert_allclose(gradient, full[0]["share"], rtol=1e-5)
        assert sum(counts[-1]) == full[1]
    assert max(map(max, counts)) - min(map(min, counts)) <= 4, "they are of nearly the same size"


def test_what_is_held_out_is_watched_and_never_trained_on() -> None:
    study = basin_study(fading=Fading())
    held = study.train.times(study.data.step)[-18]  # the last 30 % of 60 months
    model = Fading(rounds=15, holdout=0.3)
    one, other = trained(model), trained(model, source=Changed(Basin(), held))
    np.testing.assert_array_equal(one.parameters["share"], other.parameters["share"])
    assert (one.best_loss != other.best_loss).all()
    assert trained(Fading(rounds=15)).parameters["share"] != pytest.approx(one.parameters["share"], rel=1e-6)


def test_the_best_on_what_is_held_out_is_kept_and_training_ends_after_it() -> None:
    model = Fading(rounds=400, holdout=0.3, patience=10, rate=0.11)
    state = trained(model)
    assert state.round < 400
    assert state.round - 1 - state.best_round >= 10
    domain, (chunk,) = chunks()
    first = model.start(domain, 7).state
    before = model.summarise(first, chunk).tree
    assert (state.best_loss <= before[2] / before[3]).all()
    kept = model.summarise(first._replace(parameters=state.best), chunk).tree
    np.testing.assert_allclose(kept[2] / kept[3], state.best_loss, rtol=1e-6)


def test_replicas_begin_from_seeds_of_their_own_and_a_seed_repeats_them() -> None:
    domain, _ = chunks()
    begun: Sequence[Any] = [Fading(seeds=3).start(domain, seed).state.parameters["share"] for seed in (7, 7, 8)]
    assert len(set(begun[0].tolist())) == 3
    np.testing.assert_array_equal(begun[0], begun[1])
    assert not np.intersect1d(begun[0], begun[2]).size


def test_nothing_to_train_on_is_said() -> None:
    with pytest.raises(ValueError, match="no start to train on"):
        trained(Fading(rounds=5, holdout=0.99))
