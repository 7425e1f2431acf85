"""What a regression may know of the past: principal components now and before, slowly, and by season."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ensemble.parts.season import seasonal
from ensemble.task import Array


def predictors(initial: xr.Dataset) -> Array:
    """Components at each lag (the last month first), their slow mean, and the components times cosine and sine of the month.

    `initial` holds `pc` (init_time, lag, mode) and, by `Trailing`, `pc_slow` -> (init_time, (lags + 3) modes).
    """
    pc = initial["pc"].values
    season = seasonal(initial["init_time"].values)
    by_season = (season[:, :, None] * pc[:, -1:]).reshape(len(pc), -1)
    return np.concatenate([pc[:, ::-1].reshape(len(pc), -1), initial["pc_slow"].values[:, -1], by_season], axis=1)
