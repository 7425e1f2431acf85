"""Sums of statistics: by start, lead and region, and as maps by lead, in double precision.

The sums by start stand one after the other (a correlation in space is made of each start's own), the maps add up. Nothing
else of a forecast crosses machines on its way to a score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ensemble.score.statistics import Statistic, Values
from ensemble.task import Array, Field


@dataclass(frozen=True)
class Region:
    """A box by `latitude` and `longitude` [degrees], bounds inside; longitudes may be given either way round."""

    latitude: tuple[float, float] = (-90.0, 90.0)
    longitude: tuple[float, float] = (0.0, 360.0)

    def mask(self, field: Field) -> Array:
        """Which points of a grid lie in the box and carry data; a field without a grid is taken whole."""
        mask = field.mask.copy()
        if "latitude" in field.coords:
            inside = (field.coords["latitude"] >= self.latitude[0]) & (field.coords["latitude"] <= self.latitude[1])
            mask &= _along(field, "latitude", inside)
        if "longitude" in field.coords and self.longitude[1] - self.longitude[0] < 360:
            west, width = self.longitude[0], (self.longitude[1] - self.longitude[0]) % 360
            mask &= _along(field, "longitude", (field.coords["longitude"] - west) % 360 <= width)
        return mask


def _along(field: Field, dim: str, values: Array) -> Array:
    return values.reshape([-1 if each == dim else 1 for each in field.dims])


@dataclass(frozen=True)
class Tally:
    """Weighted sums of `statistic -> values` and their weights."""

    init_time: Array  # (init_time,)
    by_start: Mapping[str, Array]  # (model, init_time, lead_time, region)
    weight: Array  # (init_time, lead_time, region): area that counted
    count: Array  # (init_time, lead_time, region): points that counted
    at_points: Mapping[str, Array]  # (model, lead_time, ...)
    starts: Array  # (lead_time, ...): starts that counted

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            np.concatenate([self.init_time, other.init_time]),
            {name: np.concatenate([each, other.by_start[name]], axis=1) for name, each in self.by_start.items()},
            np.concatenate([self.weight, other.weight]),
            np.concatenate([self.count, other.count]),
            {name: each + other.at_points[name] for name, each in self.at_points.items()},
            self.starts + other.starts,
        )

    def select(self, models: Sequence[int]) -> Tally:
        """The same of some of the models."""
        index = list(models)
        by_start = {name: each[index] for name, each in self.by_start.items()}
        return replace(self, by_start=by_start, at_points={name: each[index] for name, each in self.at_points.items()})


def tally(
    init_time: Array, models: Sequence[Values], field: Field, regions: Mapping[str, Region], statistics: Sequence[Statistic]
) -> Tally:
    """The sums of one chunk; every model is counted on the same starts and points, those that all of them and the truth have."""
    valid = np.isfinite(models[0].truth) & field.mask
    for values in models:
        valid &= np.isfinite(values.forecast)
    inside = np.stack([region.mask(field).ravel() for region in regions.values()])
    weights = (inside * field.area.ravel()).T
    flat = valid.reshape(*valid.shape[:2], -1)
    points: dict[str, list[Array]] = {each.name: [] for each in statistics}
    starts: dict[str, list[Array]] = {each.name: [] for each in statistics}
    for values in models:
        for each in statistics:
            at = each.at(values) if values.members.shape[2] >= each.members else np.full(valid.shape, np.nan)
            at = np.where(valid, at, 0.0)
            points[each.name].append(at.sum(0))
            starts[each.name].append(at.reshape(flat.shape) @ weights)
    return Tally(
        init_time,
        {name: np.stack(each) for name, each in starts.items()},
        flat.astype(float) @ weights,
        flat.astype(np.int64) @ inside.T.astype(np.int64),
        {name: np.stack(each) for name, each in points.items()},
        valid.sum(0),
    )
