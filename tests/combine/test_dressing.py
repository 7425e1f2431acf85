"""A dressed forecast is as wide as its past errors, and its mean is where it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.combine.dressing import Dressing
from ensemble.execute import Serial
from ensemble.fitting import fit
from ensemble.task import shift, unit_of
from tests.combine.past import domain_of

RANDOM = np.random.default_rng(5)
STARTS = shift(np.datetime64("2001-03-01"), np.arange(40), np.timedelta64(1, "M"))
TRUTH = RANDOM.standard_normal((40, 2, 3))
ERROR = RANDOM.standard_normal(TRUTH.shape) * (1 + np.array([0.0, 1.0])[:, None]) * (1 + (np.arange(40) % 12)[:, None, None])


def learnt(rule: Dressing, error: np.ndarray[Any, Any], pieces: int = 1) -> np.ndarray[Any, Any]:
    dims = ("init_time", "lead_time", "x")
    data = xr.Dataset({"forecast": (("model", *dims), (TRUTH + error)[None]), "truth": (dims, TRUTH)}, {"init_time": STARTS})
    parts = np.array_split(np.arange(len(STARTS)), pieces)
    domain = domain_of(("one",), 2, 3)
    chunks = [[Chunk(data.isel(init_time=each), domain, 0, len(each), True)] for each in parts]
    state: np.ndarray[Any, Any] = fit(rule, chunks, domain, Serial(), 0)
    return state


@pytest.mark.parametrize("window", [0, 2, 6])
def test_width_is_the_root_mean_squared_error_of_neighbouring_months(window: int) -> None:
    state = learnt(Dressing(window=window), ERROR)
    month = STARTS.astype("datetime64[M]").astype(int) % 12
    for m in range(12):
        near = np.minimum((month - m) % 12, (m - month) % 12) <= window
        np.testing.assert_allclose(state[m], (ERROR[near] ** 2).mean(0), rtol=1e-12)
    np.testing.assert_allclose(learnt(Dressing(window=window), ERROR, pieces=3), state, rtol=1e-12)


def test_the_mean_is_left_where_it_was_and_the_spread_is_the_error() -> None:
    rule = Dressing(members=200)
    state, forecast = learnt(rule, ERROR), RANDOM.standard_normal((5, 2, 1, 3))
    made = rule.dressed(state, STARTS[:5], forecast)
    np.testing.assert_allclose(made.mean(2), forecast[:, :, 0], atol=1e-12)
    month = STARTS[:5].astype("datetime64[M]").astype(int) % 12
    np.testing.assert_allclose(made.std(2), np.sqrt(state[month]), rtol=5e-3)


def test_points_without_errors_stay_undressed() -> None:
    error = ERROR.copy()
    error[:, 1, 2] = np.nan
    state = learnt(Dressing(), error)
    assert np.isnan(state[:, 1, 2]).all()
    assert np.isfinite(np.delete(state.reshape(12, -1), 5, axis=1)).all()
    partly = error.copy()
    partly[::2, 0, 0] = np.nan
    month = STARTS.astype("datetime64[M]").astype(int) % 12
    near = (np.minimum((month - 4) % 12, (4 - month) % 12) <= 2) & np.isfinite(partly[:, 0, 0])
    assert learnt(Dressing(), partly)[4, 0, 0] == pytest.approx((partly[near, 0, 0] ** 2).mean(), rel=1e-12)


def test_months_out_of_reach_are_named() -> None:
    assert unit_of(np.timedelta64(1, "M")) == ("M", 1)
    missing = Dressing(window=1).reaches(STARTS[[0, 1]], STARTS[:12])
    assert [str(each)[:7] for each in missing] == [f"2001-{m:02d}" for m in range(6, 13)] + ["2002-01"]
    assert not len(Dressing(window=6).reaches(STARTS[:1], STARTS))


def test_settings_that_make_no_sense_are_refused() -> None:
    for wrong in ({"members": 1}, {"window": 7}, {"window": -1}):
        with pytest.raises(ValueError, match="must be"):
            Dressing(**wrong)
