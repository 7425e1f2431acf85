"""Which step of which start each position of a forecast file is, in whatever layout it was written.

Whatever depends on time (start, lead, valid time, their bounds) is spread over the dimensions that any of it runs along, so that a
table of starts and leads, one start a file, and a list of single forecasts are the same thing: positions, each with a start and
a step. The step is where its bounds say; without them the stamp of its valid time and the name and numbers of its lead are two
witnesses (`ensemble.prepare.forecasts.leads`), who must agree, and one of whom must know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr

from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.prepare.forecasts.leads import Kind, LeadOne, begun, kind_of, lead_of, times_of
from ensemble.prepare.forecasts.starts import issue_of
from ensemble.prepare.forecasts.witness import Rule, Told, counted_from, steps_told
from ensemble.prepare.names import bounds_of, roles
from ensemble.prepare.time.clock import dates, ends
from ensemble.prepare.time.dates import Dates, later, serial, taken, text
from ensemble.prepare.time.steps import said, step_of
from ensemble.task import Array, Times, unit_of

Label = int | str  # of a member
Onto = tuple[tuple[str, ...], tuple[int, ...]]  # dimensions and their sizes


class Layout(NamedTuple):
    """What each position of one file is: `dims` are its dimensions of time, and positions count through their `shape`."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    init_time: Times  # (position,)
    lead_time: Array  # (position,): whole steps, 1 the first from the start; what is 0 or less had begun before it
    step: np.timedelta64
    kind: Kind
    member_dim: str | None
    member: tuple[Label, ...]


def layout_of(
    data: xr.Dataset, variable: str, step: np.timedelta64 | None, *, where: str, notes: list[Finding], lead_one: LeadOne | None = None,
    accumulated: bool | None = None, stamp: str | None = None, default_step: np.timedelta64 | None = None,
) -> Layout:  # fmt: skip
    """The layout of a file that knows its starts; InputError where a step can be one or another, with the setting that says which.

    `stamp` is "instant" where the values are of instants and the file does not say so. `step` is believed against the file,
    `default_step` where it tells of none.
    """
    found = forecast_roles(data, where=where)
    member_dim, member = members_of(data, variable, found, where=where)
    issue, along = issue_of(data, found["init_time"], member_dim, where=where, notes=notes)
    dims = _dims(data, variable, found, along, member_dim)
    shape = tuple(data[variable].sizes[dim] for dim in dims)
    told = _told(data, found, _spread(issue, along, (dims, shape)), (dims, shape), where, notes)
    own = _own_step(told, data[found["init_time"]], where)
    if step is None and own is None and default_step is not None:
        notes.append(Finding("step", where, "not said", f"{said(default_step)}, as of the truth"))
    step = step or own or default_step
    if step is None:
        raise InputError(f"{where}: nothing says how long the steps of its leads are; write `step: month`")
    names = {found[role] for role in ("init_time", "lead_time", "valid_time") if role in found}
    kind = kind_of(data[variable], names, own or step, bounded=told.bounds is not None, accumulated=accumulated, stamp=stamp)
    rule = Rule(step, kind, lead_one, where)
    steps = steps_told(told, rule, notes)
    init, lead = counted_from(told.issue, steps.begin, rule)
    lead = np.where(steps.whole, lead, 0)
    _aligned(steps.begin[steps.whole], step, where)
    _say(told.issue, init, lead, steps.whole, step, where, notes)
    return Layout(dims, shape, times_of(init, step), lead, step, kind, member_dim, member)


def forecast_roles(data: xr.Dataset, *, where: str) -> dict[str, str]:
    """As `names.roles`, of a forecast: the time beside a start is the valid time, and of a reforecast `hdate` says the year of it."""
    if "hdate" in data.variables:
        found = roles(data.drop_vars("hdate"), where=where)
        if found.get("init_time", "hdate") == "hdate":
            found["init_time"] = found.pop("time", "hdate")
    else:
        found = roles(data, where=where)
    if "init_time" in found and "time" in found and "valid_time" not in found:
        found["valid_time"] = found.pop("time")
    return found


def members_of(data: xr.Dataset, variable: str, found: Mapping[str, str], *, where: str) -> tuple[str | None, tuple[Label, ...]]:
    """The dimension of the members and their labels; a file without one holds a single member, 0 if it has no other name."""
    name = found.get("member")
    if name is None:
        return None, (0,)
    if name not in data.variables:
        return name, tuple(range(data[variable].sizes[name]))
    labels = [each.decode() if isinstance(each, bytes) else each for each in np.atleast_1d(data[name].values).tolist()]
    plain = tuple(each.strip() if isinstance(each, str) else int(each) if each == int(each) else str(each) for each in labels)
    if len(set(plain)) < len(plain):
        raise InputError(f"{where}: {name} names a member twice: {', '.join(map(str, plain))}; give each its own number")
    dim = str(data[name].dims[0]) if data[name].dims else None
    return (dim, plain) if dim is None or dim in data[variable].dims else (None, (0,))


def _dims(data: xr.Dataset, variable: str, found: Mapping[str, str], along: tuple[str, ...], member: str | None) -> tuple[str, ...]:
    """The dimensions of the variable that any of its times runs along, in its own order."""
    timed = set(along)
    for role in ("lead_time", "valid_time"):
        name = found.get(role)
        timed |= {str(dim) for dim in data[name].dims} if name in data.variables else {str(name)}
    return tuple(str(dim) for dim in data[variable].dims if dim in timed and dim != member)


def _told(data: xr.Dataset, found: Mapping[str, str], issue: Dates, onto: Onto, where: str, notes: list[Finding]) -> Told:
    """Everything at every position; where there is no valid time, start and lead make one."""
    told = Told(issue, None, None, None)
    if "lead_time" in found:
        told = _by_leads(told, data, found["lead_time"], onto, where)
    if "valid_time" in found:
        of, beside = data[found["valid_time"]], bounds_of(data, found["valid_time"])
        along = tuple(map(str, of.dims))
        told = told._replace(stamp=_spread(dates(of, where=where, notes=notes), along, onto))
        if beside is not None:
            low, high = ends(data[beside], of, where=where, notes=notes)
            told = told._replace(bounds=(_spread(low, along, onto), _spread(high, along, onto)))
    if told.lead is None and told.stamp is None:
        raise InputError(f"{where}: has starts ({found['init_time']}) but neither leads nor valid times; add a coordinate `lead_time`")
    return told


def _by_leads(told: Told, data: xr.Dataset, name: str, onto: Onto, where: str) -> Told:
    """What leads tell, with the valid times and bounds that they make; without a coordinate they count from 1."""
    of = data[name] if name in data.variables else xr.DataArray(np.arange(1, data.sizes[name] + 1), dims=name, name=name)
    along, beside = tuple(map(str, of.dims)), bounds_of(data, name)
    lead = lead_of(of, where=where)
    lead = lead._replace(value=spread(lead.value, along, onto))
    told = told._replace(lead=lead, stamp=None if lead.counts else later(told.issue, lead.value, lead.unit, where=where))
    if beside is None or not lead.unit:
        return told
    low, high = (later(told.issue, spread(data[beside].values[..., i], along, onto), lead.unit, where=where) for i in (0, 1))
    return told._replace(bounds=(low, high))


def spread(values: Array, along: tuple[str, ...], onto: Onto) -> Array:
    """Values along some dimensions, repeated over all of them and laid out in one row."""
    dims, shape = onto
    order = [along.index(dim) for dim in dims if dim in along]
    moved = np.transpose(values, order).reshape([size if dim in along else 1 for dim, size in zip(dims, shape, strict=True)])
    return np.broadcast_to(moved, shape).ravel()


def _spread(given: Dates, along: tuple[str, ...], onto: Onto) -> Dates:
    year, month, day, second, offset = (spread(each, along, onto) for each in np.broadcast_arrays(*given[:4], given.offset))
    return Dates(year, month, day, second, given.calendar, offset)


def _own_step(told: Told, start: xr.DataArray, where: str) -> np.timedelta64 | None:
    """The step that the file's own bounds, stamps or leads are apart; None where they do not say."""
    if told.bounds is not None:
        return step_of(told.bounds[0], told.bounds, where=where)
    lead = told.lead
    if lead is not None and lead.unit in ("month", "year"):
        apart = np.diff(np.unique(lead.value))
        count = int(apart.min()) if len(apart) and apart.min() >= 1 else 1
        months = count * (12 if lead.unit == "year" else 1)
        return np.timedelta64(months // 12, "Y") if months % 12 == 0 else np.timedelta64(months, "M")
    if told.stamp is not None:
        issued = serial(told.issue)
        one = taken(told.stamp, issued == issued[0])
        if len(np.unique(serial(one))) > 1:
            return step_of(one, None, where=where)
    years = start.dtype.kind in "iuf" and "units" not in start.attrs and bool((np.abs(start.values) < 10000).all())
    return np.timedelta64(1, "Y") if years else None


def _aligned(begin: Array, step: np.timedelta64, where: str) -> None:
    """InputError where steps do not begin with a whole unit, a day at midnight: the record could not be told apart from another."""
    unit = unit_of(step)[0]
    times = times_of(begin, step)
    off = times != times.astype(f"datetime64[{unit}]")
    if off.any():
        raise InputError(f"{where}: steps of {said(step)} begin at {times[off][0]}; only those that begin with a whole unit can be scored")


def _say(issue: Dates, init: Array, lead: Array, kept: Array, step: np.timedelta64, where: str, notes: list[Finding]) -> None:
    if (late := begun(issue, step)).any():
        begins = times_of(init[late], step)[0].astype("datetime64[D]")
        notes.append(Finding("init_time", where, f"issued on {text(taken(issue, late))}", f"the first whole step begins on {begins}"))
    if not kept.all():
        notes.append(Finding("lead_time", where, f"{(~kept).sum()} leads are no whole steps of {said(step)}", "left out"))
    if (early := kept & (lead < 1)).any():
        notes.append(Finding("lead_time", where, f"{early.sum()} steps had begun when the forecast was issued", "left out"))
