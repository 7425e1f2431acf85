"""How long a step is: as a setting says it, as bounds enclose it, or as stamps are apart."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np

from ensemble.errors import InputError
from ensemble.prepare.time.calendars import month_length
from ensemble.prepare.time.dates import DAY, LENGTHS, Dates, local, serial, taken, text, unit_named
from ensemble.task import Array, unit_of

Bounds = tuple[Dates, Dates]

NEAR = 0.04  # of a month, a little more than a day: bounds often leave out the last one
_WANDER = 0.2  # of a month, that monthly stamps may wander: the middle of February is the 15th, of March the 16th
_SHORTEST_MONTH = 27 * DAY  # between two stamps
_GAP = 0.7  # of a step: bounds of a daily mean of 6-hourly values enclose 18 hours, as CDO writes them
MEND = "mend the bounds, or set `stamp:` to go without them"
_CLOSED = 60  # [s]: bounds that end at 23:59


def step_named(name: str, *, where: str) -> np.timedelta64:
    """A step in words: `month`, `6 hours`, `season`."""
    found = re.fullmatch(r"\s*(\d+)?\s*([A-Za-z]+)\s*", name)
    if found is None or int(found[1] or 1) == 0:
        raise InputError(f"{where}: step: {name!r} is none; write `month`, `6 hours` or `5 days`")
    count, word = int(found[1] or 1), found[2].lower().removesuffix("s")
    unit = "month" if word == "season" else unit_named(word, where=f"{where}: step")
    if unit in ("month", "year"):
        return step_in_months(count * {"season": 3}.get(word, 12 if unit == "year" else 1))
    parts, of = LENGTHS[unit]
    return step_in_seconds(count * parts * DAY // of)


def said(step: np.timedelta64) -> str:
    """A step in words."""
    unit, count = unit_of(step)
    word = {"Y": "year", "M": "month", "D": "day", "h": "hour", "m": "minute", "s": "second"}[unit]
    return f"{count} {word}{'s' if count > 1 else ''}"


def months_in(step: np.timedelta64) -> int:
    """Months of a step; 0 where it has a fixed length."""
    unit, count = unit_of(step)
    return {"Y": 12, "M": 1}.get(unit, 0) * count


def seconds_in(step: np.timedelta64) -> int:
    """Seconds of a step of fixed length."""
    return int(step.astype("timedelta64[s]").astype(int))


def step_in_months(count: int, begins: Array | int = 0) -> np.timedelta64:
    """In years where intervals that begin so many months after a January are calendar years, or else in months."""
    years = count % 12 == 0 and not (np.asarray(begins) % 12).any()
    return np.timedelta64(count // 12, "Y") if years else np.timedelta64(count, "M")


def step_in_seconds(count: int, begins: Array | int = 0) -> np.timedelta64:
    """In the longest unit in which `begins` [s] are whole as well: six hours that begin at 00:35 are 360 minutes."""
    units: tuple[tuple[Literal["D", "h", "m"], int], ...] = (("D", DAY), ("h", 3600), ("m", 60))
    for unit, length in units:
        if count % length == 0 and not (np.asarray(begins) % length).any():
            return np.timedelta64(count // length, unit)
    return np.timedelta64(count, "s")


def step_of(stamps: Dates, bounds: Bounds | None, *, where: str) -> np.timedelta64:
    """The step that stamps of any shape are apart, or that their bounds enclose."""
    if bounds is not None and not empty(bounds):
        return _step_of_bounds(bounds, where)
    position, seconds = np.unique(month_position(stamps)), np.unique(serial(stamps))
    if len(seconds) < 2:
        raise InputError(f"{where}: {text(stamps)} is the only time, and has no bounds to tell its step by; set `step:`, such as `month`")
    months = np.round(position - position[0])
    wander = position - position[0] - months
    if np.diff(seconds).min() >= _SHORTEST_MONTH and np.ptp(wander) <= _WANDER and np.diff(months).min() >= 1:
        return step_in_months(int(_commonest(np.diff(months))))
    return step_in_seconds(int(_commonest(np.diff(seconds))))


def _step_of_bounds(bounds: Bounds, where: str) -> np.timedelta64:
    begin, end = (serial(each) for each in bounds)
    if (end <= begin).any():
        between = " to ".join(text(taken(each, end <= begin)) for each in bounds)
        raise InputError(f"{where}: the bounds {between} enclose no time; {MEND}")
    first, last = (month_position(each) for each in bounds)
    months = np.round(last) - np.round(first)
    whole = (months >= 1) & near(first, NEAR) & near(last, NEAR)
    if whole.mean() > 0.5:
        return step_in_months(int(_commonest(months[whole])))
    length, begins = int(_commonest(end - begin)), np.unique(begin)
    apart = int(_commonest(np.diff(begins))) if len(begins) > 1 else length
    step = apart if as_long(np.array(length), apart) else length
    if step >= _SHORTEST_MONTH:
        between = " to ".join(text(taken(each, ~whole)) for each in bounds)
        raise InputError(f"{where}: the bounds {between} enclose no whole months; {MEND}")
    return step_in_seconds(step)


def as_long(length: Array, step: int) -> Array:
    """Whether bounds that enclose `length` mean a step [s]: they may leave out its end, and never reach beyond it."""
    return np.asarray((length >= _GAP * step) & (length <= step + _CLOSED))


def empty(bounds: Bounds) -> bool:
    """Whether bounds enclose nothing, as those of values at an instant."""
    return bool((serial(bounds[0]) == serial(bounds[1])).all())


def near(position: Array, within: float) -> Array:
    """Whether positions are whole numbers, or close to one."""
    return np.asarray(np.abs(position - np.round(position)) <= within)


def month_position(dates: Dates) -> Array:
    """Months since the year 0 on the file's clock, with the part of the month that has gone by."""
    there = local(dates)
    part = (there.day - 1 + there.second / DAY) / month_length(there.year, there.month, there.calendar)
    return np.asarray(there.year * 12 + there.month - 1 + part)


def _commonest(values: Array) -> float:
    """The value that occurs most often, the smallest of several."""
    each, count = np.unique(values, return_counts=True)
    return float(each[np.argmax(count)])
