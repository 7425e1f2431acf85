"""The mean of each calendar month over the training data, taken out before a model and put back after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.model import Learnt, Transform
from ensemble.sums import Sum
from ensemble.task import Array, Domain, month, unit_of

State = dict[str, Array]  # (month, ...) per variable


@dataclass(frozen=True)
class Climatology(Transform[State, Sum]):
    """Anomalies from the training mean of each calendar month [unit of the variable]."""

    def start(self, domain: Domain, seed: int) -> Learnt[State]:
        del seed
        occurs = np.where(_occurring(domain), 0.0, np.nan)
        shaped = {name: occurs.reshape(12, *[1] * field.mask.ndim) for name, field in domain.fields.items()}
        return Learnt({name: shaped[name] + np.zeros(field.mask.shape) for name, field in domain.fields.items()}, finished=False)

    def summarise(self, state: State, chunk: Chunk) -> Sum:
        own = chunk.own()
        of = month(own["time"].values)[None, :] == np.arange(12)[:, None]
        sums = {name: np.tensordot(of.astype(float), own[name].values, axes=(1, 0)) for name in state}
        return Sum({"sums": sums, "count": of.sum(1)})

    def update(self, state: State, total: Sum) -> Learnt[State]:
        count = total.tree["count"]
        occurs = ~np.isnan(next(iter(state.values()))).reshape(12, -1).all(1)
        if (occurs & (count == 0)).any():
            absent = ", ".join(str(m + 1) for m in np.flatnonzero(occurs & (count == 0)))
            raise ValueError(f"the training period holds no month {absent}; make it at least a whole year long")
        known = np.where(count > 0, count, np.nan)
        means = {name: each / known.reshape(-1, *[1] * (each.ndim - 1)) for name, each in total.tree["sums"].items()}
        return Learnt(means, finished=True)

    def apply(self, state: State, data: xr.Dataset) -> xr.Dataset:
        months = month(data["time"].values)
        return data.assign({name: (data[name].dims, data[name].values - state[name][months], data[name].attrs) for name in state})

    def restore(self, state: State, forecast: xr.Dataset, initial: xr.Dataset) -> xr.Dataset:
        del initial
        months = xr.DataArray(month(forecast["valid_time"].values), dims=("init_time", "lead_time"))
        made = [name for name in state if name in forecast]  # predictors are not forecast
        means = {name: xr.DataArray(state[name], dims=("month", *_space(forecast[name], state[name]))) for name in made}
        return forecast.assign({name: forecast[name] + means[name].isel(month=months) for name in made})


def _space(forecast: xr.DataArray, normal: Array) -> tuple[Any, ...]:
    """The dimensions of a forecast that its normal (month, ...) has too."""
    return forecast.dims[forecast.ndim - normal.ndim + 1 :]


def _occurring(domain: Domain) -> Array:
    """(month,): those in which a step of the record begins; with steps of a year there is one."""
    unit, count = unit_of(domain.step)
    count = {"Y": 12 * count, "M": count}.get(unit, 1)
    occurs: Array = (np.arange(12) - month(domain.period.first)) % min(count, 12) == 0
    return occurs
