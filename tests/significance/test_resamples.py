"""Resamples are blocks of starts, and a resampled score is the score of the starts that were drawn."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemble.errors import InputError
from ensemble.score.means import Means
from ensemble.score.scores import Acc, Bias, CentredRmse, IndexCorrelation, Mae, Msss, Rmse
from ensemble.significance import Blocks, Bootstrap, Circular, Moving, Stationary, effective_number, intervals, sampled
from ensemble.significance.blocks import counted
from ensemble.significance.resample import NotResampled, resampled, scored, with_influence
from ensemble.significance.spans import block_length, starts_within, steps_ahead
from tests.significance.series import ar1, means, monthly

MONTH, RANDOM = np.timedelta64(1, "M"), np.random.default_rng(3)
SHAPE = (3, 40, 2, 4)
NAMES = ("Forecast", "Truth", "SquaredForecast", "SquaredTruth", "Product", "SquaredError", "AbsoluteError", "Error")


def evidence(weight: np.ndarray | None = None) -> Means:
    """Sums of three points a start, so that correlations in space are defined."""
    f, t = RANDOM.standard_normal((2, *SHAPE, 3))
    made = f, t, f**2, t**2, f * t, (f - t) ** 2, abs(f - t), f - t
    at = np.ones(SHAPE) if weight is None else weight
    all_of = {name: each.mean(-1) * at for name, each in zip(NAMES, made, strict=True)}
    whole = means(at, **all_of)
    return Means(whole.sums.assign_coords(model=["climatology", "one", "two"]), whole.weight)


WEIGHTS = {
    "none missing": np.ones(SHAPE),
    "by start": np.broadcast_to(RANDOM.integers(0, 3, (1, *SHAPE[1:])).astype(float), SHAPE),
    "by model": RANDOM.integers(0, 3, SHAPE).astype(float),
}


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("score", [Rmse(), Mae(), Bias(), Acc(), IndexCorrelation(), Msss()], ids=lambda each: each.name)
def test_a_resampled_score_is_the_score_of_the_starts_that_were_drawn(score, weight: str) -> None:  # type: ignore[no-untyped-def]
    data = evidence(WEIGHTS[weight])
    drawn = Circular().drawn(40, 5, 4, np.random.default_rng(1))
    made = resampled(score, data, counted(drawn))
    for row, places in enumerate(drawn):
        there = Means(data.sums.isel(init_time=places), data.weight.isel(init_time=places))
        xr.testing.assert_allclose(made.isel(resample=row), scored(score, there).transpose(*made.dims[:-1]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("score", [Rmse(), Acc(), IndexCorrelation(), Msss()], ids=lambda each: each.name)
def test_counts_of_one_give_the_score_itself(score) -> None:  # type: ignore[no-untyped-def]
    data = evidence(WEIGHTS["by start"])
    made = resampled(score, data, np.ones((1, 40))).isel(resample=0)
    xr.testing.assert_allclose(made, scored(score, data).transpose(*made.dims), rtol=1e-13)


@pytest.mark.parametrize("blocks", [Moving(), Circular(), Stationary()], ids=lambda each: type(each).__name__)
@given(st.integers(1, 50), st.data(), st.integers(0, 99))
@settings(deadline=None, max_examples=25)
def test_every_resample_has_as_many_starts_as_the_series(blocks: Blocks, starts: int, data: st.DataObject, seed: int) -> None:
    length = data.draw(st.integers(1, starts))
    drawn = blocks.drawn(starts, length, 7, np.random.default_rng(seed))
    assert drawn.shape == (7, starts)
    counts = counted(drawn)
    np.testing.assert_array_equal(counts.sum(1), starts)
    np.testing.assert_array_equal(counts[3], [(drawn[3] == each).sum() for each in range(starts)])


def test_blocks_are_neighbours_and_run_on_at_the_beginning_only_where_they_are_circular() -> None:
    random = np.random.default_rng(0)
    circular = Circular().drawn(30, 5, 200, random).reshape(200, 6, 5)
    assert (np.diff(circular, axis=2) % 30 == 1).all()
    assert (circular[..., 0] > 25).any()
    assert (np.diff(Moving().drawn(30, 5, 200, random).reshape(200, 6, 5), axis=2) == 1).all()
    stationary = Stationary().drawn(500, 5, 200, random)
    breaks = (np.diff(stationary, axis=1) % 500 != 1).mean()
    assert breaks == pytest.approx((1 / 5) * (1 - 1 / 500), abs=0.005)  # a new block may go on by chance


def test_the_variance_of_the_mean_is_that_of_circular_blocks_in_closed_form() -> None:
    x, length = ar1(0.7, (60,)), 6
    counts = counted(Circular().drawn(60, length, 40_000, np.random.default_rng(0)))
    means_of_blocks = np.stack([np.roll(x, -i)[:length].mean() for i in range(60)])
    assert (counts @ x / 60).var() == pytest.approx(means_of_blocks.var() / 10, rel=0.03)
    assert (counts @ x / 60).mean() == pytest.approx(x.mean(), abs=0.01)


@pytest.mark.parametrize(
    ("times", "longest", "length"),
    [
        (monthly(96), 12 * MONTH, 12),
        (monthly(96), 6 * MONTH, 12),
        (monthly(96), 24 * MONTH, 24),
        (monthly(96)[np.arange(96) % 12 < 3], 6 * MONTH, 3),
        (monthly(480)[::12], np.timedelta64(10, "Y"), 10),
        (monthly(480)[::12], 1 * MONTH, 4),
        (np.datetime64("2020-01-01", "s") + np.arange(730) * np.timedelta64(12, "h"), np.timedelta64(10, "D"), 20),
        (np.datetime64("2020-01-01", "s") + np.arange(730) * np.timedelta64(12, "h"), np.timedelta64(1, "D"), 10),
        (monthly(7), 12 * MONTH, 7),
    ],
)
def test_a_block_holds_the_longest_lead_and_a_year_of_monthly_starts(times: np.ndarray, longest: np.timedelta64, length: int) -> None:
    assert block_length(times, longest) == length


def test_leads_are_counted_in_starts() -> None:
    np.testing.assert_array_equal(steps_ahead(monthly(50), np.arange(1, 25), MONTH), np.arange(1, 25))
    np.testing.assert_array_equal(steps_ahead(monthly(50)[::12], np.array([1, 12, 24]), MONTH), [1, 1, 2])
    assert starts_within(monthly(1), 12 * MONTH) == 1


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(InputError, match="length: a block of 50 starts does not fit into 40"):
        Bootstrap(length=50).draw(monthly(40), MONTH)
    with pytest.raises(InputError, match=r"level: 95 .* level=0.95"):
        Bootstrap(level=95)
    with pytest.raises(InputError, match="sort them"):
        Bootstrap().draw(monthly(40)[::-1], MONTH)


def test_the_seed_is_what_resamples_depend_on() -> None:
    one, same, other = (Bootstrap(seed=seed).draw(monthly(60), MONTH).counts for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_a_score_that_needs_each_point_is_left_out_and_named() -> None:
    data = evidence()
    draw = Bootstrap(resamples=20).draw(data.sums["init_time"].values, MONTH)
    made = intervals([Rmse(), CentredRmse()], data, draw)
    assert list(made) == ["rmse"]
    assert made.attrs["left_out"] == "centred_rmse"
    with pytest.raises(NotResampled, match="drawn again"):
        sampled(CentredRmse(), data, draw)
    with pytest.raises(InputError, match="centred_rmse cannot be resampled"):
        intervals([CentredRmse()], data, draw)


def test_what_each_start_adds_to_a_mean_is_the_series_itself() -> None:
    data = evidence(WEIGHTS["by model"])
    alone = evidence()
    counts = counted(Circular().drawn(data.weight.sizes["init_time"], 5, 30, RANDOM))
    drawn, added = with_influence(Mae(), alone, counts, scored(Mae(), alone))
    np.testing.assert_allclose(added.values, alone.sums["AbsoluteError"].transpose(..., "init_time").values, rtol=1e-9)
    np.testing.assert_allclose(drawn.values, resampled(Mae(), alone, counts).values, rtol=1e-12)
    _, added = with_influence(Mae(), data, counts, scored(Mae(), data))
    gaps = np.isnan(added.transpose("model", "init_time", ...).values)
    np.testing.assert_array_equal(gaps, data.weight.values == 0)


def test_the_effective_number_is_that_of_an_autoregressive_series() -> None:
    for phi in (0.0, 0.5, 0.8):
        found = effective_number(ar1(phi, (2000, 50))).mean() / 2000
        assert found == pytest.approx((1 - phi) / (1 + phi), rel=0.15)


def test_the_effective_number_bears_gaps_and_names_what_never_varies() -> None:
    x = ar1(0.5, (500, 3))
    x[RANDOM.random(500) < 0.1] = np.nan
    assert (effective_number(x) < 320).all()
    assert np.isnan(effective_number(np.full((20, 1), 3.3))).all()
    assert (effective_number(np.tile([1.0, -1.0], 20)[:, None]) == 40).all()  # never more than there are
