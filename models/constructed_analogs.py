"""Constructed analogs: the present as a linear combination of past states, carried forward with the same weights.

The weights a of the past states Z (sample, mode) that begin in neighbouring calendar months minimise |z - Z'a|^2 + r |a|^2, and
the forecast is Y'a, where Y holds what followed each of them (van den Dool 1994, doi 10.1034/j.1600-0870.1994.t01-2-00006.x).
Because a = (Z Z' + r I)^-1 Z z = Z (Z'Z + r I)^-1 z, the library itself need not be kept: Z'Z and Y'Z add up over chunks, and
the forecast is Y'Z (Z'Z + r I)^-1 z. The part outside the EOFs is damped persistence. Unit: that of the variable.
Assumes that a combination of states evolves as the states do: linear dynamics, but no stationarity over the leads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ensemble import Array, Chunk, Composed, Domain, Learnt, Model, Sum
from ensemble.parts import Damping, Eof, Then, beside, lead_index
from ensemble.task import month


class Library(NamedTuple):
    """(start month, lead_time, mode, mode): Y'Z (Z'Z + r I)^-1, all that a forecast needs of the past states."""

    lead_times: Array
    carried: Array


@dataclass(frozen=True)
class Analogs(Model[Library, Sum]):
    """The constructed analogs of principal components."""

    window: int
    ridge: float

    def start(self, domain: Domain, seed: int) -> Learnt[Library]:
        del seed
        modes = domain.fields["pc"].mask.size
        return Learnt(Library(domain.lead_times, np.zeros((12, len(domain.lead_times), modes, modes))), finished=False)

    def summarise(self, state: Library, chunk: Chunk) -> Sum:
        initial, targets, _ = chunk.pairs(1, state.lead_times)
        z, y = initial["pc"].values[:, 0], targets["pc"].values
        of = month(initial["init_time"].values)[None, :] == np.arange(12)[:, None]
        zz = np.stack([z[m].T @ z[m] for m in of])
        yz = np.stack([np.tensordot(y[m], z[m], (0, 0)) for m in of])
        return Sum((zz, yz, of.sum(1)))

    def update(self, state: Library, total: Sum) -> Learnt[Library]:
        near = np.arange(12)[:, None] + np.arange(-self.window, self.window + 1)
        zz, yz, count = (np.take(each, near, axis=0, mode="wrap").sum(1) for each in total.tree)
        if not count.all():
            raise ValueError(f"no past state begins within {self.window} months of month {count.argmin() + 1}; train on more years")
        energy = np.trace(zz, axis1=1, axis2=2) / count
        regular = zz + self.ridge * energy[:, None, None] * np.eye(zz.shape[1])
        carried = np.linalg.solve(regular[:, None], yz.swapaxes(2, 3)).swapaxes(2, 3)
        return Learnt(state._replace(carried=np.ascontiguousarray(carried)), finished=True)

    def forecast(self, state: Library, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        start = month(initial["init_time"].values)
        carried = state.carried[start[:, None], lead_index(state.lead_times, lead_times)[None, :]]
        pc = np.einsum("nlij,nj->nli", carried, initial["pc"].values[:, -1])
        coords = {"init_time": initial["init_time"], "lead_time": lead_times, "mode": initial["mode"]}
        return xr.Dataset({"pc": (("init_time", "lead_time", "mode"), pc)}, coords)


@dataclass(frozen=True)
class ConstructedAnalogs(Composed):
    """Settings.

    modes: number of EOFs.
    window: calendar months on either side whose states are in the library.
    ridge: penalty on the squares of the weights, in units of the mean squared length of the library's states.
    """

    modes: int = 8
    window: int = 2
    ridge: float = 1.0

    def build(self) -> Model[Any, Any]:
        return Then(Eof(self.modes), beside(pc=Analogs(self.window, self.ridge), residual=Damping()))
