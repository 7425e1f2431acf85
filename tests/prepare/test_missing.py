"""What is missing is declared, or refused by name."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.prepare.missing import FILLS, declared, members_with_data, suspect_in

CASES = Path(__file__).parents[2].parent / "shared" / "cases"
FIELDS = {
    "sea": np.linspace(-2, 34, 600),
    "pressure": np.linspace(94000, 107000, 600),
    "kelvin": np.linspace(190, 320, 600),
    "rain": np.linspace(0, 1, 600) ** 8 * 300,
    "height": np.linspace(48000, 59000, 600),
    "salinity": np.linspace(0, 42, 600),
    "trace": np.geomspace(1e-14, 1e-6, 600),
    "flux": np.linspace(-900, 1300, 600),
    "stream": np.linspace(-9e7, 9e7, 600),
}


def field(values: Any, name: str = "tas", **attrs: Any) -> xr.DataArray:
    values = np.asarray(values)
    return xr.DataArray(values, dims=("time", "latitude", "longitude")[: values.ndim], name=name, attrs=attrs)


def case(name: str) -> Any:
    (path,) = CASES.glob(f"{name}_*.py") if CASES.is_dir() else [None]
    if path is None:
        pytest.skip("../shared/cases is absent")
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", FIELDS)
def test_no_true_field_is_held_for_missing(name: str) -> None:
    assert suspect_in(FIELDS[name]) is None
    assert suspect_in(FIELDS[name].astype(np.float32)) is None
    assert suspect_in(np.append(FIELDS[name], np.nan)) is None


@pytest.mark.parametrize("name", ["sea", "pressure", "kelvin", "rain", "salinity", "trace", "flux"])
@pytest.mark.parametrize("fill", [-9999.0, -99999.0, -32768.0, 1e20, 9.96921e36, -1e30, 1e15, np.inf, -np.inf, 9.999e20])
def test_a_fill_value_is_seen_in_any_field(name: str, fill: float) -> None:
    for kind in (np.float64, np.float32):
        found = suspect_in(np.append(FIELDS[name], [fill] * 3).astype(kind))
        assert found is not None
        assert found.value == kind(fill)
        assert (found.low, found.high) == pytest.approx((FIELDS[name].min(), FIELDS[name].max()), rel=1e-6)


@pytest.mark.parametrize("fill", [-999.0, -99.9, -1000.0, 999.0, 9999.0, -888.0])
def test_small_fill_values_are_seen_where_the_field_is_smaller(fill: float) -> None:
    found = suspect_in(np.append(FIELDS["sea"], fill))
    assert found is not None
    assert found.value == fill


def test_pressure_of_999_hectopascals_is_a_pressure() -> None:
    assert suspect_in(np.array([999.0, 1000.5])) is None
    assert suspect_in(np.array([999.0, 999.0])) is None
    assert suspect_in(np.linspace(940, 999, 60)) is None


@settings(deadline=None, max_examples=60)
@given(st.floats(-500, 500), st.integers(1, 5))
def test_a_constant_series_is_a_series_unless_it_is_a_fill_value(value: float, count: int) -> None:
    assert suspect_in(np.full(count, value)) is None
    assert suspect_in(np.full(count, -9999)) is not None


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(FILLS), st.lists(st.floats(0, 30), min_size=2, max_size=20))
def test_what_is_said_to_be_missing_is_gone_and_nothing_else(fill: float, others: list[float]) -> None:
    values = np.array([*others, fill, fill])
    notes: list[Finding] = []
    made = declared(field(values), where="f.nc", notes=notes, missing_value=fill)
    assert np.array_equal(made.values, [*others, np.nan, np.nan], equal_nan=True)
    assert [note.what for note in notes] == ["missing"]
    assert "at 2 points" in notes[0].found


def test_a_true_value_may_be_believed() -> None:
    values = np.array([0.0, 1.0, -9999.0])
    made = declared(field(values), where="f.nc", notes=[], missing_value="none")
    assert np.array_equal(made.values, values)


def test_a_second_fill_value_is_not_overlooked() -> None:
    values = np.array([0.0, 1.0, -9999.0, 1e20], np.float32)
    with pytest.raises(InputError, match=r"tas in f.nc: the value 1e\+20 stands at 1 of 4 points, far from the others \(0 to 1\)"):
        declared(field(values), where="f.nc", notes=[], missing_value=-9999)


def test_whole_numbers_become_floating_and_single_precision_stays() -> None:
    for kind, expected in ((np.int16, np.float64), (np.float32, np.float32), (np.float64, np.float64)):
        made = declared(field(np.array([1, 2, -32768], kind)), where="f.nc", notes=[], missing_value=-32768)
        assert made.dtype == expected
        assert np.array_equal(made.values, [1, 2, np.nan], equal_nan=True)


def test_a_fill_value_typed_in_as_it_is_printed_is_found() -> None:
    values = np.array([1, 9.969209968386869e36], np.float32)
    assert np.isnan(declared(field(values), where="f.nc", notes=[], missing_value=9.96921e36).values[1])


def test_a_valid_range_is_kept_and_said() -> None:
    notes: list[Finding] = []
    made = declared(field([-5.0, 0.0, 34.392, 50.0], valid_range=np.array([-2.0, 34.392])), where="f.nc", notes=notes)
    assert np.array_equal(made.values, [np.nan, 0, 34.392, np.nan], equal_nan=True)
    assert notes == [Finding("missing", "f.nc", "2 values outside the valid range of -2 to 34.392", "missing, as CF says")]
    assert declared(field([0.0, 1.0], valid_min=0.0), where="f.nc", notes=notes).values.tolist() == [0, 1]
    assert declared(field(np.float32([0.1]), valid_max=0.1), where="f.nc", notes=notes).values == np.float32(0.1)


def test_a_valid_range_of_packed_numbers_is_unpacked() -> None:
    packed = field(np.array([0, 100, 200], np.float32) * 0.01 + 273, valid_range=np.array([0, 100], np.int16))
    packed.encoding = {"scale_factor": 0.01, "add_offset": 273.0}
    assert np.isfinite(declared(packed, where="f.nc", notes=[]).values).tolist() == [True, True, False]


def test_members_without_data_are_named_and_left_out() -> None:
    values = np.arange(7.0)[:, None] + np.zeros(3)
    values[[2, 4, 5]] = np.nan
    values[0, 1] = np.nan
    whole = xr.DataArray(values, dims=("member", "time"), coords={"member": np.arange(7)}, name="aod")
    notes: list[Finding] = []
    made = members_with_data(whole, where="f.nc", notes=notes, least=4)
    assert made["member"].values.tolist() == [0, 1, 3, 6]
    assert notes == [Finding("members", "f.nc", "without data: 2, 4, 5", "left out; 4 of 7 remain")]
    with pytest.raises(InputError, match=r"aod in f.nc: 4 of 7 members have data \(0, 1, 3, 6\), fewer than the least number of 5"):
        members_with_data(whole, where="f.nc", notes=[], least=5)
    assert members_with_data(made, where="f.nc", notes=notes).identical(made)
    assert len(notes) == 1


def test_case_08_undeclared_is_refused_by_variable_members_and_value(tmp_path: Path) -> None:
    files = case("08").make(tmp_path)
    with xr.open_dataset(files["forecast_undeclared"], decode_times=False) as data:
        with pytest.raises(InputError, match=r"aod in f.nc: the value -9999 stands at 180 of 420 points \(members 2, 4, 5\)"):
            declared(data["aod"], where="f.nc", notes=[])
        cured = declared(data["aod"], where="f.nc", notes=[], missing_value=-9999).load()
    with xr.open_dataset(files["forecast_declared"], decode_times=False) as data:
        assert np.array_equal(cured.values, data["aod"].values, equal_nan=True)
        left = members_with_data(declared(data["aod"], where="f.nc", notes=[]), where="f.nc", notes=[])
    assert np.isfinite(left.values).all()
    assert left.sizes["member"] == 4
