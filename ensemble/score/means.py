"""Means of statistics, as scores see them."""

from __future__ import annotations

from dataclasses import dataclass

import xarray as xr

from ensemble.score.statistics import Statistic


@dataclass(frozen=True)
class Means:
    """Means over one way of adding up; a score that is a function of means works on regions and on points alike.

    `sums` (model, [init_time,] lead_time, region or points) per statistic, and the `weight` behind them, of the same shape.
    """

    sums: xr.Dataset
    weight: xr.DataArray

    def __getitem__(self, statistic: Statistic) -> xr.DataArray:
        """The mean over everything that was counted: starts, and area where there are regions."""
        over = [dim for dim in ("init_time",) if dim in self.weight.dims]
        weight = self.weight.sum(over)
        return self.sums[statistic.name].sum(over, skipna=False) / weight.where(weight > 0)

    def of_start(self, statistic: Statistic) -> xr.DataArray:
        """The mean of each start over area (model, init_time, lead_time, region)."""
        return self.sums[statistic.name] / self.weight.where(self.weight > 0)

    def over_starts(self, of_start: xr.DataArray) -> xr.DataArray:
        """(model, init_time, lead_time, region) -> (model, lead_time, region): the mean over the starts that counted."""
        counted = self.weight > 0
        starts = counted.sum("init_time")
        return of_start.where(counted, 0.0).sum("init_time", skipna=False) / starts.where(starts > 0)


@dataclass(frozen=True)
class Evidence:
    """All that a score may be made of."""

    regions: Means
    points: Means
    area: xr.DataArray  # (region, ...): weights of the points of each region, adding up to one

    def over_area(self, at_points: xr.DataArray) -> xr.DataArray:
        """(..., points) -> (..., region): the area mean of what was made at each point, over the points where anything was."""
        space = [dim for dim in self.area.dims if dim != "region"]
        area = (at_points.notnull() * self.area).sum(space)
        return (at_points.fillna(0.0) * self.area).sum(space) / area.where(area > 0)
