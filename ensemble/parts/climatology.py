"""The mean of each calendar month over the training data, taken out before a model and put back after it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.model import Learnt, Transform
from ensemble.sums import Sum
from ensemble.task import Array, Domain, month

State = dict[str, Array]  # (month, ...) per variable


@dataclass(frozen=True)
class Climatology(Transform[State, Sum]):
    """Anomalies from the training mean of each calendar month [unit of the variable]."""

    def start(self, domain: Domain, seed: int) -> Learnt[State]:
        del seed
        return Learnt({name: np.zeros((12, *field.mask.shape)) for name, field in domain.fields.items()}, finished=False)

    def summarise(self, state: State, chunk: Chunk) -> Sum:
        own = chunk.own()
        of = month(own["time"].values)[None, :] == np.arange(12)[:, None]
        sums = {name: np.tensordot(of.astype(float), own[name].values, axes=(1, 0)) for name in state}
        return Sum({"sums": sums, "count": of.sum(1)})

    def update(self, state: State, total: Sum) -> Learnt[State]:
        count = total.tree["count"]
        if not count.all():
            absent = ", ".join(str(m + 1) for m in np.flatnonzero(count == 0))
            raise ValueError(f"the training period holds no month {absent}; make it at least a whole year long")
        means = {name: each / count.reshape(-1, *[1] * (each.ndim - 1)) for name, each in total.tree["sums"].items()}
        return Learnt(means, finished=True)

    def apply(self, state: State, data: xr.Dataset) -> xr.Dataset:
        months = month(data["time"].values)
        return data.assign({name: (data[name].dims, data[name].values - state[name][months], data[name].attrs) for name in state})

    def restore(self, state: State, forecast: xr.Dataset, initial: xr.Dataset) -> xr.Dataset:
        del initial
        months = xr.DataArray(month(forecast["valid_time"].values), dims=("init_time", "lead_time"))
        means = {name: xr.DataArray(each, dims=("month", *forecast[name].dims[-(each.ndim - 1) :])) for name, each in state.items()}
        return forecast.assign({name: forecast[name] + means[name].isel(month=months) for name in state})
