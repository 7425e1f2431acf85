"""What is to be forecast: the record, its time axis, the periods and the space it lives in.

Times are `datetime64[s]` at the start of the interval they stand for, and arithmetic on them is numpy's own, in the unit of
the step, so that a month is a month long. `init_time` is the issue time, the first instant that the forecast has not seen:
lead 1 of a monthly forecast issued on 1 January is January's mean, and the last month it has seen is December.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr

from ensemble.errors import InputError
from ensemble.findings import Finding

Times = np.ndarray[Any, np.dtype[np.datetime64]]
Array = np.ndarray[Any, Any]


def unit_of(step: np.timedelta64) -> tuple[str, int]:
    """A step as its unit and how many of it: 6 hours are ("h", 6)."""
    unit, per = np.datetime_data(step)
    return unit, per * int(step.astype(int))


def shift(times: Any, steps: Any, step: np.timedelta64) -> Times:
    """`times` moved by whole `steps` of the record, broadcast against each other."""
    unit, count = unit_of(step)
    whole = np.asarray(times).astype(f"datetime64[{unit}]")
    moved: Times = (whole + (np.asarray(steps) * count).astype(f"timedelta64[{unit}]")).astype("datetime64[s]")
    return moved


def moment(time: Any, steps: int, step: np.timedelta64) -> np.datetime64:
    """One time moved by whole `steps` of the record."""
    (moved,) = shift([time], steps, step)
    return moved  # type: ignore[no-any-return]  # an element of Times


def steps_between(first: Any, last: Any, step: np.timedelta64) -> int:
    """Whole steps of the record from `first` to `last`."""
    unit, count = unit_of(step)
    apart = np.asarray(last).astype(f"datetime64[{unit}]") - np.asarray(first).astype(f"datetime64[{unit}]")
    return int(apart.astype(int) // count)


def month(times: Any) -> Array:
    """Calendar month, 0 for January to 11 for December."""
    months: Array = np.asarray(times).astype("datetime64[M]").astype(int) % 12
    return months


@dataclass(frozen=True)
class Period:
    """Valid times from `first` to `last`, both inside."""

    first: np.datetime64
    last: np.datetime64

    def starts(self, lead_times: Array, step: np.timedelta64) -> Times:
        """The `init_time` of every forecast of which all leads verify inside the period."""
        first = shift(self.first, 1 - int(min(lead_times)), step)
        count = steps_between(first, self.last, step) - int(max(lead_times)) + 2
        return shift(first, np.arange(max(count, 0)), step)

    def times(self, step: np.timedelta64) -> Times:
        """Every valid time of the period."""
        return shift(self.first, np.arange(steps_between(self.first, self.last, step) + 1), step)


class Window(NamedTuple):
    """Several lead times that are forecast as one: their mean, or their sum."""

    name: str
    first: int
    last: int
    how: Literal["mean", "sum"] = "mean"

    @property
    def steps(self) -> Array:
        """(lead_time,): the lead times it is made of."""
        return np.arange(self.first, self.last + 1)


class Field(NamedTuple):
    """Where one variable lives: its dimensions, coordinates, the points that carry data, and their weights.

    `area` adds up to one over `mask` and is zero elsewhere.
    """

    coords: Mapping[str, Array]
    mask: Array
    area: Array
    attrs: Mapping[str, Any]
    places: Mapping[str, tuple[tuple[str, ...], Array]] = {}  # latitude, longitude that are no dimensions: dimensions and values

    @property
    def dims(self) -> tuple[str, ...]:
        return tuple(self.coords)

    def where(self, name: str) -> Array | None:
        """`latitude` or `longitude` of the points, to be broadcast against `mask`; None where the field has none."""
        if name in self.coords:
            return self.coords[name].reshape([-1 if each == name else 1 for each in self.dims])
        if name in self.places:
            dims, values = self.places[name]
            sizes = dict(zip(dims, values.shape, strict=True))
            return values.reshape([sizes.get(each, 1) for each in self.dims])
        return None


class Domain(NamedTuple):
    """All that a learner may know before it has seen any data."""

    fields: Mapping[str, Field]
    step: np.timedelta64
    lead_times: Array  # whole steps of the record
    period: Period  # of the training data
    aim: str = ""  # the variable that is forecast, where there are others beside it

    def valid_time(self, init_time: Any, lead_times: Any) -> Times:
        """(init_time,) and (lead_time,) -> (init_time, lead_time): the start of each verifying interval."""
        return shift(np.asarray(init_time)[:, None], np.asarray(lead_times)[None, :] - 1, self.step)

    def only(self, *names: str) -> Domain:
        """The same, of some of the variables."""
        return self._replace(fields={name: self.fields[name] for name in names})

    @property
    def target(self) -> str:
        """The name of the variable that is forecast; a learner that can handle only one asks for it here."""
        if self.aim in self.fields:
            return self.aim
        if len(self.fields) != 1:
            raise ValueError(f"this model takes one variable and was given {', '.join(self.fields)}; set `target:` to one")
        return next(iter(self.fields))


def dataset(domain: Domain, values: Mapping[str, Array], **leading: Any) -> xr.Dataset:
    """`values` as a Dataset with the leading dimensions named in order, their coordinates given, and those of the domain."""
    variables = {name: ((*leading, *domain.fields[name].dims), each, dict(domain.fields[name].attrs)) for name, each in values.items()}
    space = {dim: coord for name in values for dim, coord in domain.fields[name].coords.items()}
    return xr.Dataset(variables, coords={**leading, **space})


class Source(abc.ABC):
    """A record of one system over time; frozen and hashable, so that a worker can keep what it has read."""

    @property
    @abc.abstractmethod
    def step(self) -> np.timedelta64:
        """The time from one step to the next, in its own unit: `np.timedelta64(1, "M")` for months."""

    @property
    @abc.abstractmethod
    def times(self) -> Times:
        """(time,): the start of the interval of each step, ascending, without a gap."""

    @abc.abstractmethod
    def read(self, times: Times) -> xr.Dataset:
        """The record at `times` -> (time, ...). Called on the worker that needs it."""

    @property
    def target(self) -> str:
        """The variable that is forecast where a study does not say which; a source that holds several has none."""
        raise InputError("target: name the variable that is forecast, as in `target: sst`")

    @property
    def points(self) -> int | None:
        """How many values a step has, where that is known without reading one."""
        return None

    @property
    def digest(self) -> str:
        """Of the record as it is now, where it may change while a process lives; what was read under another is read again."""
        return ""

    @property
    def notes(self) -> tuple[Finding, ...]:
        """What was found in the files of people, and done about it: the data table."""
        return ()
