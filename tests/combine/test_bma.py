"""Bayesian model averaging: truth 12, and what a mixture promises."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from ensemble.combine import Bma
from ensemble.combine.bma import Averaging
from ensemble.combine.mixture import quantile
from ensemble.task import Array
from tests.combine.past import labelled, learnt

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "mm5_t2m_2004.nc"


def by_date(first: str, last: str) -> tuple[xr.Dataset, Array, Array]:
    """The cases of some dates, and them as (model, date, 1, case) and (date, 1, case) with gaps where a date has fewer than others."""
    with xr.open_dataset(SHARED) as data:
        date = data["date"].values.astype(str)
        cases = data.isel(case=np.flatnonzero((date >= first) & (date <= last))).load()
    _, start, count = np.unique(cases["date"].values, return_inverse=True, return_counts=True)
    place = np.concatenate([np.arange(n) for n in count])
    forecast, truth = np.full((8, len(count), 1, count.max()), np.nan), np.full((len(count), 1, count.max()), np.nan)
    assert (np.diff(start) >= 0).all(), "dates are in order"
    forecast[:, start, 0, place], truth[start, 0, place] = cases["forecast"].values.T, cases["observation"].values
    return cases, forecast, truth


def crps(weight: Array, centre: Array, deviation: float, truth: Array) -> Array:
    """Of mixtures of normal distributions, centre (model, case). Grimit et al. (2006), doi 10.1256/qj.05.235."""

    def mean_distance(apart: Array, width: float) -> Array:
        distance: Array = 2 * width * norm.pdf(apart / width) + apart * (2 * norm.cdf(apart / width) - 1)
        return distance

    to_truth = weight @ mean_distance(truth - centre, deviation)
    between = mean_distance(centre[:, None] - centre[None], deviation * np.sqrt(2))
    score: Array = to_truth - np.einsum("i,j,ijn->n", weight, weight, between) / 2
    return score


@pytest.mark.skipif(not SHARED.exists(), reason="needs the real forecasts in ../shared/data")
def test_truth_12_on_real_forecasts_with_gaps() -> None:
    """Its figures are those of forecasts that a regression has corrected, each model's by itself, as the R package does by default."""
    training, forecast, truth = by_date("2004010400", "2004012900")
    assert training.sizes["case"] == 17_879
    rule = Bma(regress=True)
    state, domain = learnt(rule, forecast, truth, pieces=3)
    weights = dict(zip(training["model"].values.tolist(), rule.weights(state, domain)[:, 0], strict=True))
    expected = {"ETA": 0.17637, "GASP": 0.16005, "JMA": 0.24083, "UKMO": 0.42134, "TCWB": 0.00142}
    assert weights == pytest.approx({name: expected.get(name, 0.0) for name in weights}, abs=2e-4)
    assert np.sqrt(state.variance) == pytest.approx(2.99706, abs=2e-4)
    assert state.rounds < 20, "expectation and maximisation alone take well over a thousand"

    cases, ahead, _ = by_date("2004013100", "2004013100")
    observed = cases["observation"].values
    assert len(observed) == 712
    median = rule.quantiles(state, labelled(ahead), [0.5]).values[0, 0, 0]
    assert np.abs(median - observed).mean() == pytest.approx(1.869166, abs=1e-4)
    lines = state.offset + state.slope * ahead[:, 0, 0]
    assert crps(state.weight[:, 0], lines, np.sqrt(state.variance[0]), observed).mean() == pytest.approx(1.380526, abs=2e-3)
    mean = rule.combine(state, domain, labelled(ahead)).values[0, 0]
    assert mean == pytest.approx(state.weight[:, 0] @ lines, rel=1e-12)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 6), st.integers(1, 15), st.integers(0, 10_000), st.sampled_from([0.0, 0.0, 0.2, 0.9]), st.floats(0, 0.999))
def test_what_is_found_is_where_expectation_and_maximisation_stay(models: int, starts: int, seed: int, shrink: float, alike: float) -> None:
    random = np.random.default_rng(seed)
    truth = random.standard_normal((starts, 1, 5))
    forecast = truth + alike * random.standard_normal(truth.shape) + (1 - alike) * random.standard_normal((models, *truth.shape))
    state, _ = learnt(Bma(shrink=shrink), forecast, truth)
    assert state.rounds < 100
    squared = (forecast[:, :, 0] - truth[:, 0]).reshape(models, -1) ** 2
    share = state.weight * np.exp((squared.min(0) - squared) / (2 * state.variance))
    share /= share.sum(0)
    assert (1 - shrink) * share.mean(1) + shrink / models == pytest.approx(state.weight[:, 0], abs=1e-6)
    assert (share * squared).sum(0).mean() == pytest.approx(state.variance[0], rel=1e-6)


def drawn(weight: list[float], deviation: float, models: int, starts: int) -> tuple[Array, Array]:
    """Forecasts, and truths that lie around one of them at a time, by these weights."""
    random = np.random.default_rng(1)
    forecast = 4.0 * random.standard_normal((models, starts, 1, 50))
    chosen = random.choice(models, p=weight, size=(starts, 1, 50))
    truth = np.take_along_axis(forecast, chosen[None], 0)[0] + deviation * random.standard_normal(chosen.shape)
    return forecast, truth


def test_weights_and_width_that_truths_were_drawn_with_are_found_again() -> None:
    forecast, truth = drawn([0.6, 0.3, 0.1], 0.5, 3, 400)
    state, _ = learnt(Bma(), forecast, truth, pieces=4)
    assert state.weight[:, 0] == pytest.approx([0.6, 0.3, 0.1], abs=0.015)
    assert np.sqrt(state.variance[0]) == pytest.approx(0.5, abs=0.01)


def test_lines_that_truths_were_drawn_around_are_found_again() -> None:
    forecast, truth = drawn([1.0], 0.5, 1, 400)
    state, domain = learnt(Bma(regress=True), (forecast - 3.0) / 2.0, truth)
    assert (state.offset.item(), state.slope.item()) == pytest.approx((3.0, 2.0), abs=0.02)
    assert Bma(regress=True).combine(state, domain, labelled((forecast - 3.0) / 2.0)).values == pytest.approx(forecast[0], abs=0.15)


def test_a_forecast_that_never_varies_has_a_line_without_slope() -> None:
    forecast, truth = drawn([1.0], 0.5, 1, 20)
    state, _ = learnt(Bma(regress=True), np.concatenate([forecast, 0.0 * forecast]), truth)
    assert state.slope[1] == 0
    assert state.offset[1] == pytest.approx(truth.mean())


def test_shrinking_draws_weights_towards_equal_ones() -> None:
    forecast, truth = drawn([0.6, 0.3, 0.1], 0.5, 3, 100)
    apart = [np.ptp(learnt(Bma(shrink=each), forecast, truth)[0].weight) for each in (0.0, 0.3, 0.6, 1.0)]
    assert apart == sorted(apart, reverse=True)
    assert apart[-1] == pytest.approx(0.0, abs=1e-12)


def test_rounds_end_where_they_are_told_to() -> None:
    forecast, truth = drawn([0.6, 0.3, 0.1], 5.0, 3, 20)
    for rounds in range(1, 9):
        state, _ = learnt(Bma(rounds=rounds), forecast, truth)
        assert state.rounds == rounds + 1
        assert state.weight.sum(0) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("level", [0.001, 0.25, 0.5, 0.9, 0.9999])
def test_a_quantile_is_where_the_mixture_has_that_much_below_it(level: float) -> None:
    random = np.random.default_rng(2)
    centre, weight = 30 * random.standard_normal((3, 200)), np.array([0.5, 0.5 - 1e-12, 1e-12])[:, None]
    x = quantile(level, weight, centre, np.array(0.7))
    assert (weight * norm.cdf((x - centre) / 0.7)).sum(0) == pytest.approx(level, abs=1e-9)


def test_quantiles_of_one_model_are_those_of_a_normal_distribution_and_missing_where_it_is() -> None:
    forecast, truth = drawn([1.0], 0.5, 1, 20)
    state: Averaging
    state, _ = learnt(Bma(), forecast, truth)
    forecast[0, 3, 0, 7] = np.nan
    levels = (np.arange(9) + 0.5) / 9
    made = Bma().quantiles(state, labelled(forecast), levels.tolist())
    assert made.dims == ("quantile", "init_time", "lead_time", "point")
    expected = forecast[0] + np.sqrt(state.variance[0]) * norm.ppf(levels)[:, None, None, None]
    assert made.values == pytest.approx(expected, abs=1e-7, nan_ok=True)


def test_each_lead_has_its_own_mixture() -> None:
    one, other = drawn([0.6, 0.3, 0.1], 0.5, 3, 50), drawn([0.1, 0.1, 0.8], 1.5, 3, 50)
    state, _ = learnt(Bma(), *(np.concatenate([a, b], axis=-2) for a, b in zip(one, other, strict=True)))
    for lead, each in enumerate((one, other)):
        alone, _ = learnt(Bma(), *each)
        assert state.weight[:, lead] == pytest.approx(alone.weight[:, 0], abs=1e-7)
        assert state.variance[lead] == pytest.approx(alone.variance[0], rel=1e-7)
