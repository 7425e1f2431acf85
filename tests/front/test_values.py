"""What the numbers are: units, missing ones, packed ones, sums of many, none that vary, and one member."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ensemble.errors import InputError, RunError
from ensemble.task import Array, Times, shift
from tests.front.manner import PLAIN, World, agree, but, compared, count, score, value, world, written
from tests.front.test_times import DAY, MONTH, record

few = settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
RAIN = {  # units -> how many of them are 1 mm a day in January, in February and March of 2001
    "mm/day": (1.0, 1.0, 1.0),
    "kg m-2 s-1": (1 / 86400,) * 3,
    "kg m**-2 s**-1": (1 / 86400,) * 3,
    "m s-1": (1e-3 / 86400,) * 3,
    "m/day": (1e-3,) * 3,
    "inches/day": (1 / 25.4,) * 3,
    "mm/month": (31.0, 28.0, 31.0),
    "mm": (31.0, 28.0, 31.0),
    "kg m-2": (31.0, 28.0, 31.0),
    "m": (31e-3, 28e-3, 31e-3),
}


def months(values: Array, units: str, **attrs: Any) -> xr.Dataset:
    return record(values, shift(np.datetime64("2001-01-01", "s"), np.arange(len(values)), MONTH), units, **attrs)


@pytest.mark.parametrize(
    ("units", "wanted"), [*((each, "mm/day") for each in RAIN), ("mm", "kg m-2 s-1"), ("kg m-2 s-1", "mm"), ("m", "mm/month")]
)
def test_rain_by_rate_and_by_amount(units: str, wanted: str, tmp_path: Path) -> None:
    truth, model = np.array([[3.0, 1.0, 0.5], [2.0, 1.5, 4.0]])
    right = np.sqrt(np.mean(((model - truth) * RAIN[wanted]) ** 2))
    found = score(tmp_path, months(truth * RAIN[wanted], wanted), model=months(model * RAIN[units], units))
    assert value(found, "rmse") == pytest.approx(right)


def test_an_amount_of_a_day_and_a_rate(tmp_path: Path) -> None:
    times = shift(np.datetime64("2001-01-01", "s"), np.arange(4), DAY)
    rate = record(np.array([1.0, 2, 3, 1]) / 86400, times, "kg m-2 s-1")
    found = score(tmp_path, record(np.array([1.0, 2, 3, 5]), times, "mm"), model=rate)
    assert value(found, "rmse") == pytest.approx(2.0)


@pytest.mark.parametrize("attrs", [{"units_metadata": "temperature: difference"}, {"long_name": "temperature anomaly"}])
def test_differences_of_temperature_have_no_offset(attrs: dict[str, str], tmp_path: Path) -> None:
    truth, model = np.array([[0.1, -0.4, 0.7], [0.3, 0.0, 0.2]])
    found = score(tmp_path, months(truth, "degC", **attrs), model=months(model, "K", **attrs))
    assert value(found, "bias") == pytest.approx(np.mean(model - truth))
    found = score(tmp_path, months(truth, "degC", **attrs), model=months(model * 1.8, "degF", **attrs))
    assert value(found, "bias") == pytest.approx(np.mean(model - truth))


def test_a_wrong_label_of_a_temperature_is_refused(tmp_path: Path) -> None:
    of = world(3)
    model = written(of.model - 273.15, of, PLAIN)
    with pytest.raises(InputError, match=r"^tas in model\.nc: values from .* cannot be temperatures in K; write `units_are: degC`"):
        score(tmp_path, written(of.truth, of, but(PLAIN, kelvin=False)), model=model)


@pytest.mark.parametrize("which", ["obs", "model"])
def test_missing_units_are_never_guessed(which: str, tmp_path: Path) -> None:
    of = world(3)
    files = {"obs": written(of.truth, of, PLAIN), "model": written(of.model, of, PLAIN)}
    del files[which]["tas"].attrs["units"]
    with pytest.raises(InputError, match=rf"^tas in {which}\.nc has no units; .*`units_are: \w+`"):
        score(tmp_path, files["obs"], model=files["model"])
    told = {"obs": "data.files", "model": "models.model"}[which]
    agree(score(tmp_path, files["obs"], model=files["model"], more=(f"{told}.units_are=K",)), of)


@pytest.mark.parametrize("units", ["hPa", "m s-1", "K m", "furlong"])
def test_units_of_another_kind_are_refused_by_name(units: str, tmp_path: Path) -> None:
    of = world(3)
    model = written(of.model, of, PLAIN)
    model["tas"].attrs["units"] = units
    with pytest.raises(InputError, match=rf"^tas in model\.nc: .*'{units}'.*`units"):
        score(tmp_path, written(of.truth, of, PLAIN), model=model)


@pytest.mark.parametrize(("fill", "which"), [(-9999.0, "model"), (-999.0, "obs"), (9.96921e36, "model"), (1e20, "obs")])
def test_a_fill_value_that_is_not_declared(fill: float, which: str, tmp_path: Path) -> None:
    of = world(6)
    gap = np.zeros(of.truth.shape, bool)
    gap[:, 0, :2] = True  # land
    files = {"obs": written(of.truth, of, PLAIN), "model": written(of.model, of, PLAIN)}
    files[which]["tas"].values[gap] = fill
    with pytest.raises(InputError, match=rf"^tas in {which}\.nc: the value .* stands at \d+ of \d+ points.* write `missing_value: "):
        score(tmp_path, files["obs"], model=files["model"])
    told = {"obs": "data.files", "model": "models.model"}[which]
    masked(score(tmp_path, files["obs"], model=files["model"], more=(f"{told}.missing_value={fill}",)), of, ~gap)
    files[which]["tas"].attrs["missing_value"] = fill
    masked(score(tmp_path, files["obs"], model=files["model"]), of, ~gap)


def masked(found: Any, of: World, there: Array) -> None:
    """The scores over what is there: means weighted by the area of what is counted."""
    error, weight = of.model - of.truth, np.where(there, of.weight, 0.0)
    assert value(found, "bias") == pytest.approx((error * weight).sum() / weight.sum())
    assert value(found, "rmse") == pytest.approx(np.sqrt((error**2 * weight).sum() / weight.sum()))
    assert count(found) == there.sum()


@few
@given(seed=st.integers(0, 2**16))
def test_whatever_is_missing_the_mean_of_ones_is_one(seed: int, tmp_path: Path) -> None:
    of, rng = world(6), np.random.default_rng(seed)
    gaps = rng.random((2, *of.truth.shape)) < rng.random()
    gaps[:, 0, 0, 0] = False
    truth, model = (np.where(gap, np.nan, values) for gap, values in zip(gaps, (of.truth, of.truth + 1), strict=True))
    found = score(tmp_path, written(truth, of, PLAIN), model=written(model, of, PLAIN), more=("sample.missing=keep",))
    for name in ("bias", "mae", "rmse"):
        assert value(found, name) == pytest.approx(1.0, abs=1e-12)
    assert count(found) == (~gaps.any(0)).sum()


@pytest.mark.parametrize("mask", ["common", "own"])
def test_masks_that_differ_between_models(mask: str, tmp_path: Path) -> None:
    of = world(6)
    there = {name: np.ones(of.truth.shape, bool) for name in "ab"}
    there["a"][:, 0], there["b"][2:, :, 1] = False, False
    models = {name: written(np.where(each, of.model, np.nan), of, PLAIN) for name, each in there.items()}
    found = score(tmp_path, written(of.truth, of, PLAIN), more=(f"sample.mask={mask}",), **models)
    for name, each in there.items():
        counted = there["a"] & there["b"] if mask == "common" else each
        error, weight = of.model - of.truth, np.where(counted, of.weight, 0.0)
        assert value(found, "rmse", name) == pytest.approx(np.sqrt((error**2 * weight).sum() / weight.sum()))
        assert (count(found, "n", name), count(found, "n_had", name)) == (counted.sum(), each.sum())


def test_one_level_is_taken_where_it_is_named_and_no_other_dimension_is_dropped(tmp_path: Path) -> None:
    of = world(4)
    truth, plain = written(of.truth, of, PLAIN), written(of.model, of, PLAIN)
    levels = plain.assign(tas=(plain["tas"] + xr.DataArray([50.0, 0.0], {"plev": [850.0, 500.0]}, ["plev"])).assign_attrs(units="K"))
    with pytest.raises(InputError, match=r"^model\.nc: tas has 2 levels \(850, 500\); say which: `level: 850`"):
        score(tmp_path, truth, model=levels)
    agree(score(tmp_path, truth, model=levels, more=("models.model.level=500",)), of)
    with pytest.raises(InputError, match=r"^model\.nc: tas has 2 values along band, which is neither time, member, .*keep one of them"):
        score(tmp_path, truth, model=levels.drop_vars("plev").rename(plev="band"))


def members(of: World, values: Array, labels: list[Any]) -> xr.Dataset:
    plain = written(of.truth, of, PLAIN)
    dims = ("time", "member", "lat", "lon")
    data = plain.drop_vars("tas").assign_coords(member=("member", labels))
    return data.assign(tas=(dims, values, {"units": "K"}))


def test_members_without_data_do_not_count(tmp_path: Path) -> None:
    of = world(4)
    values = of.model[:, None] + np.array([-0.5, 0.5, 0.0, np.nan])[:, None, None]
    found = score(tmp_path, written(of.truth, of, PLAIN), model=members(of, values, ["a", "b", "c", "d"]))
    agree(found, of)
    assert value(found, "spread") == pytest.approx(0.5)
    assert int(found.scores["members"].sel(model="model")) == 3


def test_a_member_that_lacks_some_starts_is_not_dropped_silently(tmp_path: Path) -> None:
    of = world(4)
    values = of.model[:, None] + np.array([-0.5, 0.5, 0.0])[:, None, None]
    values[2:, 2] = np.nan
    data = members(of, values, [1, 2, 3])
    with pytest.raises((InputError, RunError), match=r"model\.nc: the forecast of 2001-03-01 has data of 2 members, .*`members: common`"):
        score(tmp_path, written(of.truth, of, PLAIN), model=data)
    found = score(tmp_path, written(of.truth, of, PLAIN), model=data, more=("models.model.members=common",))
    assert int(found.scores["members"].sel(model="model")) == 2
    agree(found, of)


@pytest.mark.parametrize("dims", [True, False])
def test_one_member_has_errors_and_no_spread(dims: bool, tmp_path: Path) -> None:
    of = world(4)
    model = members(of, of.model[:, None], [5]) if dims else written(of.model, of, PLAIN)
    found = score(tmp_path, written(of.truth, of, PLAIN), model=model, more=("scores=[rmse, mae, bias, crps, crps_standard, spread]",))
    agree(found, of)
    assert np.isnan([value(found, "crps"), value(found, "spread")]).all()
    assert value(found, "crps_standard") == pytest.approx(value(found, "mae"))


@pytest.mark.parametrize("which", ["obs", "model", "both"])
def test_a_constant_series_has_errors_and_no_correlation(which: str, tmp_path: Path) -> None:
    of = world(6)
    truth = of.truth if which == "model" else np.full(of.truth.shape, 281.3)
    model = of.model if which == "obs" else np.full(of.truth.shape, 281.3)
    scores = ("scores=[rmse, bias, mae, acc, index_correlation, centred_rmse]",)
    found = score(tmp_path, written(truth, of, PLAIN), model=written(model, of, PLAIN), more=scores)
    agree(found, of._replace(truth=truth, model=model))
    assert np.isnan([value(found, "acc"), value(found, "index_correlation")]).all()


@pytest.mark.parametrize("dtype", ["i2", "i4", "u1"])
def test_packed_integers(dtype: str, tmp_path: Path) -> None:
    of, top = world(4), np.iinfo(dtype).max
    packed = np.random.default_rng(1).integers(0, top - 1, of.truth.shape)
    scale = 20.0 / top
    model = written(270 + packed * scale, of, PLAIN)
    model["tas"].encoding = {"dtype": dtype, "scale_factor": scale, "add_offset": 270.0, "_FillValue": top}
    agree(score(tmp_path, written(of.truth, of, PLAIN), model=model), of._replace(model=270 + packed * scale), rel=1e-6)


def test_packed_values_of_a_valid_range(tmp_path: Path) -> None:
    of = world(4)
    there = np.ones(of.truth.shape, bool)
    there[:, 1, 1] = False
    model = written(np.where(there, of.model, 400.0), of, PLAIN)
    model["tas"].attrs["valid_range"] = [200.0, 350.0]
    masked(score(tmp_path, written(of.truth, of, PLAIN), model=model), of, there)


def test_sums_of_many_values_in_single_precision(tmp_path: Path) -> None:
    """A constant offset that single precision holds is found to the last digit, over 400 000 values around 300."""
    truth, model = (np.full((4000, 10, 10), 300.25) + more for more in (0.0, 1 / 128))
    of = World(truth, model, np.linspace(-45.0, 45.0, 10), np.arange(0.0, 360.0, 36.0))
    times: Times = shift(np.datetime64("2001-01-01", "s"), np.arange(4000), DAY)
    files = []
    for values in (of.truth, of.model):
        coords: dict[str, Any] = {"time": record(np.zeros(4000), times)["time"], "lat": of.latitude, "lon": of.longitude}
        files.append(xr.Dataset({"tas": (("time", "lat", "lon"), values.astype(np.float32), {"units": "K"})}, coords))
    found = score(tmp_path, files[0], model=files[1])
    assert value(found, "bias") == pytest.approx(1 / 128, abs=1e-15)
    assert value(found, "rmse") == pytest.approx(1 / 128, abs=1e-15)


def test_area_weights_are_those_of_the_cells_that_have_data(tmp_path: Path) -> None:
    """A land mask, and a regular grid: the tropics weigh more than the poles, whatever is left out."""
    of = world(4)
    land = np.zeros(of.truth.shape, bool)
    land[:, 1:3, :3] = True
    masked(compared(tmp_path, of._replace(truth=np.where(land, np.nan, of.truth))), of, ~land)


def test_cell_areas_of_the_file_are_the_weights(tmp_path: Path) -> None:
    of = world(4)
    truth = written(of.truth, of, PLAIN)
    area = np.random.default_rng(0).random((4, 6)) + 0.1
    truth["areacella"] = (("lat", "lon"), area, {"standard_name": "cell_area", "units": "m2"})
    truth["tas"].attrs["cell_measures"] = "area: areacella"
    found = score(tmp_path, truth, model=written(of.model, of, PLAIN))
    assert value(found, "bias") == pytest.approx(((of.model - of.truth) * area / area.sum()).sum((1, 2)).mean())
