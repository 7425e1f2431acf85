"""Starts in groups: by the month, season or year of their start, or of the time at which their leads verify.

Of the sums by start, those of the other starts count for nothing: scores of a group are made as scores of all starts are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr

from ensemble.score.means import Means
from ensemble.task import Array, Times, month

SEASONS = ("DJF", "MAM", "JJA", "SON")


class Grouping(NamedTuple):
    """What starts are grouped by."""

    number: Callable[[Times], Array]  # of the group that a time belongs to
    label: Callable[[int], int | str]  # of that number
    valid: bool  # whether it goes by the verifying time of each lead, rather than by the start
    long_name: str

    def of(self, init_time: Times, valid_time: Times) -> xr.DataArray:
        """(init_time,) and (init_time, lead_time) -> (init_time, lead_time): the number of the group."""
        times = valid_time if self.valid else np.broadcast_to(init_time[:, None], valid_time.shape)
        return xr.DataArray(self.number(times), dims=("init_time", "lead_time"))


def _month(times: Times) -> Array:
    return month(times) + 1


def _season(times: Times) -> Array:
    return (month(times) + 1) % 12 // 3


def _year(times: Times) -> Array:
    return np.asarray(times).astype("datetime64[Y]").astype(int) + 1970


GROUPINGS: Mapping[str, Grouping] = {
    "start_month": Grouping(_month, int, False, "calendar month of the start"),
    "start_season": Grouping(_season, SEASONS.__getitem__, False, "season of the start"),
    "start_year": Grouping(_year, int, False, "year of the start"),
    "valid_month": Grouping(_month, int, True, "calendar month of the verifying time"),
    "valid_season": Grouping(_season, SEASONS.__getitem__, True, "season of the verifying time"),
    "valid_year": Grouping(_year, int, True, "year of the verifying time"),
}


def groups(means: Means, number: xr.DataArray) -> dict[int, Means]:
    """The sums of each group that has a start, by the `number` (init_time, lead_time) of the group, in its order."""
    counted = (means.weight > 0).any([dim for dim in means.weight.dims if dim not in number.dims])
    counted = counted.transpose(*number.dims).reset_coords(drop=True).drop_vars(number.dims, errors="ignore")
    return {int(each): _only(means, number == each) for each in np.unique(number.values[counted.values])}


def _only(means: Means, chosen: xr.DataArray) -> Means:
    """The sums of the starts that are `chosen` (init_time, lead_time), at some lead or at all."""
    some = np.flatnonzero(chosen.any("lead_time").values)
    chosen = chosen.isel(init_time=some)
    return Means(means.sums.isel(init_time=some).where(chosen, 0), means.weight.isel(init_time=some).where(chosen, 0))
