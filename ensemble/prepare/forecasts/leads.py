"""Which step a lead stands for, from what a file says and what its words are known to mean.

A lead, or the stamp of a valid time, is a number of steps after the start. It may stand at the beginning of the step it means, in
its middle, or at its end, and most files do not say where:

    start       L = 0.5              1                     2
      |------------+-----------------|---------------------|      steps
      0 counted from 0               1 counted from 0
      1 at: forecastMonth, GRIB      2
                                     1 after: climpred, values at an instant

Halves, a 0, a name, an accumulation or a value at an instant tell; where nothing does, only the user can, with `lead_one`.
Steps are counted in ticks: months or years where a step is made of them, else seconds, so that all of this is whole numbers.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

import numpy as np
import xarray as xr

from ensemble.errors import InputError
from ensemble.prepare.time.calendars import day_number
from ensemble.prepare.time.dates import Dates, local, standard, unit_named
from ensemble.task import Array, Times, unit_of

LeadOne = Literal["at", "after"]

FIRST_IS_ONE = {"forecastmonth": "month", "forecast_month": "month", "leadtime_month": "month", "lead_month": "month", "ftime": ""}
_COUNTS = ("", "1", "unitless", "none", "count")
_SINCE_START = re.compile(r"(since|from) (the )?(start|beginning|initiali[sz]ation)|accumulated", re.IGNORECASE)
_A_DAY_LATE = 86400  # [s]: a forecast issued within the first day of a month is one of that month
_WHOLE = 1e-4  # steps


class Kind(NamedTuple):
    """What the numbers of a forecast are values of."""

    instant: bool = False
    ends: bool = False  # known to be stamped at the end of what they are means or sums of
    accumulated: bool = False  # sums since the start


class Lead(NamedTuple):
    """A lead coordinate: numbers of a `unit`, "" where the file says none; `named` where its name says that 1 is the first step."""

    name: str
    value: Array
    unit: str
    named: bool

    @property
    def counts(self) -> bool:
        """Whether it is a number of steps, and not a length of time."""
        return self.unit in ("", "month", "year")


def lead_of(variable: xr.DataArray, *, where: str) -> Lead:
    """What a lead coordinate says of itself."""
    name, units = str(variable.name), str(variable.attrs.get("units", "")).strip().lower()
    first = FIRST_IS_ONE.get(name.lower())
    values = np.asarray(variable.values)
    if values.dtype.kind == "m":
        return Lead(name, values.astype("timedelta64[s]").astype(np.int64), "second", False)
    if values.dtype.kind not in "iuf" or not np.isfinite(values).all():
        raise InputError(f"{where}: {name} holds {values.ravel()[:1]}, which is no lead; write numbers with units, as in `hours`")
    unit = (first or "") if units in _COUNTS else unit_named(units, where=f"{where}: {name}")
    return Lead(name, values, unit, first is not None)


def kind_of(
    field: xr.DataArray, names: set[str], step: np.timedelta64, *, bounded: bool, accumulated: bool | None, stamp: str | None = None
) -> Kind:
    """What the attributes of `field` say of its values; `names` are those of its coordinates of time.

    Without a word, values more often than daily are at an instant, and all others are means or sums.
    """
    method, grib = _method(str(field.attrs.get("cell_methods", "")), names), str(field.attrs.get("GRIB_stepType", ""))
    words = " ".join(str(field.attrs.get(key, "")) for key in ("cell_methods", "comment", "long_name"))
    if accumulated is None:
        accumulated = grib == "accum" or (method in ("", "sum") and bool(_SINCE_START.search(words)))
    if stamp == "instant":
        return Kind(True)
    if accumulated or bounded or method not in ("", "point") or grib.startswith(("accum", "avg", "max", "min")):
        return Kind(False, accumulated or bool(grib), accumulated)
    unit, _ = unit_of(step)
    return Kind(method == "point" or bool(unit not in ("Y", "M", "D") and step < np.timedelta64(1, "D")))


def _method(cell_methods: str, names: set[str]) -> str:
    """The last method that runs along time: `mean` of "area: time: mean"."""
    found = ""
    for over, method in re.findall(r"((?:\w+: )+)(\w+)", cell_methods):
        if {name.lower() for name in over.replace(":", "").split()} & {each.lower() for each in {"time", *names}}:
            found = method
    return found


def calendar_step(step: np.timedelta64) -> bool:
    """Whether a step is made of months or years."""
    return unit_of(step)[0] in ("M", "Y")


def ticks_in(step: np.timedelta64) -> int:
    """How many ticks a step is."""
    unit, count = unit_of(step)
    return count if unit in ("M", "Y") else int(step / np.timedelta64(1, "s"))


def ticks(dates: Dates, step: np.timedelta64, *, where: str) -> Array:
    """The month or year that each date lies in, on the file's own clock, or its second."""
    if not calendar_step(step):
        return standard(dates, where=where).astype(np.int64)
    there = local(dates)
    return there.year - 1970 if unit_of(step)[0] == "Y" else (there.year - 1970) * 12 + there.month - 1


def times_of(tick: Array, step: np.timedelta64) -> Times:
    """`datetime64[s]` of ticks."""
    unit = unit_of(step)[0]
    made: Times = tick.astype(np.int64).astype(f"datetime64[{unit if unit in ('M', 'Y') else 's'}]").astype("datetime64[s]")
    return made


def into(dates: Dates, step: np.timedelta64) -> Array:
    """How far each date lies after the beginning of its tick [s]."""
    if not calendar_step(step):
        return np.zeros(np.shape(dates.year))
    there = local(dates)
    first = np.ones_like(there.day)
    month = first if unit_of(step)[0] == "Y" else there.month
    days = day_number(there.year, there.month, there.day, there.calendar) - day_number(there.year, month, first, there.calendar)
    return np.asarray(days * 86400 + there.second)


def begun(issue: Dates, step: np.timedelta64) -> Array:
    """Whether the tick that a forecast was issued in had begun more than a day before: it is no longer a forecast of that."""
    return into(issue, step) > _A_DAY_LATE


def offset(count: Array, kind: Kind, *, named: bool, lead_one: LeadOne | None) -> float | None:
    """How many steps after the beginning of its step a lead or stamp stands: 0, 0.5, 1; None where it cannot be told.

    `count` are leads in steps, all whole or all halves.
    """
    if (np.abs(count % 1 - 0.5) < _WHOLE).all():
        return 0.5
    if lead_one is not None:
        return 1.0 if lead_one == "at" else 0.0
    if kind.ends:
        return 1.0
    if kind.instant or (np.abs(count) < _WHOLE).any():
        return 0.0
    return 1.0 if named else None


def whole(count: Array) -> Array:
    """Which leads are whole numbers of steps."""
    return np.abs(count - np.round(count)) < _WHOLE


def halves(count: Array) -> Array:
    """Which stand in the middle between two."""
    return np.abs(count % 1 - 0.5) < _WHOLE
