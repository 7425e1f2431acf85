"""The time axis of a record: one stamp after the other in whatever order becomes a step after the other, without a gap.

Stamps become beginnings of intervals in their own calendar, where it is seen whether they are regular, doubled or lacking;
then these become `datetime64`. A day that only the Gregorian calendar has, as 29 February for a model without leap years, is a
step without data; so is any other gap where that is allowed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ensemble.errors import InputError, unknown
from ensemble.findings import Finding
from ensemble.prepare.time.calendars import exists
from ensemble.prepare.time.dates import Dates, serial, standard, taken, text
from ensemble.prepare.time.intervals import interval_start, starts_of
from ensemble.prepare.time.steps import Bounds, months_in, said, seconds_in, step_in_months, step_in_seconds, step_named, step_of
from ensemble.task import Array, Times, shift

__all__ = ["Axis", "axis_of", "interval_start", "step_named", "step_of"]


@dataclass(frozen=True, eq=False)
class Axis:
    """Every step from the first to the last, and where in the file it is found."""

    times: Times  # (time,): beginnings of intervals, ascending, `step` apart
    step: np.timedelta64
    index: Array  # (time,): the position in the file, -1 for a step that it lacks
    calendar: str  # that the file counted in
    instant: bool  # values are of that instant, and not of the interval that begins with it


def axis_of(
    stamps: Dates,
    bounds: Bounds | None,
    *,
    where: str,
    notes: list[Finding],
    same: Callable[[int, int], bool],
    step: str | None = None,
    stamp: str | None = None,
    duplicates: str = "refuse",
    gaps: str = "refuse",
    methods: str = "",
) -> Axis:
    """The axis of (time,) stamps; `same` says whether the values at two positions are equal. Each setting cures one refusal."""
    for name, value, known in (("duplicates", duplicates, ("refuse", "first", "last")), ("gaps", gaps, ("refuse", "missing"))):
        if value not in known:
            raise unknown(f"{where}: {name}", value, known)
    if stamps.year.size == 0:
        raise InputError(f"{where}: there is no time in it; is it the right file?")
    length = step_named(step, where=where) if step else step_of(stamps, None if stamp else bounds, where=where)
    dates, instant = starts_of(stamps, bounds, length, where=where, notes=notes, stamp=stamp, methods=methods)
    position = _in_order(dates, duplicates, same, where, notes)
    ordered = taken(dates, position)
    absent = _absent(ordered, length, where)
    if absent.any() and gaps == "refuse":
        after = int(np.flatnonzero(absent)[0])
        between = f"after {text(taken(ordered, [after]))} comes {text(taken(ordered, [after + 1]))}, and a step is {said(length)}"
        raise InputError(f"{where}: {between}; set `gaps: missing` if what is absent, {absent.sum()} in all, is missing")
    there = _that_exist(ordered, where, notes)
    return _without_gaps(taken(ordered, there), position[there], length, int(absent.sum()), instant, where, notes)


def _that_exist(dates: Dates, where: str, notes: list[Finding]) -> Array:
    """Which of the dates are kept: not a 29 February that only the calendar `all_leap` has."""
    there = exists(dates.year, dates.month, dates.day, "proleptic_gregorian") | (dates.calendar != "all_leap")
    if not there.all():
        notes.append(Finding("calendar", where, f"{(~there).sum()} steps on 29 February of common years", "left out"))
    return np.asarray(there)


def _in_order(dates: Dates, duplicates: str, same: Callable[[int, int], bool], where: str, notes: list[Finding]) -> Array:
    """Positions in the order of time, each date once."""
    begin = serial(dates)
    if (np.diff(begin) < 0).any():
        notes.append(Finding("time order", where, "not ascending", "sorted"))
    order = np.argsort(begin, kind="stable")
    _, first, count = np.unique(begin[order], return_index=True, return_counts=True)
    copies = {group: order[first[group] : first[group] + count[group]] for group in np.flatnonzero(count > 1)}
    unlike = [group for group, each in copies.items() if not all(same(int(each[0]), int(other)) for other in each[1:])]
    for found, groups in (("equal", sorted(set(copies) - set(unlike))), ("different", unlike)):
        if groups:
            more = f" and {len(groups) - 1} others" if len(groups) > 1 else ""
            twice = f"{text(taken(dates, copies[groups[0]]))}{more} more than once, with {found} values"
            if found == "different" and duplicates == "refuse":
                raise InputError(f"{where}: it holds {twice}; set `duplicates: first` or `last` to say which to keep")
            notes.append(Finding("duplicates", where, twice, "merged" if found == "equal" else f"the {duplicates} is kept"))
    last = np.array(unlike if duplicates == "last" else [], dtype=int)
    first[last] += count[last] - 1
    return np.asarray(order[first])


def _absent(ordered: Dates, step: np.timedelta64, where: str) -> Array:
    """How many steps are absent after each date but the last; dates that are not whole steps apart are an error."""
    months = months_in(step)
    begin = ordered.year * 12 + ordered.month if months else serial(ordered)
    steps, rest = np.divmod(np.diff(begin), months or seconds_in(step))
    if rest.any():
        wrong = int(np.flatnonzero(rest)[0])
        before, after = (text(taken(ordered, [each])) for each in (wrong, wrong + 1))
        how = "overlap" if steps[wrong] == 0 else "are irregular"
        raise InputError(f"{where}: steps of {said(step)} {how}: after {before} comes {after}; take it out, or set another `step:`")
    return np.asarray(steps - 1)


def _without_gaps(
    ordered: Dates, position: Array, length: np.timedelta64, absent: int, instant: bool, where: str, notes: list[Finding]
) -> Axis:
    """The axis in the Gregorian calendar, which may have days that the file's has not."""
    found, months = standard(ordered, where=where), months_in(length)
    begin = found.astype("datetime64[M]" if months else "datetime64[s]").astype(np.int64)
    step = step_in_months(months, begin) if months else step_in_seconds(seconds_in(length), begin)
    slot, rest = np.divmod(begin - begin[0], months or seconds_in(length))
    if rest.any():
        named = (
            f"steps of {said(length)} of the {ordered.calendar} calendar do not fit the Gregorian one at {text(taken(ordered, rest > 0))}"
        )
        raise InputError(f"{where}: {named}; use means of a day or of a month")
    index = np.full(slot[-1] + 1, -1)
    index[slot] = position
    if absent:
        notes.append(Finding("gaps", where, f"{absent} steps are not in it", "missing"))
    if (lacking := len(index) - len(slot) - absent) > 0:
        notes.append(Finding("calendar", where, f"{lacking} steps on days that {ordered.calendar} has not", "missing"))
    return Axis(shift(found[0], np.arange(len(index)), step), step, index, ordered.calendar, instant)
