"""Rules of combination are what their formulas say, and bear what real forecasts are like."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemble.combine import COMBINATIONS, Best, Bma, ClimWip, Combine, Emos, InverseMse, Mean, Median, Stacking, Weighing
from ensemble.combine.climwip import independent
from ensemble.combine.stacking import simplex
from ensemble.errors import InputError
from ensemble.recipe.resolve import configured
from ensemble.sums import total
from ensemble.testing import check_combine
from ensemble.testing.models import same_bits
from tests.combine.past import combined, labelled, learnt, weights_of

RULES: list[Combine[Any, Any]] = [each() for name, each in COMBINATIONS.items() if name != "fixed"]  # it wants to be told
RULES += [InverseMse(shrink=0.5), InverseMse(by_lead=False), Best(by_lead=True, shrink=0.25), Stacking(shrink=0.0), Stacking(by_lead=False)]
RULES += [ClimWip(shrink=0.5, by_lead=False, performance=0.2), Bma(regress=True), Bma(shrink=0.3), Stacking(shrink=1.0), Bma(shrink=1.0)]
LEARNT = [each for each in RULES if not isinstance(each, (Mean, Median))]
BY_RULE = pytest.mark.parametrize("rule", RULES, ids=repr)
BY_LEARNT = pytest.mark.parametrize("rule", LEARNT, ids=repr)

STARTS, LEADS, POINTS = 13, 3, 20
RANDOM = np.random.default_rng(3)
TRUTH = RANDOM.standard_normal((STARTS, LEADS, POINTS))
NOISE = RANDOM.standard_normal((4, STARTS, LEADS, POINTS)) + 0.6 * RANDOM.standard_normal((STARTS, LEADS, POINTS))
FORECAST = TRUTH + np.array([0.5, 0.8, 0.7, 1.2])[:, None, None, None] * np.array([1.0, 1.5, 2.0])[:, None] * NOISE
ERROR = FORECAST - TRUTH
GAPS = RANDOM.random(FORECAST.shape) < 0.05
HOLES = RANDOM.random(TRUTH.shape) < 0.1


class Threads:
    """Parts arrive in any order."""

    def fold(self, function: Callable[..., Any], shards: Sequence[Sequence[Any]], *arguments: Any) -> Any:
        with ThreadPoolExecutor(2) as pool:
            made = [[pool.submit(function, *arguments, item) for item in shard] for shard in reversed(shards)]
            return total([total([each.result() for each in shard]) for shard in reversed(made)])


@BY_RULE
def test_every_rule_keeps_its_promises_in_every_setting(rule: Combine[Any, Any]) -> None:
    check_combine(rule)


@BY_RULE
def test_one_model_alone_is_its_own_combination(rule: Combine[Any, Any]) -> None:
    assert weights_of(rule, FORECAST[:1], TRUTH) == pytest.approx(1.0, abs=1e-15)
    if rule != Bma(regress=True) and not isinstance(rule, Emos):
        assert combined(rule, FORECAST[:1], TRUTH) == pytest.approx(FORECAST[0], rel=1e-14)


@BY_RULE
@pytest.mark.parametrize("alike", [(0, 0), (0, 0, 0, 0, 0), (0, 1, 0), (1, 1, 2, 1, 1)])
def test_models_that_are_the_same_share_their_weight(rule: Combine[Any, Any], alike: tuple[int, ...]) -> None:
    weights = weights_of(rule, FORECAST[list(alike)], TRUTH)
    assert weights.sum(0) == pytest.approx(1.0, abs=1e-12)
    for model in set(alike):
        twins = weights[[i for i, each in enumerate(alike) if each == model]]
        assert np.ptp(twins, axis=0) == pytest.approx(0.0, abs=1e-8)


@BY_LEARNT
def test_what_is_missing_is_counted_out(rule: Combine[Any, Any]) -> None:
    """As if the points had not been in the field at all; a forecast of one model alone does not count either."""
    forecast, truth = FORECAST.copy(), TRUTH.copy()
    forecast[1, ..., 3:7], forecast[2, ..., 5:9], truth[..., 12:15] = np.nan, np.nan, np.nan
    left = np.r_[0:3, 9:12, 15:POINTS]
    expected = weights_of(rule, FORECAST[..., left], TRUTH[..., left])
    assert weights_of(rule, forecast, truth) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@BY_LEARNT
def test_a_start_without_a_forecast_is_no_start(rule: Combine[Any, Any]) -> None:
    forecast = FORECAST.copy()
    forecast[1, 4:8] = np.nan
    left = np.r_[0:4, 8:STARTS]
    expected = weights_of(rule, FORECAST[:, left], TRUTH[left])
    assert weights_of(rule, forecast, TRUTH, pieces=3) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@BY_LEARNT
@pytest.mark.parametrize("pieces", [2, 5, STARTS])
def test_pieces_make_the_whole_with_gaps_anywhere(rule: Combine[Any, Any], pieces: int) -> None:
    forecast, truth = np.where(GAPS, np.nan, FORECAST), np.where(HOLES, np.nan, TRUTH)
    whole = weights_of(rule, forecast, truth)
    assert whole.sum(0) == pytest.approx(1.0, abs=1e-12)
    assert whole.min() >= 0
    assert weights_of(rule, forecast, truth, pieces=pieces) == pytest.approx(whole, rel=1e-6, abs=1e-8)


@BY_LEARNT
@pytest.mark.parametrize("pieces", [1, 4, 7])
def test_weights_are_the_same_to_the_last_bit_whoever_computes_which_part(rule: Combine[Any, Any], pieces: int) -> None:
    forecast = np.where(GAPS, np.nan, FORECAST)
    here, domain = learnt(rule, forecast, TRUTH, pieces=pieces)
    elsewhere, _ = learnt(rule, forecast, TRUTH, pieces=pieces, executor=Threads())
    assert same_bits(rule.weights(here, domain), rule.weights(elsewhere, domain))


@BY_LEARNT
def test_a_lead_without_any_point_is_refused(rule: Combine[Any, Any]) -> None:
    forecast = FORECAST.copy()
    forecast[2, :, 1] = np.nan
    with pytest.raises(ValueError, match=r"at lead 2 of the 3 leads there is no point .* `without:"):
        weights_of(rule, forecast, TRUTH)


@BY_LEARNT
def test_a_model_that_has_seen_the_truth_is_refused(rule: Combine[Any, Any]) -> None:
    forecast = np.stack([FORECAST[0], TRUTH]) if isinstance(rule, Weighing) else TRUTH[None]
    if rule != Bma(regress=True):
        with pytest.raises(ValueError, match="has it seen the truth"):
            weights_of(rule, forecast, TRUTH)


@BY_LEARNT
def test_units_are_no_matter(rule: Combine[Any, Any]) -> None:
    expected = weights_of(rule, FORECAST, TRUTH)
    assert weights_of(rule, 1e6 * FORECAST, 1e6 * TRUTH) == pytest.approx(expected, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("name", ["inverse_mse", "best", "stacking", "climwip", "bma"])
def test_a_share_that_is_none_is_refused_at_the_door(name: str) -> None:
    with pytest.raises(InputError, match=r"outside 0 .* to 1"):
        configured(COMBINATIONS[name], {"shrink": 1.5}, f"combine.{name}")
    with pytest.raises(InputError, match="did you mean shrink"):
        configured(COMBINATIONS[name], {"shrik": 0.5}, f"combine.{name}")


def test_widths_must_be_above_zero() -> None:
    with pytest.raises(ValueError, match="widths; both must be above 0"):
        ClimWip(independence=0.0)


@pytest.mark.parametrize("name", ["inverse_mse", "best", "stacking", "climwip", "bma"])
def test_fully_shrunk_weights_are_equal_and_half_shrunk_ones_lie_between(name: str) -> None:
    rule = COMBINATIONS[name]
    assert weights_of(rule(shrink=1.0), FORECAST, TRUTH) == pytest.approx(0.25, abs=1e-12)  # type: ignore[call-arg]
    if name != "bma":  # whose shares are not those of the rule without a prior
        none, half = (weights_of(rule(shrink=each), FORECAST, TRUTH) for each in (0.0, 0.5))  # type: ignore[call-arg]
        assert half == pytest.approx(none / 2 + 0.125, abs=1e-12)


@pytest.mark.parametrize("rule", [InverseMse, Best, Stacking, ClimWip])
def test_over_all_leads_the_mean_over_leads_decides(rule: type[Weighing]) -> None:
    weights = weights_of(rule(by_lead=False), FORECAST, TRUTH)
    assert np.ptp(weights, axis=1) == pytest.approx(0.0, abs=0.0)
    pooled = [each.reshape(*each.shape[:-3], -1, 1, POINTS) for each in (FORECAST, TRUTH)]
    assert weights[:, :1] == pytest.approx(weights_of(rule(), *pooled), abs=1e-9)


def test_inverse_mse_is_what_it_was_to_the_last_bit() -> None:
    area = RANDOM.random(POINTS)
    area /= area.sum()
    everywhere = np.ones(POINTS, bool)
    squared = ((FORECAST[..., everywhere] - TRUTH[..., everywhere]) ** 2) @ (area / area.sum())
    mse = squared.sum(1) / STARTS
    assert same_bits(weights_of(InverseMse(), FORECAST, TRUTH, area=area), (1 / mse) / (1 / mse).sum(0))


def test_area_weighs_errors() -> None:
    area = np.where(np.arange(POINTS) < 6, 1 / 6, 0.0)
    for rule in (InverseMse(), Stacking(), Bma()):
        expected = weights_of(rule, FORECAST[..., :6], TRUTH[..., :6])
        assert weights_of(rule, FORECAST, TRUTH, area=area) == pytest.approx(expected, rel=1e-6)


def test_best_is_the_one_with_the_least_error_at_each_lead_or_over_all() -> None:
    forecast = FORECAST.copy()
    forecast[2, :, 1] = TRUTH[:, 1] + 0.01
    mse = ((forecast - TRUTH) ** 2).mean((1, 3))
    assert (weights_of(Best(by_lead=True), forecast, TRUTH) == (np.arange(4)[:, None] == mse.argmin(0))).all()
    assert (weights_of(Best(), forecast, TRUTH) == (np.arange(4)[:, None] == mse.mean(1).argmin())).all()


def test_a_model_without_weight_need_not_be_there() -> None:
    forecast = FORECAST.copy()
    state, domain = learnt(Best(), forecast, TRUTH)
    winner = int(Best().weights(state, domain)[:, 0].argmax())
    forecast[np.arange(4) != winner] = np.nan
    made = Best().combine(state, domain, labelled(forecast)).values
    assert same_bits(made, forecast[winner])
    assert np.isnan(Mean().combine(None, domain, labelled(forecast)).values).all()


def test_the_median_is_the_median_and_missing_where_a_model_is() -> None:
    forecast = FORECAST.copy()
    forecast[3, 2, 1, 4] = np.nan
    made = combined(Median(), forecast, TRUTH)
    assert np.isnan(made[2, 1, 4])
    assert np.isnan(made).sum() == 1
    made[2, 1, 4] = np.median(FORECAST[:, 2, 1, 4])
    assert same_bits(made, np.median(FORECAST, axis=0))


def test_stacking_of_two_models_is_the_formula_of_bates_and_granger() -> None:
    (a, b), ab = (ERROR[:2] ** 2).mean((1, 3)), (ERROR[0] * ERROR[1]).mean((0, 2))
    first = np.clip((b - ab) / (a + b - 2 * ab), 0, 1)
    assert weights_of(Stacking(shrink=0.0), FORECAST[:2], TRUTH)[0] == pytest.approx(first, abs=1e-5)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 7), st.integers(1, 12), st.integers(0, 10_000), st.floats(0, 0.99))
def test_no_weights_on_the_simplex_are_better_than_stacked_ones(models: int, starts: int, seed: int, alike: float) -> None:
    """Also where there are fewer errors than models, and models are near copies of one another."""
    random = np.random.default_rng(seed)
    error = alike * random.standard_normal(starts) + (1 - alike) * random.standard_normal((models, starts))
    products = error @ error.T / starts
    weights = simplex(products)
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert weights.min() >= 0
    gradient, least = products @ weights, weights @ products @ weights
    assert (gradient >= least - 1e-5 * np.trace(products) / models).all()


def test_the_simplex_agrees_with_a_general_solver() -> None:
    products = np.einsum("isp,jsp->ij", ERROR[:, :, 1], ERROR[:, :, 1]) / (STARTS * POINTS)
    simplex_only = scipy.optimize.LinearConstraint(np.ones((1, 4)), 1.0, 1.0)
    found = scipy.optimize.minimize(  # type: ignore[call-overload]  # the stubs know no lambda of any length
        lambda w: float(w @ products @ w), np.full(4, 0.25), bounds=[(0.0, 1.0)] * 4, method="SLSQP", tol=1e-14, constraints=simplex_only
    )
    assert simplex(products) == pytest.approx(found.x, abs=1e-4)


def test_truth_16_weights_of_performance_and_independence() -> None:
    apart = np.array([[0, 0.2, 1], [0.2, 0, 1], [1, 1, 0]])
    weights = independent(np.array([0.3, 0.5, 0.8]), apart, 0.5, 0.5)
    assert weights == pytest.approx([0.57896451, 0.30528360, 0.11575188], abs=5e-9)


def test_distances_are_those_between_forecasts_in_units_of_their_means() -> None:
    d = np.sqrt((ERROR**2).mean((1, 3)))
    s = np.sqrt(((FORECAST[:, None] - FORECAST[None]) ** 2).mean((2, 4)))
    pairs = ~np.eye(4, dtype=bool)
    weights = weights_of(ClimWip(performance=0.4, independence=0.7), FORECAST, TRUTH)
    for lead in range(LEADS):
        unit = d[:, lead] / d[:, lead].mean(), s[..., lead] / s[..., lead][pairs].mean()
        assert weights[:, lead] == pytest.approx(independent(*unit, 0.4, 0.7), rel=1e-9)


def test_a_copy_halves_the_weight_and_does_not_double_it() -> None:
    forecast = np.concatenate([FORECAST[:2], FORECAST[:1]])
    rule = ClimWip(performance=100.0, independence=0.01)
    assert weights_of(rule, forecast, TRUTH) == pytest.approx(np.array([0.25, 0.5, 0.25])[:, None] * np.ones(LEADS), rel=1e-3)


def test_a_model_far_off_everything_does_not_underflow_the_others() -> None:
    forecast = np.concatenate([FORECAST, FORECAST[:1] + 1e6])
    for rule in LEARNT:
        weights = weights_of(rule, forecast, TRUTH)
        assert weights.sum(0) == pytest.approx(1.0, abs=1e-12), rule


def test_single_precision_is_summed_in_double() -> None:
    single = FORECAST.astype("f4"), TRUTH.astype("f4")
    for rule in LEARNT:
        assert weights_of(rule, *single) == pytest.approx(weights_of(rule, FORECAST, TRUTH), rel=1e-4, abs=1e-5), rule


def test_the_truth_beyond_the_mask_moves_nothing() -> None:
    area = np.where(np.arange(POINTS) < 6, 1 / 6, 0.0)
    wild = np.where(np.arange(POINTS) < 6, TRUTH, 1e9)
    for rule in LEARNT:
        assert same_bits(weights_of(rule, FORECAST, wild, area=area), weights_of(rule, FORECAST, TRUTH, area=area)), rule


def test_an_empty_piece_says_nothing() -> None:
    for rule in LEARNT:
        expected = weights_of(rule, FORECAST, TRUTH)
        assert weights_of(rule, FORECAST, TRUTH, pieces=STARTS + 2) == pytest.approx(expected, rel=1e-6, abs=1e-8), rule
