"""A polynomial in time is taken out of a record as one fit of all of it would, however the record is cut and wherever it has gaps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemble import load
from ensemble.errors import InputError
from ensemble.prepare.files import blocks as cache
from ensemble.prepare.trend import check_degree, finding, fitted
from ensemble.task import Array, Domain, Field, Period, shift

Files: Any = load("files", "data").Files
Archive: Any = load("archive").Archive
MONTH, YEAR = np.timedelta64(1, "M"), np.timedelta64(1, "Y")
MONTHS = shift(np.datetime64("1951-01-01", "s"), np.arange(240), MONTH)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENSEMBLE_CACHE", str(tmp_path / "cache"))


def residual(values: Array, degree: int, time: Array | None = None) -> Array:
    """(time, point) less the polynomial of each column, by numpy's own fit of what is there."""
    made = np.full(values.shape, np.nan)
    x = np.linspace(-1, 1, len(values)) if time is None else time
    for i, column in enumerate(values.T):
        there = np.isfinite(column)
        if there.sum() >= degree + 2:
            made[there, i] = (column - np.polyval(np.polyfit(x[there], column[there], degree), x))[there]
    return made


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), degree=st.integers(0, 4), pieces=st.integers(1, 20), share=st.sampled_from([0.0, 0.2, 0.7]))
def test_it_is_the_fit_of_the_whole_record_whatever_the_blocks_and_gaps(seed: int, degree: int, pieces: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    values = 280 + rng.normal(size=(240, 5)).cumsum(0)
    values[rng.random(values.shape) < share] = np.nan
    values[:, 4] = np.nan  # land
    trend = fitted(MONTHS, MONTH, degree, np.array_split(values, pieces))
    np.testing.assert_allclose(values - trend.at(MONTHS), residual(values, degree), atol=1e-8)
    np.testing.assert_array_equal(trend.at(MONTHS[[7, 3]]), trend.at(MONTHS)[[7, 3]])


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_a_polynomial_leaves_nothing(shape: tuple[int, ...]) -> None:
    t = np.arange(240.0).reshape(-1, *[1] * len(shape))
    values = 250 + (1 + np.arange(float(np.prod(shape))).reshape(shape)) * (0.1 * t - 2e-3 * t**2)
    for kept in (np.arange(240), np.arange(0, 240, 7)):
        gappy = np.full(values.shape, np.nan)
        gappy[kept] = values[kept]
        left = gappy - fitted(MONTHS, MONTH, 2, [gappy]).at(MONTHS)
        np.testing.assert_allclose(left[kept], 0, atol=1e-9)
        assert np.isfinite(left).sum() == len(kept) * int(np.prod(shape))


def test_a_point_with_too_few_values_becomes_missing() -> None:
    values = np.full((240, 2), np.nan)
    values[:3, 0] = values[:4, 1] = 280 + np.random.default_rng(0).normal(size=(4, 1))[:3, 0].mean()
    left = values - fitted(MONTHS, MONTH, 2, [values]).at(MONTHS)
    assert np.isfinite(left).sum(0).tolist() == [0, 4]


def test_months_are_of_one_length() -> None:
    trend = fitted(MONTHS, MONTH, 1, [np.arange(240.0)])
    np.testing.assert_allclose(trend.at(MONTHS), np.arange(240), atol=1e-10)


def test_what_is_no_degree_or_too_high_is_refused() -> None:
    with pytest.raises(InputError, match=r"detrend: -1 is no degree"):
        Files(path="x.nc", detrend=-1)
    with pytest.raises(InputError, match=r"detrend: 10 is no degree"):
        Archive(path="x.nc", detrend=10)
    with pytest.raises(InputError, match=r"detrend: 2 needs 4 steps or more, and there are 3"):
        check_degree(2, 3)


def test_the_data_table_says_in_words_that_it_looks_ahead() -> None:
    line = finding(2, MONTHS, what="each point of the data", where="sst.nc")
    assert line.found == "240 times, 1951-01-01 to 1970-12-01"
    assert "the later ones too" in line.done
    assert "not for forecasting" in line.done


def written(folder: Path, dtype: str = "f4") -> tuple[Path, Array]:
    rng = np.random.default_rng(3)
    values = (15 + rng.normal(size=(240, 4, 5)).cumsum(0)).astype(dtype)
    values[:, 1, 2] = np.nan
    lat, lon = ("lat", np.arange(4.0), {"units": "degrees_north"}), ("lon", np.arange(5.0), {"units": "degrees_east"})
    days = (MONTHS.astype("datetime64[D]") - MONTHS[0].astype("datetime64[D]")).astype(int)
    data = xr.Dataset(
        {"sst": (("time", "lat", "lon"), values, {"units": "degC"})},
        {"time": ("time", days, {"units": "days since 1951-01-01"}), "lat": lat, "lon": lon},
    )
    data.to_netcdf(folder / "sst.nc")
    return folder / "sst.nc", values


@pytest.mark.parametrize("cached", [None, "none"])
def test_files_come_without_their_trend(cached: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, values = written(tmp_path)
    monkeypatch.setattr(cache, "BLOCK", 20 * 8 * 31)  # 31 steps
    source = Files(path=str(path), detrend=2, cache=cached, first="1955-01")
    some = source.times[[5, 100, 191]]
    expected = residual(values[48:].reshape(192, -1).astype(float), 2).reshape(192, 4, 5)
    np.testing.assert_allclose(source.read(some)["sst"].values, expected[[5, 100, 191]], atol=1e-9)
    assert source.notes[-1].what == "trend"
    plain = Files(path=str(path), cache=cached, first="1955-01")
    assert plain.digest != source.digest
    np.testing.assert_array_equal(plain.read(some)["sst"].values, values[48:][[5, 100, 191]])


def hindcast(folder: Path, gap: bool = False) -> tuple[Path, Array]:
    """(init, lead, member) of a global mean, annual, from 1951 on."""
    rng = np.random.default_rng(4)
    values = 15 + 0.01 * np.arange(30)[:, None, None] ** 1.5 + rng.normal(0, 0.1, (30, 3, 4))
    if gap:
        values[7, 1] = np.nan
    data = xr.Dataset(
        {"sst": (("init", "lead", "member"), values, {"units": "degC"})},
        {"init": 1951 + np.arange(30), "lead": [1, 2, 3], "member": range(4)},
    )
    data.to_netcdf(folder / "hindcast.nc")
    return folder / "hindcast.nc", values


@pytest.mark.parametrize("gap", [False, True])
def test_members_lose_the_trend_of_their_mean_at_each_lead(gap: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, values = hindcast(tmp_path, gap)
    monkeypatch.setattr(cache, "BLOCK", 8 * 12 * 7)  # 7 starts
    archive, leads = Archive(path=str(path), lead_one="after", detrend=2), np.array([1, 3] if not gap else [2])
    first = np.datetime64("2000-01-01", "s")
    of = Domain({"sst": Field({}, np.array(True), np.array(1.0), {"units": "degC"})}, YEAR, leads, Period(first, first))
    archive.check(of)
    state, finished = archive.start(of, 0)
    assert finished
    starts = archive.issued[[3, 20, 20]]
    initial = xr.Dataset({"sst": (("init_time", "lag"), np.empty((3, 0)), {"units": "degC"})}, {"init_time": starts})
    found = archive.forecast(state, initial, leads, xr.Dataset(), 0)["sst"]
    mean = values[:, leads - 1].mean(2)
    expected = values[:, leads - 1] - (mean - residual(mean, 2))[:, :, None]
    np.testing.assert_allclose(found.values, expected[[3, 20, 20]], atol=1e-9)
    assert archive.notes[-1].found == "30 times, 1952-01-01 to 1981-01-01"
