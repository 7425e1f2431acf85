"""Many models against one: the differences, which of them stand, and what a combination gains."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from ensemble.errors import InputError
from ensemble.score.means import Means
from ensemble.score.members import Spread
from ensemble.score.scores import Acc, Mae, Rmse
from ensemble.significance import Bootstrap, compared, false_discovery, gained, sampled, significant
from ensemble.significance.baseline import against
from tests.significance.series import ar1, means

MONTH = np.timedelta64(1, "M")
SETTINGS = Bootstrap(resamples=200)
MODELS = [f"model {i}" for i in range(4)]


@pytest.fixture(scope="module")
def losses() -> Means:
    """Absolute errors of 240 starts: the first two models alike, the third worse at lead 1 alone, the last a twin of the first."""
    random = np.random.default_rng(4)
    common = 3 + ar1(0.4, (240, 3, 2), 8)
    made = np.stack([common + 0.3 * random.standard_normal(common.shape) for _ in range(3)])
    made[2, :, 0] += 0.5
    return means(AbsoluteError=np.abs(np.concatenate([made, made[:1]])))


def draw(data: Means) -> np.ndarray:
    return SETTINGS.draw(data.sums["init_time"].values, 6 * MONTH).counts


def test_differences_and_their_intervals_are_those_of_the_resampled_series(losses: Means) -> None:
    score = sampled(Mae(), losses, SETTINGS.draw(losses.sums["init_time"].values, 6 * MONTH))
    made = against(score, {"model 2": "model 1", "model 0": "model 1"}, SETTINGS)
    series = losses.sums["AbsoluteError"].values
    for name, i in (("model 2", 2), ("model 0", 0)):
        d = series[i] - series[1]
        np.testing.assert_allclose(made["difference"].sel(model=name), d.mean(0), rtol=1e-9)
        again = np.tensordot(draw(losses), d, axes=(1, 0)) / len(d)
        low, high = made["interval"].sel(model=name).values
        assert (low >= again.min(0) - 1e-12).all()
        assert (high <= again.max(0) + 1e-12).all()
        assert ((again < low).mean(0) < 0.03).all()
        assert ((again > high).mean(0) < 0.03).all()


def test_against_a_baseline_is_what_two_models_compared_are(losses: Means) -> None:
    drawn = SETTINGS.draw(losses.sums["init_time"].values, 6 * MONTH)
    made = significant(sampled(Rmse(), squares(losses), drawn), "model 1", SETTINGS)
    assert list(made["model"].values) == ["model 0", "model 2", "model 3"]
    for name in made["model"].values:
        pair = compared(Rmse(), squares(losses), name, "model 1", drawn, np.ones(3, int), SETTINGS)
        one = made.sel(model=name)
        for mine, theirs in (
            ("difference", "difference"),
            ("p_value", "bootstrap_p"),
            ("interval", "interval"),
            ("significant", "significant"),
        ):
            np.testing.assert_array_equal(one[mine].values, pair[theirs].values)


def squares(losses: Means) -> Means:
    return Means(xr.Dataset({"SquaredError": losses.sums["AbsoluteError"] ** 2}), losses.weight)


def test_the_false_discovery_rate_is_held_over_leads_and_regions_of_each_model(losses: Means) -> None:
    score = sampled(Mae(), losses, SETTINGS.draw(losses.sums["init_time"].values, 6 * MONTH))
    made = significant(score, "model 0", SETTINGS)
    np.testing.assert_array_equal(made["significant"].sel(model="model 2"), [[True, True], [False, False], [False, False]])
    assert not made["significant"].sel(model="model 3").any()  # its twin
    np.testing.assert_array_equal(made["p_value"].sel(model="model 3"), 1.0)
    for name in made["model"].values:
        one = made.sel(model=name)
        np.testing.assert_array_equal(one["significant"], false_discovery(one["p_value"].values, 0.1))
    assert made.attrs["baseline"] == "model 0"


def test_of_models_that_are_all_alike_few_fields_have_a_significant_point() -> None:
    wrong = []
    for seed in range(60):
        data = means(AbsoluteError=np.abs(ar1(0.3, (2, 120, 4, 3), seed) + 3))
        score = sampled(Mae(), data, Bootstrap(resamples=200, length=4).draw(data.sums["init_time"].values, MONTH))
        wrong.append(bool(significant(score, "model 0").significant.any()))
    assert np.mean(wrong) < 0.2  # at a rate of 0.1, of fields in which nothing is there


def test_a_gain_is_the_loss_of_the_single_model_less_that_of_the_combination(losses: Means) -> None:
    score = sampled(Mae(), losses, SETTINGS.draw(losses.sums["init_time"].values, 6 * MONTH)).over_leads()
    made = gained(score, {"model 0": "model 2", "model 1": "model 0", "model 3": "model 0"}, SETTINGS)
    mean = losses.sums["AbsoluteError"].values.mean((1, 2))
    np.testing.assert_allclose(made["gain"], [mean[2] - mean[0], mean[0] - mean[1], np.zeros(2)], atol=1e-12)
    np.testing.assert_array_equal(made["single"], ["model 2", "model 0", "model 0"])
    np.testing.assert_array_equal(made["significant"].isel(region=0), [True, False, False])
    low, high = made["interval"].values
    assert (low <= made["gain"].values).all()
    assert (made["gain"].values <= high).all()
    assert (low[0] > 0).all()


def test_more_of_a_score_that_should_be_high_is_a_gain() -> None:
    random = np.random.default_rng(2)
    truth = random.standard_normal((1, 150, 1, 1, 30))
    f = truth + np.array([0.3, 3.0]).reshape(2, 1, 1, 1, 1) * random.standard_normal((2, 150, 1, 1, 30))
    parts = {"Forecast": f, "Truth": truth + 0 * f, "SquaredForecast": f**2, "SquaredTruth": truth**2 + 0 * f, "Product": f * truth}
    data = means(**{name: each.mean(-1) for name, each in parts.items()})
    score = sampled(Acc(), data, SETTINGS.draw(data.sums["init_time"].values, MONTH)).over_leads()
    made = gained(score, {"model 0": "model 1"}, SETTINGS)
    assert made["gain"].item() == pytest.approx(float(score.value[0, 0] - score.value[1, 0]))
    assert made["gain"].item() > 0.3
    assert made["significant"].item()


def test_what_is_no_model_or_no_better_is_refused(losses: Means) -> None:
    score = sampled(Mae(), losses, SETTINGS.draw(losses.sums["init_time"].values, 6 * MONTH))
    with pytest.raises(InputError, match="modell"):
        significant(score, "modell")
    with pytest.raises(InputError, match="modell"):
        gained(score.over_leads(), {"modell": "model 0"})
    data = means(Variance=np.random.default_rng(0).random((2, 60, 1, 1)))
    spread = sampled(Spread(), data, SETTINGS.draw(data.sums["init_time"].values, MONTH))
    with pytest.raises(InputError, match="no better"):
        gained(spread.over_leads(), {"model 0": "model 1"})
