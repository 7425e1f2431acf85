"""My model: the last anomaly fades in the same time everywhere. Replace it by something better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from ensemble import Array, Model, Untrained


@dataclass(frozen=True)
class MyModel(Untrained, Model[None, Any]):
    """Settings.

    months: time in which an anomaly falls to 1/e of its size.
    """

    months: float = 6.0

    def forecast(self, state: None, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        now = initial.isel(lag=-1, drop=True).drop_vars("time")
        left = xr.DataArray(np.exp(-lead_times / self.months), dims="lead_time", coords={"lead_time": lead_times})
        return (now * left).transpose("init_time", "lead_time", ...)
