"""Where a record lives: its grid, the points that carry data, and how much area each stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from ensemble.errors import InputError
from ensemble.prepare.canonical import canonical
from ensemble.task import Array, Domain, Field, Period, Source


def domain_of(source: Source, target: str, lead_times: Array, train: Period) -> Domain:
    """The domain of `target`; a point that is missing at some times and not at others is refused."""
    data = canonical(source.read(source.times), target)
    present = np.isfinite(data[target].values)
    mask = present.all(0)
    sometimes = present.any(0) & ~mask
    if sometimes.any():
        raise InputError(f"data: {target} is missing at {sometimes.sum()} points for part of the time; fill or mask them for all of it")
    if not mask.any():
        raise InputError(f"data: {target} holds no finite value")
    coords = {str(dim): data[dim].values for dim in data[target].dims[1:]}
    attrs: dict[str, Any] = {str(key): value for key, value in data[target].attrs.items()}
    return Domain({target: Field(coords, mask, _area(data, target, mask), attrs)}, source.step, lead_times, train)


def _area(data: xr.Dataset, target: str, mask: Array) -> Array:
    """Cosine of latitude where there is one, over the points of `mask`, adding up to one."""
    weight = np.ones(mask.shape)
    if "latitude" in data.dims:
        cosine = np.cos(np.deg2rad(data["latitude"].values.astype(float)))
        axis = data[target].dims.index("latitude") - 1
        weight = weight * cosine.reshape([-1 if i == axis else 1 for i in range(mask.ndim)])
    weight = np.where(mask, weight, 0.0)
    area: Array = weight / weight.sum()
    return area
