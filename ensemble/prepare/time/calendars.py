"""The six calendars of CF, as day numbers: a date is a whole number of days in its own calendar, and back.

The two that count years as Caesar or Gregory did begin the year in March, so that the leap day is its last: the months then
fall on a straight line (Hatcher 1984, https://ui.adsabs.harvard.edu/abs/1984QJRAS..25...53H). `standard` is Julian up to 4 October
1582 and Gregorian from the 15th, the day after.
"""

from __future__ import annotations

import numpy as np

from ensemble.errors import unknown
from ensemble.task import Array

NAMES = {
    "standard": "standard",
    "gregorian": "standard",
    "proleptic_gregorian": "proleptic_gregorian",
    "julian": "julian",
    "noleap": "noleap",
    "365_day": "noleap",
    "all_leap": "all_leap",
    "366_day": "all_leap",
    "360_day": "360_day",
    "360": "360_day",  # so the files of NMME and IRI say
}

_MONTHS = {
    "noleap": (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31),
    "all_leap": (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31),
    "360_day": (30,) * 12,
}
_FIRSTS = {name: np.concatenate([[0], np.cumsum(months)]) for name, months in _MONTHS.items()}  # the last is the length of the year
_REFORM = 1582_10_15  # the first Gregorian day of `standard`
_JULIAN_AHEAD = 2  # days between the first days of the two ways to count, in March of the year 0


def known(name: object, *, where: str) -> str:
    """A calendar by its name in CF; `standard` where a file says nothing, as CF has it."""
    text = str(name).strip().lower()
    if text not in NAMES:
        raise unknown(f"{where}: calendar", text, NAMES)
    return NAMES[text]


def day_number(year: Array, month: Array, day: Array, calendar: str) -> Array:
    """Days since a day that is the calendar's own; those of `standard`, `proleptic_gregorian` and `julian` are the same day."""
    if calendar in _FIRSTS:
        firsts = _FIRSTS[calendar]
        return np.asarray(year * firsts[-1] + firsts[month - 1] + day - 1)
    if calendar == "standard":
        old = (year * 100 + month) * 100 + day < _REFORM
        return np.where(old, day_number(year, month, day, "julian"), day_number(year, month, day, "proleptic_gregorian"))
    from_march, of_year = (month + 9) % 12, year - (month <= 2)
    number = of_year * 365 + of_year // 4 + (153 * from_march + 2) // 5 + day - 1
    return np.asarray(number - _JULIAN_AHEAD if calendar == "julian" else number - of_year // 100 + of_year // 400)


def date_of(number: Array, calendar: str) -> tuple[Array, Array, Array]:
    """Year, month and day of a `day_number`."""
    if calendar in _FIRSTS:
        year, within = np.divmod(number, _FIRSTS[calendar][-1])
        month = np.searchsorted(_FIRSTS[calendar], within, side="right")
        return year, month, within - _FIRSTS[calendar][month - 1] + 1
    if calendar == "standard":
        old = number < day_number(np.array(1582), np.array(10), np.array(15), "proleptic_gregorian")
        pairs = zip(date_of(number, "julian"), date_of(number, "proleptic_gregorian"), strict=True)
        year, month, day = (np.where(old, julian, gregorian) for julian, gregorian in pairs)
        return year, month, day
    century = (4 * number + 3) // 146097  # days of 400 years
    days = number + _JULIAN_AHEAD if calendar == "julian" else number + century - century // 4  # as if no leap day were left out
    of_year, of_day = (4 * days + 3) // 1461, (4 * days + 3) % 1461 // 4
    from_march = (5 * of_day + 2) // 153
    month = (from_march + 2) % 12 + 1
    return of_year + (month <= 2), month, of_day - (153 * from_march + 2) // 5 + 1


def exists(year: Array, month: Array, day: Array, calendar: str) -> Array:
    """Whether each is a date of the calendar: 30 February is one of `360_day` alone, 10 October 1582 is none of `standard`."""
    may = (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    back = date_of(day_number(year, np.where(may, month, 1), np.where(may, day, 1), calendar), calendar)
    return np.asarray(may & (back[0] == year) & (back[1] == month) & (back[2] == day))


def month_length(year: Array, month: Array, calendar: str) -> Array:
    """Days of a month."""
    one = np.ones_like(month)
    return day_number(year + month // 12, month % 12 + 1, one, calendar) - day_number(year, month, one, calendar)


EPOCH = day_number(np.array(1970), np.array(1), np.array(1), "proleptic_gregorian")  # of `datetime64`
