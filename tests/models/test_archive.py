"""Forecasts from files, as the engine asks for them: at its starts and leads, in its units, on its grid."""

from __future__ import annotations

import pickle
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from ensemble import load
from ensemble.chunk import known_ahead
from ensemble.errors import InputError
from ensemble.task import Array, Domain, Field, Period, Times, dataset, shift
from tests.prepare.layouts import DAILY, MONTHLY, Forecast, forecast

SHARED = Path(__file__).parents[2].parent / "shared"
MONTH, YEAR, DAY = np.timedelta64(1, "M"), np.timedelta64(1, "Y"), np.timedelta64(1, "D")
Archive = load("archive").Archive


def domain(step: np.timedelta64, coords: dict[str, Array], leads: Any, units: str = "K") -> Domain:
    shape = tuple(len(each) for each in coords.values())
    area = np.full(shape, 1.0 / np.prod(shape, dtype=float))
    first = np.datetime64("2000-01-01", "s")
    return Domain({"tas": Field(coords, np.ones(shape, bool), area, {"units": units})}, step, np.asarray(leads), Period(first, first))


def made(archive: Any, of: Domain, starts: Times) -> xr.DataArray:
    """What the engine is handed."""
    state = archive.start(of, 0).state
    initial = dataset(of, {"tas": np.empty((len(starts), archive.history, *of.fields["tas"].mask.shape))}, init_time=starts, lag=[])
    initial = initial.assign_coords(time=(("init_time", "lag"), np.empty((len(starts), 0), "datetime64[s]")))
    result: xr.DataArray = archive.forecast(state, initial, of.lead_times, known_ahead(of, starts, of.lead_times), 0)["tas"]
    return result


def grid(given: Forecast) -> dict[str, Array]:
    return {"latitude": given.latitude, "longitude": given.longitude}


@pytest.fixture
def written() -> Forecast:
    return forecast(shift(np.datetime64("1999-11-01", "s"), 12 * np.arange(3), MONTH), MONTH, leads=5)


@pytest.mark.parametrize("layout", MONTHLY, ids=lambda each: each.__name__)
def test_every_layout_is_the_same_model(layout: Any, written: Forecast, tmp_path: Path) -> None:
    files = layout(written, tmp_path)
    archive = Archive(path=tuple(map(str, files.paths)), **files.settings)
    assert archive.issued.tolist() == written.init_time.tolist()
    assert archive.leads.tolist() == [1, 2, 3, 4, 5]
    of, starts = domain(MONTH, grid(written), [2, 4]), written.init_time[[2, 0, 2, 2]]
    found = made(archive, of, starts)
    assert found.dims == ("init_time", "lead_time", "member", "latitude", "longitude")
    assert found.sizes["member"] == 3
    np.testing.assert_allclose(found.values, written.values[[2, 0, 2, 2]][:, [1, 3]], rtol=1e-12)
    assert found["init_time"].values.tolist() == starts.tolist()


def test_it_travels(written: Forecast, tmp_path: Path) -> None:
    archive = Archive(path=str(MONTHLY[0](written, tmp_path).paths[0]))
    there = pickle.loads(pickle.dumps(archive))
    assert there == archive
    assert hash(there) == hash(archive)
    state = archive.start(domain(MONTH, grid(written), [1]), 0)
    assert state.finished
    assert pickle.loads(pickle.dumps(state.state))["member"].tolist() == [1, 2, 3]


def test_it_is_read_in_the_units_of_the_record(written: Forecast, tmp_path: Path) -> None:
    warm = written._replace(values=written.values + 280)
    archive = Archive(path=str(MONTHLY[0](warm, tmp_path).paths[0]))
    found = made(archive, domain(MONTH, grid(written), [1], "degC"), written.init_time)
    np.testing.assert_allclose(found.values, warm.values[:, :1] - 273.15)
    notes = archive.start(domain(MONTH, grid(written), [1], "degC"), 0).state["notes"]
    assert any(what == "units" and "degC" in done for what, _, _, done in notes)


def test_an_amount_since_the_start_becomes_a_rate(tmp_path: Path) -> None:
    rain = forecast(np.array(["2001-01-04", "2002-01-04"], "datetime64[s]"), DAY, leads=4)
    archive = Archive(path=str(DAILY[-2](rain, tmp_path).paths[0]))
    found = made(archive, domain(DAY, grid(rain), [1, 3], "kg m-2 s-1"), rain.init_time)
    np.testing.assert_allclose(found.values * 86400, rain.values[:, [0, 2]], rtol=1e-12)


def test_a_part_of_its_grid_is_read(written: Forecast, tmp_path: Path) -> None:
    archive = Archive(path=str(MONTHLY[1](written, tmp_path).paths[0]))
    part = {"latitude": written.latitude[1:], "longitude": np.array([0.0, 240.0])}
    found = made(archive, domain(MONTH, part, [1]), written.init_time)
    np.testing.assert_array_equal(found.values, written.values[:, :1][..., 1:, [0, 2]])


def test_another_grid_is_refused_unless_regrid_says_how(written: Forecast, tmp_path: Path) -> None:
    path = str(MONTHLY[0](written, tmp_path).paths[0])
    shifted = {"latitude": written.latitude, "longitude": np.array([60.0, 180.0, 300.0])}
    with pytest.raises(InputError, match=r"shifted by half a cell.*`regrid: bilinear`"):
        made(Archive(path=path), domain(MONTH, shifted, [1]), written.init_time)
    found = made(Archive(path=path, regrid="bilinear"), domain(MONTH, shifted, [1]), written.init_time)
    value = written.values[:, :1]
    np.testing.assert_allclose(found.values, (value + np.roll(value, -1, -1)) / 2, rtol=1e-12)


def test_a_start_or_a_lead_that_is_not_there_is_named(written: Forecast, tmp_path: Path) -> None:
    archive = Archive(path=str(MONTHLY[0](written, tmp_path).paths[0]))
    with pytest.raises(InputError, match=r"nmme.nc: there is no start 1998-11-01T00:00; it holds 3, 1999-11-01T00:00 to 2001-11-01T00:00"):
        made(archive, domain(MONTH, grid(written), [1]), written.init_time[:1] - np.timedelta64(365, "D"))
    with pytest.raises(InputError, match=r"there is no lead 6; it holds 5, 1 to 5"):
        archive.shelf.hindcast.columns(np.array([6]))


def test_other_steps_than_those_of_the_record_are_refused(written: Forecast, tmp_path: Path) -> None:
    archive = Archive(path=str(MONTHLY[0](written, tmp_path).paths[0]))
    with pytest.raises(InputError, match="steps of 1 month, the data of 1 day"):
        archive.start(domain(DAY, grid(written), [1]), 0)


def test_members_that_lack_some_starts_are_refused_unless_told(written: Forecast, tmp_path: Path) -> None:
    values = written.values.copy()
    values[0, :, 2] = np.nan
    path = str(MONTHLY[0](written._replace(values=values), tmp_path).paths[0])
    of = domain(MONTH, grid(written), [1])
    with pytest.raises(InputError, match=r"1999-11-01 has data of 2 members, others of 3; write `members: common` for the 2"):
        Archive(path=path).start(of, 0)
    assert made(Archive(path=path, members="common"), of, written.init_time)["member"].values.tolist() == [1, 2]


def test_a_start_without_data_lacks_no_member(written: Forecast, tmp_path: Path) -> None:
    values = written.values.copy()
    values[1] = np.nan
    archive = Archive(path=str(MONTHLY[0](written._replace(values=values), tmp_path).paths[0]))
    found = made(archive, domain(MONTH, grid(written), [1]), written.init_time)
    assert np.isnan(found.values).all((1, 2, 3, 4)).tolist() == [False, True, False]


def test_one_level_is_taken(tmp_path: Path) -> None:
    coords = {
        "time": ("time", np.arange(3), {"units": "days since 2001-01-01"}),
        "plev": ("plev", [85000.0, 50000.0], {"units": "Pa", "standard_name": "air_pressure"}),
        "lat": ("lat", [0.0, 1.0], {"units": "degrees_north"}),
        "lon": ("lon", [0.0, 1.0], {"units": "degrees_east"}),
    }
    data = np.arange(24.0).reshape(3, 2, 2, 2)
    xr.Dataset({"zg": (("time", "plev", "lat", "lon"), data, {"units": "m"})}, coords).to_netcdf(tmp_path / "levels.nc")
    path, of = str(tmp_path / "levels.nc"), domain(DAY, {"latitude": np.arange(2.0), "longitude": np.arange(2.0)}, [1], "m")
    with pytest.raises(InputError, match=r"zg has 2 levels \(85000, 50000 Pa\); say which: `level: 85000`"):
        Archive(path=path).start(of, 0)
    archive = Archive(path=path, level=50000.0)
    np.testing.assert_array_equal(made(archive, of, archive.issued).values[:, 0, 0], data[:, 1])
    with pytest.raises(InputError, match="no level 70000"):
        Archive(path=path, level=70000.0).start(of, 0)


def test_a_rain_that_only_grows_is_refused_unless_told(tmp_path: Path) -> None:
    rain = forecast(np.array(["2001-01-04", "2002-01-04"], "datetime64[s]"), DAY, leads=5)
    path = DAILY[-2](rain, tmp_path).paths[0]
    with xr.open_dataset(path, decode_times=False, decode_timedelta=False) as data:
        bare = data.load().isel(step=slice(1, None))
    bare["tp"].attrs = {"units": "kg m-2"}
    bare.to_netcdf(path)
    of = domain(DAY, grid(rain), [1, 2, 3, 4], "kg m-2")
    with pytest.raises(InputError, match=r"tp never falls along the lead.*`accumulated: true`.*`accumulated: false`"):
        made(Archive(path=str(path), lead_one="at"), of, rain.init_time)
    found = made(Archive(path=str(path), accumulated=True), of, rain.init_time)
    np.testing.assert_allclose(found.values, rain.values[:, :4], rtol=1e-9)
    assert made(Archive(path=str(path), lead_one="at", accumulated=False), of, rain.init_time).values.max() > 1


def case(name: str, folder: Path) -> tuple[dict[str, Path], dict[str, Any]]:
    script = next((SHARED / "cases").glob(f"{name}_*.py"), None) if SHARED.is_dir() else None
    if script is None:
        pytest.skip("needs ../shared/cases")
    of = runpy.run_path(str(script))
    return of["make"](folder), of["EXPECT"]


def truth(path: Path, name: str) -> Array:
    with xr.open_dataset(path, decode_times=False) as data:
        return np.asarray(data[name].values)


def test_case_01_month_ends_of_other_calendars_are_the_months_of_the_record(tmp_path: Path) -> None:
    files, expect = case("01", tmp_path)
    of = domain(MONTH, {"latitude": np.array([-30.0, 30.0]), "longitude": np.array([0.0, 120.0, 240.0])}, [1])
    months = shift(np.datetime64("2003-01-01"), np.arange(24), MONTH)
    for model in ("a", "b"):
        archive = Archive(path=str(files[f"model_{model}"]))
        assert archive.issued.tolist() == months.tolist()
        error = made(archive, of, months).values[:, 0, 0] - truth(files["obs"], "tas")
        assert float(error.mean()) == pytest.approx(expect[f"bias_{model}"], abs=1e-6)


def test_case_12_bounds_tell_the_month(tmp_path: Path) -> None:
    files, expect = case("12", tmp_path)
    observed = truth(files["obs"], "tas")
    of = domain(MONTH, {"latitude": np.array([35.0]), "longitude": np.array([250.0, 260.0])}, [1], "degC")
    run = Archive(path=str(files["model_run"]))
    assert len(run.issued) == expect["n_pairs_run"]
    error = made(run, of, run.issued).values[:, 0, 0] - observed
    assert float(np.sqrt((error**2).mean())) == pytest.approx(expect["rmse_run"], abs=1e-6)
    hindcast = Archive(path=str(files["hindcast"]))
    assert len(hindcast.issued) == expect["n_starts_per_lead"]
    whole = of._replace(lead_times=hindcast.leads)
    valid = whole.valid_time(hindcast.issued, hindcast.leads)
    assert [str(each)[:7] for each in valid[0]] == expect["target_months_of_first_start"]
    at = (valid.astype("datetime64[M]") - np.datetime64("2001-01", "M")).astype(int)
    error = made(hindcast, whole, hindcast.issued).values[:, :, 0] - observed[at]
    np.testing.assert_allclose(np.sqrt((error**2).mean((0, 2, 3))), expect["rmse_by_lead"], atol=1e-6)


def test_case_16_a_file_without_members_is_one_with_one_member(tmp_path: Path) -> None:
    files, _ = case("16", tmp_path)
    of = domain(DAY, {"latitude": np.array([0.0]), "longitude": np.array([0.0])}, [1], "1")
    one, bare, eight = (Archive(path=str(files[f"model_{name}"])) for name in ("one", "one_without_member_dim", "eight"))
    np.testing.assert_array_equal(made(one, of, one.issued).values, made(bare, of, one.issued).values)
    assert made(eight, of, eight.issued).sizes["member"] == 8


def test_case_08_members_without_data_are_left_out_and_named(tmp_path: Path) -> None:
    files, expect = case("08", tmp_path)
    of = domain(DAY, {"latitude": np.array([-10.0, 0, 10]), "longitude": np.arange(0.0, 40, 10)}, [1], "1")
    archive = Archive(path=str(files["forecast_declared"]))
    state = archive.start(of, 0).state
    assert state["member"].tolist() == expect["members_with_data"]
    assert any("2, 4, 5" in found for _, _, found, _ in state["notes"])
    mean = made(archive, of, archive.issued).values.mean(2)[:, 0]
    error = (mean - truth(files["obs"], "aod"))[np.isfinite(truth(files["obs"], "aod"))]
    assert error.size == expect["n_cells_scored"]
    assert float(np.sqrt((error**2).mean())) == pytest.approx(expect["rmse_ensemble_mean"], abs=1e-5)
    with pytest.raises(InputError, match="4 of 7 members have data"):
        Archive(path=str(files["forecast_declared"]), least_members=5).start(of, 0)
    with pytest.raises(InputError, match=r"aod in forecast_undeclared.nc: the value -9999 .*members 2, 4, 5"):
        Archive(path=str(files["forecast_undeclared"])).start(of, 0)


def data(name: str) -> str:
    if not (SHARED / "data" / name).is_file():
        pytest.skip("needs ../shared/data")
    return str(SHARED / "data" / name)


def test_seas5_of_cstools_is_read() -> None:
    path = data("cstools_seas5_era5_tas.nc")
    archive = Archive(path=path, variable="forecast", step="month")
    assert [str(each)[:7] for each in archive.issued] == [f"{year}-11" for year in range(2000, 2006)]
    assert archive.leads.tolist() == [1, 2, 3]
    with xr.open_dataset(path, decode_times=False) as opened:
        latitude, longitude = np.sort(opened["lat"].values), np.sort(opened["lon"].values % 360)
        first = opened["forecast"].isel(sdate=1, ftime=2).sel(lat=latitude[0], lon=longitude[0]).values
    of = domain(MONTH, {"latitude": latitude, "longitude": longitude}, [1, 3])
    found = made(archive, of, archive.issued)
    assert found.shape == (6, 2, 15, len(latitude), len(longitude))
    np.testing.assert_array_equal(found.values[1, 1, :, 0, 0], first)


def test_the_decadal_hindcasts_are_read_by_their_years() -> None:
    cesm = Archive(path=data("decadal/CESM-DP-LE.SST.global.nc"), lead_one="after", units_are="degC")
    assert (str(cesm.issued[0])[:10], str(cesm.issued[-1])[:10]) == ("1955-01-01", "2018-01-01")
    assert cesm.leads.tolist() == list(range(1, 11))
    found = made(cesm, domain(YEAR, {}, [1, 10], "degC"), cesm.issued)
    assert found.shape == (64, 2, 10)
    with xr.open_dataset(data("decadal/CESM-DP-LE.SST.global.nc")) as opened:
        np.testing.assert_array_equal(found.values[3], opened["SST"].isel(init=3).isel(lead=[0, 9]).values)
    with pytest.raises(InputError, match="`lead_one: at`"):
        _ = Archive(path=data("decadal/CESM-DP-LE.SST.global.nc")).issued
    miklip = Archive(path=data("miklip/MPIESM_miklip_baseline1-hind-SST-global.nc"), lead_one="after", units_are="K")
    assert len(miklip.issued) == 55
    assert made(miklip, domain(YEAR, {}, [1], "degC"), miklip.issued).sizes["member"] == 10
