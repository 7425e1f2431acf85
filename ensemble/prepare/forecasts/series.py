"""Files that are one run of time each: a simulation, or a hindcast of CMIP6 (DCPP) with a file a start and member.

A simulation is a forecast of one step, issued at the beginning of each. A file of DCPP knows its start by the name of its experiment
alone, s1960, and holds what came from there; members that began in different months are one forecast, issued with the last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.prepare.forecasts.layout import Label, Layout, members_of
from ensemble.prepare.forecasts.leads import Kind
from ensemble.prepare.names import bounds_of
from ensemble.prepare.time.axis import Axis, axis_of
from ensemble.prepare.time.clock import dates, ends
from ensemble.prepare.time.dates import Dates, joined, serial
from ensemble.task import steps_between

_START = re.compile(r"(?<![A-Za-z0-9])s(\d{4})(?:-|$)")


class Piece(NamedTuple):
    """One file of a run."""

    start: str  # the year it began in, "" where it is a simulation
    member_dim: str | None
    member: tuple[Label, ...]
    dim: str
    stamps: Dates
    bounds: tuple[Dates, Dates] | None
    methods: str
    number: int  # of the file
    where: str


Same = Callable[[int, int, int, int], bool]  # file and place, file and place: whether they hold the same values


def piece_of(data: xr.Dataset, variable: str, found: dict[str, str], number: int, *, where: str, notes: list[Finding]) -> Piece:
    """What one file tells of its times; `found` are its roles."""
    if "time" not in found or found["time"] not in data.variables:
        raise InputError(f"{where}: {variable} has no coordinate of time; it runs along {', '.join(map(str, data[variable].dims))}")
    time = data[found["time"]]
    beside = bounds_of(data, str(time.name))
    bounds = None
    if beside is not None:
        low, high = ends(data[beside], time, where=where, notes=notes)
        bounds = _row(low), _row(high)
    stamps = _row(dates(time, where=where, notes=notes))
    member_dim, member = members_of(data, variable, found, where=where)
    dim = str(time.dims[0]) if time.dims else ""
    methods = str(data[variable].attrs.get("cell_methods", ""))
    return Piece(_start(data, where), member_dim, member, dim, stamps, bounds, methods, number, where)


def _row(given: Dates) -> Dates:
    """At least one date in a row."""
    year, month, day, second, offset = (np.atleast_1d(each) for each in np.broadcast_arrays(*given[:4], given.offset))
    return Dates(year, month, day, second, given.calendar, offset)


def _start(data: xr.Dataset, where: str) -> str:
    """1960, from what says s1960: the sub-experiment of CMIP6, or the name of the file."""
    for words in (data.attrs.get("sub_experiment_id"), data.attrs.get("variant_label"), where.rsplit("/", 1)[-1]):
        if found := _START.search(str(words or "").replace("_", " ")):
            return found[1]
    return ""


def layouts_of(pieces: Sequence[Piece], *, notes: list[Finding], same: Same, **settings: Any) -> dict[int, Layout]:
    """The layout of each file, by its number; pieces of one start and member are joined. `settings` are those of `axis_of`."""
    groups: dict[tuple[str, tuple[Label, ...]], list[Piece]] = {}
    for piece in pieces:
        groups.setdefault((piece.start, piece.member), []).append(piece)
    axes = {key: _axis(group, notes, same, settings) for key, group in groups.items()}
    firsts: dict[str, list[np.datetime64]] = {}
    for (start, _), axis in axes.items():
        firsts.setdefault(start, []).append(axis.times[0])
    for start, first in firsts.items():
        _agree(start, first, pieces[0].where, notes)
    made: dict[int, Layout] = {}
    for (start, member), group in groups.items():
        init = max(firsts[start]) if start else None
        made |= _placed(group, axes[start, member], init)
    return made


def _axis(group: Sequence[Piece], notes: list[Finding], same: Same, settings: dict[str, Any]) -> Axis:
    """The axis of the pieces one after another; a single time without bounds has the `default_step`, if there is one."""
    where = group[0].where if len(group) == 1 else f"{group[0].where} and {len(group) - 1} more"
    stamps = joined([piece.stamps for piece in group], where=where)
    pairs = [piece.bounds for piece in group if piece.bounds is not None]
    bounds = None
    if len(pairs) == len(group):
        bounds = joined([low for low, _ in pairs], where=where), joined([high for _, high in pairs], where=where)
    place = np.array([(piece.number, i) for piece in group for i in range(len(piece.stamps.year))])

    def alike(one: int, other: int) -> bool:
        return same(*map(int, place[one]), *map(int, place[other]))

    settings = dict(settings)
    default = settings.pop("default_step", None)
    if default and settings["step"] is None and bounds is None and len(np.unique(serial(stamps))) == 1:
        notes.append(Finding("step", where, "a single time", f"{default}, as of the truth"))
        settings["step"] = default
    return axis_of(stamps, bounds, where=where, notes=notes, same=alike, methods=group[0].methods, **settings)


def _agree(start: str, first: list[np.datetime64], where: str, notes: list[Finding]) -> None:
    """InputError where a start is not of its year or of the first month after it; a note where members began at different times."""
    if not start:
        return
    for each in first:
        if str(each)[:4] not in (start, f"{int(start) + 1:04d}"):
            raise InputError(f"{where}: s{start} begins on {str(each)[:10]}; mend sub_experiment_id, or the times of the file")
    if min(first) < max(first):
        said = f"members of s{start} begin on {str(min(first))[:10]} to {str(max(first))[:10]}"
        notes.append(Finding("init_time", where, said, "issued with the last of them"))


def _placed(group: Sequence[Piece], axis: Axis, init: np.datetime64 | None) -> dict[int, Layout]:
    """Each piece's part of the axis, as forecasts from `init`, or of the first step from each step."""
    slot = np.full(sum(len(piece.stamps.year) for piece in group), -1)
    slot[axis.index[axis.index >= 0]] = np.flatnonzero(axis.index >= 0)
    made: dict[int, Layout] = {}
    begin = 0
    for piece in group:
        mine = slot[begin : begin + len(piece.stamps.year)]
        begin += len(mine)
        times = axis.times[mine]
        if init is None:
            start, lead = times, np.ones(len(mine), int)
        else:
            start = np.full(len(mine), init)
            lead = np.array([steps_between(init, time, axis.step) + 1 for time in times])
        dims, shape = ((piece.dim,), (len(mine),)) if piece.dim else ((), ())
        kind = Kind(axis.instant)
        made[piece.number] = Layout(dims, shape, start, np.where(mine < 0, 0, lead), axis.step, kind, piece.member_dim, piece.member)
    return made
