"""When: from what a file says of time to dates.

A file counts from a reference date in units and a calendar, writes the date out as a number or as text, or holds objects that
are dates already. What says nothing of the kind is refused: hours are never taken for days.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any

import cftime  # type: ignore[import-untyped]
import numpy as np
import xarray as xr

from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.prepare.time.calendars import EPOCH, day_number, exists, known
from ensemble.prepare.time.dates import DAY, LENGTHS, Dates, at, grain, joined, later, serial, standard, taken, text, unit_named
from ensemble.task import Array

__all__ = ["Dates", "dates", "ends", "joined", "later", "serial", "standard", "taken", "text"]

_COUNTED = re.compile(r"(?P<unit>[a-z_]+)\s+since\s+(?P<date>.+)", re.IGNORECASE)
_WRITTEN = re.compile(r"(?:(?:year|month|day) as )?(%Y|Y{4})(?:(%m|M{2})(%d|D{2})?)?(\.%f)?", re.IGNORECASE)  # the absolute axes of CDO
_DATE = re.compile(
    r"(?P<year>-?\d{1,5})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?)?"
    r"(?:(?:T|\s)\s*(?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})(?::(?P<second>\d{1,2}(?:\.\d*)?))?)?)?"
    r"\s*(?P<zone>Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?",
    re.IGNORECASE,
)
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})(?!\d)")
_UNSAID = ("", "1", "none", "year", "years", "yr")


def dates(
    variable: xr.Variable | xr.DataArray, *, where: str, notes: list[Finding], units: str | None = None, calendar: str | None = None
) -> Dates:
    """The dates that a variable of any shape holds; `units` and `calendar` stand in for what the file says, or does not say."""
    name = str(variable.name) if isinstance(variable, xr.DataArray) and variable.name is not None else "time"
    attrs = {str(key): value for key, value in variable.attrs.items()}
    attrs |= {key: value for key, value in (("units", units), ("calendar", calendar)) if value is not None}
    values, place = np.asarray(variable.values), f"{where}: {name}"
    missing = np.asarray(np.vectorize(_is_missing, otypes=[bool])(values)) if values.dtype.kind == "O" else values != values
    if missing.any():
        raise InputError(f"{place} is missing at {missing.sum()} of {missing.size} positions, the first is {np.flatnonzero(missing)[0]}")
    if values.dtype.kind == "M":
        return _of_datetime64(values)
    if values.dtype.kind in "OSTU":
        return _of_objects(values, attrs, place, notes)
    if values.dtype.kind not in "iuf":
        raise InputError(f"{place} holds {values.dtype}, not dates; write numbers with units such as `days since 1850-01-01`")
    return _of_numbers(values, attrs, place, notes)


def ends(
    bounds: xr.Variable | xr.DataArray, stamps: xr.Variable | xr.DataArray, *, where: str, notes: list[Finding], **stand_in: str | None
) -> tuple[Dates, Dates]:
    """Beginning and end of the intervals from (..., 2) bounds, which are counted as their `stamps` are where they do not say how."""
    filled, found = bounds.copy(deep=False), list[Finding]()
    filled.attrs = {**{key: stamps.attrs[key] for key in ("units", "calendar") if key in stamps.attrs}, **bounds.attrs}
    both = dates(filled, where=where, notes=found, **stand_in)
    said = {each.found for each in notes}
    notes += [each for each in found if each.found not in said]
    return taken(both, (..., 0)), taken(both, (..., 1))


def _is_missing(value: Any) -> bool:
    return bool(value is None or value != value)


def _of_datetime64(values: Array) -> Dates:
    days = values.astype("datetime64[D]")
    second = (values - days) / np.timedelta64(1, "ms") / 1e3
    return at(days.astype(np.int64) + EPOCH, second, "proleptic_gregorian")


def _of_objects(values: Array, attrs: Mapping[str, Any], place: str, notes: list[Finding]) -> Dates:
    """Text, `cftime` and the dates of Python itself; all of one calendar."""
    texts = values.dtype.kind != "O" or isinstance(values.flat[0] if values.size else "", (str, bytes))
    default = attrs.get("calendar", "proleptic_gregorian")  # which ISO 8601 is in, and Python
    names = {default} if texts else {getattr(each, "calendar", default) for each in values.flat}
    if len(names) > 1:
        raise InputError(f"{place} holds dates of the calendars {', '.join(sorted(names))}; write them in one")
    calendar = known(names.pop() if names else default, where=place)
    rows = [_row(each, place) for each in values.flat]
    return _of_rows(np.reshape(np.array(rows, float), (*values.shape, 5)), calendar, place, notes)


def _row(value: Any, place: str) -> tuple[float, ...]:
    """Year, month, day, second and offset of one object."""
    if isinstance(value, (str, bytes)):
        return _row_of_text(value.decode() if isinstance(value, bytes) else str(value), place)
    if isinstance(value, (cftime.datetime, datetime.datetime)):
        offset = value.utcoffset() if isinstance(value, datetime.datetime) else None
        second = value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6
        return value.year, value.month, value.day, second, offset.total_seconds() if offset else 0.0
    if isinstance(value, datetime.date):
        return value.year, value.month, value.day, 0.0, 0.0
    raise InputError(f"{place} holds {value!r}, a {type(value).__name__}, which is no date; write text such as 2001-02-03T04:05")


def _row_of_text(value: str, place: str) -> tuple[float, ...]:
    found = _DATE.fullmatch(_COMPACT.sub(r"\1-\2-\3", value.strip(), count=1))
    if found is None:
        raise InputError(f"{place}: {value!r} is no date; write it as 2001-02-03 04:05:06")
    clock = sum(float(found[part] or 0) * length for part, length in (("hour", 3600), ("minute", 60), ("second", 1)))
    zone = (found["zone"] or "Z").upper()
    offset = 0.0
    if zone[0] in "+-":
        digits = zone[1:].replace(":", "")
        hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "0")
        offset = (-1.0 if zone[0] == "-" else 1.0) * (int(hours) * 3600 + int(minutes) * 60)
    return int(found["year"]), int(found["month"] or 1), int(found["day"] or 1), clock, offset


def _of_rows(rows: Array, calendar: str, place: str, notes: list[Finding]) -> Dates:
    """Dates from (..., 5) years, months, days, seconds and offsets, at the clock of the file."""
    year, month, day = np.moveaxis(rows[..., :3].astype(np.int64), -1, 0)
    second, offset = rows[..., 3], rows[..., 4]
    wrong = ~exists(year, month, day, calendar) | (second > DAY) | ((year == 0) & (calendar in ("standard", "julian")))
    if wrong.any():
        bad = text(Dates(year[wrong], month[wrong], day[wrong], second[wrong], calendar))
        cure = "it has no year 0; set `calendar: proleptic_gregorian`" if bad.startswith("0000") else "set `calendar:` to the one it is of"
        raise InputError(f"{place}: {bad} is no date of the {calendar} calendar; {cure}")
    for each in np.unique(offset[offset != 0]):
        zone = f"UTC{'-' if each < 0 else '+'}{abs(each) // 3600:02.0f}:{abs(each) // 60 % 60:02.0f}"
        _note(notes, Finding("time zone", place, zone, "brought to UTC; days and longer go by the date on the file's clock"))
    return at(day_number(year, month, day, calendar), second - offset, calendar, offset)


def _of_numbers(values: Array, attrs: Mapping[str, Any], place: str, notes: list[Finding]) -> Dates:
    units = str(attrs.get("units", "")).strip()
    calendar = known(attrs.get("calendar", "standard"), where=place)
    if counted := _COUNTED.fullmatch(units):
        since = _of_rows(np.array(_row_of_text(counted["date"], place)), calendar, place, notes)
        _note(notes, Finding("time", place, f"{units}, {calendar}"))
        return _counted(values, unit_named(counted["unit"], where=place), since, place, notes)
    if (written := _WRITTEN.fullmatch(units)) or units.lower() in _UNSAID:
        return _of_digits(values, written, units, calendar, place, notes)
    raise InputError(f"{place} has the units {units!r}, which name no reference date; set `time_units:`, such as `days since 1850-01-01`")


def _counted(values: Array, unit: str, since: Dates, place: str, notes: list[Finding]) -> Dates:
    most = float(np.abs(values.astype(float)).max(initial=0))
    if most * (np.divide(*LENGTHS[unit]) if unit in LENGTHS else 365) > 4e7:  # a hundred thousand years
        raise InputError(f"{place} holds {most:g} {unit}s, which is no time of this world; is it a fill value? declare it as `_FillValue`")
    if (exact := grain(values, unit)) >= 1 and (values % 1).any():
        _note(notes, Finding("time", place, f"{values.dtype}, exact to {exact:.0f} s", "brought to the whole hour or minute meant"))
    return later(since, values, unit, where=place)


def _of_digits(values: Array, written: re.Match[str] | None, units: str, calendar: str, place: str, notes: list[Finding]) -> Dates:
    """Dates written out as numbers: 1950, 195001, 19500131, 1950013106, and 19500131.25 where the units say so."""
    whole = np.floor(values.astype(float))
    fraction, widths = values - whole, {len(f"{each:.0f}") for each in np.unique(whole)}
    places = 4 + 2 * sum(written[group] is not None for group in (2, 3)) if written else max(widths, default=4)
    likely = places in _DIGITS and (written or widths <= {places}) and max(widths, default=4) <= 10
    if likely and (whole > 0).all() and (not fraction.any() or (written and written[3] and written[4])):
        number = whole.astype(np.int64)
        year = number // 10 ** (places - 4)
        month, day, hour = (number // 10 ** max(places - end, 0) % 100 if places >= end else 0 * number + least for end, least in _PARTS)
        if exists(year, month, day, calendar).all() and (hour < 24).all():
            found = units if written else "numbers without units"
            _note(notes, Finding("time", place, found, f"read as {_DIGITS[places]}, {calendar}"))
            return at(day_number(year, month, day, calendar), fraction * DAY + hour * 3600.0, calendar)
    first = f"begins with {values.flat[0]:.15g}, and its units {units!r} name no reference date"
    raise InputError(f"{place} {first}; set `time_units:`, such as `days since 1850-01-01`")


_DIGITS = {4: "calendar years", 6: "YYYYMM", 8: "YYYYMMDD", 10: "YYYYMMDDHH"}
_PARTS = ((6, 1), (8, 1), (10, 0))  # where month, day and hour end among the digits, and what they are where they are not written


def _note(notes: list[Finding], finding: Finding) -> None:
    """Said once, however many variables of the file say it."""
    if finding not in notes:
        notes.append(finding)
