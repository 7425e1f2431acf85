"""Regridding has right answers: a plane stays a plane, an area mean stays what it is, a grid on itself changes nothing."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemble.errors import InputError
from ensemble.prepare.space import regrid
from ensemble.prepare.space.regrid import at_stations, common_grid, regridded
from ensemble.prepare.space.weights import between_grids

RNG = np.random.default_rng(20240601)


def globe(rows: int, columns: int, first: float = 0.5) -> dict[str, np.ndarray]:
    """Cells of one size around the globe, the first column `first` of a cell east of Greenwich."""
    return {"latitude": -90 + (np.arange(rows) + 0.5) * 180 / rows, "longitude": (np.arange(columns) + first) * 360 / columns}


def field(grid: dict[str, np.ndarray], values: np.ndarray | None = None, **leading: int) -> xr.DataArray:
    shape = (*leading.values(), len(grid["latitude"]), len(grid["longitude"]))
    values = RNG.standard_normal(shape) if values is None else np.broadcast_to(values, shape).copy()
    return xr.DataArray(values, dims=(*leading, *grid), coords=grid, name="tas", attrs={"units": "K"})


def area(grid: dict[str, np.ndarray]) -> np.ndarray:
    """The area of each cell, the rows' bands ending halfway between them and at the poles."""
    latitude = grid["latitude"]
    edges = np.concatenate([[-90.0], (latitude[1:] + latitude[:-1]) / 2, [90.0]])
    return np.diff(np.sin(np.deg2rad(edges)))[:, None] / len(grid["longitude"]) * np.ones((len(latitude), len(grid["longitude"])))


def mean(values: xr.DataArray, grid: dict[str, np.ndarray]) -> np.ndarray:
    return (values.values * area(grid)).sum((-2, -1)) / area(grid).sum()


def to(source: xr.DataArray, grid: dict[str, np.ndarray], how: str) -> xr.DataArray:
    return regridded(source, grid, how, where="model.nc")


REGION = {"latitude": np.arange(30.0, 61, 2.5), "longitude": np.arange(10.0, 41, 2.5)}
INSIDE = {"latitude": np.array([31.3, 44.0, 59.9]), "longitude": np.array([10.0, 23.45, 38.7, 40.0])}


@given(slopes=st.tuples(*[st.floats(-5, 5)] * 3))
@settings(deadline=None, max_examples=20)
def test_bilinear_of_a_plane_is_the_plane(slopes: tuple[float, float, float]) -> None:
    def plane(grid: dict[str, np.ndarray]) -> np.ndarray:
        north, east = np.meshgrid(grid["latitude"], grid["longitude"], indexing="ij")
        return slopes[0] + slopes[1] * north + slopes[2] * east + slopes[1] * slopes[2] * north * east / 100

    found = to(field(REGION, plane(REGION)), INSIDE, "bilinear")
    np.testing.assert_allclose(found.values, plane(INSIDE), rtol=1e-12, atol=1e-11)


def test_bilinear_has_no_seam_at_greenwich() -> None:
    source = globe(18, 36)
    east = np.broadcast_to(np.cos(np.deg2rad(source["longitude"])), (18, 36))
    wanted = {"latitude": np.array([5.0]), "longitude": np.array([0.0, 2.5, 357.5, 180.0, -1.0])}
    found = to(field(source, east), wanted, "bilinear").values[0]
    shared = np.cos(np.deg2rad(5.0))
    step = np.cos(np.deg2rad(15.0))
    assert found[0] == pytest.approx(shared, abs=1e-12)  # between 355 and 5
    assert found[1] == found[2] == pytest.approx(shared, abs=1e-12)
    assert found[3] == pytest.approx(-shared, abs=1e-12)
    assert found[4] == pytest.approx(shared, abs=1e-12)
    assert to(field(source, east), {"latitude": [5.0], "longitude": [7.0]}, "bilinear").values.item() == pytest.approx(
        0.8 * shared + 0.2 * step
    )


@given(roll=st.integers(0, 35), turn=st.sampled_from([-360.0, -180.0, 0.0, 360.0]), how=st.sampled_from(regrid.WAYS), reverse=st.booleans())
@settings(deadline=None, max_examples=30)
def test_it_does_not_matter_where_longitudes_begin_or_which_way_axes_run(roll: int, turn: float, how: str, reverse: bool) -> None:
    source, wanted = field(globe(18, 36, 0.0)), globe(12, 24, 0.3)
    expected = to(source, wanted, how)
    other = source.roll(longitude=roll, roll_coords=True)
    other = other.assign_coords(longitude=(other["longitude"] + turn) % 360 + turn).isel(latitude=slice(None, None, -1 if reverse else 1))
    turned = {"latitude": wanted["latitude"][::-1], "longitude": np.roll(wanted["longitude"], 5) - 2 * turn}
    found = to(other, turned, how)
    np.testing.assert_allclose(found.values, np.roll(expected.values[::-1], 5, axis=1), rtol=0, atol=1e-12)
    assert found["longitude"].values.tolist() == turned["longitude"].tolist()


def test_the_pole_is_the_mean_of_the_last_row() -> None:
    source = field(globe(18, 36))
    found = to(source, {"latitude": np.array([-90.0, 87.5, 90.0]), "longitude": source["longitude"].values}, "bilinear")
    np.testing.assert_allclose(found.values[0], source.values[0].mean(), atol=1e-12)
    np.testing.assert_allclose(found.values[1], (source.values[-1] + source.values[-1].mean()) / 2, atol=1e-12)
    np.testing.assert_allclose(found.values[2], source.values[-1].mean(), atol=1e-12)


@pytest.mark.parametrize("how", regrid.WAYS)
@pytest.mark.parametrize("grid", [globe(9, 18), globe(10, 20, 0.0), common_grid(10), REGION], ids=["cells", "half", "poles", "region"])
def test_a_grid_on_itself_changes_nothing(how: str, grid: dict[str, np.ndarray]) -> None:
    source = field(grid, time=3)
    source.values[:, 2, 3] = np.nan
    source.values[1, 4:7] = np.nan
    found = to(source, grid, how)
    np.testing.assert_allclose(found.values, source.values, rtol=1e-14, atol=1e-14)
    if how == "nearest":
        np.testing.assert_array_equal(found.values, source.values)
    assert found.attrs == {"units": "K"}
    assert found.name == "tas"


@pytest.mark.parametrize("how", regrid.WAYS)
def test_a_constant_stays_what_it_is(how: str) -> None:
    for grid in (globe(18, 36), common_grid(7.5), {"latitude": np.array([-80.0, 3.0, 88.0]), "longitude": np.array([1.0, 100.0, 350.0])}):
        np.testing.assert_allclose(to(field(globe(30, 45), np.full((30, 45), 273.15)), grid, how).values, 273.15, rtol=1e-14)


GAUSSIAN = np.rad2deg(np.arcsin(np.polynomial.legendre.leggauss(32)[0]))


@pytest.mark.parametrize(
    "grids",
    [
        (globe(18, 36), globe(12, 24)),
        (globe(12, 24, 0.0), globe(18, 36, 0.3)),
        (common_grid(10), globe(7, 11)),
        (globe(36, 72), common_grid(7.5)),
        ({"latitude": GAUSSIAN, "longitude": np.arange(64) * 5.625}, globe(18, 36)),
    ],
    ids=["coarser", "finer", "from poles", "to poles", "Gaussian"],
)
def test_conservative_keeps_the_mean_over_the_globe(grids: tuple[dict[str, np.ndarray], dict[str, np.ndarray]]) -> None:
    source, wanted = grids
    values = field(source, time=4) + 20 * np.cos(np.deg2rad(field(source)["latitude"]))
    np.testing.assert_allclose(mean(to(values, wanted, "conservative"), wanted), mean(values, source), rtol=1e-12)


def test_conservative_of_cells_that_fit_is_their_mean() -> None:
    source, wanted = globe(18, 36), globe(9, 18)
    values = field(source)
    weight = area(source)
    blocks = (values.values * weight).reshape(9, 2, 18, 2).sum((1, 3)) / weight.reshape(9, 2, 18, 2).sum((1, 3))
    np.testing.assert_allclose(to(values, wanted, "conservative").values, blocks, rtol=1e-12, atol=1e-13)


def test_nearest_is_the_cell_a_place_lies_in_whatever_the_rounding() -> None:
    source = field(globe(18, 36))
    north, east = np.meshgrid([-89.9, 0.1, 9.9, 90.0], [359.9, 0.1, 9.9, -0.1], indexing="ij")
    found = at_stations(source, north.ravel(), east.ravel(), "nearest", where="model.nc").values.reshape(4, 4)
    np.testing.assert_array_equal(found, source.values[np.ix_([0, 9, 9, 17], [35, 0, 0, 35])])
    halfway = to(field(globe(18, 36)), globe(18, 36, 0.0), "nearest")  # shifted by half a cell: all to one side
    noisy = regridded(source, {**globe(18, 36, 0.0), "longitude": globe(18, 36, 0.0)["longitude"].astype(np.float32)}, "nearest", where="f")
    assert halfway.shape == noisy.shape
    np.testing.assert_array_equal(noisy.values, np.roll(source.values, 1, axis=1))


def test_a_target_is_missing_where_less_than_half_of_it_is_there() -> None:
    source = field({"latitude": np.array([0.0, 10.0]), "longitude": np.array([0.0, 10.0, 20.0])}, np.array([[1.0, np.nan, 3.0]] * 2))
    found = at_stations(source, np.zeros(5), np.array([0.0, 4.9, 5.0, 5.1, 15.1]), "bilinear", where="f").values
    np.testing.assert_allclose(found, [1.0, 1.0, 1.0, np.nan, 3.0])
    assert np.isnan(at_stations(source, [0.0], [9.0], "nearest", where="f").values[0])
    cells = field({"latitude": np.array([-5.0, 5.0]), "longitude": np.arange(5.0, 60, 10)}, np.array([1, np.nan, np.nan, np.nan, 5, 6.0]))
    merged = to(cells, {"latitude": np.array([-5.0, 5.0]), "longitude": np.array([10.0, 30.0, 50.0])}, "conservative")
    np.testing.assert_allclose(merged.values, [[1.0, np.nan, 5.5]] * 2)


def test_fields_with_masks_of_their_own_are_regridded_as_if_alone() -> None:
    source = field(globe(18, 36), time=3, member=4)
    source.values[RNG.random(source.shape) < 0.4] = np.nan
    wanted = globe(12, 24)
    for how in regrid.WAYS:
        whole = to(source, wanted, how)
        assert whole.dims == ("time", "member", "latitude", "longitude")
        for time, member in ((0, 0), (2, 3)):
            np.testing.assert_array_equal(whole.values[time, member], to(source[time, member], wanted, how).values)


def test_a_large_field_is_worked_in_blocks_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    source = field(globe(18, 36), time=5, member=3).astype(np.float32).assign_coords(time=np.arange(5), label=("member", list("abc")))
    whole = to(source, globe(12, 24), "conservative")
    monkeypatch.setattr(regrid, "BLOCK", 2 * 18 * 36)
    np.testing.assert_array_equal(to(source, globe(12, 24), "conservative").values, whole.values)
    assert whole.dtype == np.float32
    assert whole["label"].values.tolist() == ["a", "b", "c"]


def test_of_an_open_file_no_more_than_a_block_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regrid, "BLOCK", 18 * 36)
    source = field(globe(18, 36), time=4)
    source.to_netcdf(tmp_path / "open.nc")
    with xr.open_dataarray(tmp_path / "open.nc") as data:
        found = to(data, globe(12, 24), "bilinear")
        assert not data.variable._in_memory
    np.testing.assert_array_equal(found.values, to(source, globe(12, 24), "bilinear").values)


def test_nothing_is_made_up_outside_of_a_region() -> None:
    found = to(field(REGION, np.ones((13, 13))), globe(36, 72), "bilinear")
    there = np.isfinite(found.values)
    assert found["latitude"].values[there.any(1)].tolist() == [32.5, 37.5, 42.5, 47.5, 52.5, 57.5]
    assert found["longitude"].values[there.any(0)].tolist() == [12.5, 17.5, 22.5, 27.5, 32.5, 37.5]
    with pytest.raises(InputError, match=r"model.nc: holds latitude 30..60, longitude 10..40, nothing of what is wanted: latitude -20..0"):
        to(field(REGION), {"latitude": np.array([-20.0, 0.0]), "longitude": np.array([20.0, 30.0])}, "nearest")


def test_a_region_over_greenwich_is_not_joined_on_its_far_side() -> None:
    longitude = np.array([0.0, 10.0, 20.0, 340.0, 350.0])
    source = field({"latitude": np.array([0.0, 10.0]), "longitude": longitude}, (longitude + 180) % 360 - 180)
    found = at_stations(source, np.zeros(5), np.array([355.0, 12.0, 180.0, 335.5, -14.0]), "bilinear", where="f").values
    np.testing.assert_allclose(found, [-5.0, 12.0, np.nan, -20.0, -14.0])


@pytest.mark.parametrize(("degrees", "shape"), [(1, (181, 360)), (1.5, (121, 240)), (2.5, (73, 144))])
def test_common_grids_are_those_of_the_exchanges(degrees: float, shape: tuple[int, int]) -> None:
    grid = common_grid(degrees)
    assert (len(grid["latitude"]), len(grid["longitude"])) == shape
    assert grid["latitude"][[0, shape[0] // 2, -1]].tolist() == [-90.0, 0.0, 90.0]
    assert grid["longitude"][[0, -1]].tolist() == [0.0, 360 - degrees]
    with pytest.raises(InputError, match=r"grid: 0.7 degrees do not divide 90"):
        common_grid(0.7)


def test_what_cannot_be_done_is_refused_with_its_cure() -> None:
    source = field(globe(18, 36))
    with pytest.raises(InputError, match=r"model.nc: regrid: 'biliner' is unknown; did you mean bilinear"):
        to(source, globe(12, 24), "biliner")
    with pytest.raises(InputError, match=r"stations: 'conservative' is unknown"):
        at_stations(source, [0.0], [0.0], "conservative", where="f")
    with pytest.raises(InputError, match=r"a grid of \(x, y\) is not one of latitude and longitude; make weights by ESMF_RegridWeightGen"):
        to(source.rename(latitude="y", longitude="x"), globe(12, 24), "bilinear")
    with pytest.raises(InputError, match="a single latitude has no cell"):
        to(source, {"latitude": np.array([0.0]), "longitude": np.arange(4.0)}, "conservative")


@pytest.mark.parametrize("how", ["linear", "nearest"])
def test_inside_the_rows_it_agrees_with_xarray_regrid(how: str) -> None:
    pytest.importorskip("xarray_regrid")
    source, wanted = field(globe(36, 72)), globe(25, 50, 0.3)
    theirs = source.regrid.__getattribute__(how)(xr.Dataset(coords=wanted), time_dim=None)
    ours = to(source, wanted, "bilinear" if how == "linear" else how)
    np.testing.assert_allclose(ours.values[1:-1], theirs.values[1:-1], atol=1e-12)


def written(path: Path, way: str) -> tuple[xr.DataArray, dict[str, np.ndarray]]:
    """A file of weights as its maker would number them: north to south, from -180; the field and grid that it is for."""
    source, wanted = globe(9, 18), globe(6, 12)
    theirs = {"latitude": source["latitude"][::-1], "longitude": source["longitude"] - 180}
    matrix = between_grids(*(tuple(each[dim]) for each in (theirs, wanted) for dim in ("latitude", "longitude")), "bilinear").tocoo()
    centres = {}
    for side, grid in (("a", theirs), ("b", wanted)):
        north, east = np.meshgrid(grid["latitude"], grid["longitude"], indexing="ij")
        centres[f"yc_{side}"], centres[f"xc_{side}"] = ((f"n_{side}", each.ravel(), {"units": "degrees"}) for each in (north, east))
    data = xr.Dataset(
        {
            "S": ("n_s", matrix.data),
            "row": ("n_s", matrix.row.astype("i4") + 1),
            "col": ("n_s", matrix.col.astype("i4") + 1),
            **centres,
            "src_grid_dims": ("rank", np.array([18, 9], "i4")),
            "dst_grid_dims": ("rank", np.array([12, 6], "i4")),
        }
    )
    if way == "CDO":
        for name in centres:
            data[name] = (data[name].dims, np.deg2rad(data[name].values), {"units": "radians"})
        names = {"row": "dst_address", "col": "src_address", "xc_a": "src_grid_center_lon", "yc_a": "src_grid_center_lat"}
        data = data.rename({**names, "xc_b": "dst_grid_center_lon", "yc_b": "dst_grid_center_lat", "S": "remap_matrix"})
        data["remap_matrix"] = data["remap_matrix"].expand_dims("num_wgts", -1)
    data.to_netcdf(path)
    return field(source, time=3), wanted


@pytest.mark.parametrize("way", ["ESMF", "CDO"])
def test_weights_made_elsewhere_are_applied_in_our_order(tmp_path: Path, way: str) -> None:
    source, wanted = written(tmp_path / "weights.nc", way)
    source.values[0, 2, 3] = np.nan
    found = regridded(source, wanted, "", weights=str(tmp_path / "weights.nc"), where="model.nc")
    np.testing.assert_allclose(found.values, to(source, wanted, "bilinear").values, atol=1e-12)
    assert found.dims == ("time", "latitude", "longitude")


def test_weights_for_other_grids_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.nc"
    source, wanted = written(path, "ESMF")
    with pytest.raises(
        InputError, match=r"weights.nc: its target grid \(latitude -75..75, longitude 15..345, 6 x 12\) is not that of model.nc"
    ):
        regridded(source, globe(6, 12, 0.0), "", weights=str(path), where="model.nc")
    with pytest.raises(InputError, match="its source grid"):
        regridded(field(globe(9, 20)), wanted, "", weights=str(path), where="model.nc")
    with xr.open_dataset(path) as data:
        data.drop_vars(["xc_a", "yc_a"]).to_netcdf(tmp_path / "bare.nc")
    with pytest.raises(InputError, match=r"bare.nc: lacks xc_a, yc_a; weights are read as ESMF_RegridWeightGen and cdo write them"):
        regridded(source, wanted, "", weights=str(tmp_path / "bare.nc"), where="model.nc")


def test_a_curvilinear_field_goes_by_its_file_of_weights(tmp_path: Path) -> None:
    path = tmp_path / "weights.nc"
    source, wanted = written(path, "ESMF")
    north, east = np.meshgrid(source["latitude"].values[::-1], source["longitude"].values - 180, indexing="ij")
    rolled = source.values[:, ::-1][:, :, (np.arange(18) + 9) % 18]  # in the order of the file
    places = {"latitude": (("y", "x"), north), "longitude": (("y", "x"), east % 360)}
    curvilinear = xr.DataArray(rolled, dims=("time", "y", "x"), coords=places)
    found = regridded(curvilinear, wanted, "", weights=str(path), where="model.nc")
    np.testing.assert_allclose(found.values, to(source, wanted, "bilinear").values, atol=1e-12)
