"""No anomaly: within a study's anomalies, its climatology plus its running normal, and no dynamics at all.

With a running normal this is the optimal climate normal as a forecast, and the reference that shows how much of a model's
skill is more than knowing the climate of the last years (Huang, van den Dool and Barnston 1996,
doi 10.1175/1520-0442(1996)009<0809:LLSTPU>2.0.CO;2). Unit: that of the variable. Assumes that nothing is known of the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from ensemble import Array, Model, Untrained


@dataclass(frozen=True)
class NoAnomaly(Untrained, Model[None, Any]):
    """No settings."""

    kind = "reference"

    def forecast(self, state: None, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        now = initial.isel(lag=-1, drop=True).drop_vars("time")
        return (now * 0.0).expand_dims(lead_time=np.asarray(lead_times), axis=1)
