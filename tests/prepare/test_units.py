"""Numbers in one unit become numbers in another, or are refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.prepare.units import converted, factor

KELVIN = 273.15
SAME = (  # found, wanted, scale, offset; by hand
    ("K", "degC", 1, -KELVIN),
    ("degC", "K", 1, KELVIN),
    ("degF", "degC", 5 / 9, -32 * 5 / 9),
    ("kelvin", "K", 1, 0),
    ("kg m-2 s-1", "mm/day", 86400, 0),
    ("m s-1", "mm/day", 86400e3, 0),
    ("mm day-1", "mm/day", 1, 0),
    ("mm/6h", "mm/day", 4, 0),
    ("mm hr-1", "mm d-1", 24, 0),
    ("inch/day", "mm/day", 25.4, 0),
    ("kg m**-2 s**-1", "m s**-1", 1e-3, 0),
    ("kg.m-2.s-1", "kg m-2 day-1", 86400, 0),
    ("m of water equivalent", "kg m-2", 1000, 0),
    ("mm w.e.", "kg/m^2", 1, 0),
    ("mb", "Pa", 100, 0),
    ("hPa", "mbar", 1, 0),
    ("%", "1", 0.01, 0),
    ("(0 - 1)", "percent", 100, 0),
    ("g/kg", "kg kg-1", 1e-3, 0),
    ("1e-3", "g kg-1", 1, 0),
    ("10^6 m3 s-1", "Sv", 1, 0),
    ("gpm", "m", 1, 0),
    ("knots", "m s-1", 1852 / 3600, 0),
    ("degC/day", "K s-1", 1 / 86400, 0),
    ("K2", "degC^2", 1, 0),
    ("Pascals", "hPa", 0.01, 0),
    ("MM/DAY", "mm/day", 1, 0),
    ("mm/month", "kg m-2 mon-1", 1, 0),
    ("m yr-1", "mm a-1", 1000, 0),
)


def rain(values: Any, **attrs: str) -> xr.DataArray:
    values = np.asarray(values)
    time = np.array(["2001-01", "2001-02", "2004-02"], "datetime64[s]")[: len(values)]
    return xr.DataArray(values, dims=("time",), coords={"time": time}, name="pr", attrs=attrs)


@pytest.mark.parametrize(("found", "wanted", "scale", "offset"), SAME)
def test_a_factor_is_that_of_the_textbook(found: str, wanted: str, scale: float, offset: float) -> None:
    assert factor(found, wanted, name="v", where="f.nc") == pytest.approx((scale, offset), rel=1e-12, abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(SAME), st.floats(-1e6, 1e6))
def test_there_and_back_is_where_it_began(pair: tuple[str, str, float, float], value: float) -> None:
    there, back = (factor(*each, name="v", where="f.nc") for each in (pair[:2], pair[1::-1]))
    assert (value * there[0] + there[1]) * back[0] + back[1] == pytest.approx(value, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize(
    "text", ["C", "degC", "deg C", "Degrees Celsius", "degree_Celsius", "degrees_C", "°C", "celsius", "deg_C", "Celsius"]
)
def test_celsius_in_any_spelling(text: str) -> None:
    assert factor(text, "K", name="v", where="f.nc") == (1, KELVIN)
    assert factor("K", text, name="v", where="f.nc") == (1, -KELVIN)


@pytest.mark.parametrize(
    ("found", "wanted"), [("K", "Pa"), ("m2 s-2", "m"), ("psu", "1"), ("W m-2", "mm/day"), ("kg m-3", "m"), ("K", "K s-1")]
)
def test_what_is_of_another_kind_is_refused(found: str, wanted: str) -> None:
    with pytest.raises(InputError, match=r"^v in f.nc: '.*' cannot be brought to '.*'.*`units:`.*`units_are:`"):
        factor(found, wanted, name="v", where="f.nc")


def test_what_is_no_unit_is_refused_with_the_setting_that_is_wrong() -> None:
    with pytest.raises(InputError, match=r"v in f.nc: the units 'blah' are not understood; write `units_are:`"):
        factor("blah", "K", name="v", where="f.nc")
    with pytest.raises(InputError, match=r"the units 'mm per dy' are not understood; write `units:`"):
        factor("mm", "mm per dy", name="v", where="f.nc")
    assert factor("blah", "blah", name="v", where="f.nc") == (1, 0)


def test_an_amount_is_no_rate_without_the_length_of_a_step() -> None:
    with pytest.raises(InputError, match="takes the length of a step"):
        factor("mm", "mm/day", name="v", where="f.nc")
    with pytest.raises(InputError, match="`step: month`"):
        converted(rain([31.0], units="mm"), "mm/day", where="f.nc", notes=[])


@pytest.mark.parametrize(
    ("found", "step", "calendar", "expected"),
    [
        ("mm", np.timedelta64(1, "M"), "standard", [31, 28, 29]),
        ("m", np.timedelta64(1, "M"), "standard", [0.031, 0.028, 0.029]),
        ("kg m-2", np.timedelta64(1, "M"), "noleap", [31, 28, 28]),
        ("mm/month", np.timedelta64(1, "M"), "360_day", [30, 30, 30]),
        ("mm mon-1", np.timedelta64(1, "M"), "standard", [31, 28, 29]),
        ("mm", np.timedelta64(6, "h"), "standard", [0.25, 0.25, 0.25]),
        ("mm", np.timedelta64(1, "Y"), "standard", [365, 365, 366]),
        ("mm/yr", np.timedelta64(1, "Y"), "standard", [365, 365, 366]),
        ("mm/yr", np.timedelta64(1, "M"), "standard", [365.2425] * 3),
        ("mm/yr", np.timedelta64(1, "D"), "noleap", [365] * 3),
        ("mm/month", np.timedelta64(3, "M"), "standard", [90 / 3, 89 / 3, 90 / 3]),
    ],
)
def test_amounts_of_a_step_become_rates_by_its_own_length(found: str, step: np.timedelta64, calendar: str, expected: list[float]) -> None:
    """One a day, however it was counted."""
    made = converted(rain(expected, units=found), "mm/day", where="f.nc", notes=[], step=step, calendar=calendar)
    assert made.values == pytest.approx([1] * 3, rel=1e-12)
    back = converted(made, found, where="f.nc", notes=[], step=step, calendar=calendar)
    assert back.values == pytest.approx(expected, rel=1e-12)


def test_rain_of_a_month_at_daily_steps_is_refused() -> None:
    with pytest.raises(InputError, match="no fixed length at steps of 1 days"):
        converted(rain([1.0], units="mm/month"), "mm/day", where="f.nc", notes=[], step=np.timedelta64(1, "D"))


def test_missing_units_are_an_error_until_they_are_said() -> None:
    with pytest.raises(InputError, match=r"pr in f.nc has no units; .*`units_are: mm/day`"):
        converted(rain([1.0]), "mm/day", where="f.nc", notes=[])
    notes: list[Finding] = []
    made = converted(rain([1.0]), "mm/day", where="f.nc", notes=notes, assumed="kg m-2 s-1")
    assert made.values == 86400
    assert made.attrs["units"] == "mm/day"
    assert notes == [Finding("units", "f.nc", "none, taken as kg m-2 s-1", "to mm/day: times 86400, 1 kg m-2 of water being 1 mm")]


def test_units_that_are_wanted_already_are_found_and_nothing_is_done() -> None:
    notes: list[Finding] = []
    field = rain([1.0], units="mm day-1")
    assert converted(field, None, where="f.nc", notes=notes).identical(field)
    assert converted(field, "mm/day", where="f.nc", notes=notes).values == 1
    assert [note.done for note in notes] == ["", ""]


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int16])
def test_single_precision_stays_and_is_as_exact_as_it_can_be(kind: type) -> None:
    values = np.array([280, 290, 300], kind) if kind is np.int16 else np.array([280.1, 290.2, 300.3], kind)
    made = converted(rain(values, units="K"), "degC", where="f.nc", notes=[])
    assert made.dtype == (np.float64 if kind is np.int16 else kind)
    assert np.array_equal(made.values, (values.astype(float) - KELVIN).astype(made.dtype))


@pytest.mark.parametrize(
    "attrs",
    [
        {"units_metadata": "temperature: difference"},
        {"standard_name": "air_temperature_anomaly"},
        {"long_name": "Temperature departure from normal"},
        {"long_name": "Diurnal temperature range"},
        {"cell_methods": "time: standard_deviation"},
    ],
)
def test_differences_of_temperature_have_no_offset(attrs: dict[str, str]) -> None:
    assert converted(rain([-1.5, 2.0], units="K", **attrs), "degC", where="f.nc", notes=[]).values.tolist() == [-1.5, 2.0]
    warm = converted(rain([9.0], units="degF", **attrs), "K", where="f.nc", notes=[])
    assert warm.values == pytest.approx(5)


def test_a_label_that_cannot_be_right_is_refused_with_the_label_that_can() -> None:
    with pytest.raises(InputError, match=r"values from -1.5 to 28 cannot be temperatures in K; write `units_are: degC`"):
        converted(rain([-1.5, 28.0], units="K"), "degC", where="f.nc", notes=[])
    with pytest.raises(InputError, match=r"values from 271 to 303 cannot be temperatures in degC; write `units_are: K`"):
        converted(rain([[271.0], [303.0]][0] + [303.0], units="degC"), None, where="f.nc", notes=[])
    assert converted(rain([-1.5, 2.0], units="K"), "K", where="f.nc", notes=[]).values.tolist() == [-1.5, 2.0]


def test_shape_name_and_coordinates_stay() -> None:
    field = rain([1.0, 2.0], units="mm").expand_dims(member=[3, 4]).transpose("time", "member").rename("tp")
    made = converted(field, "mm/day", where="f.nc", notes=[], step=np.timedelta64(1, "M"))
    assert made.dims == field.dims
    assert made.name == "tp"
    assert made["member"].identical(field["member"])
