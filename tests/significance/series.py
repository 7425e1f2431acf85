"""Sums by start of which the right answers are known."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ensemble.score.means import Means
from ensemble.task import Array, Times

DIMS = ("model", "init_time", "lead_time", "region")


def monthly(starts: int) -> Times:
    return (np.datetime64("1990-01", "M") + np.arange(starts)).astype("datetime64[s]")


def means(weight: Array | None = None, init_time: Times | None = None, **sums: Array) -> Means:
    """Of sums (model, start, lead_time, region) by name of their statistic; every start weighs 1 if nothing else is said."""
    (shape,) = {each.shape for each in sums.values()}
    labels = [f"model {i}" for i in range(shape[0])]
    times = monthly(shape[1]) if init_time is None else init_time
    coords = {"model": labels, "init_time": times, "lead_time": 1 + np.arange(shape[2]), "region": np.arange(shape[3])}
    weights = np.ones(shape) if weight is None else np.broadcast_to(weight, shape)
    return Means(xr.Dataset({name: (DIMS, each) for name, each in sums.items()}, coords), xr.DataArray(weights, dims=DIMS))


def ar1(phi: float, shape: tuple[int, ...], seed: int = 0) -> Array:
    """(start, ...): stationary, mean 0, variance 1."""
    noise = np.random.default_rng(seed).standard_normal(shape)
    made = np.empty(shape)
    made[0] = noise[0]
    for t in range(1, len(made)):
        made[t] = phi * made[t - 1] + np.sqrt(1 - phi**2) * noise[t]
    return made
