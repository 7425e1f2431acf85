"""Several sources as one record: the target, and beside it the variables that may help to forecast it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
import xarray as xr

from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.prepare.space.match import same_grid
from ensemble.task import Source, Times


@dataclass(frozen=True)
class Together(Source):
    """`first` with the target of each of `others` under its name, at the times that all of them have.

    A predictor on another grid keeps it: its dimensions are then called after it, `latitude_wind`.
    """

    first: Source
    others: tuple[tuple[str, Source], ...]

    def __post_init__(self) -> None:
        for name, source in self.others:
            if source.step != self.first.step:
                raise InputError(f"predictors.{name}: has steps of {source.step}, the target of {self.first.step}; bring them to one step")
            if not self.times.size:
                raise InputError(f"predictors.{name}: has no time in common with the target; look at its dates")

    @property
    def step(self) -> np.timedelta64:
        return self.first.step

    @property
    def times(self) -> Times:
        return reduce(np.intersect1d, [source.times for _, source in self.others], self.first.times)

    @property
    def target(self) -> str:
        return self.first.target

    @property
    def digest(self) -> str:
        return " ".join([self.first.digest, *(source.digest for _, source in self.others)])

    @property
    def notes(self) -> tuple[Finding, ...]:
        return (*self.first.notes, *(note for _, source in self.others for note in source.notes))

    def read(self, times: Times) -> xr.Dataset:
        record = self.first.read(times)
        for name, source in self.others:
            record = record.assign({name: _beside(record, source.read(times)[source.target], name)})
        return record


def _beside(record: xr.Dataset, field: xr.DataArray, name: str) -> xr.DataArray:
    """`field` as it can stand in `record`: on the very coordinates there, or on dimensions of its own."""
    own = {str(dim): field[dim].values for dim in field.dims if dim != "time"}
    shared = {dim: record[dim].values for dim in own if dim in record.coords}
    if shared.keys() == own.keys() and same_grid(own, shared) and all(np.array_equal(own[dim], shared[dim]) for dim in own):
        return field
    extra = [str(coord) for coord in field.coords if coord not in (*field.dims, "time")]
    return field.drop_vars(extra).rename({dim: f"{dim}_{name}" for dim in own})
