"""Which single model validation would have picked, how well a ranking carries over, and how often a model is first."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from ensemble.combine import Best, Combine, Mean, Stacking
from ensemble.combining import Weighted
from ensemble.score.scores import Mae
from ensemble.significance import Bootstrap, Case, choices, first_share, rank_correlation, validation_errors
from ensemble.task import Array
from tests.significance.series import means

MODELS = ("a", "b", "c")
ERRORS = np.array([[1.0, 4.0], [2.0, 2.0], [3.0, 9.0]])  # root mean squared, (model, lead_time)


def weighted(rule: Combine, state: Array | None, models: tuple[str, ...] = MODELS) -> Weighted:  # type: ignore[type-arg]
    return Weighted(rule, state, models, ())


def products(errors: Array) -> Array:
    """Of errors that correlate by a half."""
    return np.einsum("il,jl,ij->ijl", errors, errors, np.full((len(errors),) * 2, 0.5) + 0.5 * np.eye(len(errors)))


def test_errors_are_known_of_rules_that_learn_from_them() -> None:
    given = {"mean": weighted(Mean(), None), "best": weighted(Best(), ERRORS**2), "stacking": weighted(Stacking(), products(ERRORS))}
    known = validation_errors(given)
    assert list(known) == ["best", "stacking"]
    for each in known.values():
        np.testing.assert_allclose(each.values, ERRORS)
        assert each["model"].values.tolist() == list(MODELS)


def test_the_pick_is_the_smallest_mean_error_of_a_member_that_was_scored() -> None:
    test = xr.DataArray([3.0, 2.0, 1.0, 9.0, 8.0], {"model": [*MODELS, "mean", "best"]}, ("model",))
    given = {"mean": weighted(Mean(), None), "best": weighted(Best(), ERRORS**2)}
    assert choices(given, test) == {"mean": ("b", False), "best": ("b", False)}  # 2 of b against 2.5 of a: not by lead 1
    without = test.where(test["model"] != "b")
    assert choices(given, without)["mean"] == ("a", False)
    assert choices({"few": weighted(Mean(), None, ("a", "c")), **given}, test.rename()).keys() == {"mean", "best"}  # `few` has no score


def test_a_rule_is_held_to_its_own_errors_and_without_any_to_the_test() -> None:
    test = xr.DataArray([3.0, 2.0, 1.0, 9.0, 8.0, 7.0], {"model": [*MODELS, "mean", "best", "stacking"]}, ("model",))
    other = weighted(Stacking(), products(ERRORS[::-1]))
    made = choices({"best": weighted(Best(), ERRORS[[2, 1, 0]] ** 2), "stacking": other, "mean": weighted(Mean(), None)}, test)
    assert made["stacking"] == ("b", False)
    assert choices({"mean": weighted(Mean(), None)}, test) == {"mean": ("c", True)}
    part = {"best": weighted(Best(), ERRORS[:2] ** 2, MODELS[:2]), "mean": weighted(Mean(), None)}
    assert choices(part, test) == {"best": ("b", False), "mean": ("c", True)}  # nobody knows all members of the mean


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=9))
def test_the_rank_correlation_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    one, other = np.array(pairs, float).T
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        assert np.isnan(rank_correlation(one, other))
    else:
        assert rank_correlation(one, other) == pytest.approx(spearmanr(one, other).statistic, abs=1e-12)


def test_first_is_how_often_a_model_is_the_best_and_twins_share() -> None:
    losses = np.array([[1.0, 5, 1, 1], [2, 2, 2, 1], [np.nan, 0, 0, 0], [2, 2, 2, 1]])
    made = first_share(xr.DataArray(losses, dims=("model", "resample")))
    np.testing.assert_allclose(made, [(1 + 0 + 1 + 1 / 3) / 4, (0.5 + 1 / 3) / 4, np.nan, (0.5 + 1 / 3) / 4])


def test_stability_holds_the_ranking_of_validation_against_that_of_the_test() -> None:
    base = np.random.default_rng(0).random((4, 120, 2, 1))
    base[:3] += np.array([0.5, 0.0, 2.0]).reshape(3, 1, 1, 1)
    data = means(AbsoluteError=base)
    data = type(data)(data.sums.assign_coords(model=[*MODELS, "best"]), data.weight)
    case = Case({"mae": Mae()}, data, np.array([1, 2]), np.timedelta64(1, "M"))
    made = case.stability({"best": weighted(Best(), ERRORS**2)}, "mae", Bootstrap(resamples=100))
    assert made["model"].values.tolist() == list(MODELS)  # the combination is no single model
    np.testing.assert_allclose(made["validation"], ERRORS.mean(1))
    np.testing.assert_allclose(made["test"], base[:3].mean((1, 2, 3)), rtol=1e-12)
    assert made["rank_correlation"].item() == pytest.approx(1.0)  # b, a, c in both
    np.testing.assert_array_equal(made["first"], [0.0, 1.0, 0.0])
    assert set(case.stability({}, "mae", Bootstrap(resamples=100))) == {"test", "first"}
