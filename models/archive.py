"""Forecasts of another system, from files in whatever layout its centre writes them.

Learns nothing: it looks which members have data, and then reads what it is asked for, in the units and on the grid of the record;
only the trend, where it is to be taken out, comes from all starts.
Assumes that the files say when each forecast was issued and what it is for; what they leave open is refused with the setting
that closes it. It is scored beside the models that run here, on the starts that it holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import xarray as xr

from ensemble import Array, Domain, Learnt, Model, Times
from ensemble.findings import Finding
from ensemble.place import Place, located
from ensemble.prepare.files.blocks import pieces
from ensemble.prepare.forecasts.shelf import Shelf, template
from ensemble.prepare.trend import Trend, check_degree, finding, fitted

State = dict[str, Any]


@dataclass(frozen=True)
class Archive(Model[State, Any]):
    """Each setting answers a question that files leave open; `ensemble.prepare.forecasts.shelf` says which."""

    path: Place | tuple[Place, ...] = ()  # a file, a pattern, a Zarr store, or several of them
    variable: str | None = None
    units_are: str | None = None  # where the file says none, or the wrong ones
    missing_value: float | Literal["none"] | None = None
    level: float | None = None
    regrid: Literal["bilinear", "nearest", "conservative"] | None = None
    weights: str | None = None  # a file of weights by ESMF or CDO
    step: str | None = None  # "month", "6 hours": believed against the files
    default_step: str | None = None  # where they leave it open
    time_units: str | None = None  # "days since 1850-01-01"
    calendar: str | None = None
    stamp: str | None = None
    lead_one: Literal["at", "after"] | None = None
    accumulated: bool | None = None
    members: int | tuple[int | str, ...] | Literal["common", "files"] | None = None
    least_members: int = 1
    duplicates: Literal["refuse", "first", "last"] = "refuse"
    gaps: Literal["refuse", "missing"] = "refuse"
    detrend: int | None = None  # degree of a polynomial in time, of all starts, to take out of each lead; not for forecasting

    kind = "external"
    may_lack = True

    def __post_init__(self) -> None:
        places = (self.path,) if isinstance(self.path, str) else self.path
        fixed = tuple(located(each) for each in places)  # a worker may stand in another folder
        object.__setattr__(self, "path", fixed[0] if isinstance(self.path, str) else fixed)
        check_degree(self.detrend)

    @property
    def history(self) -> int:
        return 0

    @property
    def shelf(self) -> Shelf:
        """The files as one hindcast."""
        return Shelf(**{name: getattr(self, name) for name in Shelf.__dataclass_fields__})

    @property
    def issued(self) -> Times:
        """The starts that the files hold."""
        return self.shelf.hindcast.init_time

    @property
    def leads(self) -> Array:
        """The leads that they hold [steps]."""
        return self.shelf.hindcast.lead_time

    @property
    def notes(self) -> tuple[Finding, ...]:
        """What was found in them, and what was done about it."""
        shelf = self.shelf
        if self.detrend is None:
            return shelf.notes
        what = "all members, fitted to the mean of them at each point and lead"
        return (*shelf.notes, finding(self.detrend, self.issued, what=what, where=shelf.hindcast.where[0]))

    @property
    def ensemble_size(self) -> int:
        return len(self.shelf.hindcast.member)

    def check(self, domain: Domain) -> None:
        self.shelf.fits(domain)
        check_degree(self.detrend, len(self.issued))

    def found(self, state: State) -> tuple[Finding, ...]:
        return tuple(Finding(*each) for each in state["notes"])

    def framed(self, frame: Callable[[Model[Any, Any]], Model[Any, Any]]) -> Model[Any, Any]:
        return self

    def start(self, domain: Domain, seed: int) -> Learnt[State]:
        members, notes = self.shelf.members_of(domain)
        places = dict(domain.fields[domain.target].places)  # of points whose dimensions do not say where they are
        state = {"member": np.array(members), "notes": tuple(map(tuple, notes)), "places": places}
        if self.detrend is not None:
            state["trend"] = self._trend(domain, members, self.detrend)
        return Learnt(state, finished=True)

    def _trend(self, domain: Domain, members: tuple[int | str, ...], degree: int) -> Array:
        """(power, lead_time, ...): of the mean of the members over all starts, whether or not they are scored."""
        shelf, leads, like = self.shelf, domain.lead_times, template(domain)
        cut = pieces(self.issued, len(leads) * len(members) * domain.fields[domain.target].mask.size)
        blocks = (shelf.read(starts, leads, members, like).mean("member", skipna=False, dtype=float).values for starts in cut)
        return fitted(self.issued, shelf.hindcast.step, degree, blocks).coefficients

    def summarise(self, state: State, chunk: Any) -> Any:
        raise AssertionError("finished before it starts")

    def update(self, state: State, total: Any) -> Learnt[State]:
        raise AssertionError("finished before it starts")

    def forecast(self, state: State, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        (target,) = initial.data_vars
        like = initial[target].isel(lag=[]).drop_vars("time", errors="ignore").assign_coords(state["places"])
        starts = initial["init_time"].values
        made = self.shelf.read(starts, lead_times, tuple(state["member"].tolist()), like)
        if self.detrend is not None:
            trend = Trend(self.issued, self.shelf.hindcast.step, state["trend"]).at(starts)
            made = made.copy(data=made.values - trend[:, :, None])
        return made.to_dataset()
