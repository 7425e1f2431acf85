"""Files as people have them become one record, or are refused by name with the setting that helps."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ensemble import load
from ensemble.errors import InputError
from ensemble.testing import check_source

Files: Any = load("files", "data").Files
SHARED = Path(__file__).parents[2].parent / "shared"
MONTHS = np.arange("2001-01", "2003-01", dtype="datetime64[M]")


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENSEMBLE_CACHE", str(tmp_path / "cache"))


def case(name: str) -> Any:
    (path,) = (SHARED / "cases").glob(f"{name}_*.py") if SHARED.is_dir() else [None]
    if path is None:
        pytest.skip("../shared/cases is absent")
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def field(months: Any = MONTHS, units: str | None = "K", **dims: Any) -> xr.Dataset:
    """Kelvin that tell their month and place: 280 + months since 2001 + latitude / 100 + longitude / 10000."""
    month = (months.astype("datetime64[M]") - MONTHS[0]).astype(int)
    lat, lon = np.array(dims.get("lat", [-10.0, 0, 10])), np.array(dims.get("lon", [0.0, 90, 180, 270]))
    values = 280 + month[:, None, None] + lat[:, None] / 100 + (lon % 360) / 10000
    attrs = {"units": units, "long_name": "température"} if units else {}
    days = (months.astype("datetime64[D]") - np.datetime64("1990-01-01")).astype(int)
    return xr.Dataset(
        {"tas": (("time", "lat", "lon"), values.astype(dims.get("dtype", "f4")), attrs)},
        {
            "time": ("time", days, {"units": "days since 1990-01-01"}),
            "lat": ("lat", lat, {"units": "degrees_north"}),
            "lon": ("lon", lon, {"units": "degrees_east"}),
        },
    )


def written(folder: Path, parts: Sequence[xr.Dataset], names: str = "part{:02d}.nc") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    for number, part in enumerate(parts):
        part.to_netcdf(folder / names.format(number))
    return str(folder / "*.nc")


def whole(source: Any) -> xr.DataArray:
    data = source.read(source.times)
    return data[next(iter(data.data_vars))]


def expected(months: Any = MONTHS) -> np.ndarray:
    return field(months)["tas"].values


def test_many_files_are_one_record_in_canonical_form(tmp_path: Path) -> None:
    path = written(tmp_path, [field(MONTHS[:7]), field(MONTHS[7:8]), field(MONTHS[8:])])
    made = whole(Files(path=path))
    assert made.dims == ("time", "latitude", "longitude")
    assert made.dtype == np.float32
    assert np.array_equal(made.values, expected())
    assert made["time"].dtype == np.dtype("datetime64[s]")
    assert (made["time"].values == MONTHS).all()
    assert made.attrs == {"units": "K", "long_name": "température"}
    assert not made.encoding
    check_source(Files(path=path))


@settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(1, 23), max_size=3, unique=True), st.randoms(), st.booleans())
def test_any_cut_into_files_in_any_order_is_the_same_record(tmp_path: Path, cuts: list[int], random: Any, kept: bool) -> None:
    edges = [0, *sorted(cuts), 24]
    parts = [field(MONTHS[a:b][:: random.choice([1, -1])]) for a, b in pairwise(edges)]
    random.shuffle(parts)
    folder = tmp_path / f"{random.random()}"
    source = Files(path=written(folder, parts), cache=str(folder / "c") if kept else "none")
    index = np.unique([random.randrange(24) for _ in range(random.randrange(1, 24))])
    assert np.array_equal(source.read(source.times[index])["tas"].values, expected()[index])
    assert np.array_equal(whole(source).values, expected())


def test_each_file_may_have_its_own_units_order_and_type(tmp_path: Path) -> None:
    second = field(MONTHS[12:], dtype="f8").isel(lat=[2, 1, 0]).transpose("lon", "lat", "time")
    second["tas"] = (second["tas"] - 273.15).assign_attrs(units="degC")
    third = second.assign_coords(lon=("lon", [0.0, 90, -180, -90], {"units": "degrees_east"})).sortby("lon")
    for number, other in enumerate((second, third)):
        source = Files(path=written(tmp_path / str(number), [field(MONTHS[:12]), other]))
        made = whole(source)
        assert made.dtype == np.float64
        assert made.values == pytest.approx(expected(), abs=1e-4)
        assert made.attrs["units"] == "K"
    assert whole(Files(path=source.path, units="degC")).values == pytest.approx(expected() - 273.15, abs=1e-4)


def test_another_grid_among_the_files_is_refused_by_the_name_of_its_file(tmp_path: Path) -> None:
    source = Files(path=written(tmp_path, [field(MONTHS[:12]), field(MONTHS[12:], lat=[-5.0, 5.0, 15.0])]))
    with pytest.raises(InputError, match=r"part01.nc: its grid is not that of the data: latitude is shifted by half a cell"):
        whole(source)


def test_a_missing_file_is_a_gap_that_is_refused_or_missing(tmp_path: Path) -> None:
    path = written(tmp_path, [field(MONTHS[:7]), field(MONTHS[9:])])
    with pytest.raises(InputError, match=r"part00.nc and 1 more: after 2001-07-01 comes 2001-10-01.*`gaps: missing`"):
        _ = Files(path=path).times
    for cache in (None, "none"):
        made = whole(Files(path=path, gaps="missing", cache=cache))
        assert (made["time"].values == MONTHS).all()
        assert np.isnan(made.values[7:9]).all()
        assert np.array_equal(np.delete(made.values, [7, 8], 0), np.delete(expected(), [7, 8], 0))
    check_source(Files(path=path, gaps="missing"))


def test_doubled_months_of_overlapping_files_are_merged_if_equal(tmp_path: Path) -> None:
    path = written(tmp_path, [field(MONTHS[:8]), field(MONTHS[6:])])
    source = Files(path=path)
    assert np.array_equal(whole(source).values, expected())
    assert {note.done for note in source.notes if note.what == "duplicates"} == {"merged"}
    other = field(MONTHS[6:])
    other["tas"] = other["tas"] + 1
    other.to_netcdf(tmp_path / "part01.nc")
    with pytest.raises(InputError, match=r"2001-07-01 .* with different values; set `duplicates: first` or `last`"):
        _ = source.times
    for rule, more in (("first", 0), ("last", 1)):
        made = whole(Files(path=path, duplicates=rule))
        assert made.values[6] == pytest.approx(expected()[6] + more)


def test_a_file_that_has_changed_is_read_anew(tmp_path: Path) -> None:
    source = Files(path=written(tmp_path, [field()]))
    before, digest = whole(source), source.digest
    other = field()
    other["tas"] = other["tas"] + 1
    other.to_netcdf(tmp_path / "part00.nc")
    os.utime(tmp_path / "part00.nc", (1, 1))
    assert source.digest != digest
    assert whole(source).values == pytest.approx(before.values + 1)


def test_what_has_been_read_once_needs_no_file_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Files(path=written(tmp_path, [field()]))
    before = source.read(source.times)
    load("files", "data")._found.cache_clear()
    monkeypatch.setattr("ensemble.prepare.files.opening._open", None)
    travelled = pickle.loads(pickle.dumps(source))
    assert travelled.read(travelled.times).identical(before)
    assert travelled.notes == source.notes
    with pytest.raises(TypeError):
        _ = Files(path=source.path, cache="none").times


def test_a_part_of_time_and_of_space(tmp_path: Path) -> None:
    path = written(tmp_path, [field(lon=np.arange(0, 360, 10.0))])
    made = whole(Files(path=path, first="2001-03", last=2001, latitude=(-5, 20), longitude=(-20, 30)))
    assert [str(each)[:7] for each in made["time"].values[[0, -1]]] == ["2001-03", "2001-12"]
    assert made["latitude"].values.tolist() == [0, 10]
    assert made["longitude"].values.tolist() == [0, 10, 20, 30, 340, 350]
    assert made.values == pytest.approx(field(MONTHS[2:12], lat=[0.0, 10], lon=made["longitude"].values)["tas"].values)
    with pytest.raises(InputError, match=r"no latitude lies in the region \[50, 60\]"):
        whole(Files(path=path, latitude=(50, 60)))
    with pytest.raises(InputError, match="nothing lies from 2010-01 to None"):
        whole(Files(path=path, first="2010-01"))
    with pytest.raises(InputError, match="must be dates such as 1991-01"):
        whole(Files(path=path, first="January"))


def test_a_common_grid_is_reached_in_the_way_that_is_said_and_no_other(tmp_path: Path) -> None:
    fine = field(lat=np.arange(-88.5, 90, 3), lon=np.arange(1.5, 360, 3))
    fine["tas"] = 280 + 0 * fine["tas"] + fine["lat"]
    path = written(tmp_path, [fine.isel(time=slice(5)), fine.isel(time=slice(5, None))])
    made = whole(Files(path=path, units_are="K", grid=2.5, regrid="bilinear", latitude=(-30, 30), longitude=(-10, 10)))
    assert made["longitude"].values.tolist() == [0, 2.5, 5, 7.5, 10, 350, 352.5, 355, 357.5]
    assert made.sizes == {"time": 24, "latitude": 25, "longitude": 9}
    assert made.values == pytest.approx(np.broadcast_to(280 + made["latitude"].values[:, None], made.shape), abs=1e-4)
    with pytest.raises(InputError, match=r"`grid: 2.5` does not say how; write `regrid: conservative`"):
        _ = Files(path=path, units_are="K", grid=2.5).times


def test_one_of_several_levels_is_asked_for(tmp_path: Path) -> None:
    levels = xr.DataArray([850.0, 500.0], dims="plev", attrs={"units": "hPa", "standard_name": "air_pressure"})
    path = written(tmp_path, [xr.concat([field(), field() + 100], levels.rename("plev")).assign_coords(plev=levels)])
    with xr.open_dataset(tmp_path / "part00.nc", decode_times=False) as data:
        data["tas"].attrs["units"] = "K"
        data.load().to_netcdf(tmp_path / "p.nc")
    os.replace(tmp_path / "p.nc", tmp_path / "part00.nc")
    with pytest.raises(InputError, match=r"tas has 2 levels \(850, 500 hPa\); say which: `level: 850`"):
        whole(Files(path=path))
    assert whole(Files(path=path, level=500)).values == pytest.approx(expected() + 100)
    with pytest.raises(InputError, match=r"tas has no level 700; it has 850, 500 hPa"):
        whole(Files(path=path, level=700))


def test_a_dimension_that_a_record_has_no_place_for_is_refused_unless_it_is_one(tmp_path: Path) -> None:
    members = field().expand_dims(member=[0, 1])
    with pytest.raises(InputError, match=r"part00.nc: tas has 2 values along member, for which a record has no place"):
        whole(Files(path=written(tmp_path / "two", [members])))
    assert np.array_equal(whole(Files(path=written(tmp_path / "one", [members.isel(member=[0])]))).values, expected())


def test_a_file_for_each_step_with_a_time_of_no_dimension(tmp_path: Path) -> None:
    path = written(tmp_path, [field(MONTHS[[n]]).isel(time=0) for n in range(5)])
    source = Files(path=path)
    assert np.array_equal(whole(source).values, expected(MONTHS[:5]))
    with pytest.raises(InputError, match="`time_step:`, such as `month`"):
        _ = Files(path=str(tmp_path / "part00.nc")).times
    assert Files(path=str(tmp_path / "part00.nc"), time_step="month").step == np.timedelta64(1, "M")


def test_packed_whole_numbers_are_unpacked_and_gaps_are_missing(tmp_path: Path) -> None:
    data = field()
    data["tas"] = data["tas"].where(data["lat"] > -5)
    data.to_netcdf(tmp_path / "a.nc", encoding={"tas": {"dtype": "i2", "scale_factor": 0.01, "add_offset": 290.0, "_FillValue": -32768}})
    made = whole(Files(path=str(tmp_path / "a.nc")))
    assert np.isnan(made.values[:, 0]).all()
    assert made.values[:, 1:] == pytest.approx(expected()[:, 1:], abs=0.006)
    data["tas"].fillna(-9999).to_netcdf(tmp_path / "b.nc")
    with pytest.raises(InputError, match=r"tas in b.nc: the value -9999 stands at"):
        whole(Files(path=str(tmp_path / "b.nc"), units_are="K"))
    cured = whole(Files(path=str(tmp_path / "b.nc"), units_are="K", missing_value=-9999))
    assert np.array_equal(cured.values, data["tas"].values, equal_nan=True)


def test_truth_in_the_layout_of_a_hindcast_is_a_record(tmp_path: Path) -> None:
    """(start, lead): November to January of each year, with the other months missing."""
    starts = np.array(["2000-11", "2001-11"], "datetime64[M]")
    parts = [field(start + np.arange(3)).drop_vars("time").rename(time="ftime").assign_coords(ftime=[1, 2, 3]) for start in starts]
    days = (starts.astype("datetime64[D]") - np.datetime64("1990-01-01")).astype(int)
    data = xr.concat(parts, xr.DataArray(days, dims="sdate", attrs={"units": "days since 1990-01-01"}, name="sdate"))
    path = written(tmp_path, [data])
    with pytest.raises(InputError, match="`time_step: month`"):
        _ = Files(path=path, gaps="missing").times
    source = Files(path=path, gaps="missing", time_step="month")
    assert source.target == "tas"
    made = whole(source)
    assert (made["time"].values == np.arange("2000-11", "2002-02", dtype="datetime64[M]")).all()
    there = [0, 1, 2, 12, 13, 14]
    assert np.array_equal(made.values[there], expected(made["time"].values[there]))
    assert np.isnan(np.delete(made.values, there, 0)).all()
    check_source(source)


def test_dates_far_from_our_own_are_dates(tmp_path: Path) -> None:
    months = np.arange("2250-01", "2300-01", dtype="datetime64[M]")
    source = Files(path=written(tmp_path, [field(months)], "far.nc"), units="K")
    for cache in (None, "none"):
        made = Files(path=source.path, cache=cache)
        assert (made.read(made.times)["time"].values == months).all()


def test_a_store_at_a_url_is_read_and_seen_to_change(tmp_path: Path) -> None:
    url = "memory://somewhere/obs.zarr"
    field().to_zarr(url, zarr_format=2, consolidated=True, mode="w")
    source = Files(path=url)
    assert np.array_equal(whole(source).values, expected())
    digest = source.digest
    field(MONTHS[:12]).to_zarr(url, zarr_format=2, consolidated=True, mode="w")
    assert source.digest != digest
    assert np.array_equal(whole(source).values, expected(MONTHS[:12]))


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("consolidated", [True, False])
@pytest.mark.filterwarnings("ignore:Consolidated metadata")
def test_a_zarr_store_of_any_format(tmp_path: Path, zarr_format: Any, consolidated: bool) -> None:
    field().to_zarr(tmp_path / "obs.zarr", zarr_format=zarr_format, consolidated=consolidated)
    assert np.array_equal(whole(Files(path=str(tmp_path / "obs.zarr"))).values, expected())


def test_what_is_not_there_or_not_readable_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"data: no file is called or fits .*none\*.nc; mend `path:`"):
        _ = Files(path=str(tmp_path / "none*.nc")).times
    with pytest.raises(InputError, match=r"is a folder and no Zarr store; write which of its files"):
        _ = Files(path=str(tmp_path)).times
    (tmp_path / "bad.nc").write_text("no NetCDF")
    with pytest.raises(InputError, match=r"bad.nc: cannot be opened as NetCDF or Zarr \(.*\); mend it"):
        _ = Files(path=str(tmp_path / "bad.nc")).times
    path = written(tmp_path / "d", [field().assign(pr=field()["tas"])])
    with pytest.raises(InputError, match=r"part00.nc: holds the variables tas, pr; say which one"):
        _ = Files(path=path).times
    with pytest.raises(InputError, match=r"there is no step at 2010-01-01T00:00:00; the record goes from 2001-01-01"):
        Files(path=path, variable="pr", units_are="K").read(np.array(["2010-01-01"], "datetime64[s]"))


def test_a_path_means_the_same_in_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, [field()])
    monkeypatch.chdir(tmp_path)
    source = Files(path="*.nc")
    monkeypatch.chdir("/")
    assert np.array_equal(whole(source).values, expected())
    assert Files(path=[str(tmp_path / "part00.nc")]) == Files(path=(str(tmp_path / "part00.nc"),))


def test_case_06_rain_in_any_unit(tmp_path: Path) -> None:
    rain = case("06")
    files, truth = rain.make(tmp_path), rain._fields()
    for name in ("obs", "model_a", "model_b", "model_c"):
        made = whole(Files(path=str(files[name]), units="mm/day"))
        assert made.values == pytest.approx(truth[name], rel=1e-12)
        assert made.attrs["units"] == "mm/day"
    with pytest.raises(InputError, match=r"pr in model_d.nc has no units; .*`units_are: mm/day`"):
        whole(Files(path=str(files["model_d"]), units="mm/day"))
    cured = whole(Files(path=str(files["model_d"]), units="mm/day", units_are="kg m-2 s-1"))
    assert cured.values == pytest.approx(truth["model_d"], rel=1e-12)


def test_case_14_doubled_hours_and_a_store_with_old_codecs(tmp_path: Path) -> None:
    doubled = case("14")
    files = doubled.make(tmp_path)
    with pytest.raises(InputError, match=r"dataset.nc: .*2010-02-01 18:00 .* with different values; set `duplicates: first` or `last`"):
        _ = Files(path=str(files["dataset"])).times
    doubled_same = [each.replace("T", " ") for each in doubled.EXPECT["doubled_same"]]
    for rule, rmse in (("first", doubled.EXPECT["rmse_a_keep_first"]), ("last", doubled.EXPECT["rmse_a_keep_last"])):
        source = Files(path=str(files["dataset"]), duplicates=rule)
        error = whole(Files(path=str(files["model_a"]))) - whole(source)
        assert error.sizes["time"] == doubled.EXPECT["n_distinct"]
        assert np.sqrt((error**2).mean()) == pytest.approx(rmse, abs=1e-9)
        assert [note.found[:16] for note in source.notes if note.done == "merged"] == doubled_same
    starts = Files(path=str(files["starts"]))
    data = starts.read(starts.times)
    assert [str(each)[:16] for each in data["time"].values] == doubled.EXPECT["starts_read_back"]
    for start in starts.times:
        starts.read(np.array([start])).to_zarr(tmp_path / f"{start}.zarr", consolidated=False)  # the newest format
    check_source(starts)


def test_case_18_means_of_many_small_chunks_are_exact(tmp_path: Path) -> None:
    pressure = case("18")
    made = whole(Files(path=str(pressure.make(tmp_path)["obs"])))
    assert made.dtype == np.float32
    assert made.values.astype(float).mean(0).ravel() == pytest.approx(pressure.EXPECT["mean_obs_by_cell"], abs=1e-6)


@pytest.mark.parametrize("role", ["obs", "obs_zarr"])
def test_case_22_letters_of_all_kinds_in_paths(tmp_path: Path, role: str) -> None:
    unicode = case("22")
    folder = tmp_path / "50 % of #1 [x]"
    source = Files(path=str(unicode.make(folder)[role]), cache=str(tmp_path / "Zwischen lager % #1 é ζ"))
    made = whole(source)
    assert np.array_equal(made.values, np.arange(36.0)[:, None, None] + [[[0, 10]]])
    assert made.attrs["long_name"] == "température"
    assert unicode.inside_loop(source.read, source.times).identical(source.read(source.times))


def test_cases_of_calendars_are_the_months_they_mean(tmp_path: Path) -> None:
    for name, roles, first, last in (
        ("01", ("obs", "model_a", "model_b"), "2003-01", "2004-12"),
        ("02", ("obs_days", "obs_months", "model_a"), "2250-01", "2299-12"),
        ("12", ("obs", "model_run"), "2001-01", "2002-12"),
    ):
        files = case(name).make(tmp_path / name)
        for role in roles:
            times = Files(path=str(files[role])).times
            assert (times == np.arange(first, np.datetime64(last) + 1, dtype="datetime64[M]")).all()


def test_the_sea_surface_of_cobe_is_what_xarray_reads() -> None:
    if not (SHARED / "data").is_dir():
        pytest.skip("../shared/data is absent")
    path = str(SHARED / "data" / "cobe_sst2" / "year195*.nc")
    source = Files(path=path, variable="sst", longitude=(-60, 10), latitude=(-30, 30))
    made = whole(source)
    assert made.sizes == {"time": 120, "latitude": 60, "longitude": 70}
    with xr.open_mfdataset(path) as data:
        truth = data["sst"].sortby("lat").sel(lat=made["latitude"].values, lon=made["longitude"].values).values
    assert np.array_equal(made.values, truth, equal_nan=True)


def test_the_daily_pressure_is_ten_years_of_days() -> None:
    path = SHARED / "data" / "ncep_slp_natl_daily_2001_2010.nc"
    if not path.is_file():
        pytest.skip("../shared/data is absent")
    source = Files(path=str(path), units="hPa")
    made = whole(source)
    assert source.step == np.timedelta64(1, "D")
    assert len(source.times) == 3652
    assert 930 < float(made.min()) < float(made.max()) < 1070
