"""Where things are: conventions, misleading names, curvilinear grids, stations, regions, and grids that are not the same."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from ensemble.errors import InputError
from ensemble.task import Array
from tests.front.manner import PLAIN, World, agree, but, compared, count, score, value, world, written


@pytest.mark.parametrize("order", list(itertools.permutations(("time", "lat", "lon"))))
def test_the_order_of_dimensions_does_not_matter(order: tuple[str, str, str], tmp_path: Path) -> None:
    of = world(3)
    agree(compared(tmp_path, of, but(PLAIN, order=order[::-1]), but(PLAIN, order=order)), of)


def test_members_may_stand_anywhere_among_the_dimensions(tmp_path: Path) -> None:
    of = world(3)
    truth, model = written(of.truth, of, PLAIN), written(of.model, of, PLAIN)
    shifts = xr.DataArray([-0.5, 0.0, 0.5], dims="number", coords={"number": [1, 2, 3]})
    for order in (("lat", "number", "time", "lon"), ("number", "lon", "lat", "time"), ("time", "lat", "lon", "number")):
        members = (model["tas"] + shifts).assign_attrs(units="K").transpose(*order).to_dataset(name="tas")
        found = score(tmp_path, truth, model=members)
        agree(found, of)
        assert value(found, "spread") == pytest.approx(0.5)


@pytest.mark.parametrize(("lat", "lon"), [("lon", "lat"), ("y", "x"), ("X", "Y"), ("northing", "easting")])
def test_attributes_win_over_names_that_mislead(lat: str, lon: str, tmp_path: Path) -> None:
    of = world(3)
    model = written(of.model, of, but(PLAIN, names=("time", lat, lon), order=("lon", "time", "lat")))
    agree(score(tmp_path, written(of.truth, of, PLAIN), model=model), of)


@pytest.mark.parametrize(("west", "box"), [(0.0, [-60, 60]), (-180.0, [300, 60]), (-300.0, [300, 420]), (60.0, [-60, 60])])
def test_a_region_over_greenwich(west: float, box: list[int], tmp_path: Path) -> None:
    of = world(5)
    inside = np.isin(of.longitude, [300.0, 0.0, 60.0]) & (np.abs(of.latitude) <= 20)[:, None]
    found = compared(tmp_path, of, PLAIN, but(PLAIN, west=west), f"regions.box.longitude={box}", "regions.box.latitude=[-20, 20]")
    error = (of.model - of.truth)[:, inside]
    assert value(found, "rmse", region="box") == pytest.approx(np.sqrt(np.mean(error**2)))
    assert count(found, "n", region="box") == 5 * 6
    agree(found, of)


def test_a_meridian_that_comes_twice_with_two_values_is_refused(tmp_path: Path) -> None:
    of = world(3)
    model = written(of.model, of, but(PLAIN, wrap=True))
    model["tas"][{"lon": -1}] += 1.0
    with pytest.raises(InputError, match=r"^model\.nc: the longitudes 0 and 360 are one meridian with different values; cut one"):
        score(tmp_path, written(of.truth, of, PLAIN), model=model)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"lat": 20.0}, r"latitude is shifted by half a cell"),
        ({"lon": 30.0}, r"longitude is shifted by half a cell"),
        ({"lat": 0.5}, r"latitude is shifted by 0\.013 of a cell"),
    ],
)
def test_a_shifted_grid_is_told_from_the_same_one(change: dict[str, float], said: str, tmp_path: Path) -> None:
    of = world(3)
    model = written(of.model, of, PLAIN)
    for name, by in change.items():
        model[name] = model[name].copy(data=model[name].values + by)
    with pytest.raises(InputError, match=rf"^model\.nc: .*{said} .*`regrid: bilinear`"):
        score(tmp_path, written(of.truth, of, PLAIN), model=model)


@pytest.mark.parametrize("how", ["nearest", "bilinear", "conservative"])
def test_regridding_to_the_same_grid_changes_nothing(how: str, tmp_path: Path) -> None:
    of = world(3)
    agree(compared(tmp_path, of, PLAIN, but(PLAIN, west=-180.0, north_first=True), f"models.model.regrid={how}"), of)


def test_a_finer_model_is_averaged_over_the_cells_of_the_truth(tmp_path: Path) -> None:
    """Each cell is cut in two along a parallel: the two halves have one area and the mean of the whole."""
    of = world(3)
    rng = np.random.default_rng(4)
    apart = np.repeat(of.model, 2, -1) + np.stack([d := rng.normal(size=of.model.shape), -d], -1).reshape(3, 4, 12)
    fine = of._replace(longitude=np.arange(-15.0, 345.0, 30.0) % 360)
    order = np.argsort(fine.longitude)
    model = written(apart[..., order], fine._replace(longitude=fine.longitude[order]), but(PLAIN, west=float(fine.longitude[order][0])))
    agree(score(tmp_path, written(of.truth, of, PLAIN), model=model, more=("models.model.regrid=conservative",)), of)


def curvilinear(values: Array, latitude: Array, longitude: Array, *, declared: bool, first: int = 0) -> xr.Dataset:
    """(time, y, x) with coordinates of two dimensions, declared as such or beside the data."""
    data = written(values, World(values, values, np.zeros(values.shape[1]), np.arange(float(values.shape[2]))), PLAIN)
    numbered = {"j": ("j", np.arange(values.shape[1]) + first), "i": ("i", np.arange(values.shape[2]) + first)}
    field = xr.DataArray(data["tas"].values, dims=("time", "j", "i"), attrs={"units": "K"})
    made = xr.Dataset({"tas": field}, {"time": data["time"], **numbered})
    made["nav_lat"], made["nav_lon"] = (("j", "i"), latitude), (("j", "i"), longitude)
    made["nav_lat"].attrs, made["nav_lon"].attrs = {"units": "degrees_north"}, {"units": "degrees_east"}
    return made.set_coords(["nav_lat", "nav_lon"]) if declared else made


def bent() -> tuple[Array, Array]:
    y, x = np.mgrid[0:4, 0:5].astype(float)
    return 40 + 3 * y + 0.3 * x, 350 + 4 * x - 0.5 * y


@pytest.mark.parametrize("declared", [True, False])
def test_a_curvilinear_grid_is_scored_against_itself_however_it_is_numbered(declared: bool, tmp_path: Path) -> None:
    latitude, longitude = bent()
    truth, error = np.random.default_rng(0).normal(size=(2, 6, 4, 5))
    data = curvilinear(truth, latitude, longitude % 360, declared=not declared)
    model = curvilinear(truth + error, latitude, (longitude + 180) % 360 - 180, declared=declared, first=1)
    found = score(tmp_path, data, model=model)
    north, east = np.deg2rad(latitude), np.deg2rad(longitude)
    points = np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)], -1)
    area = np.linalg.norm(np.cross(np.gradient(points, axis=0), np.gradient(points, axis=1)), axis=-1)
    assert value(found, "rmse") == pytest.approx(np.sqrt((error**2 * area / area.sum()).sum((1, 2)).mean()))
    assert count(found) == truth.size


def test_two_curvilinear_grids_of_one_shape_are_not_the_same(tmp_path: Path) -> None:
    latitude, longitude = bent()
    values = np.random.default_rng(0).normal(size=(3, 4, 5))
    truth = curvilinear(values, latitude, longitude, declared=True)
    for moved in ((latitude + 1.0, longitude), (latitude, longitude[:, ::-1])):
        with pytest.raises(InputError, match=r"^model\.nc: its grid is not that of the data: l\w+itude .*`regrid:"):
            score(tmp_path, truth, model=curvilinear(values, *moved, declared=True))


def test_a_region_of_a_curvilinear_grid(tmp_path: Path) -> None:
    latitude, longitude = bent()
    truth, error = np.random.default_rng(0).normal(size=(2, 6, 4, 5))
    files = [curvilinear(each, latitude, longitude % 360, declared=True) for each in (truth, truth + error)]
    found = score(tmp_path, files[0], model=files[1], more=("regions.east.longitude=[0, 20]",))
    assert count(found, region="east") == 6 * int(((longitude % 360) <= 20).sum())


PLACES = {"station": ["north", "south", "seam"], "latitude": [31.0, -7.0, 20.0], "longitude": [44.0, 200.0, 359.0]}


def stations(values: Array, of: World, **changes: Any) -> xr.Dataset:
    where = {**PLACES, **changes}
    time = written(of.truth, of, PLAIN)["time"]
    coords: dict[str, Any] = {"time": time, "station": ("station", where["station"])}
    coords["latitude"] = ("station", where["latitude"], {"units": "degrees_north"})
    coords["longitude"] = ("station", where["longitude"], {"units": "degrees_east"})
    return xr.Dataset({"tas": (("time", "station"), values, {"units": "K"})}, coords)


def plane(of: World) -> Array:
    """Linear in latitude at each time, the same all around: what bilinear interpolation gives back."""
    slope = np.arange(len(of.truth))[:, None, None] / 50
    return 280 + slope * of.latitude[None, :, None] + np.zeros(of.truth.shape)


@pytest.mark.parametrize(("how", "west"), [("nearest", 0.0), ("nearest", -180.0), ("bilinear", -180.0)])
def test_stations_are_a_truth(how: str, west: float, tmp_path: Path) -> None:
    of = world(5)
    at = np.array([20.0, -20.0, 20.0]) if how == "nearest" else np.array(PLACES["latitude"])
    there = 280 + np.arange(5)[:, None] / 50 * at
    error = np.random.default_rng(2).normal(size=(5, 3))
    found = score(
        tmp_path, stations(there - error, of), model=written(plane(of), of, but(PLAIN, west=west)), more=(f"models.model.regrid={how}",)
    )
    assert value(found, "rmse") == pytest.approx(np.sqrt(np.mean(error**2)))  # all stations count the same
    assert value(found, "bias") == pytest.approx(error.mean())
    assert count(found) == 15


def test_a_grid_is_not_brought_to_stations_by_accident(tmp_path: Path) -> None:
    of = world(5)
    with pytest.raises(InputError, match=r"^model\.nc: .*stations; write `regrid: nearest` or `regrid: bilinear`"):
        score(tmp_path, stations(np.zeros((5, 3)), of), model=written(plane(of), of, PLAIN))
    with pytest.raises(InputError, match=r"^model\.nc: stations: 'conservative' is unknown; there are: bilinear, nearest"):
        score(tmp_path, stations(np.zeros((5, 3)), of), model=written(plane(of), of, PLAIN), more=("models.model.regrid=conservative",))


def test_stations_in_another_order_and_more_of_them_are_found_by_where_they_are(tmp_path: Path) -> None:
    of = world(5)
    truth, error = np.random.default_rng(2).normal(size=(2, 5, 3))
    wider = np.insert((truth + error)[:, [2, 0, 1]], 1, 99.0, axis=1)
    model = stations(wider, of, station=[7, 8, 9, 10], latitude=[20.0, 50.0, 31.0, -7.0], longitude=[-1.0, 10.0, 44.0, -160.0])
    found = score(tmp_path, stations(truth, of), model=model)
    assert value(found, "rmse") == pytest.approx(np.sqrt(np.mean(error**2)))
    assert count(found) == 15


def test_other_stations_of_the_same_number_are_refused(tmp_path: Path) -> None:
    of = world(5)
    model = stations(np.zeros((5, 3)), of, latitude=[31.0, -7.0, 21.0])
    with pytest.raises(InputError, match=r"^model\.nc: its grid is not that of the data: latitude"):
        score(tmp_path, stations(np.zeros((5, 3)), of), model=model)


def test_a_single_place_is_a_truth_for_a_grid(tmp_path: Path) -> None:
    of = world(5)
    series = stations(np.zeros((5, 3)), of).isel(station=0).drop_vars("station")
    found = score(tmp_path, series, model=written(plane(of), of, PLAIN), more=("models.model.regrid=bilinear",))
    assert value(found, "bias") == pytest.approx(np.mean(280 + np.arange(5) / 50 * 31.0))
    said = r"^model\.nc: tas has latitude and longitude, and the data are of one place; "
    with pytest.raises(InputError, match=f"{said}write `regrid: nearest`"):
        score(tmp_path, series, model=written(plane(of), of, PLAIN))
    index = series.drop_vars(["latitude", "longitude"])
    with pytest.raises(InputError, match=f"{said}bring it to one value"):
        score(tmp_path, index, model=written(plane(of), of, PLAIN))


def test_stations_have_regions(tmp_path: Path) -> None:
    of = world(5)
    found = score(tmp_path, stations(np.zeros((5, 3)), of), model=stations(np.ones((5, 3)), of), more=("regions.north.latitude=[0, 90]",))
    assert count(found, region="north") == 10
