"""Forecast files of another system: what they hold, and reading of it in the units and on the grid of a record.

A process looks through the files once and remembers what it found. They are opened for each read, and closed after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import xarray as xr

from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.prepare.files.opening import listed, opened, short, stamp
from ensemble.prepare.files.pieces import at_level
from ensemble.prepare.forecasts.inventory import Inventory, Reading
from ensemble.prepare.forecasts.layout import Label, forecast_roles
from ensemble.prepare.forecasts.table import Hindcast, Members, read
from ensemble.prepare.missing import declared, members_with_data
from ensemble.prepare.names import alone, variable_of
from ensemble.prepare.space.grid import spatial
from ensemble.prepare.space.target import Points, brought, part_at, points_like
from ensemble.prepare.time.steps import months_in, said, seconds_in
from ensemble.prepare.units import converted
from ensemble.task import Array, Domain, Times, shift

BLOCK = 2**26  # bytes looked through at a time
SERIES = 12  # forecasts of which not one falls by chance


@dataclass(frozen=True)
class Shelf:
    """Forecast files and how they are to be read; frozen, so that a process can keep what it has found in them."""

    path: str | tuple[str, ...]
    variable: str | None = None
    units_are: str | None = None
    missing_value: float | Literal["none"] | None = None
    level: float | None = None
    regrid: str | None = None
    weights: str | None = None
    step: str | None = None
    stamp: str | None = None
    lead_one: Literal["at", "after"] | None = None
    accumulated: bool | None = None
    members: Members = None
    least_members: int = 1
    duplicates: str = "refuse"
    gaps: str = "refuse"
    default_step: str | None = None
    time_units: str | None = None
    calendar: str | None = None

    @property
    def hindcast(self) -> Hindcast:
        """Which starts, leads and members the files hold, and where."""
        return self._contents.hindcast

    @property
    def notes(self) -> tuple[Finding, ...]:
        """What was found in them, and done about it."""
        return self._contents.notes

    @property
    def _contents(self) -> _Contents:
        return _contents(self, _changes(self))

    def fits(self, domain: Domain, members: Sequence[Label] | None = None) -> tuple[Finding, ...]:
        """What is done to bring the forecasts to the domain, seen on the first; InputError where steps, units or grid do not fit."""
        held, lead = self.hindcast, min(domain.lead_times)
        if _length(held.step) != _length(domain.step):
            raise InputError(
                f"{held.where[0]}: the forecasts have steps of {said(held.step)}, the data of {said(domain.step)}; bring them to one "
                "step, or write `step:` if that of the files is another"
            )
        first = np.flatnonzero((held.place[:, held.columns(np.array([lead])), :, 0] >= 0).any(axis=(1, 2)))[:1]
        found: list[Finding] = []
        self.read(held.init_time[first], np.array([lead]), held.member if members is None else members, template(domain), found)
        return tuple(dict.fromkeys(found))

    def members_of(self, domain: Domain) -> tuple[tuple[Label, ...], tuple[Finding, ...]]:
        """The members that have data, and all that is done to bring them to the domain."""
        (column,) = self.hindcast.columns(np.array([min(domain.lead_times)]))
        members, notes = _with_data(self, int(column), _changes(self))
        return members, (*notes, *self.fits(domain, members))

    def read(
        self, init_time: Times, lead_time: Array, member: Sequence[Label], like: xr.DataArray, notes: list[Finding] | None = None
    ) -> xr.DataArray:
        """(init_time, lead_time, member, ...) named, in the units and at the points of `like` (init_time, lag, ...).

        Raises InputError for a start or a lead that no file holds, and for another grid unless `regrid` says how.
        """
        (paths, held, _), points = self._contents, points_like(like, 2)
        where, notes = held.where[0], [] if notes is None else notes
        starts, again = np.unique(init_time, return_inverse=True)  # a piece of starts is filled up with copies of its last
        found = read(held, _Opener(self, paths, points), held.rows(starts), held.columns(lead_time), member)
        found = declared(found, where=where, notes=notes, missing_value=self.missing_value)
        if self.accumulated is None and not held.kind.accumulated:
            _not_since_start(found, held.step, where)
        valid = shift(starts[:, None], np.asarray(lead_time)[None, :] - 1, held.step)
        found = found.assign_coords(valid_time=(("init_time", "lead_time"), valid))
        wanted = str(like.attrs["units"]) if "units" in like.attrs else None
        found = converted(found, wanted, where=where, notes=notes, assumed=self.units_are, step=held.step).drop_vars("valid_time")
        found = brought(found, points, 3, self.regrid, weights=self.weights, where=where, notes=notes)
        return found.isel(init_time=again).rename(like.name)


@dataclass(frozen=True)
class _Opener:
    """Opens one of the files at the variable, its space in order and cut to the points that are wanted, where it contains them."""

    shelf: Shelf
    paths: tuple[str, ...]
    points: Points | None = None

    @contextmanager
    def __call__(self, number: int) -> Iterator[xr.DataArray]:
        path = self.paths[number]
        with _opened(path, self.shelf) as data:
            field = _field(data, self.shelf, short(path), [])
            yield field if self.points is None or self.shelf.regrid or self.shelf.weights else part_at(field, self.points)


@contextmanager
def _opened(path: str, shelf: Shelf) -> Iterator[xr.Dataset]:
    """A file whose times are in the units and the calendar of the settings, where these are given."""
    told = {name: each for name, each in (("units", shelf.time_units), ("calendar", shelf.calendar)) if each is not None}
    with opened(path) as data:
        if told:
            found = forecast_roles(alone(data, variable_of(data, shelf.variable, where=short(path))), where=short(path))
            names = {found[role] for role in ("time", "init_time", "valid_time") if role in found} & set(data.variables)
            data = data.assign({name: data[name].assign_attrs(told) for name in names})
        yield data


def _field(data: xr.Dataset, shelf: Shelf, where: str, notes: list[Finding]) -> xr.DataArray:
    """The variable in an open file, at its level, its space in order."""
    name = variable_of(data, shelf.variable, where=where)
    data = alone(data, name)
    found = forecast_roles(data, where=where)
    field = data.set_coords([each for each in found.values() if each in data.variables])[name]
    told = field.attrs.get("units")
    if shelf.units_are is not None and told != shelf.units_are:  # of every file, whatever each says
        notes.append(Finding("units", where, f"{told or 'none'}, taken as {shelf.units_are}"))
        field = field.assign_attrs(units=shelf.units_are)
    return spatial(at_level(field, found, shelf.level, where, notes), found, where=where, notes=notes)


class _Contents(NamedTuple):
    paths: tuple[str, ...]
    hindcast: Hindcast
    notes: tuple[Finding, ...]


def _changes(shelf: Shelf) -> str:
    """Of the files as they are now: where they have changed they are looked at again."""
    return "\n".join(map(stamp, listed(shelf.path, where="archive")))


@lru_cache(maxsize=64)
def _contents(shelf: Shelf, changes: str) -> _Contents:
    """What the files hold, from their coordinates, and what there was to say about it."""
    files = listed(shelf.path, where="archive")
    seen = Inventory(Reading(**{each.name: getattr(shelf, each.name) for each in fields(Reading)}))
    for path in files:
        with _opened(path, shelf) as data:
            seen.look(data, where=short(path))
            if path == files[0]:
                _field(data, shelf, short(path), seen.notes)
    return _Contents(files, seen.hindcast(_Same(shelf, files)), tuple(dict.fromkeys(seen.notes)))


@dataclass(frozen=True)
class _Same:
    """Whether two places along the time of two files hold the same values."""

    shelf: Shelf
    paths: tuple[str, ...]

    def __call__(self, one: int, place: int, other: int, there: int) -> bool:
        values = []
        for number, at in ((one, place), (other, there)):
            with _opened(self.paths[number], self.shelf) as data:
                name = variable_of(data, self.shelf.variable, where="")
                time = data[forecast_roles(alone(data, name), where="")["time"]].dims
                values.append(data[name].isel({dim: at for dim in time}).values)
        return values[0].shape == values[1].shape and bool(np.array_equal(values[0], values[1], equal_nan=True))


@lru_cache(maxsize=64)
def _with_data(shelf: Shelf, column: int, changes: str) -> tuple[tuple[Label, ...], tuple[Finding, ...]]:
    """The members that hold something at one lead of the starts, looked through a block of starts at a time."""
    (paths, held, _), notes = _contents(shelf, changes), list[Finding]()
    opener, where = _Opener(shelf, paths), held.where[0]
    name, present = "", []
    with opener(0) as field:
        one = field.size * 8 // max(1, int(np.prod(held.files[0].shape)))
    for rows in np.array_split(np.arange(len(held.init_time)), max(1, len(held.init_time) * one // BLOCK)):
        block = declared(read(held, opener, rows, np.array([column])), where=where, notes=[], missing_value=shelf.missing_value)
        present.append(np.isfinite(block.values).any(tuple(range(3, block.ndim)))[:, 0])
        name = str(block.name)
    there: Array = np.concatenate(present)
    table = xr.DataArray(np.where(there, 1.0, np.nan), {"member": list(held.member)}, ("init_time", "member"), name)
    kept = members_with_data(table, where=where, notes=notes, least=shelf.least_members)
    there = np.isfinite(kept.values) | ~there.any(axis=1, keepdims=True)  # a start without any data lacks no member
    labels = tuple(kept["member"].values.tolist())
    always: Array = np.all(there, axis=0)
    if always.all() or shelf.members == "common":
        return tuple(label for label, every in zip(labels, always, strict=True) if every), tuple(notes)
    row = int(np.flatnonzero(~np.all(there, axis=1))[0])
    raise InputError(
        f"{where}: the forecast of {str(held.init_time[row])[:10]} has data of {there[row].sum()} members, others of {len(labels)}; write "
        f"`members: common` for the {always.sum()} that all have"
    )


def _not_since_start(found: xr.DataArray, step: np.timedelta64, where: str) -> None:
    """InputError where amounts of rain or energy never fall along the lead: they must have been summed since the start."""
    amount = str(found.attrs.get("units", "")).replace("**", "").replace("^", "").lower() in ("kg m-2", "mm", "m", "j m-2")
    if not amount or months_in(step) or found.sizes["lead_time"] < 3:
        return
    grown = np.diff(found.values, axis=1)
    if np.isfinite(grown[:, 0]).sum() >= SERIES and not (grown < 0).any() and (grown > 0).any():
        raise InputError(
            f"{where}: {found.name} never falls along the lead, as sums since the start do; write `accumulated: true` if they are, "
            "`accumulated: false` if not"
        )


def template(domain: Domain) -> xr.DataArray:
    """(init_time, lag, ...), empty: the name, the units and the points that forecasts are to be brought to."""
    field = domain.fields[domain.target]
    dims, shape = ("init_time", "lag", *field.dims), (0, 0, *field.mask.shape)
    return xr.DataArray(np.empty(shape), {**field.coords, **field.places}, dims, domain.target, dict(field.attrs))


def _length(step: np.timedelta64) -> tuple[int, int]:
    return months_in(step), 0 if months_in(step) else seconds_in(step)
