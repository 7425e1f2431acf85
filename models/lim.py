"""Linear inverse model: the anomalies as a linear system driven by noise, in the space of their leading EOFs.

z(t + 1) = G z(t) with G from lagged and instantaneous covariances (Penland and Magorian 1993,
doi 10.1175/1520-0442(1993)006<1067:PONSST>2.0.CO;2); with a `window`, one G for each calendar month, pooled over its
neighbours and shrunk towards the stationary one (cyclostationary: Blumenthal 1991; Shin et al. 2021,
doi 10.1175/JCLI-D-20-0291.1). The part outside the EOFs is damped persistence. Unit: that of the variable.
Assumes linear dynamics and noise that is white in time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ensemble import Array, Chunk, Composed, Domain, Learnt, Model, Sum
from ensemble.parts import Damping, Eof, Then, beside
from ensemble.task import month


class Operators(NamedTuple):
    """(month, mode, mode): from the last month seen, by its calendar month, to the next."""

    step: Array


@dataclass(frozen=True)
class Propagator(Model[Operators, Sum]):
    """The operators of a linear inverse model of principal components."""

    window: int | None
    shrink: float

    def start(self, domain: Domain, seed: int) -> Learnt[Operators]:
        del seed
        modes = domain.fields["pc"].mask.size
        return Learnt(Operators(np.zeros((12, modes, modes))), finished=False)

    def summarise(self, state: Operators, chunk: Chunk) -> Sum:
        initial, targets, _ = chunk.pairs(1, np.array([1]))
        x, y = initial["pc"].values[:, 0], targets["pc"].values[:, 0]
        of = month(initial["time"].values[:, 0])[None, :] == np.arange(12)[:, None]
        return Sum((np.stack([x[m].T @ x[m] for m in of]), np.stack([y[m].T @ x[m] for m in of]), np.array(len(x))))

    def update(self, state: Operators, total: Sum) -> Learnt[Operators]:
        xx, yx, count = total.tree
        stationary = np.linalg.solve(xx.sum(0).T, yx.sum(0).T).T
        if self.window is None:
            return Learnt(Operators(np.repeat(stationary[None], 12, axis=0)), finished=True)
        near = np.arange(12)[:, None] + np.arange(-self.window, self.window + 1)
        xx_near, yx_near = (np.take(each, near, axis=0, mode="wrap").sum(1) for each in (xx, yx))
        prior = self.shrink * np.diag(np.diag(xx.sum(0)) / count)
        departure = yx_near - stationary @ xx_near
        seasonal = stationary + np.linalg.solve(xx_near + prior, departure.swapaxes(1, 2)).swapaxes(1, 2)
        return Learnt(Operators(np.ascontiguousarray(seasonal)), finished=True)

    def forecast(self, state: Operators, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        z, path = initial["pc"].values[:, -1], []
        first = month(initial["time"].values[:, -1])
        for lead in range(int(max(lead_times))):
            z = np.einsum("nij,nj->ni", state.step[(first + lead) % 12], z)
            path.append(z)
        pc = np.stack(path, axis=1)[:, lead_times - 1]
        coords = {"init_time": initial["init_time"], "lead_time": lead_times, "mode": initial["mode"]}
        return xr.Dataset({"pc": (("init_time", "lead_time", "mode"), pc)}, coords)


@dataclass(frozen=True)
class Lim(Composed):
    """Settings.

    modes: number of EOFs.
    window: calendar months on either side that are pooled for each month's operator; none for one operator all year.
    shrink: weight of the stationary operator, as a number of months.
    """

    modes: int = 8
    window: int | None = 2
    shrink: float = 20.0

    def build(self) -> Model[Any, Any]:
        return Then(Eof(self.modes), beside(pc=Propagator(self.window, self.shrink), residual=Damping()))
