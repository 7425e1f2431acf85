"""The pieces of a record: one variable of one file as a field in canonical space, and the steps that the file holds of it.

A piece of a record may lie in the layout of a forecast, as the truth that was cut out for each start of a hindcast does: then each
start and lead is a step, and those that come twice are doubled times like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr

from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.prepare.forecasts.layout import forecast_roles, layout_of
from ensemble.prepare.missing import Missing
from ensemble.prepare.names import alone, bounds_of, roles, variable_of
from ensemble.prepare.space.circle import index
from ensemble.prepare.space.grid import cell_area, spatial, within
from ensemble.prepare.time.clock import Dates, dates, ends
from ensemble.prepare.time.steps import step_named
from ensemble.task import Array, shift

KEPT = ("standard_name", "long_name", "units", "cell_methods")  # of the attributes: what describes, not how it was stored


@dataclass(frozen=True)
class Wanted:
    """What a record takes of each file, and what is said in the place of a file that does not say it, or not clearly."""

    variable: str | None = None
    units: str | None = None
    units_are: str | None = None
    missing_value: Missing = None
    level: float | None = None
    latitude: tuple[float, float] | None = None
    longitude: tuple[float, float] | None = None
    grid: float | None = None
    regrid: str | None = None
    first: str | None = None
    last: str | None = None
    time_step: str | None = None
    time_units: str | None = None
    calendar: str | None = None
    stamp: str | None = None
    lead_one: Literal["at", "after"] | None = None
    duplicates: str = "refuse"
    gaps: str = "refuse"


class Laid(NamedTuple):
    """How positions lie along the dimensions of time of a file: none, one, or start and lead."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]


class Steps(NamedTuple):
    """The steps that a file holds, in its own order: positions along its dimensions of time."""

    stamps: Dates  # (position,)
    bounds: tuple[Dates, Dates] | None
    laid: Laid
    begun: bool  # the stamps are beginnings of intervals for certain
    methods: str
    dtype: np.dtype[Any]


def steps_of(data: xr.Dataset, wanted: Wanted, *, where: str, notes: list[Finding]) -> Steps:
    """When the values of the wanted variable are."""
    name = variable_of(data, wanted.variable, where=where)
    found = roles(alone(data, name), where=where)
    methods = str(data[name].attrs.get("cell_methods", ""))
    if "init_time" in found and "lead_time" in found:
        step = step_named(wanted.time_step, where=where) if wanted.time_step else None
        layout = layout_of(alone(data, name), name, step, where=where, notes=notes, lead_one=wanted.lead_one)
        begin = shift(layout.init_time, layout.lead_time - 1, layout.step)
        stamps = dates(xr.Variable("time", begin), where=where, notes=[])
        return Steps(stamps, None, Laid(layout.dims, layout.shape), True, methods, data[name].dtype)
    if "time" not in found:
        raise InputError(f"{where}: {name} has no time among {', '.join(map(str, data[name].coords)) or 'no coordinates'}; name one in CF")
    time = data[found["time"]]
    if time.ndim > 1 or not set(time.dims) <= set(data[name].dims):
        raise InputError(f"{where}: the time {time.name} has the dimensions {time.dims}, and {name} has {data[name].dims}; one is needed")
    bounds = bounds_of(data, str(time.name))
    settings = {"units": wanted.time_units, "calendar": wanted.calendar}
    both = None if bounds is None else ends(data[bounds], time, where=where, notes=notes, **settings)
    laid = Laid(tuple(map(str, time.dims)), tuple(time.shape))
    stamps = dates(time, where=where, notes=notes, **settings)
    stamps, both = (stamps, both) if time.ndim else (_one(stamps), both and (_one(both[0]), _one(both[1])))
    return Steps(stamps, both, laid, False, methods, data[name].dtype)


def field_of(data: xr.Dataset, wanted: Wanted, dims: tuple[str, ...], *, where: str, notes: list[Finding]) -> xr.DataArray:
    """(*dims, latitude, longitude) of the wanted variable, level and region, nothing loaded; cell areas of the file are beside it."""
    name = variable_of(data, wanted.variable, where=where)
    own = alone(data, name)
    found = forecast_roles(own, where=where) if len(dims) > 1 else roles(own, where=where)
    field = at_level(own[name], found, wanted.level, where, notes)
    space = {dim for role in ("latitude", "longitude", "station") if role in found for dim in _dims(data, found[role])}
    for dim in [dim for dim in field.dims if dim not in space and dim not in dims]:
        if field.sizes[dim] > 1:
            raise InputError(
                f"{where}: {name} has {field.sizes[dim]} values along {dim}, for which a record has no place; keep one of them in the file"
            )
        field = field.isel({dim: 0})
    field = spatial(field, found, where=where, notes=notes)
    area = cell_area(data, name, found, where=where, notes=notes)
    if area is not None:
        field = field.assign_coords(cell_area=area.drop_vars(["latitude", "longitude"], errors="ignore"))
    field = field if wanted.grid else in_region(field, wanted, where=where)
    aside = [each for each in field.coords if each not in field.dims and each not in ("latitude", "longitude", "cell_area")]
    return field.drop_vars(aside).transpose(*dims, ...)


def in_region(field: xr.DataArray, wanted: Wanted, *, where: str) -> xr.DataArray:
    """The part of a field (..., latitude, longitude) that lies in the wanted box."""
    if wanted.latitude is None and wanted.longitude is None:
        return field
    if not {"latitude", "longitude"} <= set(field.dims):
        raise InputError(f"{where}: {field.name} is on no regular grid, from which `latitude:` and `longitude:` could cut; use `regions:`")
    coords = {dim: field[dim].values for dim in ("latitude", "longitude")}
    return field.isel({dim: index(each) for dim, each in within(coords, wanted.latitude, wanted.longitude, where=where).items()})


def taken(field: xr.DataArray, laid: Laid, positions: Array) -> xr.DataArray:
    """(time, ...) at some positions of a file, loaded in one go; without a coordinate of time."""
    if not laid.dims:
        return field.expand_dims("time").load()
    along = np.unravel_index(positions, laid.shape)
    needed = {dim: np.unique(each) for dim, each in zip(laid.dims, along, strict=True)}
    cut = field.isel({dim: index(each) for dim, each in needed.items()}).drop_vars(laid.dims, errors="ignore").load()
    if len(along) == 1 and np.array_equal(needed[laid.dims[0]], positions):
        return cut.rename({dim: "time" for dim in laid.dims if dim != "time"})
    place = {dim: xr.DataArray(np.searchsorted(needed[dim], each), dims="time") for dim, each in zip(laid.dims, along, strict=True)}
    return cut.isel(place).transpose("time", ...)


def _one(stamp: Dates) -> Dates:
    """A single date as the only one along time."""
    year, month, day, second, offset = (np.atleast_1d(each) for each in (*stamp[:4], stamp.offset))
    return Dates(year, month, day, second, stamp.calendar, offset)


def _dims(data: xr.Dataset, name: str) -> tuple[str, ...]:
    return tuple(map(str, data[name].dims)) if name in data.variables else (name,)


def at_level(field: xr.DataArray, found: Mapping[str, str], level: float | None, where: str, notes: list[Finding]) -> xr.DataArray:
    """One level; the only one where there is one, else the one that is asked for."""
    name = found.get("level")
    if name is None or name not in field.coords or field[name].ndim == 0:
        return field
    held, units = field[name].values.astype(float), field[name].attrs.get("units", "")
    levels = f"{', '.join(f'{each:g}' for each in held)} {units}".strip()
    if level is None and len(held) > 1:
        raise InputError(f"{where}: {field.name} has {len(held)} levels ({levels}); say which: `level: {held[0]:g}`")
    at = np.flatnonzero(np.isclose(held, held[0] if level is None else level, rtol=1e-6, atol=1e-9))
    if len(at) != 1:
        raise InputError(f"{where}: {field.name} has no level {level:g}; it has {levels}; mend `level:`")
    notes.append(Finding("level", where, levels, f"{held[at[0]]:g} {units} is taken".replace("  ", " ")))
    return field.isel({field[name].dims[0]: int(at[0])})
