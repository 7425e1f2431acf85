"""Intervals hold the truth as often as they say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr, stdtrit

from ensemble.score.scores import Bias, Mae, Rmse
from ensemble.significance import Blocks, Bootstrap, Circular, Moving, Stationary, intervals
from ensemble.significance import resample as engine
from ensemble.significance.difference import p_value
from ensemble.significance.intervals import percentiles, tail
from tests.significance.series import ar1, means

MONTH = np.timedelta64(1, "M")
RANDOM = np.random.default_rng(5)


def coverage(phi: float, starts: int, settings: Bootstrap) -> float:
    """How often the interval of a bias holds its true value, 0, over 2000 series."""
    data = means(Error=ar1(phi, (starts, 2000)).reshape(1, starts, 1, 2000))
    draw = settings.draw(data.sums["init_time"].values, MONTH)
    low, high = intervals([Bias()], data, draw, settings.level)["bias"].values
    return float(((low <= 0) & (high >= 0)).mean())


@pytest.mark.parametrize("blocks", [Moving(), Circular(), Stationary()], ids=lambda each: type(each).__name__)
@pytest.mark.parametrize(("phi", "starts", "least"), [(0.0, 120, 0.92), (0.6, 240, 0.91), (0.6, 96, 0.89)])
def test_intervals_of_autocorrelated_series_hold_the_truth(blocks: Blocks, phi: float, starts: int, least: float) -> None:
    held = coverage(phi, starts, Bootstrap(resamples=400, blocks=blocks))
    assert least <= held <= 0.99


def test_intervals_that_forget_autocorrelation_do_not_hold_the_truth() -> None:
    assert coverage(0.6, 240, Bootstrap(resamples=400, length=1)) < 0.8


def test_the_tails_are_those_of_a_t_interval() -> None:
    assert tail(0.95, 1e9) == pytest.approx(0.025, rel=1e-6)
    assert tail(0.9, 8) == pytest.approx(ndtr(-np.sqrt(8 / 7) * stdtrit(7, 0.95)), rel=1e-12)
    assert np.isnan(tail(0.95, 1.9))


def test_percentiles_are_those_of_numpy_and_undefined_where_a_resample_is() -> None:
    x = RANDOM.standard_normal((3, 4, 57))
    for share in (0.0, 1e-7, 0.025, 0.2, 0.5):
        low, high = percentiles(x, share)
        np.testing.assert_allclose(low, np.quantile(x, share, axis=-1), rtol=1e-9)
        np.testing.assert_allclose(high, np.quantile(x, 1 - share, axis=-1), rtol=1e-9)
    x[1, 2, 5] = np.nan
    np.testing.assert_array_equal(np.isnan(percentiles(x, 0.1)[0]), np.isnan(x.sum(-1)))


def test_intervals_do_not_depend_on_the_pieces_they_are_made_in(monkeypatch: pytest.MonkeyPatch) -> None:
    data = means(SquaredError=RANDOM.random((2, 50, 3, 7)), AbsoluteError=RANDOM.random((2, 50, 3, 7)))
    draw = Bootstrap(resamples=100).draw(data.sums["init_time"].values, MONTH)
    whole = intervals([Rmse(), Mae()], data, draw)
    for bytes_held in (1, 8 * 100 * 2 * 3, 8 * 100 * 2 * 7):
        monkeypatch.setattr(engine, "PIECE", bytes_held)
        made = intervals([Rmse(), Mae()], data, draw)
        assert made.sizes == whole.sizes
        for name in ("rmse", "mae"):
            np.testing.assert_allclose(made[name].transpose(*whole[name].dims), whole[name], rtol=1e-12)


def test_fewer_than_two_blocks_give_no_interval() -> None:
    data = means(Error=RANDOM.random((1, 20, 1, 1)))
    made = intervals([Bias()], data, Bootstrap(resamples=50).draw(data.sums["init_time"].values, MONTH))
    assert made.attrs["blocks"] == pytest.approx(20 / 12)
    assert np.isnan(made["bias"]).all()


def test_a_difference_is_significant_where_its_interval_leaves_zero_out() -> None:
    x = RANDOM.standard_normal((400, 1, 2001)) + np.linspace(-4, 4, 400)[:, None, None]
    low, high = percentiles(x, tail(0.95, 9.0))
    outside = (low > 0) | (high < 0)
    p = p_value(x, 9.0)
    near = np.abs(p - 0.05) < 0.005
    np.testing.assert_array_equal((p < 0.05)[~near], outside[~near])
    assert p_value(np.zeros((1, 100)), 9.0) == 1.0
    assert np.isnan(p_value(x, 1.5)).all()
