"""Variables as numbers of order one, as networks want them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.model import Learnt, Transform
from ensemble.sums import Sum
from ensemble.task import Domain

State = dict[str, float]


@dataclass(frozen=True)
class Scaled(Transform[State, Sum]):
    """Each variable divided by one number, its root mean square over the training data; relative sizes inside it stay."""

    def start(self, domain: Domain, seed: int) -> Learnt[State]:
        del seed
        return Learnt(dict.fromkeys(domain.fields, 1.0), finished=False)

    def summarise(self, state: State, chunk: Chunk) -> Sum:
        own = chunk.own()
        values = {name: own[name].values[:, chunk.domain.fields[name].mask] for name in state}
        return Sum({name: (float((each**2).sum()), each.size) for name, each in values.items()})

    def update(self, state: State, total: Sum) -> Learnt[State]:
        del state
        return Learnt({name: float(np.sqrt(squares / count)) or 1.0 for name, (squares, count) in total.tree.items()}, finished=True)

    def apply(self, state: State, data: xr.Dataset) -> xr.Dataset:
        return data.assign({name: (data[name].dims, data[name].values / scale, data[name].attrs) for name, scale in state.items()})

    def restore(self, state: State, forecast: xr.Dataset, initial: xr.Dataset) -> xr.Dataset:
        del initial
        return forecast.assign({name: forecast[name] * state[str(name)] for name in forecast.data_vars})
