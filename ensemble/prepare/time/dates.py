"""Dates of any calendar and what can be done with them: counted on from one another, held in order, brought to `datetime64`.

The fields are UTC. A date keeps how far ahead of UTC its file counts, since a day or a month there is one of local time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ensemble.errors import InputError, unknown
from ensemble.prepare.time.calendars import EPOCH, date_of, day_number, exists, month_length
from ensemble.task import Array, Times

DAY = 86400  # [s]
# Each unit as so many days, of which so many parts are one unit: a week is 7 parts of 1, an hour is 1 part of 24.
LENGTHS = {
    "week": (7, 1),
    "day": (1, 1),
    "hour": (1, 24),
    "minute": (1, 24 * 60),
    "second": (1, DAY),
    "millisecond": (1, DAY * 10**3),
    "microsecond": (1, DAY * 10**6),
    "nanosecond": (1, DAY * 10**9),
}
_LENGTHS_360 = {"month": (30, 1), "year": (360, 1)}
_SHORT = {
    "d": "day", "h": "hour", "hr": "hour", "min": "minute", "s": "second", "sec": "second", "ms": "millisecond", "msec": "millisecond",
    "us": "microsecond", "ns": "nanosecond", "mon": "month", "yr": "year",
}  # fmt: skip
_EXACT = 1e-3  # [s]: dates are kept to the millisecond, which double precision holds for any number of days


class Dates(NamedTuple):
    """Dates of one calendar, in arrays of any shape: that is what all of them have in common."""

    year: Array
    month: Array
    day: Array
    second: Array  # of the day
    calendar: str
    offset: Array | float = 0.0  # [s] that the clock of the file is ahead of UTC


def unit_named(text: str, *, where: str) -> str:
    """A unit of time by any of its names: `hrs` is `hour`."""
    name = text.strip().lower()
    singular = name if name in _SHORT else name.removesuffix("s")
    found = _SHORT.get(singular, singular)
    if found not in LENGTHS and found not in _LENGTHS_360:
        raise unknown(f"{where}: unit of time", text, [*LENGTHS, *_LENGTHS_360])
    return found


def at(number: Array, second: Array, calendar: str, offset: Array | float = 0.0) -> Dates:
    """The dates `second` seconds after the beginning of the day `number`; seconds may be more than a day, or less than none."""
    carried, within = np.divmod(np.round(second, 3), DAY)
    number, within = np.broadcast_arrays(np.asarray(number).astype(np.int64) + carried.astype(np.int64), within)
    return Dates(*date_of(number, calendar), within, calendar, offset)


def later(since: Dates, count: Any, unit: str, *, where: str) -> Dates:
    """`count` units after each date, broadcast against each other; months and years go by the calendar.

    Except in `360_day`, where a month is 30 days, they must be whole or half: a month has no fixed length.
    """
    count, name = np.asarray(count), unit_named(unit, where=where)
    number = day_number(since.year, since.month, since.day, since.calendar)
    if name in _LENGTHS_360 and since.calendar != "360_day":
        return _months_later(since, count.astype(float) * (12 if name == "year" else 1), where)
    parts, of = {**LENGTHS, **_LENGTHS_360}[name]
    whole, rest = np.divmod((count.astype(float) if count.dtype.kind == "f" else count.astype(np.int64)) * parts, of)
    return at(number + whole.astype(np.int64), since.second + _settled(rest * (DAY / of), grain(count, name)), since.calendar, since.offset)


def grain(count: Array, unit: str) -> float:
    """How exactly numbers of this type and size can say when [s]: single precision is four minutes out after a century of hours."""
    if count.dtype.kind != "f" or not count.size or unit not in LENGTHS:
        return _EXACT
    parts, of = LENGTHS[unit]
    return max(_EXACT, float(np.spacing(np.abs(count).max())) * DAY * parts / of)


def _settled(second: Array, within: float) -> Array:
    """Seconds at the whole hours, or the like, that all of them are so close to that nothing else can be meant."""
    for whole in (3600, 1800, 600, 60, 1):
        near = np.round(second / whole) * whole
        if within * 4 <= whole and (np.abs(second - near) <= within).all():
            return near
    return second


def _months_later(since: Dates, months: Array, where: str) -> Dates:
    halves = np.round(months * 2)
    apart = np.abs(months * 2 - halves) > 0.02  # decimal years are often written to three places
    half, whole = halves % 2 == 1, (halves // 2).astype(np.int64)
    if (half & ((since.day != 1) | (since.second != 0))).any() or apart.any():
        worst = months[apart].flat[0] if apart.any() else months[np.broadcast_to(half, months.shape)].flat[0]
        raise InputError(
            f"{where}: {worst:g} months after {text(since)} is no date of the {since.calendar} calendar, whose months differ in length; "
            "only whole months, or halves after a first of the month, are; set `calendar: 360_day` if each is of 30 days"
        )
    year, month = np.divmod(since.year * 12 + since.month - 1 + whole, 12)
    month, day = month + 1, np.broadcast_to(since.day, month.shape)
    wrong = ~exists(year, month, day, since.calendar)
    if wrong.any():
        named = (each[wrong].flat[0] for each in (year, month, day))
        raise InputError(f"{where}: months are counted to {'-'.join(f'{each:02d}' for each in named)}, a day that its month does not have")
    middle = np.where(half, month_length(year, month, since.calendar) * DAY / 2, 0.0)
    return at(day_number(year, month, day, since.calendar), since.second + middle, since.calendar, since.offset)


def standard(dates: Dates, *, where: str) -> Times:
    """`datetime64[s]` of the same year, month, day and second; a date that the Gregorian calendar does not have is an error."""
    wrong = ~exists(dates.year, dates.month, dates.day, "proleptic_gregorian")
    if wrong.any():
        raise InputError(
            f"{where}: {text(taken(dates, wrong))} of the {dates.calendar} calendar is no date of the Gregorian one; "
            "bring the file to a Gregorian calendar, or use its monthly means"
        )
    days = day_number(dates.year, dates.month, dates.day, "proleptic_gregorian") - EPOCH
    times: Times = (days * DAY + np.round(dates.second).astype(np.int64)).astype("datetime64[s]")
    return times


def serial(dates: Dates) -> Array:
    """Whole seconds in the dates' own calendar; only differences of them mean something."""
    number = day_number(dates.year, dates.month, dates.day, dates.calendar)
    return np.asarray(number * DAY + np.round(dates.second).astype(np.int64))


def taken(dates: Dates, key: Any) -> Dates:
    """Some of the dates, as an index of an array takes them."""
    year, month, day, second, offset = (each[key] for each in np.broadcast_arrays(*dates[:4], dates.offset))
    return Dates(year, month, day, second, dates.calendar, offset)


def joined(parts: Sequence[Dates], *, where: str) -> Dates:
    """The dates of several files, one after the other along the first dimension; they must be of one calendar.

    `standard` and `proleptic_gregorian` are one from 1583 on.
    """
    names = sorted({part.calendar for part in parts})
    if len(names) > 1 and not (names == ["proleptic_gregorian", "standard"] and all((part.year > 1582).all() for part in parts)):
        raise InputError(f"{where}: the files are of the calendars {' and '.join(names)}; give files of one calendar, or set `calendar:`")
    whole = [np.broadcast_arrays(*part[:4], part.offset) for part in parts]
    year, month, day, second, offset = (np.concatenate(each) for each in zip(*whole, strict=True))
    return Dates(year, month, day, second, names[0], offset)


def local(dates: Dates) -> Dates:
    """The same on the file's own clock, where its days and months begin."""
    number = day_number(dates.year, dates.month, dates.day, dates.calendar)
    return at(number, dates.second + dates.offset, dates.calendar)


def text(dates: Dates) -> str:
    """The first of the dates, for a message: `2001-02-30`, with the time of day where it has one."""
    year, month, day, second = (round(float(np.ravel(each)[0])) for each in dates[:4])
    clock = f" {second // 3600:02d}:{second // 60 % 60:02d}" + (f":{second % 60:02d}" if second % 60 else "")
    return f"{year:04d}-{month:02d}-{day:02d}" + (clock if second else "")
