"""A small problem that any model can be tried on: an invented sea with land in it, and what it might have been."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from ensemble.model import Model
from ensemble.parts import Climatology, RunningNormal
from ensemble.study import Study
from ensemble.task import Period, Source, Times, shift


@dataclass(frozen=True)
class Basin(Source):
    """`sst` (time, latitude, longitude) [degC] of an invented sea: anomalies drift west and fade under noise, over a yearly cycle."""

    months: int = 96
    seed: int = 0

    @property
    def step(self) -> np.timedelta64:
        return np.timedelta64(1, "M")

    @property
    def times(self) -> Times:
        return shift(np.datetime64("2001-01-01"), np.arange(self.months), self.step)

    @cached_property
    def _data(self) -> xr.Dataset:
        random = np.random.default_rng(self.seed)
        latitude, longitude = np.linspace(-25.0, 25.0, 6), np.arange(0.0, 360.0, 45.0)
        land = np.zeros((6, 8), bool)
        land[1:3, 2:4] = land[5, 6:] = True
        anomaly, past = np.zeros((6, 8)), []
        for _ in range(self.months):
            drifted = 0.7 * anomaly + 0.2 * np.roll(anomaly, -1, axis=1)
            anomaly = np.where(land, 0.0, drifted + 0.3 * random.standard_normal((6, 8)) + 0.2 * random.standard_normal())
            past.append(anomaly)
        cycle = np.cos(2 * np.pi * np.arange(self.months) / 12)[:, None, None] * latitude[:, None] / 25
        values = np.where(land, np.nan, 20.0 + cycle + np.stack(past))
        coords = {"time": self.times, "latitude": latitude, "longitude": longitude}
        return xr.Dataset({"sst": (tuple(coords), values, {"units": "degC"})}, coords)

    def read(self, times: Times) -> xr.Dataset:
        return self._data.sel(time=times)

    def __getstate__(self) -> dict[str, Any]:
        return {"months": self.months, "seed": self.seed}


@dataclass(frozen=True)
class Changed(Source):
    """`source` as it would be if everything from `first` on had been different."""

    source: Source
    first: np.datetime64

    @property
    def step(self) -> np.timedelta64:
        return self.source.step

    @property
    def times(self) -> Times:
        return self.source.times

    def read(self, times: Times) -> xr.Dataset:
        data = self.source.read(times)
        return data.where(data["time"] < self.first, 1.5 * data + 1.0)


def basin_study(**models: Model[Any, Any]) -> Study:
    """Five years of `Basin` to learn from, then three to forecast, three months ahead."""
    source = Basin()
    train, validate, test = (Period(source.times[first], source.times[last]) for first, last in ((0, 59), (60, 77), (78, 95)))
    return Study(source, "sst", train, validate, test, models, np.arange(1, 4), (Climatology(), RunningNormal(12, 0.5)))
