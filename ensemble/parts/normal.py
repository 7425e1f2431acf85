"""Means that look back only: a running normal, and a slow copy of a variable beside it.

In a changing climate the normal of the training years is stale. Part of the trailing mean at each point is taken out before
a model and put back, held constant, after it (optimal climate normals: Huang, van den Dool and Barnston 1996,
doi 10.1175/1520-0442(1996)009<0809:LLSTPU>2.0.CO;2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from ensemble.model import Transform, Untrained
from ensemble.task import Array, Domain


def trailing_mean(data: xr.Dataset, name: str, steps: int) -> Array:
    """Mean of the last `steps` values up to and including each, of as many as there are near the beginning."""
    axis = data["time"].ndim - 1
    sums = np.cumsum(np.moveaxis(data[name].values, axis, 0), axis=0, dtype=np.float64)
    inside = np.minimum(np.arange(1, len(sums) + 1), steps)
    sums[steps:] = sums[steps:] - sums[:-steps]
    return np.moveaxis(sums / inside.reshape(-1, *[1] * (sums.ndim - 1)), 0, axis)


@dataclass(frozen=True)
class RunningNormal(Untrained, Transform[None, Any]):
    """`share` of the mean of the last `months` steps at each point is taken out, and put back for all leads."""

    months: int = 36
    share: float = 0.5

    @property
    def history(self) -> int:
        return self.months

    def apply(self, state: None, data: xr.Dataset) -> xr.Dataset:
        del state
        return data.assign(
            {n: (v.dims, v.values - self.share * trailing_mean(data, str(n), self.months), v.attrs) for n, v in data.items()}
        )

    def restore(self, state: None, forecast: xr.Dataset, initial: xr.Dataset) -> xr.Dataset:
        del state
        last = initial.isel(lag=slice(-self.months, None))
        return forecast.assign({n: forecast[n] + self.share * last[n].mean("lag", skipna=False) for n in forecast.data_vars})


@dataclass(frozen=True)
class Trailing(Untrained, Transform[None, Any]):
    """Beside each variable its mean over the last `months` steps, as `<name>_slow`; forecasts pass as they are."""

    months: int = 12

    @property
    def history(self) -> int:
        return self.months

    def domain(self, state: None, domain: Domain) -> Domain:
        del state
        return domain._replace(fields={**domain.fields, **{f"{name}_slow": field for name, field in domain.fields.items()}})

    def apply(self, state: None, data: xr.Dataset) -> xr.Dataset:
        del state
        return data.assign({f"{n}_slow": (v.dims, trailing_mean(data, str(n), self.months), v.attrs) for n, v in data.items()})

    def restore(self, state: None, forecast: xr.Dataset, initial: xr.Dataset) -> xr.Dataset:
        del state, initial
        return forecast
