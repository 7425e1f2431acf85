"""Persistence: the last anomaly stays as it is.

Unit: that of the variable. Assumes that nothing changes; it is hard to beat at the first lead and too easy after a season
(Mittermaier 2008, doi 10.1175/2008WAF2007037.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from ensemble import Array, Model, Untrained


@dataclass(frozen=True)
class Persistence(Untrained, Model[None, Any]):
    """No settings."""

    kind = "reference"

    def forecast(self, state: None, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        now = initial.isel(lag=-1, drop=True).drop_vars("time")
        return now.expand_dims(lead_time=np.asarray(lead_times), axis=1).copy()
