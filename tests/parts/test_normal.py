"""Running normals look back only."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.execute import Serial
from ensemble.fitting import fit
from ensemble.model import Model, Transform, Untrained
from ensemble.parts import Climatology, Damping, RunningNormal, Then, Trailing
from ensemble.parts.normal import trailing_mean
from ensemble.prepare import chunk_of
from ensemble.task import Array
from ensemble.testing import basin_study


def series(n: int = 30) -> xr.Dataset:
    values = np.random.default_rng(0).standard_normal((n, 2, 3))
    return xr.Dataset({"sst": (("time", "latitude", "longitude"), values)}, {"time": np.arange(n)})


@pytest.mark.parametrize("steps", [1, 4, 12, 40])
def test_a_trailing_mean_is_that_of_a_plain_loop(steps: int) -> None:
    data = series()
    values = data["sst"].values
    plain = np.stack([values[max(0, t - steps + 1) : t + 1].mean(0) for t in range(len(values))])
    np.testing.assert_allclose(trailing_mean(data, "sst", steps), plain, rtol=1e-12, atol=1e-14)


def test_a_trailing_mean_goes_along_lag_where_there_are_starts() -> None:
    values = series(24)["sst"].values
    seen = xr.Dataset(
        {"sst": (("init_time", "lag", "latitude", "longitude"), np.stack([values[:10], values[14:]]))},
        coords={"time": (("init_time", "lag"), np.stack([np.arange(10), np.arange(14, 24)]))},
    )
    made = trailing_mean(seen, "sst", 4)
    np.testing.assert_allclose(made[1, -1], values[20:].mean(0), rtol=1e-12)
    np.testing.assert_allclose(made[0, 5], values[2:6].mean(0), rtol=1e-12)


def test_what_comes_later_changes_no_running_normal() -> None:
    data = series()
    later = data.copy(deep=True)
    later["sst"].values[17:] += 100.0
    for transform in (RunningNormal(5, 0.5), Trailing(5)):
        before, after = transform.apply(None, data), transform.apply(None, later)
        for name in before.data_vars:
            assert np.array_equal(before[name][:17], after[name][:17])
            assert not np.array_equal(before[name][17:], after[name][17:])


def test_a_share_of_the_normal_is_taken_out_and_put_back_for_every_lead() -> None:
    class NoAnomaly(Untrained, Model[None, Any]):
        def forecast(self, state: None, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
            return (initial.isel(lag=-1, drop=True).drop_vars("time") * 0.0).expand_dims(lead_time=lead_times, axis=1)

    values = series(8)["sst"].values
    initial = xr.Dataset(
        {"sst": (("init_time", "lag", "latitude", "longitude"), values[None])}, coords={"time": (("init_time", "lag"), np.arange(8)[None])}
    )
    forcing = xr.Dataset(coords={"valid_time": (("init_time", "lead_time"), np.zeros((1, 2)))})
    model = Then(RunningNormal(8, 0.25), NoAnomaly())
    state = model.start(basin_study(model=Damping()).domain, 0).state
    made = model.forecast(state, initial, np.array([1, 2]), forcing, 0)["sst"].values
    for lead in (0, 1):
        np.testing.assert_allclose(made[0, lead], 0.25 * values.mean(0), rtol=1e-13)


def test_a_fit_and_a_forecast_see_the_same_variables() -> None:
    """However the record is cut, and from the windows of a forecast, the same values come out."""
    study = basin_study(model=Damping())
    model = Then(Climatology(), Then(RunningNormal(12, 0.5), Then(Trailing(6), Damping())))
    assert model.history == 17
    whole, pieces = (
        [chunk_of(study.data, study.domain, study.train, shards, i, model.history) for i in range(shards)] for shards in (1, 3)
    )
    means = fit(Climatology(), [whole], study.domain, Serial(), 0)

    stages: list[tuple[Transform[Any, Any], Any]] = [(Climatology(), means), (RunningNormal(12, 0.5), None), (Trailing(6), None)]

    def seen(chunk: Chunk) -> xr.Dataset:
        for transform, state in stages:
            chunk = chunk.mapped(partial(transform.apply, state), transform.domain(state, chunk.domain), transform.history - 1)
        return chunk.own()

    cut = xr.concat([seen(chunk) for chunk in pieces], "time", join="exact")
    for name, values in seen(whole[0]).items():
        np.testing.assert_allclose(cut[name].values, values.values, rtol=1e-9, atol=1e-12)
