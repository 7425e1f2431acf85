"""From forecast files in any layout to one hindcast: each file is looked at once, and only at its coordinates.

Files that know their starts stand for themselves (`layout`); those that are runs of time are put together first (`series`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import xarray as xr

from ensemble.findings import Finding
from ensemble.prepare.forecasts.layout import Layout, forecast_roles, layout_of
from ensemble.prepare.forecasts.leads import LeadOne
from ensemble.prepare.forecasts.series import Piece, Same, layouts_of, piece_of
from ensemble.prepare.forecasts.table import Hindcast, Members, joined
from ensemble.prepare.names import alone, variable_of
from ensemble.prepare.time.steps import step_named

_RUN = re.compile(r"r\d+i\d+p\d+(f\d+)?")


@dataclass(frozen=True)
class Reading:
    """How forecast files are to be read; each setting answers one question that files leave open."""

    variable: str | None = None
    step: str | None = None  # "month", "6 hours"
    lead_one: LeadOne | None = None  # lead 1 is the step that begins `at` the start, or the one `after` it
    accumulated: bool | None = None  # since the start
    members: Members = None  # "common", "files", a number or the labels
    stamp: str | None = None  # "instant"; of a simulation also start, middle, end
    duplicates: str = "refuse"
    gaps: str = "refuse"
    default_step: str | None = None  # where the files leave it open


@dataclass(frozen=True)
class Inventory:
    """What has been learnt of the files so far."""

    reading: Reading
    notes: list[Finding] = field(default_factory=list)
    layouts: dict[int, Layout] = field(default_factory=dict)
    pieces: list[Piece] = field(default_factory=list)
    where: list[str] = field(default_factory=list)

    def look(self, data: xr.Dataset, *, where: str) -> None:
        """Take in the coordinates of the next file."""
        reading, number = self.reading, len(self.where)
        self.where.append(where)
        variable = variable_of(data, reading.variable, where=where)
        data = alone(data, variable)
        found = forecast_roles(data, where=where)
        if {"init_time", "lead_time"} & found.keys():
            step, default = (step_named(each, where=where) if each else None for each in (reading.step, reading.default_step))
            made = layout_of(
                data, variable, step, where=where, notes=self.notes, lead_one=reading.lead_one, accumulated=reading.accumulated,
                stamp=reading.stamp, default_step=default,
            )  # fmt: skip
            self.layouts[number] = made._replace(member=self._member(data, made.member, number, where))
        else:
            piece = piece_of(data, variable, found, number, where=where, notes=self.notes)
            self.pieces.append(piece._replace(member=self._member(data, piece.member, number, where)))

    def _member(self, data: xr.Dataset, member: tuple[int | str, ...], number: int, where: str) -> tuple[int | str, ...]:
        """The name of a single member where the file has one, as r1i1p1f1 of CMIP, or its number among the files."""
        if member != (0,):
            return member
        if self.reading.members == "files":
            return (number,)
        words = (str(data.attrs.get("variant_label", "")), where.rsplit("/", 1)[-1])
        return next(((found[0],) for each in words if (found := _RUN.search(each))), member)

    def hindcast(self, same: Same) -> Hindcast:
        """All of them as one; `same` says whether two places hold the same values."""
        reading = self.reading
        settings = {name: getattr(reading, name) for name in ("step", "default_step", "stamp", "duplicates", "gaps")}
        made = self.layouts | (layouts_of(self.pieces, notes=self.notes, same=same, **settings) if self.pieces else {})
        return joined([made[i] for i in range(len(self.where))], where=self.where, notes=self.notes, members=reading.members)


def hindcast_of(
    files: Sequence[xr.Dataset], *, where: Sequence[str], notes: list[Finding], reading: Reading = Reading(), same: Same = lambda *_: False,
) -> Hindcast:  # fmt: skip
    """The hindcast in open files; `where` are their names."""
    seen = Inventory(reading, notes)
    for data, name in zip(files, where, strict=True):
        seen.look(data, where=name)
    return seen.hindcast(same)
