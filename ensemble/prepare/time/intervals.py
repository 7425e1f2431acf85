"""Where the interval of each stamp begins.

Months and years go by the calendar; days by the date on the file's clock; what is shorter by UTC, to the second. Bounds decide
where there are any. A stamp without bounds lies inside its interval or on its beginning, so that 1, 16 and 31 January are all
January; where intervals are shorter than a day it is the instant itself. Only `stamp:` says otherwise.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from ensemble.errors import InputError, unknown
from ensemble.findings import Finding
from ensemble.prepare.time.calendars import day_number
from ensemble.prepare.time.dates import DAY, Dates, at, local, serial, standard, taken, text
from ensemble.prepare.time.steps import MEND, NEAR, Bounds, as_long, empty, month_position, months_in, near, said, seconds_in
from ensemble.task import Array, Times

STAMPS = ("start", "middle", "end", "instant")
_MIDDLE = 0.15  # of a month, that the 15th or 16th may be from its middle
_METHOD = re.compile(r"\b(?:time|valid_time|t|step)\s*:\s*(?:\w+\s*:\s*)*(\w+)", re.IGNORECASE)


class Starts(NamedTuple):
    """Beginnings of intervals in the calendar of the file, and whether the values are of that instant alone."""

    dates: Dates
    instant: bool


def interval_start(stamps: Dates, bounds: Bounds | None, step: np.timedelta64, *, where: str, **settings: Any) -> Times:
    """The beginning of the interval that each stamp of any shape stands for; the settings are those of `starts_of`."""
    return standard(starts_of(stamps, bounds, step, where=where, **settings).dates, where=where)


def starts_of(
    stamps: Dates,
    bounds: Bounds | None,
    step: np.timedelta64,
    *,
    where: str,
    notes: list[Finding],
    stamp: str | None = None,
    methods: str = "",
) -> Starts:
    """The same in the file's own calendar. `methods` is CF's `cell_methods`; a `stamp` that is given is believed against bounds."""
    if stamp is not None and stamp not in STAMPS:
        raise unknown(f"{where}: stamp", stamp, STAMPS)
    point = stamp == "instant" if stamp else method_of(methods) == "point" or (bounds is not None and empty(bounds))
    short = not months_in(step) and seconds_in(step) % DAY != 0
    if bounds is None or stamp is not None or empty(bounds) or (short and point):
        found = "`stamp:`" if stamp else "no bounds"
        dates = _by_stamps(stamps, step, stamp, "" if point else method_of(methods), where)
        notes.append(Finding("time stamps", where, f"{found}, the first is {text(local(stamps))}", _taken(stamps, dates, stamp, short)))
        return Starts(dates, point or (short and stamp is None))
    _check(stamps, bounds, step, where)
    notes.append(Finding("time stamps", where, f"bounds, the first from {text(bounds[0])} to {text(bounds[1])}", "taken from the bounds"))
    return Starts(_by_bounds(bounds[0], step), point)


def method_of(methods: str) -> str:
    """What `cell_methods` says was done over time, such as `mean` or `point`; empty where it says nothing."""
    found = _METHOD.search(methods)
    return found[1].lower().replace("instantaneous", "point") if found else ""


def _by_bounds(begin: Dates, step: np.timedelta64) -> Dates:
    if months_in(step):
        return _first_of_month(np.round(month_position(begin)), begin.calendar)
    if seconds_in(step) % DAY == 0:
        return _midnight(serial(local(begin)) // DAY, begin.calendar)
    return begin._replace(offset=0.0)


def _check(stamps: Dates, bounds: Bounds, step: np.timedelta64, where: str) -> None:
    """Bounds must be as long as a step, and enclose their stamps."""
    begin, end = (serial(each) for each in bounds)
    if count := months_in(step):
        first, last = (month_position(each) for each in bounds)
        right = near(first, NEAR) & near(last, NEAR) & (np.round(last) - np.round(first) == count)
    else:
        right = as_long(end - begin, seconds_in(step))
    _all(right, bounds, where, f"are not of {said(step)}, as others are; {MEND}")
    inside = (serial(stamps) >= begin - 60) & (serial(stamps) <= end + 60)
    outside = text(taken(stamps, ~inside)) if not inside.all() else ""
    _all(inside, bounds, where, f"do not enclose their stamp {outside}; {MEND}")


def _all(right: Array, bounds: Bounds, where: str, wrong: str) -> None:
    if not right.all():
        raise InputError(f"{where}: the bounds {' to '.join(text(taken(each, ~right)) for each in bounds)} {wrong}")


def _by_stamps(stamps: Dates, step: np.timedelta64, stamp: str | None, method: str, where: str) -> Dates:
    if count := months_in(step):
        begin = _month(month_position(stamps), count, stamp)
        far = ~near(begin, _MIDDLE if stamp == "middle" else NEAR)
        _unclear(far, stamps, step, stamp, where)
        return _first_of_month(np.round(begin), stamps.calendar)
    count = seconds_in(step)
    if count % DAY == 0:
        begin = _day(serial(local(stamps)) / DAY, count // DAY, stamp)
        _unclear(begin % 1 != 0, stamps, step, stamp, where)
        return _midnight(begin.astype(np.int64), stamps.calendar)
    _unclear(np.full(stamps.year.shape, stamp is None and method != ""), stamps, step, stamp, where)
    before = {"middle": count // 2, "end": count}.get(stamp or "", 0)
    number = day_number(stamps.year, stamps.month, stamps.day, stamps.calendar)
    return at(number, stamps.second - before, stamps.calendar)


def _month(position: Array, count: int, stamp: str | None) -> Array:
    """Months since the year 0 at which intervals of `count` months begin."""
    if stamp in ("start", "end"):
        return position - (count if stamp == "end" else 0)
    if count in (1, 12):  # the calendar month or year that the stamp lies in
        return np.floor(position / count) * count
    return position - (count / 2 if stamp == "middle" else 0)


def _day(position: Array, count: int, stamp: str | None) -> Array:
    """Days at which intervals of `count` days begin; the middle of five is at any hour of the third."""
    if stamp == "end":
        return np.ceil(position) - count
    if stamp == "middle":
        return np.floor(position - (count - 1) / 2)
    return np.floor(position) if count == 1 or stamp else position


def _unclear(wrong: Array, stamps: Dates, step: np.timedelta64, stamp: str | None, where: str) -> None:
    if wrong.any():
        first, others = text(taken(local(stamps), wrong)), " or ".join(f"`stamp: {each}`" for each in STAMPS[:3] if each != stamp)
        said_so = f"is not the {stamp} of" if stamp else "has no bounds and does not tell where it lies in"
        raise InputError(f"{where}: the stamp {first} {said_so} an interval of {said(step)}; set {others}")


def _taken(stamps: Dates, starts: Dates, stamp: str | None, short: bool) -> str:
    if stamp:
        return f"taken as the {stamp}"
    if short:
        return "taken as instants"
    on = (serial(local(stamps)) == serial(starts)).all()
    return "taken as the beginning; `stamp: end` if they are the end" if on else "taken as inside the interval"


def _first_of_month(months: Array, calendar: str) -> Dates:
    year, month = np.divmod(months.astype(np.int64), 12)
    return Dates(year, month + 1, np.ones_like(month), np.zeros(month.shape), calendar)


def _midnight(number: Array, calendar: str) -> Dates:
    return at(number, np.zeros(np.shape(number)), calendar)
