"""Regions: boxes, those that have a name, and the cells that a file marks, however it is written down."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from ensemble.checks import check_against_record
from ensemble.errors import InputError
from ensemble.parts import Damping
from ensemble.report.words import box
from ensemble.score import NAMED, Mask, Region
from ensemble.score.named import named
from ensemble.score.region import Cells, placed
from ensemble.task import Array, Field, Source, Times, shift
from ensemble.testing import basin_study

STUDY = basin_study(model=Damping())
FIELD = STUDY.domain.fields["sst"]  # 6 x 8, land at some points
LATITUDE, LONGITUDE = FIELD.coords["latitude"], FIELD.coords["longitude"]
MARKED = np.random.default_rng(4).random(FIELD.mask.shape) < 0.4  # of the cells of the basin
DEGREES = {"lat": {"units": "degrees_north"}, "lon": {"units": "degrees_east"}}


def on_disk(folder: Path, values: Array, latitude: Array = LATITUDE, longitude: Array = LONGITUDE) -> str:
    """A file with one map, m (lat, lon)."""
    coords = {"lat": ("lat", latitude, DEGREES["lat"]), "lon": ("lon", longitude, DEGREES["lon"])}
    xr.Dataset({"m": (("lat", "lon"), values)}, coords).to_netcdf(folder / "mask.nc")
    return str(folder / "mask.nc")


def inside(mask: Mask, **of: Any) -> Array:
    """Where the region of a mask lies in the basin."""
    return replace(STUDY, regions={"here": Region(within=mask, **of)}).regions["here"].mask(FIELD)


def test_a_mask_marks_its_cells_where_there_are_data(tmp_path: Path) -> None:
    found = inside(Mask(on_disk(tmp_path, MARKED)))
    assert (MARKED & ~FIELD.mask).any()
    np.testing.assert_array_equal(found, MARKED & FIELD.mask)


@pytest.mark.parametrize("turn", [0, 3, 5])
@pytest.mark.parametrize("north_first", [False, True])
def test_rows_and_longitudes_of_a_mask_may_be_in_any_order(turn: int, north_first: bool, tmp_path: Path) -> None:
    west = (np.roll(LONGITUDE, turn) + 180) % 360 - 180  # from -180, and from where it happens to begin
    rows = slice(None, None, -1) if north_first else slice(None)
    path = on_disk(tmp_path, np.roll(MARKED, turn, axis=1)[rows].astype("i1"), LATITUDE[rows], west)
    np.testing.assert_array_equal(inside(Mask(path)), MARKED & FIELD.mask)


def test_more_than_half_of_a_cell_counts_and_what_is_missing_does_not(tmp_path: Path) -> None:
    share = np.full(MARKED.shape, np.nan)
    share[0, :4] = 0.0, 0.5, 0.5001, 1.0
    assert np.argwhere(inside(Mask(on_disk(tmp_path, share)))).tolist() == [[0, 2], [0, 3]]


def test_each_label_is_a_region_of_its_own(tmp_path: Path) -> None:
    labels = np.where(MARKED, 3, 1) + (LATITUDE > 0)[:, None]  # 1, 2, 3, 4
    path = on_disk(tmp_path, labels)
    for value in range(1, 5):
        np.testing.assert_array_equal(inside(Mask(path, value=value)), (labels == value) & FIELD.mask)
    with pytest.raises(InputError, match=r"^regions\.here: mask\.nc: m is nowhere 7; it holds 1, 2, 3, 4; mend `value:`$"):
        inside(Mask(path, value=7))
    with pytest.raises(InputError, match=r"m holds 1, 2, 3, 4, and a mask goes from 0 to 1; to take a label, .*`value: 4`$"):
        inside(Mask(path))


def test_a_mask_lies_within_a_box(tmp_path: Path) -> None:
    mask, bounds = Mask(on_disk(tmp_path, MARKED)), {"latitude": (0.0, 30.0), "longitude": (-90.0, 90.0)}
    np.testing.assert_array_equal(inside(mask, **bounds), inside(mask) & Region(**bounds).mask(FIELD))  # type: ignore[arg-type]


def test_of_several_variables_one_is_named(tmp_path: Path) -> None:
    path = on_disk(tmp_path, MARKED)
    with xr.open_dataset(path) as data:
        data.load().assign(other=~data["m"].astype(bool)).to_netcdf(tmp_path / "both.nc")
    np.testing.assert_array_equal(inside(Mask(str(tmp_path / "both.nc"), "other")), ~MARKED & FIELD.mask)
    with pytest.raises(InputError, match=r"^regions\.here: both\.nc: holds the variables m, other; say which one"):
        inside(Mask(str(tmp_path / "both.nc")))


def test_a_mask_of_more_than_the_data_is_cut_and_one_of_another_grid_is_refused_until_it_is_regridded(tmp_path: Path) -> None:
    wide = np.concatenate([LATITUDE[:1] - 10, LATITUDE, LATITUDE[-1:] + 10])
    more = np.pad(MARKED, ((1, 1), (0, 0)), constant_values=True)
    np.testing.assert_array_equal(inside(Mask(on_disk(tmp_path, more, wide))), MARKED & FIELD.mask)
    fine = np.repeat(np.repeat(MARKED, 2, axis=0), 2, axis=1)  # every cell in four
    path = on_disk(tmp_path, fine, (LATITUDE[:, None] + [-2.5, 2.5]).ravel(), (LONGITUDE[:, None] + [-11.25, 11.25]).ravel())
    with pytest.raises(InputError, match=r"^regions\.here: mask\.nc: its grid is not that of the data: .*write `regrid: bilinear`"):
        inside(Mask(path))
    np.testing.assert_array_equal(inside(Mask(path, regrid="conservative")), MARKED & FIELD.mask)


def test_a_mask_without_a_cell_in_common_with_the_data_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = on_disk(tmp_path, np.where(FIELD.mask, 1, 2))
    study = replace(STUDY, regions={"land": Region(within=Mask(path, value=2))})
    with pytest.raises(InputError, match=r"^regions\.land: mask\.nc where its mask is 2 holds no point with data; .*latitude -25 to 25"):
        check_against_record(study)
    with pytest.raises(InputError, match=r"^regions\.land: no file is called or fits .*gone\.nc"):
        replace(STUDY, regions={"land": Region(within=Mask(str(tmp_path / "gone.nc")))})


def test_a_mask_changes_along_nothing_else(tmp_path: Path) -> None:
    path = on_disk(tmp_path, MARKED)
    with xr.open_dataset(path) as data:
        data.load().expand_dims(kind=2).to_netcdf(tmp_path / "two.nc")
        data.expand_dims(time=[np.datetime64("2000-01-01", "ns")]).to_netcdf(tmp_path / "one.nc")
    np.testing.assert_array_equal(inside(Mask(str(tmp_path / "one.nc"))), MARKED & FIELD.mask)
    with pytest.raises(InputError, match=r"two\.nc: m has 2 values along kind"):
        inside(Mask(str(tmp_path / "two.nc")))


def test_a_region_is_small_hashable_and_needs_its_file_no_more(tmp_path: Path) -> None:
    path = on_disk(tmp_path, MARKED)
    region = replace(STUDY, regions={"here": Region(within=Mask(path))}).regions["here"]
    Path(path).unlink()
    again = pickle.loads(pickle.dumps(region))
    assert again == region
    assert hash(again) == hash(region)
    np.testing.assert_array_equal(again.mask(FIELD), MARKED & FIELD.mask)
    globe = np.zeros((721, 1440), bool)
    globe[200:400, 300:900] = True
    assert len(pickle.dumps(Cells.of(globe))) < 10_000
    np.testing.assert_array_equal(Cells.of(globe).unpacked(), globe)


def test_a_mask_that_is_not_read_or_for_other_data_says_so(tmp_path: Path) -> None:
    unread = Region(within=Mask(on_disk(tmp_path, MARKED)))
    with pytest.raises(InputError, match="has not been read"):
        unread.mask(FIELD)
    read = placed({"here": unread}, STUDY.data, "sst")["here"]
    with pytest.raises(InputError, match=r"was read for data of \(6, 8\), not \(2, 2\)"):
        read.mask(FIELD._replace(mask=np.ones((2, 2), bool), coords={"latitude": LATITUDE[:2], "longitude": LONGITUDE[:2]}))


@dataclass(frozen=True)
class Points(Source):
    """A record on `space`: stations (station,), or a curvilinear grid (y, x), each point with its own latitude and longitude."""

    space: tuple[str, ...]

    @property
    def step(self) -> np.timedelta64:
        return np.timedelta64(1, "M")

    @property
    def times(self) -> Times:
        return shift(np.datetime64("2001-01-01"), np.arange(6), self.step)

    @cached_property
    def places(self) -> dict[str, Array]:
        random, shape = np.random.default_rng(8), (7,) if len(self.space) == 1 else (3, 4)
        return {"latitude": random.uniform(-60, 60, shape), "longitude": random.uniform(0, 360, shape)}

    def read(self, times: Times) -> xr.Dataset:
        shape = self.places["latitude"].shape
        beside = {name: (self.space, each) for name, each in self.places.items()}
        dims = {name: np.arange(size) for name, size in zip(self.space, shape, strict=True)}
        return xr.Dataset({"t": (("time", *self.space), np.ones((len(times), *shape)))}, {"time": times, **dims, **beside})

    def field(self) -> Field:
        shape = self.places["latitude"].shape
        coords = {name: np.arange(size) for name, size in zip(self.space, shape, strict=True)}
        return Field(coords, np.ones(shape, bool), np.ones(shape), {}, {name: (self.space, each) for name, each in self.places.items()})


def places_on_disk(path: Path, points: Points, marked: Array, order: Array | slice = slice(None)) -> Mask:
    dims = ("site",) if points.space == ("station",) else ("j", "i")
    attrs = {"latitude": DEGREES["lat"], "longitude": DEGREES["lon"]}
    coords = {name: (dims, each[order], attrs[name]) for name, each in points.places.items()}
    xr.Dataset({"m": (dims, marked[order].astype("i1"))}, coords).to_netcdf(path)
    return Mask(str(path))


def test_a_mask_of_stations_finds_them_by_where_they_are(tmp_path: Path) -> None:
    points, marked = Points(("station",)), np.array([1, 0, 0, 1, 1, 0, 1], bool)
    mask = places_on_disk(tmp_path / "sites.nc", points, marked, np.random.default_rng(2).permutation(7))
    found = placed({"here": Region(latitude=(-90.0, 0.0), within=mask)}, points, "t")["here"].mask(points.field())
    np.testing.assert_array_equal(found, marked & (points.places["latitude"] <= 0))
    assert found.any()


def test_a_mask_of_a_curvilinear_grid_lies_on_that_grid_alone(tmp_path: Path) -> None:
    points, marked = Points(("y", "x")), np.random.default_rng(3).random((3, 4)) < 0.5
    mask = places_on_disk(tmp_path / "ocean.nc", points, marked)
    np.testing.assert_array_equal(placed({"here": Region(within=mask)}, points, "t")["here"].mask(points.field()), marked)
    other = places_on_disk(tmp_path / "turned.nc", points, marked, slice(None, None, -1))
    with pytest.raises(InputError, match=r"^regions\.here: turned\.nc: its grid is not that of the data"):
        placed({"here": Region(within=other)}, points, "t")


def test_named_regions_are_boxes_on_the_globe_with_a_source() -> None:
    field = globe(np.arange(-89.75, 90, 0.5), np.arange(0.25, 360, 0.5))
    for name, each in NAMED.items():
        (south, north), (west, east) = each.region.latitude, each.region.longitude
        assert -90 <= south < north <= 90, name
        assert 0 < east - west <= 360, name
        assert each.source, name
        assert each.region.mask(field).sum() == 4 * (north - south) * (east - west), name  # cells of half a degree, none cut by a bound


def globe(latitude: Array, longitude: Array) -> Field:
    shape = len(latitude), len(longitude)
    return Field({"latitude": latitude, "longitude": longitude}, np.ones(shape, bool), np.ones(shape), {})


@pytest.mark.parametrize(
    ("name", "latitude", "longitude"),
    [
        ("northern_extratropics", (21, 90), (0, 358.5)),
        ("southern_extratropics", (-90, -21), (0, 358.5)),
        ("tropics", (-19.5, 19.5), (0, 358.5)),
        ("europe_north_africa", (25.5, 69), (-9, 27)),
        ("asia", (25.5, 64.5), (60, 144)),
        ("australia_new_zealand", (-54, -10.5), (90, 180)),
        ("arctic", (60, 90), (0, 358.5)),
        ("antarctic", (-90, -60), (0, 358.5)),
    ],
)
def test_regions_of_the_wmo_hold_the_points_that_ecmwf_lists(name: str, latitude: tuple[float, ...], longitude: tuple[float, ...]) -> None:
    """The first and last of the grid of 1.5 degrees, in ECMWF's guide to the exchange of scores, "Verification domains"."""
    field = globe(np.arange(-90, 90.1, 1.5), np.arange(0, 360, 1.5))
    rows, columns = np.nonzero(named(name).mask(field))
    assert (field.coords["latitude"][rows].min(), field.coords["latitude"][rows].max()) == latitude
    east = (field.coords["longitude"][columns] - longitude[0]) % 360 + longitude[0]
    assert (east.min(), east.max()) == longitude


def test_the_name_stands_for_the_definition_of_the_field() -> None:
    assert named("nino34") == Region((-5, 5), (190, 240))
    assert box(named("nino34")) == "5°S to 5°N, 170°W to 120°W"
    assert box(named("europe_north_africa")) == "25°N to 70°N, 10°W to 28°E"
    with pytest.raises(InputError, match=r"^regions: 'nino35' is unknown; did you mean nino3"):
        named("nino35")


def test_the_report_says_what_a_mask_is(tmp_path: Path) -> None:
    mask = Mask(on_disk(tmp_path, MARKED), "m", 1)
    assert box(Region(within=mask)) == "mask.nc where m is 1"
    assert box(Region((0.0, 30.0), within=mask)) == "mask.nc where m is 1, 0° to 30°N"
    assert box(Region(within=replace(mask, value=None))) == "mask.nc where m is more than half"
