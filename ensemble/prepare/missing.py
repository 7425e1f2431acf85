"""Missing data: what a file declares, what it forgot to declare, and members that hold nothing.

`_FillValue` and `missing_value` have become NaN when a file is opened; here are the cases that this leaves over. A number is
held for a forgotten fill value where it is one that people use, or beyond all measure, and the other values lie together far from
it; then the file is refused, for -9999 in a mean looks like a forecast.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import xarray as xr

from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.task import Array

FILLS = (
    -99, -99.9, -99.99, -888, -999, -999.9, -999.99, -1000, -8888, -9999, -9999.9, -99999, -999999, -9999999, -32767, -32768,
    -2147483647, -2147483648, -9.99e8, -1e10, -1e15, 999, 999.9, 9999, 9999.9, 99999, 999999, 9999999, 32766, 32767, 65535, 2147483647,
    9.99e8, 1e10, 1e15,
)  # fmt: skip
BEYOND = 1e8  # times the largest other value: no field of nature has one such outlier, and nothing between
ALONE = 9999  # a field of this or of less than its negative tenth throughout is no constant field but an empty one
SAME = 1e-5  # relative: fill values are typed in from what a tool prints

Missing = float | Literal["none"] | None


class Suspect(NamedTuple):
    """A number that stands far outside the others; `low` and `high` are theirs."""

    value: float
    low: float
    high: float


def declared(field: xr.DataArray, *, where: str, notes: list[Finding], missing_value: Missing = None) -> xr.DataArray:
    """`field` with NaN wherever it holds no value.

    `missing_value` is a number that the file forgot to declare, or "none" where every number is to be believed. Raises InputError
    with the variable, the number, how many there are and in which members, where one looks forgotten.
    """
    field = _within_valid_range(field, where, notes)
    if isinstance(missing_value, (int, float)):
        hit = np.isclose(field.values, missing_value, rtol=SAME, atol=0.0)
        field = _without(field, hit)
        notes.append(
            Finding("missing", where, f"{missing_value:g} at {hit.sum()} points, not declared", "missing, as `missing_value` says")
        )
    suspect = None if missing_value == "none" else suspect_in(field.values)
    if suspect is not None:
        hit = field.values == suspect.value
        others = f", far from the others ({suspect.low:.4g} to {suspect.high:.4g})" if suspect.low <= suspect.high else ""
        raise InputError(
            f"{field.name} in {where}: the value {suspect.value:.6g} stands at {hit.sum()} of {hit.size} points{_members(field, hit)}"
            f"{others} and is not declared as missing; "
            f"write `missing_value: {suspect.value:.6g}`, or `missing_value: none` if it is a true value"
        )
    return field


def members_with_data(field: xr.DataArray, *, where: str, notes: list[Finding], least: int = 1) -> xr.DataArray:
    """`field` (member, ...) without the members that hold no value at all; InputError where fewer than `least` are left."""
    axes = tuple(axis for axis, dim in enumerate(field.dims) if dim != "member")
    full = np.isfinite(field.values).any(axes)
    labels = field["member"].values
    if full.sum() < least:
        raise InputError(
            f"{field.name} in {where}: {full.sum()} of {full.size} members have data ({_listed(labels[full]) or 'none'}), fewer than "
            f"the least number of {least}; lower `least_members`, or bring the members {_listed(labels[~full])}"
        )
    if not full.all():
        notes.append(Finding("members", where, f"without data: {_listed(labels[~full])}", f"left out; {full.sum()} of {full.size} remain"))
    return field if full.all() else field.isel(member=np.flatnonzero(full))


def suspect_in(values: Array) -> Suspect | None:
    """The extreme of `values` that looks like a forgotten fill value."""
    if not values.size or values.dtype.kind not in "iuf":
        return None
    extremes = [float(reduce(values, axis=None)) for reduce in (np.fmax.reduce, np.fmin.reduce)]
    for value in extremes:
        if _is_fill(value) or abs(value) >= BEYOND:
            others = values[(values != value) & ~np.isnan(values)]
            low, high = (float(others.min()), float(others.max())) if others.size else (np.inf, -np.inf)
            if _is_far(value, low, high):
                return Suspect(value, low, high)
    return None


def _is_far(value: float, low: float, high: float) -> bool:
    """Whether `value` is one that people use, or beyond all measure, and the others, from `low` to `high`, lie together far away."""
    if low > high:
        return value <= -ALONE / 10 or value >= ALONE
    beyond = abs(value) >= BEYOND * max(abs(low), abs(high))
    gap = max(value - high, low - value)
    return (_is_fill(value) or beyond) and gap >= max(high - low, abs(value) / 2)


def _is_fill(value: float) -> bool:
    return bool(np.isclose(value, FILLS, rtol=1e-6, atol=0.0).any()) or not np.isfinite(value)


def _without(field: xr.DataArray, hit: Array) -> xr.DataArray:
    """`field` with NaN where `hit`; whole numbers become floating."""
    kept = field.dtype if field.dtype.kind == "f" else np.float64
    return field.copy(data=np.where(hit, np.array(np.nan, kept), field.values.astype(kept)))


def _within_valid_range(field: xr.DataArray, where: str, notes: list[Finding]) -> xr.DataArray:
    """Values outside `valid_range`, or `valid_min` and `valid_max`, are missing (CF 1.11, 2.5.1)."""
    low, high = field.attrs.get("valid_range", (field.attrs.get("valid_min", -np.inf), field.attrs.get("valid_max", np.inf)))
    if np.isneginf(low) and np.isposinf(high):
        return field
    low, high = _unpacked(low, field, -1), _unpacked(high, field, 1)
    hit = (field.values < low) | (field.values > high)
    if not hit.any():
        return field
    notes.append(Finding("missing", where, f"{hit.sum()} values outside the valid range of {low:g} to {high:g}", "missing, as CF says"))
    return _without(field, hit)


def _unpacked(limit: float, field: xr.DataArray, outward: int) -> float:
    """A limit in the units and the precision of the field: one of whole numbers is that of the packed numbers in the file."""
    packing = field.encoding
    if {"scale_factor", "add_offset"} & packing.keys() and np.issubdtype(np.asarray(limit).dtype, np.integer):
        scale = float(packing.get("scale_factor", 1))
        return float(limit) * scale + float(packing.get("add_offset", 0)) + outward * abs(scale) / 2
    return float(field.dtype.type(limit)) if field.dtype.kind == "f" else float(limit)


def _members(field: xr.DataArray, hit: Array) -> str:
    if "member" not in field.dims:
        return ""
    axes = tuple(axis for axis, dim in enumerate(field.dims) if dim != "member")
    return f" (members {_listed(field['member'].values[hit.any(axes)])})"


def _listed(labels: Array) -> str:
    return ", ".join(map(str, labels))
