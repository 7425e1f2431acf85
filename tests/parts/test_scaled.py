"""Variables of order one, seasons as numbers, and what a regression knows of the past."""

import numpy as np
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.execute import Serial
from ensemble.fitting import fit
from ensemble.parts import Damping, Scaled, predictors, seasonal
from ensemble.prepare import chunk_of
from ensemble.testing import basin_study

STUDY = basin_study(model=Damping())


def chunks(shards: int) -> list[Chunk]:
    return [chunk_of(STUDY.data, STUDY.domain, STUDY.train, shards, i, 1) for i in range(shards)]


def test_a_scaled_variable_has_a_mean_square_of_one_and_comes_back() -> None:
    (whole,) = chunks(1)
    state = fit(Scaled(), [[each] for each in chunks(3)], STUDY.domain, Serial(), 0)
    made = Scaled().apply(state, whole.data)
    sea = STUDY.domain.fields["sst"].mask
    np.testing.assert_allclose((made["sst"].values[:, sea] ** 2).mean(), 1.0, rtol=1e-12)
    np.testing.assert_allclose(Scaled().restore(state, made, whole.data)["sst"], whole.data["sst"], rtol=1e-14)


def test_a_variable_that_is_nothing_but_zero_stays_zero() -> None:
    (whole,) = chunks(1)
    zero = Chunk(whole.data * 0.0, STUDY.domain, whole.start, whole.stop, True)
    assert fit(Scaled(), [[zero]], STUDY.domain, Serial(), 0) == {"sst": 1.0}


def test_the_season_goes_round_once_a_year() -> None:
    times = np.array(["2009-01-01", "2009-04-15", "2009-07-01", "2010-01-01"], "datetime64[s]")
    np.testing.assert_allclose(seasonal(times), [[1, 0], [0, 1], [-1, 0], [1, 0]], atol=1e-15)
    np.testing.assert_allclose(seasonal(times, 2)[:, [1, 3]], [[1, 0], [-1, 0], [1, 0], [1, 0]], atol=1e-15)


def test_predictors_are_lags_the_slow_mean_and_the_last_month_by_season() -> None:
    pc = np.arange(12.0).reshape(2, 3, 2)  # two starts, three lags, two modes
    initial = xr.Dataset(
        {"pc": (("init_time", "lag", "mode"), pc), "pc_slow": (("init_time", "lag", "mode"), 100 + pc)},
        coords={"init_time": np.array(["2009-01-01", "2009-04-01"], "datetime64[s]")},
    )
    january, april = predictors(initial)
    np.testing.assert_allclose(january, [4, 5, 2, 3, 0, 1, 104, 105, 4, 5, 0, 0], atol=1e-12)
    np.testing.assert_allclose(april, [10, 11, 8, 9, 6, 7, 110, 111, 0, 0, 10, 11], atol=1e-12)
