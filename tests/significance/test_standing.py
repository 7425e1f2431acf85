"""Models that cannot be told from the best are kept, and share their rank."""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import pytest
import xarray as xr

from ensemble.score.members import Spread
from ensemble.score.scores import Mae, Rmse
from ensemble.significance import Bootstrap, confidence_set, judged, sampled
from ensemble.significance.blocks import Circular, counted
from ensemble.significance.ranks import shared_ranks
from ensemble.task import Array
from tests.significance.series import ar1, means

MONTH = np.timedelta64(1, "M")
RANDOM = np.random.default_rng(11)


def resampled(losses: Array, counts: Array) -> tuple[Array, Array]:
    """(model, start, ...) -> means and resampled means."""
    return losses.mean(1), np.moveaxis(np.tensordot(counts, losses, axes=(1, 1)), 0, -1) / losses.shape[1]


def test_the_confidence_set_is_that_of_arch_on_its_own_resamples() -> None:
    pytest.importorskip("arch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arch = importlib.import_module("arch.bootstrap")
    for seed in range(5):
        random = np.random.default_rng(seed)
        losses = ar1(0.4, (200, 7), seed) + random.choice([0.0, 0.1, 0.3, 0.6], 7)
        theirs = arch.MCS(losses, 0.1, reps=300, block_size=10, method="R", bootstrap="circular", seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs.compute()
        counts = counted(np.stack(theirs._bootstrap_indices))
        ours = confidence_set(*resampled(losses.T[:, :, None], counts))[:, 0]
        np.testing.assert_allclose(ours, theirs.pvalues["Pvalue"].sort_index().values, atol=1e-12)
        assert list(np.flatnonzero(ours > 0.1)) == theirs.included


def test_every_series_has_its_own_set_whatever_stands_beside_it() -> None:
    losses = ar1(0.3, (120, 5, 4), 2).transpose(1, 0, 2) + RANDOM.choice([0.0, 0.4], (5, 1, 4))
    loss, resamples = resampled(losses, counted(Circular().drawn(120, 6, 200, RANDOM)))
    together = confidence_set(loss, resamples)
    for one in range(4):
        np.testing.assert_allclose(together[:, one], confidence_set(loss[:, one], resamples[:, one]), atol=1e-12)


def test_one_clear_winner_stands_alone_and_equals_stay_together() -> None:
    common = ar1(0.3, (300,), 3)
    noise = RANDOM.standard_normal((300, 6)) * 0.3
    counts = counted(Circular().drawn(300, 10, 500, RANDOM))
    losses = (common[:, None] + noise + np.array([0.0, 1, 1, 1, 1, 1])).T
    p = confidence_set(*resampled(losses, counts))
    assert p[0] == 1.0
    assert (p[1:] < 0.01).all()
    equal = confidence_set(*resampled((common[:, None] + noise).T, counts))
    assert (equal > 0.05).all()


def test_the_set_holds_the_best_as_often_as_it_says() -> None:
    losses = ar1(0.3, (150, 4, 400), 5).transpose(1, 0, 2)
    losses[2:] += 0.15
    losses[0] -= 0.02
    p = confidence_set(*resampled(losses, counted(Circular().drawn(150, 8, 300, RANDOM))))
    assert (p[0] > 0.1).mean() > 0.88


def test_twins_stay_together_and_the_undefined_are_no_part_of_it() -> None:
    base = RANDOM.standard_normal((100,))
    losses = np.stack([base, base, base + 2 + 0.1 * RANDOM.standard_normal(100), np.full(100, np.nan)])
    p = confidence_set(*resampled(losses, counted(Circular().drawn(100, 5, 200, RANDOM))))
    np.testing.assert_array_equal(p[:2], 1.0)
    assert p[2] < 0.01
    assert np.isnan(p[3])
    assert np.isnan(confidence_set(np.full((2, 1), np.nan), np.full((2, 1, 9), np.nan))).all()


def test_ranks_are_shared_by_those_that_cannot_be_told_apart() -> None:
    loss = xr.DataArray([1.0, 1.1, 2.0, 3.0, np.nan], dims="model", coords={"model": list("abcde")})
    p = np.full((5, 5), 0.5)
    p[:2, 2:4] = p[2:4, :2] = 1e-4
    p[4], p[:, 4] = np.nan, np.nan
    np.fill_diagonal(p, 1.0)
    made = shared_ranks(loss, xr.DataArray(p, dims=("model", "other")))
    np.testing.assert_array_equal(made, [1, 1, 3, 3, np.nan])


def table(starts: int) -> xr.Dataset:
    """Three models, the first two alike and the third worse, the fourth without the score."""
    error = ar1(0.3, (starts, 2, 2), 9)
    models = [error + 0.2 * RANDOM.standard_normal(error.shape) for _ in range(2)] + [2 * error, np.nan * error]
    data = means(SquaredError=np.stack(models) ** 2)
    settings = Bootstrap(resamples=400)
    score = sampled(Rmse(), data, settings.draw(data.sums["init_time"].values, 6 * MONTH))
    whole = judged(score.over_leads(), settings)
    assert whole["rank"].dims == ("model", "region")
    np.testing.assert_array_equal(whole["rank"].isel(region=0), [1, 1, 3, np.nan])
    return judged(score, settings)


def test_a_table_is_judged_as_a_whole() -> None:
    made = table(300)
    assert made["interval"].dims == ("bound", "model", "lead_time", "region")
    inside = (made["interval"].sel(bound="low") < made["value"]) & (made["value"] < made["interval"].sel(bound="high"))
    np.testing.assert_array_equal(inside.all(("lead_time", "region")), [True, True, True, False])
    np.testing.assert_array_equal(made["rank"].isel(lead_time=0, region=1), [1, 1, 3, np.nan])
    assert not made["in_set"].isel(model=[2, 3]).any()
    assert made["in_set"].isel(model=[0, 1]).any("model").all()
    assert "refused" not in made.attrs
    assert (made["n_effective"].isel(model=0) > 100).all()
    assert made.attrs["blocks"] == 25


def test_of_too_few_independent_samples_no_set_is_made_and_it_is_said() -> None:
    made = table(96)
    assert "in_set" not in made
    assert made.attrs["refused"].startswith("8.0 independent samples")
    assert "10 are needed" in made.attrs["refused"]


def test_a_spread_is_neither_good_nor_bad_and_a_single_model_is_first() -> None:
    data = means(Variance=RANDOM.random((2, 150, 1, 1)), AbsoluteError=RANDOM.random((2, 150, 1, 1)))
    draw = Bootstrap(resamples=50).draw(data.sums["init_time"].values, MONTH)
    assert set(judged(sampled(Spread(), data, draw))) == {"value", "interval", "n_effective"}
    alone = type(data)(data.sums.isel(model=[0]), data.weight.isel(model=[0]))
    made = judged(sampled(Mae(), alone, draw))
    assert made["rank"].item() == 1
    assert made["in_set"].all()
