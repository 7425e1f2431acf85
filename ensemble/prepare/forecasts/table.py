"""All files of a hindcast as one table of starts, leads and members, and the reading of some of them.

What a file holds is known from its coordinates alone (`Layout`). Files may hold a start each, a member each, both, all, or a
piece of a simulation, which is a forecast of one step from every step. The table says for each start, lead and block of members
in which file and where in it the numbers lie, and a worker reads what it is asked for and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Literal, NamedTuple

import numpy as np
import xarray as xr

from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.prepare.forecasts.layout import Label, Layout
from ensemble.prepare.forecasts.leads import Kind
from ensemble.prepare.space.circle import SPACE
from ensemble.prepare.space.match import aligned
from ensemble.prepare.units import converted
from ensemble.task import Array, Times

Members = int | tuple[Label, ...] | Literal["common", "files"] | None
Opener = Callable[[int], AbstractContextManager[xr.DataArray]]  # the number of a file -> its variable, not loaded


class Hindcast(NamedTuple):
    """What the files hold: start i at lead j of the members of block k lies at `place[i, j, k]` = (file, position), -1 for nowhere."""

    init_time: Times  # (init_time,): the first instant not seen, ascending
    lead_time: Array  # (lead_time,): whole steps, 1 the first from init_time
    step: np.timedelta64
    member: tuple[Label, ...]
    kind: Kind
    place: Array  # (init_time, lead_time, block, 2)
    files: tuple[Layout, ...]
    where: tuple[str, ...]  # the name of each file

    def rows(self, init_time: Times) -> Array:
        """Where starts stand in the table; InputError for one that no file holds."""
        return _found(self.init_time, init_time, "start", self.where)

    def columns(self, lead_time: Array) -> Array:
        """Where leads stand in the table; InputError for one that no file holds."""
        return _found(self.lead_time, np.asarray(lead_time), "lead", self.where)


def joined(layouts: Sequence[Layout], *, where: Sequence[str], notes: list[Finding], members: Members = None) -> Hindcast:
    """One table of all files; InputError where they overlap, differ in their steps, or have more members at one start than at another."""
    _alike(layouts, where)
    labels = _blocks(layouts)
    used = [each.lead_time >= 1 for each in layouts]
    init = np.unique(np.concatenate([each.init_time[use] for each, use in zip(layouts, used, strict=True)]))
    lead = np.unique(np.concatenate([each.lead_time[use] for each, use in zip(layouts, used, strict=True)]))
    if not init.size:
        raise InputError(f"{_named(where)}: no step begins after its forecast was issued; see `lead_one` and `step`")
    place = np.full((len(init), len(lead), len(labels), 2), -1, np.int32)
    for number, (each, use) in enumerate(zip(layouts, used, strict=True)):
        row, column = np.searchsorted(init, each.init_time[use]), np.searchsorted(lead, each.lead_time[use])
        _once(place, row, column, labels.index(each.member), init, number, where)
        place[row, column, labels.index(each.member)] = np.stack([np.full(use.sum(), number), np.flatnonzero(use)], -1)
    present: Array = np.any(place[..., 0] >= 0, axis=1)
    kept = _members(labels, present, init, members, where, notes)
    return Hindcast(init, lead, layouts[0].step, kept, layouts[0].kind, place, tuple(layouts), tuple(where))


def read(hindcast: Hindcast, opened: Opener, rows: Array, columns: Array, member: Sequence[Label] | None = None) -> xr.DataArray:
    """(init_time, lead_time, member, ...) of some starts and leads, NaN where no file holds them; each file is opened once."""
    columns = np.asarray(columns)
    if not hindcast.kind.accumulated:
        return _gathered(hindcast, opened, rows, columns, member)
    before = np.searchsorted(hindcast.lead_time, hindcast.lead_time[columns] - 1)
    first = hindcast.lead_time[columns] == 1
    lacking = ~first & (hindcast.lead_time[before] != hindcast.lead_time[columns] - 1)
    if lacking.any():
        lead = hindcast.lead_time[columns][lacking][0]
        raise InputError(
            f"{_named(hindcast.where)}: lead {lead} is accumulated since the start, and lead {lead - 1} to take off it is not there"
        )
    needed = np.unique(np.concatenate([columns, before[~first]]))
    total = _gathered(hindcast, opened, rows, needed, member)
    late = total.isel(lead_time=np.searchsorted(needed, columns))
    early = total.isel(lead_time=np.searchsorted(needed, np.where(first, columns, before))).values
    early = np.where(first[:, None].reshape(1, -1, *[1] * (total.ndim - 2)), 0.0, early)
    return late.copy(data=_grown(late.values - early, total, hindcast.where))


def _grown(amount: Array, total: xr.DataArray, where: Sequence[str]) -> Array:
    """Amounts of each step; a sum of what cannot be negative may shrink by the rounding of its packing only."""
    if not np.nanmin(total.values, initial=0.0) < 0:
        least, rounding = np.nanmin(amount, initial=0.0), 1e-4 * np.nanmax(total.values, initial=0.0)
        if least < -rounding:
            raise InputError(
                f"{_named(where)}: {total.name} falls by {-least:.4g} along the lead, so it is not accumulated since the start; "
                "write `accumulated: false`"
            )
        amount = np.where(amount < 0, 0.0, amount)
    return amount


def _gathered(hindcast: Hindcast, opened: Opener, rows: Array, columns: Array, member: Sequence[Label] | None) -> xr.DataArray:
    """As `read`, of what the files hold as it stands."""
    wanted = list(hindcast.member if member is None else member)
    table = hindcast.place[rows][:, columns]
    made: xr.DataArray | None = None
    for number in np.unique(table[..., 0][table[..., 0] >= 0]):
        layout = hindcast.files[number]
        row, column, block = np.nonzero(table[..., 0] == number)
        labels = [label for label in layout.member if label in wanted]
        with opened(int(number)) as field:
            part = _taken(field, layout, table[row, column, block, 1], labels)
        if made is None:
            made = _empty(part, hindcast, rows, columns, wanted)
        else:
            part = _like(part, made, hindcast.where[number])
        made.values[row[:, None], column[:, None], [[wanted.index(label) for label in labels]]] = part.values
    if made is None:
        raise InputError(f"{_named(hindcast.where)}: holds none of the starts and leads that are asked for")
    return made


def _like(part: xr.DataArray, first: xr.DataArray, where: str) -> xr.DataArray:
    """(position, member, ...) of one file in the units and at the points of the first; InputError where it is of another kind."""
    space = {str(dim): first[dim].values for dim in (*first.dims[3:], *SPACE) if dim in first.coords}
    part, units = aligned(part, space, where=where), first.attrs.get("units")
    return part if part.attrs.get("units") == units else converted(part, units, where=where, notes=[])


def _empty(like: xr.DataArray, hindcast: Hindcast, rows: Array, columns: Array, member: list[Label]) -> xr.DataArray:
    space = [str(dim) for dim in like.dims[2:]]
    coords = {"init_time": hindcast.init_time[rows], "lead_time": hindcast.lead_time[columns], "member": member}
    placed = {name: each.variable for name, each in like.coords.items() if each.dims and set(each.dims) <= set(space)}
    shape = (len(rows), len(columns), len(member), *like.shape[2:])
    dims = ("init_time", "lead_time", "member", *space)
    return xr.DataArray(np.full(shape, np.nan, like.dtype), {**coords, **placed}, dims, like.name, dict(like.attrs))


def _taken(field: xr.DataArray, layout: Layout, positions: Array, labels: list[Label]) -> xr.DataArray:
    """(position, member, ...): read from the file in one hyperslab, however the positions lie."""
    index = np.unravel_index(positions, layout.shape) if layout.dims else ()
    needed = {dim: np.unique(each) for dim, each in zip(layout.dims, index, strict=True)}
    cut = field.isel({dim: _regular(each) for dim, each in needed.items()})
    if layout.member_dim is not None:
        cut = cut.isel({layout.member_dim: _regular(np.array([layout.member.index(label) for label in labels]))})
        cut = cut.rename({layout.member_dim: "member"})
    else:
        cut = cut.expand_dims("member")
    cut = cut.drop_vars([name for name, each in cut.coords.items() if {*layout.dims, "member"} & set(each.dims)]).load()
    along = {dim: xr.DataArray(np.searchsorted(needed[dim], each), dims="position") for dim, each in zip(layout.dims, index, strict=True)}
    part = cut.isel(along) if along else cut.expand_dims(position=len(positions))
    return part.transpose("position", "member", ...).astype(np.result_type(part.dtype, np.float32), copy=False)


def _regular(index: Array) -> slice | Array:
    """Positions as a slice where they are evenly apart, which files read faster."""
    step = int(index[1] - index[0]) if len(index) > 1 else 1
    if step > 0 and (np.diff(index) == step).all():
        return slice(int(index[0]), int(index[-1]) + 1, step)
    return index


def _alike(layouts: Sequence[Layout], where: Sequence[str]) -> None:
    for each, name in zip(layouts, where, strict=True):
        if (each.step, each.kind) != (layouts[0].step, layouts[0].kind):
            raise InputError(f"{name}: holds {_said(each)}, and {where[0]} {_said(layouts[0])}; give files of one kind")


def _said(layout: Layout) -> str:
    of = "values at an instant" if layout.kind.instant else "sums since the start" if layout.kind.accumulated else "means or sums"
    return f"steps of {layout.step}, {of}"


def _blocks(layouts: Sequence[Layout]) -> list[tuple[Label, ...]]:
    """Each set of members that a file holds, in the order of the files."""
    return list(dict.fromkeys(each.member for each in layouts))


def _once(place: Array, row: Array, column: Array, block: int, init: Times, number: int, where: Sequence[str]) -> None:
    """InputError where two positions are the same start, lead and members."""
    taken = place[row, column, block, 0]
    cells, count = np.unique(np.stack([row, column]), axis=1, return_counts=True)
    if (taken >= 0).any() or (count > 1).any():
        first = row[taken >= 0][0] if (taken >= 0).any() else cells[0, count > 1][0]
        other = where[taken[taken >= 0][0]] if (taken >= 0).any() else where[number]
        raise InputError(
            f"{where[number]}: the forecast of {str(init[first])[:16]} is in {other} already; give each once, or write "
            "`members: files` if each file holds a member"
        )


def _members(
    blocks: list[tuple[Label, ...]], present: Array, init: Times, members: Members, where: Sequence[str], notes: list[Finding]
) -> tuple[Label, ...]:  # fmt: skip
    """The members that take part: those of every start, unless some are named. `present` (init_time, block)."""
    every = list(dict.fromkeys(label for block in blocks for label in block))
    if len(blocks) > 1:  # files come in alphabetical order, r10 before r2
        every.sort(key=_counting)
    held = [{label for block, here in zip(blocks, row, strict=True) if here for label in block} for row in present]
    common = tuple(label for label in every if all(label in each for each in held))
    if isinstance(members, tuple):
        lacking = [label for label in members if label not in common]
        if lacking:
            raise InputError(
                f"{_named(where)}: not every start has the members {_listed(lacking)}; those that all have are {_listed(common)}"
            )
        return members
    if isinstance(members, int):
        if members > len(common):
            raise InputError(f"{_named(where)}: {len(common)} members are there at every start, fewer than `members: {members}`")
        return common[:members]
    if len(common) < len(every) and members != "common":
        few, many = (held.index(choose(held, key=len)) for choose in (min, max))
        raise InputError(
            f"{_named(where)}: the forecast of {str(init[few])[:10]} has {len(held[few])} members, that of {str(init[many])[:10]} has "
            f"{len(held[many])}; write `members: common` for the {len(common)} that all have"
        )
    if not common:
        raise InputError(f"{_named(where)}: no member is there at every start; name the members alike")
    if len(common) < len(every):
        notes.append(Finding("members", _named(where), f"{len(every)} in all", f"the {len(common)} of every start"))
    return common


def _counting(label: Label) -> list[tuple[int, str]]:
    """A key under which r2 comes before r10."""
    return [(int(digits or 0), word) for word, digits in re.findall(r"(\D*)(\d*)", str(label))]


def _found(held: Array, asked: Array, what: str, where: Sequence[str]) -> Array:
    index = np.minimum(np.searchsorted(held, asked), len(held) - 1)
    absent = held[index] != asked
    if absent.any():
        shown = ", ".join(str(each)[:16] for each in np.unique(asked[absent])[:3])
        raise InputError(f"{_named(where)}: there is no {what} {shown}; it holds {len(held)}, {str(held[0])[:16]} to {str(held[-1])[:16]}")
    return index


def _named(where: Iterable[str]) -> str:
    first, *others = where
    return f"{first} and {len(others)} more" if others else first


def _listed(labels: Iterable[Label]) -> str:
    return ", ".join(map(str, labels))
