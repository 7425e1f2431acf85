"""The seasonal cycle is taken out exactly, and put back."""

import numpy as np
import pytest
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.execute import Serial
from ensemble.fitting import fit
from ensemble.parts import Climatology, Damping
from ensemble.prepare import chunk_of
from ensemble.task import Period, month
from ensemble.testing import basin_study

STUDY = basin_study(model=Damping())


def chunks(shards: int = 1, train: Period = STUDY.train) -> list[Chunk]:
    return [chunk_of(STUDY.data, STUDY.domain, train, shards, i, 1) for i in range(shards)]


@pytest.mark.parametrize("shards", [1, 4])
def test_the_climatology_is_the_mean_of_each_calendar_month(shards: int) -> None:
    means = fit(Climatology(), [[chunk] for chunk in chunks(shards)], STUDY.domain, Serial(), 0)["sst"]
    record = STUDY.data.read(STUDY.train.times(STUDY.data.step))["sst"].values
    for january in range(12):
        np.testing.assert_allclose(means[january], record[january::12].mean(0), rtol=1e-13)


def test_anomalies_have_no_mean_in_any_month_and_come_back_as_they_were() -> None:
    (chunk,) = chunks()
    state = fit(Climatology(), [[chunk]], STUDY.domain, Serial(), 0)
    anomalies = Climatology().apply(state, chunk.data)["sst"]
    sea = STUDY.domain.fields["sst"].mask
    by_month = [anomalies.values[month(anomalies["time"].values) == m][:, sea].mean(0) for m in range(12)]
    assert np.abs(by_month).max() < 1e-13
    assert chunk.data["sst"].values[:, sea].mean() > 15  # the data that were handed in are untouched


def test_a_forecast_gets_back_the_month_that_it_verifies_in() -> None:
    state = {"sst": np.arange(12.0)[:, None, None] * np.ones((6, 8))}
    valid = np.array([["2009-12-01", "2010-01-01"]], "datetime64[s]")
    forecast = xr.Dataset(
        {"sst": (("init_time", "lead_time", "latitude", "longitude"), np.full((1, 2, 6, 8), 0.5))},
        coords={"valid_time": (("init_time", "lead_time"), valid)},
    )
    restored = Climatology().restore(state, forecast, forecast)["sst"]
    assert restored.dims == forecast["sst"].dims
    assert np.unique(restored[0, 0]) == 11.5
    assert np.unique(restored[0, 1]) == 0.5


def test_a_month_that_was_never_seen_is_named() -> None:
    short = Period(STUDY.train.first, np.datetime64("2001-08-01", "s"))
    with pytest.raises(ValueError, match="holds no month 9, 10, 11, 12"):
        fit(Climatology(), [chunks(train=short)], STUDY.domain, Serial(), 0)
