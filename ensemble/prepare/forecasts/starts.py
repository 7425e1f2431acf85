"""When each forecast of a file was issued."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.prepare.time.calendars import exists
from ensemble.prepare.time.clock import dates
from ensemble.prepare.time.dates import Dates, serial, taken, text


def issue_of(data: xr.Dataset, name: str, member: str | None, *, where: str, notes: list[Finding]) -> tuple[Dates, tuple[str, ...]]:
    """The dates of issue and the dimensions they run along.

    Members that started one after the other are one forecast, issued with the last of them. A reforecast was issued on the day
    of the forecast that it belongs to, in the year of its `hdate`.
    """
    if name not in data.variables:
        raise InputError(f"{where}: the starts ({name}) have no coordinate; add one with their dates")
    issue, along = dates(data[name], where=where, notes=notes), tuple(map(str, data[name].dims))
    if member is not None and member in along:
        axis = along.index(member)
        last = np.expand_dims(serial(issue).argmax(axis), axis)
        fields = (np.take_along_axis(each, last, axis).squeeze(axis) for each in np.broadcast_arrays(*issue[:4], issue.offset))
        year, month, day, second, offset = fields
        notes.append(Finding("init_time", where, "members that started at different times", "issued with the last of them"))
        return Dates(year, month, day, second, issue.calendar, offset), tuple(dim for dim in along if dim != member)
    if name == "hdate" or "hdate" not in data.variables:
        return issue, along
    return _reforecast(issue, along, data["hdate"], where, notes)


def _reforecast(
    issue: Dates, along: tuple[str, ...], hdate: xr.DataArray, where: str, notes: list[Finding]
) -> tuple[Dates, tuple[str, ...]]:  # fmt: skip
    """The day of `issue` in the years of `hdate`, or the dates that `hdate` holds where they are whole ones."""
    past, of = dates(hdate, where=where, notes=notes), tuple(map(str, hdate.dims))
    units, years = str(hdate.attrs.get("units", "")).lower(), hdate.dtype.kind in "iuf" and bool((hdate.values < 10000).all())
    if not (units.startswith(("month", "year")) or ("since" not in units and years)):
        return past, of
    shape = (*issue.year.shape, *past.year.shape)
    year, month = np.broadcast_to(past.year, shape), np.broadcast_to(_column(issue.month, past), shape)
    day, second = (np.broadcast_to(_column(each, past), shape) for each in (issue.day, issue.second))
    made = Dates(year, month, day, second, issue.calendar)
    wrong = ~exists(year, month, day, issue.calendar)
    if wrong.any():
        raise InputError(f"{where}: the reforecast of {text(taken(made, wrong))} has no such day; write whole dates into hdate")
    notes.append(Finding("init_time", where, f"reforecasts (hdate) of {text(issue)}", "issued on that day of their years"))
    return made, (*along, *of)


def _column(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]], past: Dates) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.asarray(values).reshape(*np.shape(values), *[1] * past.year.ndim)
