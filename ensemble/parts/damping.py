"""Damped persistence: what is left of an anomaly, by start month, lead and point.

A regression through the origin of each lead on the last value seen, its sums pooled over neighbouring start months and
shrunk towards the all-year value. Powers of one lag-one coefficient are worse: anomalies do not decay exponentially.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.model import Learnt, Model
from ensemble.sums import Sum
from ensemble.task import Array, Domain, month


class Damped(NamedTuple):
    """(start month, lead_time, ...): the share of the last anomaly that is left."""

    lead_times: Array
    share: Array


@dataclass(frozen=True)
class Damping(Model[Damped, Sum]):
    """Start months within `window` are pooled; `shrink` months' worth of the all-year regression is added."""

    window: int = 2
    shrink: float = 20.0

    def start(self, domain: Domain, seed: int) -> Learnt[Damped]:
        del seed
        shape = domain.fields[domain.target].mask.shape
        return Learnt(Damped(domain.lead_times, np.zeros((12, len(domain.lead_times), *shape))), finished=False)

    def summarise(self, state: Damped, chunk: Chunk) -> Sum:
        moments = [self._moments(chunk, lead) for lead in state.lead_times]
        return Sum(tuple(np.stack(each, 1) for each in zip(*moments, strict=True)))

    def _moments(self, chunk: Chunk, lead: int) -> tuple[Array, Array, Array]:
        """x'y, x'x and the count of one lead, by start month."""
        initial, targets, _ = chunk.pairs(1, np.array([lead]))
        x, y = initial[chunk.domain.target].values[:, 0], targets[chunk.domain.target].values[:, 0]
        of = (month(initial["init_time"].values)[None, :] == np.arange(12)[:, None]).astype(float)
        return np.tensordot(of, x * y, (1, 0)), np.tensordot(of, x * x, (1, 0)), of.sum(1)

    def update(self, state: Damped, total: Sum) -> Learnt[Damped]:
        xy, xx, count = total.tree
        near = np.arange(-self.window, self.window + 1)
        pooled_xy, pooled_xx = (np.take(s, np.arange(12)[:, None] + near, axis=0, mode="wrap").sum(1) for s in (xy, xx))
        count = count.sum(0).reshape(-1, *[1] * (xy.ndim - 2))
        prior = self.shrink / np.maximum(count, 1)
        top, bottom = pooled_xy + prior * xy.sum(0), pooled_xx + prior * xx.sum(0)
        share = np.clip(top / np.where(bottom == 0, 1, bottom), 0, 1)
        return Learnt(state._replace(share=share), finished=True)

    def forecast(self, state: Damped, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        del forcing, seed
        (name,) = initial.data_vars
        rows = month(initial["init_time"].values)[:, None]
        share = state.share[rows, lead_index(state.lead_times, lead_times)[None, :]]
        values = share * initial[name].values[:, -1:]
        dims = ("init_time", "lead_time", *initial[name].dims[2:])
        return xr.Dataset({name: (dims, values)}, {"init_time": initial["init_time"], "lead_time": lead_times})


def lead_index(fitted: Array, wanted: Array) -> Array:
    """Where each of the leads `wanted` stands among those that were `fitted`."""
    absent = sorted(set(wanted.tolist()) - set(fitted.tolist()))
    if absent:
        raise ValueError(f"lead {absent[0]} was not fitted; this model was fitted for leads {fitted.tolist()}")
    return np.searchsorted(fitted, wanted)
