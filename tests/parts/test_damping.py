"""Damped persistence finds how fast an anomaly fades."""

import numpy as np
import pytest
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.execute import Serial
from ensemble.fitting import fit
from ensemble.parts import Damping
from ensemble.parts.damping import Damped, lead_index
from ensemble.task import Array, Domain, Field, Period, month, shift

MONTH = np.timedelta64(1, "M")


def record(steps: int, coefficients: Array, seed: int = 0) -> Chunk:
    """x(t + 1) = a x(t) + noise for each of the coefficients (calendar month of t + 1, point)."""
    times = shift(np.datetime64("1700-01-01"), np.arange(steps), MONTH)
    points = coefficients.shape[1]
    field = Field({"point": np.arange(points)}, np.ones(points, bool), np.ones(points) / points, {})
    domain = Domain({"x": field}, MONTH, np.arange(1, 4), Period(times[0], times[-1]))
    random, x = np.random.default_rng(seed), [np.zeros(points)]
    for t in range(1, steps):
        x.append(coefficients[t % 12] * x[-1] + random.standard_normal(points))
    data = xr.Dataset({"x": (("time", "point"), np.stack(x))}, {"time": times, "point": np.arange(points)})
    return Chunk(data, domain, 0, steps, True)


def learnt(damping: Damping, chunk: Chunk) -> Damped:
    return fit(damping, [[chunk]], chunk.domain, Serial(), 0)


def test_powers_of_the_coefficient_of_an_autoregression_are_found() -> None:
    coefficients = np.array([0.3, 0.6, 0.9])
    share = learnt(Damping(), record(6000, np.tile(coefficients.repeat(10), (12, 1)))).share
    found = share.reshape(12, 3, 3, 10).mean(3)
    for lead in (1, 2, 3):
        np.testing.assert_allclose(found[:, lead - 1], np.tile(coefficients**lead, (12, 1)), atol=0.03)


def test_each_start_month_has_its_own_coefficient_where_nothing_is_pooled() -> None:
    coefficients = np.linspace(0.2, 0.9, 12)[:, None]
    found = learnt(Damping(window=0, shrink=0.0), record(6000, coefficients.repeat(40, axis=1))).share.mean(2)
    np.testing.assert_allclose(found[:, 0], coefficients[:, 0], atol=0.03)  # a start in March has March as its lead 1
    np.testing.assert_allclose(found[:, 1], (coefficients * np.roll(coefficients, -1, axis=0))[:, 0], atol=0.03)


def test_pooling_and_shrinking_are_what_the_formula_says() -> None:
    chunk = record(120, np.full((12, 2), 0.5))
    share = learnt(Damping(window=1, shrink=6.0), chunk).share
    initial, targets, _ = chunk.pairs(1, np.array([2]))
    x, y, of = initial["x"].values[:, 0], targets["x"].values[:, 0], month(initial["init_time"].values)
    near = np.isin(of, [11, 0, 1])
    top = (x * y)[near].sum(0) + 6.0 * (x * y).mean(0)
    bottom = (x * x)[near].sum(0) + 6.0 * (x * x).mean(0)
    np.testing.assert_allclose(share[0, 1], np.clip(top / bottom, 0, 1), rtol=1e-12)


def test_an_anomaly_neither_grows_nor_turns() -> None:
    share = learnt(Damping(), record(2400, np.tile([-0.5, 1.001], (12, 1)))).share
    assert share.min() == 0.0
    assert share.max() <= 1.0
    assert (share[:, 0, 0] == 0.0).all()


def test_a_forecast_is_the_share_of_its_start_month_and_lead_times_the_last_value() -> None:
    state = Damped(np.array([1, 2, 3]), np.arange(36.0).reshape(12, 3, 1))
    starts = np.array(["2009-01-01", "2009-03-01"], "datetime64[s]")
    initial = xr.Dataset({"x": (("init_time", "lag", "point"), np.array([[[9.0], [1.0]], [[9.0], [2.0]]]))}, {"init_time": starts})
    made = Damping().forecast(state, initial, np.array([1, 3]), xr.Dataset(), 0)["x"]
    assert made.dims == ("init_time", "lead_time", "point")
    assert made[:, :, 0].values.tolist() == [[0.0, 2.0], [12.0, 16.0]]


def test_a_lead_that_was_not_fitted_is_refused() -> None:
    assert lead_index(np.array([1, 3, 6]), np.array([6, 1])).tolist() == [2, 0]
    with pytest.raises(ValueError, match="lead 2 was not fitted"):
        lead_index(np.array([1, 3, 6]), np.array([2, 6]))
