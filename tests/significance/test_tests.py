"""Paired tests against closed forms and oracles, and what they do of many at once."""

from __future__ import annotations

import importlib
import warnings
from types import ModuleType

import numpy as np
import pytest
import xarray as xr
from scipy.special import stdtr
from scipy.stats import binomtest, false_discovery_control

from ensemble.errors import InputError
from ensemble.score.scores import Acc, Rmse
from ensemble.significance import Bootstrap, compared, diebold_mariano, false_discovery, sign_test
from ensemble.significance.spans import steps_ahead
from tests.significance.series import ar1, means

MONTH = np.timedelta64(1, "M")
RANDOM = np.random.default_rng(7)


def oracle(name: str) -> ModuleType:
    """A package that is wanted in tests alone, whose own warnings at import are not ours."""
    pytest.importorskip(name.split(".")[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)


def by_hand(d: np.ndarray, h: int) -> float:
    """Harvey, Leybourne and Newbold (1997), eq. 5 and 9, a sum at a time."""
    n, mean = len(d), d.mean()
    gamma = [sum((d[t] - mean) * (d[t - k] - mean) for t in range(k, n)) / n for k in range(h)]
    variance = (gamma[0] + 2 * sum(gamma[1:])) / n
    return float(mean / np.sqrt(variance) * np.sqrt((n + 1 - 2 * h + h * (h - 1) / n) / n))


def test_diebold_mariano_is_its_closed_form() -> None:
    d = ar1(0.5, (80, 4, 2)) + 0.3
    made = diebold_mariano(d, np.array([1, 2, 3, 5]))
    for lead, h in enumerate((1, 2, 3, 5)):
        for region in range(2):
            assert made.statistic[lead, region] == pytest.approx(by_hand(d[:, lead, region], h), rel=1e-12)
    np.testing.assert_allclose(made.p_value, 2 * stdtr(79, -np.abs(made.statistic)), rtol=1e-12)
    assert (made.n == 80).all()


def test_diebold_mariano_is_that_of_scores() -> None:
    peer = oracle("scores.stats.statistical_tests")
    d, h = ar1(0.6, (70, 5)) + 0.2, np.array([1, 2, 3, 4, 6])
    series = xr.DataArray(d.T, dims=("lead", "time"), coords={"lead": h, "h": ("lead", h)})
    theirs = peer.diebold_mariano(series, "lead", "h", method="HLN", statistic_distribution="t")
    made = diebold_mariano(d, h)
    assert not made.bartlett.any()
    np.testing.assert_allclose(made.statistic, theirs["dm_test_stat"], rtol=1e-10)
    one_sided = np.minimum(theirs["confidence_gt_0"], 1 - theirs["confidence_gt_0"])
    np.testing.assert_allclose(made.p_value, 2 * one_sided, rtol=1e-8, atol=1e-14)


def test_a_negative_variance_is_mended_and_said() -> None:
    d = np.tile([1.0, -1.0], 20)[:, None] + 0.1
    made = diebold_mariano(d, np.array([2]))  # gamma_1 is nearly -gamma_0
    assert made.bartlett.all()
    n, gamma = 40, [1.0, -39 / 40]
    bartlett = gamma[0] + 2 * 0.5 * gamma[1]
    assert made.statistic[0] == pytest.approx(np.sqrt(38 * 39) / 40 * 0.1 / np.sqrt(bartlett / n), rel=1e-9)
    assert not diebold_mariano(d, np.array([1])).bartlett.any()


def test_the_same_losses_do_not_differ_and_too_few_starts_are_undefined() -> None:
    same = diebold_mariano(np.zeros((20, 1)), np.array([3]))
    assert (same.statistic == 0).all()
    assert (same.p_value == 1).all()
    assert np.isnan(diebold_mariano(RANDOM.random((5, 1)), np.array([5])).p_value).all()
    always = diebold_mariano(np.full((20, 1), 0.1), np.array([1]))
    assert (always.p_value < 1e-9).all()


def test_gaps_at_the_ends_are_as_if_the_series_were_shorter() -> None:
    d = ar1(0.4, (60, 1)) + 0.1
    gappy = np.concatenate([np.full((5, 1), np.nan), d, np.full((3, 1), np.nan)])
    for ours, whole in zip(diebold_mariano(gappy, np.array([3])), diebold_mariano(d, np.array([3])), strict=True):
        np.testing.assert_allclose(ours, whole, rtol=1e-12)
    for name in ("wins", "n", "p_value"):
        np.testing.assert_allclose(getattr(sign_test(gappy), name), getattr(sign_test(d), name))


def test_the_sizes_of_the_tests_are_their_levels() -> None:
    white = RANDOM.standard_normal((100, 1, 4000))
    assert (diebold_mariano(white, np.array([1])).p_value < 0.05).mean() == pytest.approx(0.05, abs=0.01)
    assert (sign_test(white).p_value < 0.05).mean() == pytest.approx(0.035, abs=0.015)  # a binomial has steps
    near = ar1(0.7, (200, 1, 2000))
    naive, mended = sign_test(near).p_value, sign_test(near).p_dependent
    assert (naive < 0.05).mean() > 0.15
    assert (mended < 0.05).mean() < 0.09


def test_the_sign_test_is_binomial_and_its_walk_counts_wins() -> None:
    d = np.array([-1.0, -2.0, 0.0, 3.0, -1.0, np.nan, -4.0, -0.1, -7.0, -1.0])[:, None]
    made = sign_test(d)
    assert (made.wins[0], made.n[0]) == (7, 8)
    assert made.p_value[0] == pytest.approx(binomtest(7, 8).pvalue, rel=1e-12)
    np.testing.assert_array_equal(made.walk[:, 0], [1, 2, 2, 1, 2, 2, 3, 4, 5, 6])
    np.testing.assert_allclose(made.bound[[0, 9], 0], 1.959963985 * np.sqrt([1, 8]), rtol=1e-9)
    ties = sign_test(np.zeros((9, 1)))
    assert (ties.n[0], ties.p_value[0], ties.p_dependent[0]) == (0, 1.0, 1.0)


def test_false_discoveries_are_controlled_as_benjamini_and_hochberg_do() -> None:
    p = np.concatenate([RANDOM.random(150), RANDOM.random(50) * 0.01])
    np.testing.assert_array_equal(false_discovery(p, 0.1), false_discovery_control(p) <= 0.1)
    gaps = np.concatenate([p, np.full(70, np.nan)])
    np.testing.assert_array_equal(false_discovery(gaps, 0.1)[:200], false_discovery(p, 0.1))
    assert not false_discovery(gaps, 0.1)[200:].any()


def test_the_threshold_is_the_one_of_a_worked_example_and_axes_stand_alone() -> None:
    # Benjamini and Hochberg (1995), section 3.1: fifteen tests, four of which stand at a rate of 0.05
    p = np.array([0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0])
    assert false_discovery(p, 0.05).sum() == 4
    table = np.stack([p, p[::-1], np.ones(15)], axis=1)
    np.testing.assert_array_equal(false_discovery(table, 0.05, axis=0).sum(0), [4, 4, 0])
    assert false_discovery(table.reshape(5, 3, 3), 0.05, axis=(0, 1)).sum() == 8
    assert not false_discovery(np.full(3, np.nan)).any()


def test_two_models_are_compared_by_every_test() -> None:
    error = ar1(0.3, (2, 240, 2, 3)[1:], 1)
    worse = 1.5 * error + RANDOM.standard_normal(error.shape)
    data = means(SquaredError=np.stack([error**2, worse**2]))
    times = data.sums["init_time"].values
    made = compared(
        Rmse(), data, "model 0", "model 1", Bootstrap(resamples=300).draw(times, MONTH), steps_ahead(times, np.array([1, 2]), MONTH)
    )
    by_scores = np.sqrt((error**2).mean(0)) - np.sqrt((worse**2).mean(0))
    np.testing.assert_allclose(made["difference"], by_scores, rtol=1e-12)
    assert (made["interval"].sel(bound="high") < 0).all()
    assert made["significant"].all()
    assert (made["dm_p"] < 0.01).all()
    assert (made["sign_p"] < 0.01).all()
    assert (made["wins"] > made["decided"] / 2).all()
    assert (made["n_effective"] > 50).all()
    turned = compared(Rmse(), data, "model 1", "model 0", Bootstrap(resamples=300).draw(times, MONTH), np.array([1, 2]))
    np.testing.assert_allclose(turned["bootstrap_p"], made["bootstrap_p"])
    np.testing.assert_allclose(turned["interval"].sel(bound="low"), -made["interval"].sel(bound="high"))


def test_a_score_that_is_no_mean_loss_is_compared_by_resamples_alone() -> None:
    f, t = RANDOM.standard_normal((2, 2, 60, 1, 1, 5))
    sums = {"Forecast": f, "Truth": t, "SquaredForecast": f**2, "SquaredTruth": t**2, "Product": f * t}
    data = means(**{name: each.mean(-1) for name, each in sums.items()})
    draw = Bootstrap(resamples=50).draw(data.sums["init_time"].values, MONTH)
    made = compared(Acc(), data, "model 0", "model 1", draw, np.array([1]))
    assert set(made) == {"difference", "interval", "bootstrap_p", "significant"}
    with pytest.raises(InputError, match="model: 'modle 1' is unknown; did you mean model 1"):
        compared(Acc(), data, "model 0", "modle 1", draw, np.array([1]))
