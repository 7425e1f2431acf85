"""One field, however its file counts longitudes and latitudes, is one field."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.prepare.names import roles
from ensemble.prepare.space.grid import aligned, cell_area, mismatch, same_grid, spatial, within

LATITUDE, LONGITUDE = np.arange(-75.0, 80, 30), np.arange(0.0, 360, 30)
ROLES = {"time": "time", "latitude": "lat", "longitude": "lon"}


def wave(latitude: np.ndarray, longitude: np.ndarray) -> np.ndarray:
    """(time, latitude, longitude): a value for each place, whatever its longitude is called."""
    field = latitude[:, None] + 10 * np.sin(np.deg2rad(longitude)) + np.cos(np.deg2rad(2 * longitude))
    return np.stack([field, field + 1])


def file(latitude: np.ndarray = LATITUDE, longitude: np.ndarray = LONGITUDE) -> xr.DataArray:
    coords = {"time": [0, 1], "lat": latitude, "lon": longitude}
    return xr.DataArray(wave(latitude.astype(float), longitude.astype(float)), dims=("time", "lat", "lon"), coords=coords, name="tas")


def canonical(field: xr.DataArray, names: Mapping[str, str] = ROLES) -> tuple[xr.DataArray, list[Finding]]:
    notes: list[Finding] = []
    return spatial(field, names, where="file.nc", notes=notes), notes


TRUTH = wave(LATITUDE, LONGITUDE)


@settings(deadline=None, max_examples=60)
@given(
    first=st.sampled_from([-360.0, -300.0, -180.0, -30.0, 0.0, 60.0, 180.0]),
    roll=st.integers(0, 11),
    latitudes=st.permutations(range(6)),
    columns=st.one_of(st.none(), st.permutations(range(12))),
    dims=st.permutations(["time", "lat", "lon"]),
    closing=st.booleans(),
    single=st.booleans(),
)
def test_every_convention_gives_the_same_field(
    first: float, roll: int, latitudes: list[int], columns: list[int] | None, dims: list[str], closing: bool, single: bool
) -> None:
    longitude = np.roll((LONGITUDE - first) % 360 + first, roll)
    longitude = (
        longitude[columns] if columns else np.append(longitude, longitude[0] - np.copysign(360, longitude[0])) if closing else longitude
    )
    kind = np.float32 if single else np.float64
    field, _ = canonical(file(LATITUDE[latitudes].astype(kind), longitude.astype(kind)).transpose(*dims))
    assert field.dims == ("time", "latitude", "longitude")
    assert field["latitude"].values.tolist() == LATITUDE.tolist()
    assert field["longitude"].values.tolist() == LONGITUDE.tolist()
    np.testing.assert_allclose(field.values, TRUTH, rtol=0, atol=1e-5 if single else 1e-12)


def test_what_is_right_stays_as_it_is_and_is_not_mentioned() -> None:
    field, notes = canonical(file())
    assert notes == []
    np.testing.assert_array_equal(field.values, TRUTH)
    assert field["longitude"].attrs == {"standard_name": "longitude", "units": "degrees_east"}


def test_what_was_done_is_told() -> None:
    _, notes = canonical(file(LATITUDE[::-1], LONGITUDE - 180).transpose("lon", "lat", "time"))
    assert notes == [
        Finding("latitude", "file.nc", "75..-75", "-75..75"),
        Finding("longitude", "file.nc", "-180..150", "0..330"),
        Finding("dimensions", "file.nc", "longitude, latitude, time", "time, latitude, longitude"),
    ]


def test_longitude_and_latitude_of_misleading_names_are_told_apart() -> None:
    data = file().rename(lat="lon", lon="lat").to_dataset()
    data["lat"].attrs, data["lon"].attrs = {"units": "degrees_east"}, {"units": "degrees_north"}
    field, notes = canonical(data["tas"], roles(data, where="file.nc"))
    np.testing.assert_array_equal(field.values, TRUTH)
    assert {each.found for each in notes} == {"lon is a latitude by its attributes", "lat is a longitude by its attributes"}


def test_a_closing_meridian_is_merged_if_it_repeats_the_first_and_refused_if_not() -> None:
    closed = file(longitude=np.append(LONGITUDE, 360.0))
    field, notes = canonical(closed)
    np.testing.assert_array_equal(field.values, TRUTH)
    assert notes[0] == Finding("longitude", "file.nc", "1 meridian(s) twice: 0..360", "merged, their values agree")
    closed[1, 2, -1] += 1
    with pytest.raises(InputError, match=r"file.nc: the longitudes 0 and 360 are one meridian with different values"):
        canonical(closed)


def test_a_row_that_comes_twice_is_refused() -> None:
    with pytest.raises(InputError, match=r"file.nc: the latitude -45 comes twice"):
        canonical(file(np.append(LATITUDE, -45.0)))


def test_single_precision_coordinates_become_the_decimals_they_stand_for() -> None:
    longitude = (np.arange(12) / 10 + 0.1).astype(np.float32)
    field, _ = canonical(file(longitude=longitude))
    assert field["longitude"].values.tolist() == [round(0.1 * i, 1) for i in range(1, 13)]
    doubles, _ = canonical(file(longitude=longitude.astype(float)))  # the noise of a single that was stored as a double
    assert doubles["longitude"].values.tolist() == field["longitude"].values.tolist()


def test_coordinates_in_radians_are_turned_into_degrees() -> None:
    field = file(np.deg2rad(LATITUDE), np.deg2rad(LONGITUDE))
    field["lat"].attrs["units"] = field["lon"].attrs["units"] = "radian"
    assert canonical(field)[0]["longitude"].values.tolist() == LONGITUDE.tolist()


def test_coordinates_that_are_no_degrees_are_refused() -> None:
    with pytest.raises(InputError, match=r"file.nc: the latitude lat holds 330, beyond 90 degrees"):
        canonical(file(latitude=np.array([0.0, 330.0])))
    with pytest.raises(InputError, match="the longitude lon holds 500000, beyond 720"):
        canonical(file(longitude=np.array([0.0, 5e5])))
    with pytest.raises(InputError, match="the latitude lat does not hold numbers everywhere"):
        canonical(file(latitude=np.array([0.0, np.nan])))
    with pytest.raises(InputError, match="the latitude nav_lat is not a coordinate of tas; name it in its attribute `coordinates`"):
        canonical(file(), {"latitude": "nav_lat", "longitude": "lon"})


def test_nothing_is_read_from_an_open_file(tmp_path: Path) -> None:
    file(LATITUDE[::-1], LONGITUDE - 180).to_netcdf(tmp_path / "open.nc")
    with xr.open_dataset(tmp_path / "open.nc", decode_times=False) as data:
        field, _ = canonical(data["tas"])
        assert not field.variable._in_memory
        np.testing.assert_allclose(field.isel(time=1).values, TRUTH[1], atol=1e-12)
        np.testing.assert_allclose(field.values, TRUTH, atol=1e-12)


def test_a_regular_grid_written_out_in_two_dimensions_is_regular() -> None:
    latitude, longitude = np.meshgrid(LATITUDE, LONGITUDE - 180, indexing="ij")
    coords = {"nav_lat": (("y", "x"), latitude), "nav_lon": (("y", "x"), longitude)}
    field = xr.DataArray(wave(LATITUDE, LONGITUDE - 180), dims=("time", "y", "x"), coords=coords)
    names = {"latitude": "nav_lat", "longitude": "nav_lon"}
    np.testing.assert_allclose(canonical(field, names)[0].values, TRUTH, atol=1e-12)
    moving = field.assign_coords({name: (("time", "y", "x"), np.stack([field[name].values] * 2)) for name in coords})
    np.testing.assert_allclose(canonical(moving, names)[0].values, TRUTH, atol=1e-12)  # WRF repeats them at each time
    moving["nav_lat"][1] += 1
    with pytest.raises(InputError, match="the latitude nav_lat changes along time"):
        canonical(moving, names)


def rotated(rows: int = 30, columns: int = 40) -> xr.Dataset:
    """Half of a degree at the equator of a pole at 40 N: cells of nearly one area around 50 N."""
    north, east = np.deg2rad(np.meshgrid(np.linspace(-7.25, 7.25, rows), np.linspace(-9.75, 9.75, columns), indexing="ij"))
    tilt = np.deg2rad(50.0)
    x, y, z = np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)
    latitude = np.arcsin(np.cos(tilt) * z + np.sin(tilt) * x)
    longitude = np.arctan2(y, np.cos(tilt) * x - np.sin(tilt) * z)
    return xr.Dataset(
        {"tas": (("rlon", "rlat", "time"), np.arange(2.0 * rows * columns).reshape(columns, rows, 2))},
        coords={
            "rlat": ("rlat", np.rad2deg(north[:, 0])),
            "rlon": ("rlon", np.rad2deg(east[0])),
            "lat": (("rlat", "rlon"), np.rad2deg(latitude), {"units": "degrees_north"}),
            "lon": (("rlat", "rlon"), np.rad2deg(longitude), {"units": "degrees_east"}),
        },
    )


def test_a_curvilinear_grid_keeps_its_order_and_its_coordinates() -> None:
    data = rotated()
    field, notes = canonical(data["tas"], roles(data, where="file.nc"))
    assert field.dims == ("time", "y", "x")
    np.testing.assert_array_equal(field.values, data["tas"].transpose("time", "rlat", "rlon").values)
    np.testing.assert_allclose(field["longitude"].values, data["lon"].values % 360, atol=1e-9)
    np.testing.assert_array_equal(field["y"].values, data["rlat"].values)
    assert notes[0] == Finding("grid", "file.nc", "curvilinear, 30 x 40", "kept")


def test_columns_that_an_ocean_grid_repeats_are_left_out() -> None:
    data = rotated()
    names = roles(data, where="file.nc")
    folded = xr.concat([data, data.isel(rlon=slice(2))], "rlon", data_vars="minimal", coords="minimal", compat="override", join="outer")
    field, notes = canonical(folded["tas"], names)
    np.testing.assert_array_equal(field.values, canonical(data["tas"], names)[0].values)
    assert notes[0].done == "kept without its last 2 columns, which repeat the first"


def test_stations_keep_their_labels() -> None:
    coords = {"lat": ("site", [50.0, 10.0]), "lon": ("site", [-5.0, 5.0]), "name": ("site", ["b", "a"])}
    field = xr.DataArray(np.arange(6.0).reshape(2, 3), dims=("site", "time"), coords=coords)
    places, _ = canonical(field, {"latitude": "lat", "longitude": "lon", "station": "name"})
    assert places.dims == ("time", "station")
    assert places["station"].values.tolist() == ["b", "a"]
    assert places["longitude"].values.tolist() == [355.0, 5.0]
    twins, _ = canonical(field.assign_coords(name=("site", ["a", "a"])), {"latitude": "lat", "longitude": "lon", "station": "name"})
    assert twins["station"].values.tolist() == [0, 1]


def test_a_series_or_a_single_place_is_left_alone() -> None:
    series = xr.DataArray(np.arange(3.0), dims="time", coords={"lat": 50.0, "lon": -5.0})
    field, notes = canonical(series, {"latitude": "lat", "longitude": "lon"})
    assert (field.dims, float(field["longitude"]), notes) == (("time",), 355.0, [])
    basins = xr.DataArray(np.zeros((3, 4)), dims=("time", "basin"))
    field, notes = canonical(basins, {"time": "time"})
    assert field.dims == ("time", "basin")
    assert notes == [Finding("space", "file.nc", "basin without latitude and longitude", "points of equal weight")]
    zonal = xr.DataArray(np.zeros((6, 3)), dims=("lat", "time"), coords={"lat": LATITUDE[::-1]})
    assert canonical(zonal, {"latitude": "lat"})[0]["latitude"].values.tolist() == LATITUDE.tolist()


GRID = {"latitude": LATITUDE, "longitude": LONGITUDE}


def test_grids_are_the_same_in_any_order_convention_and_precision() -> None:
    assert same_grid(GRID, {"latitude": LATITUDE[::-1].astype(np.float32), "longitude": np.roll((LONGITUDE + 180) % 360 - 180, 3)})
    tenths = {"longitude": np.arange(3600) / 10}
    assert same_grid(tenths, {"longitude": tenths["longitude"].astype(np.float32) - 360})
    assert not same_grid(GRID, {**GRID, "longitude": LONGITUDE + 15})
    gaussian = np.rad2deg(np.arcsin(np.polynomial.legendre.leggauss(96)[0]))
    assert same_grid({"latitude": gaussian}, {"latitude": np.round(gaussian[::-1], 3)})  # as tables of Gaussian rows give them
    assert same_grid({"latitude": np.arange(0, 1, 0.01)}, {"latitude": np.arange(0, 1, 0.01).astype(np.float32)})
    assert not same_grid({"latitude": np.arange(0, 1, 0.01)}, {"latitude": np.arange(0, 1, 0.01) + 0.001})
    assert same_grid({"longitude": LONGITUDE}, {"longitude": np.append(LONGITUDE[1:], 359.99)})  # a hair before Greenwich
    places = {"station": np.arange(2), "latitude": np.array([1.0, 2.0]), "longitude": np.array([5.0, 6.0])}
    assert same_grid(places, {**places, "longitude": np.array([-355.0, 6.0])})
    assert not same_grid(places, {**places, "latitude": np.array([2.0, 1.0])})  # the places of stations are theirs
    assert not same_grid(GRID, {"latitude": LATITUDE})
    assert same_grid({"station": np.array(["a", "b"])}, {"station": np.array(["a", "b"])})
    assert not same_grid({"level": np.array([850.0])}, {"level": np.array([500.0])})


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            {"longitude": LONGITUDE + 15},
            r"longitude is shifted by half a cell \(15..345 where 0..330 is wanted\); write `regrid: bilinear`",
        ),
        ({"longitude": LONGITUDE + 3}, r"longitude is shifted by 0.1 of a cell"),
        ({"longitude": np.arange(0.0, 360, 10)}, r"longitude is every 10 degrees \(0..350\), wanted is every 30 \(0..330\)"),
        ({"latitude": LATITUDE + np.array([0, 0, 0.2, 0, 0, 0])}, r"latitude is off by up to 0.2 degrees"),
        ({"latitude": LATITUDE[1:]}, r"latitude covers -45..75 with 5 values, wanted is -75..75 with 6"),
        ({"latitude": LATITUDE + 15, "longitude": LONGITUDE + 15}, r"latitude is shifted by half a cell .*; longitude is shifted"),
    ],
)
def test_a_grid_that_differs_is_told_in_what(found: dict[str, np.ndarray], said: str) -> None:
    with pytest.raises(InputError, match=said):
        raise mismatch({**GRID, **found}, GRID, where="model.nc")


def test_other_dimensions_are_told_apart_too() -> None:
    assert "its space is (y, x), that of the data (latitude, longitude)" in str(mismatch({"y": LATITUDE, "x": LONGITUDE}, GRID, where="f"))
    levels = str(mismatch({"level": np.array([850.0, 500])}, {"level": np.array([850.0])}, where="f"))
    assert "level has 2 values (850..500), wanted are 1 (850..850)" in levels


def test_a_field_is_brought_to_the_order_of_another() -> None:
    wanted = {"latitude": LATITUDE[::-1], "longitude": np.roll((LONGITUDE + 180) % 360 - 180, 6)}
    field = aligned(canonical(file())[0], wanted, where="file.nc")
    np.testing.assert_allclose(field.values, wave(wanted["latitude"], wanted["longitude"]), atol=1e-12)
    assert field["longitude"].values.tolist() == wanted["longitude"].tolist()
    with pytest.raises(InputError, match="shifted by half a cell"):
        aligned(canonical(file())[0], {**GRID, "longitude": LONGITUDE + 15}, where="file.nc")


@pytest.mark.parametrize(
    ("longitude", "count"), [((-60.0, 60.0), 5), ((300.0, 60.0), 5), ((300, 420), 5), ((0.0, 360.0), 12), ((-180, 180), 12), ((10, 10), 0)]
)
def test_a_region_is_the_same_in_any_convention(longitude: tuple[float, float], count: int) -> None:
    if count:
        chosen = within(GRID, (40, -50), longitude, where="file.nc")
        assert LATITUDE[chosen["latitude"]].tolist() == [-45.0, -15.0, 15.0]
        assert len(chosen.get("longitude", LONGITUDE)) == count
    else:
        with pytest.raises(InputError, match=r"file.nc: no longitude lies in the region \[10, 10\]; the file holds 0..330"):
            within(GRID, None, longitude, where="file.nc")


def test_areas_come_from_the_file_where_it_has_them() -> None:
    data = file(LATITUDE[::-1], LONGITUDE - 180).to_dataset()
    area = np.arange(72.0).reshape(6, 12)
    missing = np.where(area == 5, np.nan, area)
    notes: list[Finding] = []
    assert cell_area(data, "tas", ROLES, where="file.nc", notes=notes) is None
    data["areacella"] = (("lat", "lon"), missing)
    data["tas"].attrs["cell_measures"] = "area: areacella"
    found = cell_area(data, "tas", ROLES, where="file.nc", notes=notes)
    assert found is not None
    np.testing.assert_array_equal(found.values, np.roll(np.nan_to_num(missing)[::-1], 6, axis=1))
    assert notes == [Finding("area", "file.nc", "cell areas areacella", "taken as weights")]
    other = data.rename(areacella="cell").assign(tas=data["tas"].drop_attrs())
    other["cell"].attrs["standard_name"] = "cell_area"
    by_meaning = cell_area(other, "tas", ROLES, where="file.nc", notes=[])
    assert by_meaning is not None
    np.testing.assert_array_equal(by_meaning.values, found.values)


def test_cells_of_a_curvilinear_grid_are_measured() -> None:
    data = rotated()
    area = cell_area(data, "tas", roles(data, where="file.nc"), where="file.nc", notes=[])
    assert area is not None
    assert area.dims == ("y", "x")
    cosine = np.cos(np.deg2rad(data["rlat"].values))[:, None] * np.deg2rad(0.5) ** 2  # the area in the rotated system
    np.testing.assert_allclose(area.values, np.broadcast_to(cosine, (30, 40)), rtol=1e-4)


CASE = Path(__file__).parents[2].parent / "shared" / "cases" / "04_longitude_latitude_conventions.py"


@pytest.mark.skipif(not CASE.exists(), reason="the shared cases are not here")
def test_case_04_all_layouts_are_one_field_and_a_region_over_greenwich_is_whole(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("case04", CASE)
    assert spec is not None
    assert spec.loader is not None
    case = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(case)
    fields = {}
    for name, path in case.make(tmp_path).items():
        with xr.open_dataset(path, decode_times=False) as data:
            fields[name] = spatial(data["tas"], roles(data, where=name), where=name, notes=[]).load()
    weight = np.cos(np.deg2rad(fields["obs"]["latitude"])) * xr.ones_like(fields["obs"][0])

    def rmse(model: str, box: dict[str, np.ndarray]) -> float:
        error, here = (fields[model] - fields["obs"]).isel(box), weight.isel(box)
        assert fields[model][0].size == case.EXPECT["n_cells"] == error[0].size or box
        return float(np.sqrt((error[0] ** 2 * here).sum() / here.sum()))

    coords = {dim: fields["obs"][dim].values for dim in ("latitude", "longitude")}
    box = within(coords, case.REGION["lat"], case.REGION["lon"], where="obs.nc")
    assert {key: each.tolist() for key, each in within(coords, (0, 30), (-20, 40), where="obs.nc").items()} == {
        key: each.tolist() for key, each in box.items()
    }
    assert len(box["latitude"]) * len(box["longitude"]) == case.EXPECT["n_region_cells"]
    here = weight.isel(box)
    mean = float((fields["obs"][0].isel(box) * here).sum() / here.sum())
    assert mean == pytest.approx(case.EXPECT["region_obs_mean_weighted_t0"], abs=case.TOL)
    assert rmse("model_a", {}) == pytest.approx(case.EXPECT["rmse_a_global_weighted"], abs=case.TOL)
    assert rmse("model_b", {}) == pytest.approx(case.EXPECT["rmse_b_global_weighted"], abs=case.TOL)
    assert rmse("model_c", {}) == pytest.approx(case.EXPECT["rmse_c_global_weighted"], abs=case.TOL)
    assert rmse("model_a", box) == pytest.approx(case.EXPECT["rmse_a_region_weighted"], abs=case.TOL)
    with pytest.raises(InputError, match=r"obs.nc: no latitude lies in the region \[86, 89\]; the file holds -85..85"):
        within(coords, (86, 89), None, where="obs.nc")
