"""Many files as one record: looked at once for their times, then read a step at a time, each file only when it is needed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.prepare.files.blocks import AXIS
from ensemble.prepare.files.opening import opened, short
from ensemble.prepare.files.pieces import KEPT, Laid, Steps, Wanted, field_of, in_region, steps_of, taken
from ensemble.prepare.missing import declared
from ensemble.prepare.space.match import aligned
from ensemble.prepare.space.regrid import common_grid, regridded
from ensemble.prepare.time.axis import Axis, axis_of
from ensemble.prepare.time.dates import joined
from ensemble.prepare.units import converted
from ensemble.task import Array, Times, shift


class Found(NamedTuple):
    """What the files hold: enough to read any step of it, in any process."""

    paths: tuple[str, ...]
    laid: tuple[Laid, ...]
    ends: Array  # (file,): positions up to the end of each file, counted through all of them
    axis: Axis
    like: xr.DataArray  # (latitude, longitude): the first step, in the form that all are to have
    notes: tuple[Finding, ...]

    @property
    def where(self) -> str:
        """What a message calls the files together."""
        return _together(self.paths)

    def file_of(self, position: Array) -> tuple[Array, Array]:
        """The file of each position, and the position in it."""
        number = np.searchsorted(self.ends, position, side="right")
        return number, position - np.concatenate([[0], self.ends])[number]

    def steps_at(self, times: Times) -> Array:
        """Where `times` stand in the record; InputError for one that is not in it."""
        record = self.axis.times
        at = np.minimum(np.searchsorted(record, times), len(record) - 1)
        absent = record[at] != times
        if absent.any():
            raise InputError(f"{self.where}: there is no step at {times[absent][0]}; the record goes from {record[0]} to {record[-1]}")
        return np.asarray(at)


def survey(paths: Sequence[str], wanted: Wanted) -> Found:
    """One look into each file for its times, and the first step there is for the form of all."""
    notes: list[Finding] = []
    steps = []
    for path in paths:
        with opened(path) as data:
            steps.append(steps_of(data, wanted, where=short(path), notes=notes))
    ends = np.cumsum([each.stamps.year.size for each in steps])
    none = Axis(np.empty(0, "datetime64[s]"), np.timedelta64(1, "D"), np.empty(0, int), "", False)
    found = Found(tuple(paths), tuple(each.laid for each in steps), ends, none, xr.DataArray(), ())
    found = found._replace(axis=_within(_axis(found, steps, wanted, notes), wanted, found.where))
    there = np.flatnonzero(found.axis.index >= 0)[:1]
    part = _part(found, wanted, found.axis.index[there], found.axis.times[there], wanted.units, notes)
    like = part.isel(time=0, drop=True).astype(np.result_type(np.float32, *(each.dtype for each in steps)))
    like.attrs = {key: value for key, value in part.attrs.items() if key in KEPT}
    return found._replace(like=like, notes=_gathered(notes))


def read(found: Found, wanted: Wanted, times: Times) -> xr.Dataset:
    """The record at `times`, from the files themselves: each is opened once, and steps that none holds are missing."""
    position = found.axis.index[found.steps_at(times)]
    number, _ = found.file_of(position)
    values = np.full((len(times), *found.like.shape), np.nan, found.like.dtype)
    space = {str(name): each.values for name, each in found.like.coords.items() if name != "cell_area"}
    for file in np.unique(number[position >= 0]):
        here = np.flatnonzero((number == file) & (position >= 0))
        part = _part(found, wanted, position[here], times[here], found.like.attrs["units"], [])
        values[here] = aligned(part, space, where=short(found.paths[file])).values
    coords = {"time": ("time", times, AXIS), **found.like.coords}
    return xr.Dataset({str(found.like.name): (("time", *found.like.dims), values, found.like.attrs)}, coords)


def _part(found: Found, wanted: Wanted, position: Array, times: Times, units: str | None, notes: list[Finding]) -> xr.DataArray:
    """(time, ...) at positions of one file, every value understood."""
    number, at = found.file_of(position)
    path, laid = found.paths[number[0]], found.laid[number[0]]
    where = short(path)
    with opened(path) as data:
        field = taken(field_of(data, wanted, laid.dims, where=where, notes=notes), laid, at)
    field = declared(field.assign_coords(time=times), where=where, notes=notes, missing_value=wanted.missing_value)
    step, calendar = found.axis.step, found.axis.calendar
    field = converted(field, units, where=where, notes=notes, assumed=wanted.units_are, step=step, calendar=calendar)
    return field if wanted.grid is None else _on_common_grid(field, wanted, where, notes)


def _on_common_grid(field: xr.DataArray, wanted: Wanted, where: str, notes: list[Finding]) -> xr.DataArray:
    if wanted.grid is None or wanted.regrid is None:
        raise InputError(f"{where}: `grid: {wanted.grid}` does not say how; write `regrid: conservative`, bilinear or nearest")
    notes.append(Finding("grid", where, " x ".join(map(str, field.shape[1:])), f"{wanted.regrid} to {wanted.grid:g} degrees"))
    return in_region(regridded(field, common_grid(wanted.grid), wanted.regrid, where=where), wanted, where=where)


def _axis(found: Found, steps: list[Steps], wanted: Wanted, notes: list[Finding]) -> Axis:
    where, bounds = found.where, [each.bounds for each in steps if each.bounds is not None]
    if bounds and len(bounds) < len(steps) and wanted.stamp is None:
        raise InputError(f"{where}: {len(bounds)} of {len(steps)} files have bounds of time; set `stamp:` to go without them")
    begins, afters = ([pair[side] for pair in bounds] for side in (0, 1))
    both = (joined(begins, where=where), joined(afters, where=where)) if len(bounds) == len(steps) else None
    return axis_of(
        joined([each.stamps for each in steps], where=where), both, where=where, notes=notes,
        same=lambda one, other: _same(found, wanted, one, other), step=wanted.time_step,
        stamp="start" if all(each.begun for each in steps) else wanted.stamp, duplicates=wanted.duplicates, gaps=wanted.gaps,
        methods=steps[0].methods,
    )  # fmt: skip


def _same(found: Found, wanted: Wanted, *positions: int) -> bool:
    """Whether two positions hold the same numbers."""
    both = []
    for position in positions:
        number, at = found.file_of(np.array([position]))
        path, laid = found.paths[number[0]], found.laid[number[0]]
        with opened(path) as data:
            both.append(taken(field_of(data, wanted, laid.dims, where=short(path), notes=[]), laid, at).values)
    return np.array_equal(both[0], both[1], equal_nan=both[0].dtype.kind == "f")


def _within(axis: Axis, wanted: Wanted, where: str) -> Axis:
    """The steps from `first` to `last`, as precise as they are written."""
    try:
        first, last = (None if day is None else np.datetime64(day) for day in (wanted.first, wanted.last))
    except ValueError as error:
        raise InputError(f"{where}: first {wanted.first} and last {wanted.last} must be dates such as 1991-01 or 1991-01-15") from error
    kept = np.ones(len(axis.times), bool)
    kept &= True if first is None else axis.times >= first
    kept &= True if last is None else axis.times < last + 1
    if not (axis.index[kept] >= 0).any():
        raise InputError(f"{where}: nothing lies from {first} to {last}; it goes from {axis.times[0]} to {axis.times[-1]}")
    return dataclasses.replace(axis, times=axis.times[kept], index=axis.index[kept])


def _gathered(notes: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings, those that many files share as one line."""
    shared: dict[tuple[str, str, str], list[str]] = {}
    for each in notes:
        shared.setdefault((each.what, each.found, each.done), []).append(each.where)
    return tuple(Finding(what, _together(where), found, done) for (what, found, done), where in shared.items())


def _together(paths: Sequence[str]) -> str:
    return short(paths[0]) + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")


def as_dataset(found: Found) -> xr.Dataset:
    """What was found in a form that can be written."""
    axis = found.axis
    told = {
        "paths": found.paths, "laid": found.laid, "step": [int(axis.step.astype(int)), np.datetime_data(axis.step)],
        "first": str(axis.times[0]), "calendar": axis.calendar, "instant": bool(axis.instant), "notes": found.notes,
        "name": str(found.like.name),
    }  # fmt: skip
    data = found.like.rename("like").to_dataset()
    return data.assign(index=("step", axis.index), ends=("file", found.ends)).assign_attrs(found=json.dumps(told))


def from_dataset(data: xr.Dataset) -> Found:
    """What `as_dataset` wrote."""
    told: dict[str, Any] = json.loads(data.attrs["found"])
    count, (unit, per) = told["step"]
    step, index = np.timedelta64(count * per, unit), data["index"].values
    axis = Axis(shift(np.datetime64(told["first"]), np.arange(len(index)), step), step, index, told["calendar"], told["instant"])
    laid, notes = (Laid(tuple(dims), tuple(shape)) for dims, shape in told["laid"]), (Finding(*each) for each in told["notes"])
    return Found(tuple(told["paths"]), tuple(laid), data["ends"].values, axis, data["like"].rename(told["name"]), tuple(notes))
