"""Ridge regression in EOF space: one linear map for each lead, straight from what is known to the components then.

y(t + lead) = x(t) B(lead), B = (X'X + lambda s^2 I)^-1 X'Y, where x holds the components of the last months, their mean of a
year, and their products with the cosine and sine of the month, and s^2 is the mean of their variances: one for all, so that
the weak components, which are mostly noise, are shrunk the most (Hoerl and Kennard 1970, doi 10.1080/00401706.1970.10488634).
The part outside the EOFs is damped persistence. Unit: that of the variable.
Assumes linear coupling between components, with one harmonic for its seasonal cycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ensemble import Array, Chunk, Composed, Domain, Learnt, Model, Sum
from ensemble.parts import Damping, Eof, Then, Trailing, beside, lead_index, predictors


class Maps(NamedTuple):
    """(lead_time, feature, mode)."""

    lead_times: Array
    coefficients: Array


@dataclass(frozen=True)
class Ridge(Model[Maps, Sum]):
    """The linear maps, by their normal equations."""

    lags: int
    penalty: float

    @property
    def history(self) -> int:
        return self.lags

    def start(self, domain: Domain, seed: int) -> Learnt[Maps]:
        del seed
        modes = domain.fields["pc"].mask.size
        return Learnt(Maps(domain.lead_times, np.zeros((len(domain.lead_times), modes * (self.lags + 3), modes))), finished=False)

    def summarise(self, state: Maps, chunk: Chunk) -> Sum:
        moments = [self._moments(chunk, lead) for lead in state.lead_times]
        return Sum(tuple(np.stack(each) for each in zip(*moments, strict=True)))

    def _moments(self, chunk: Chunk, lead: int) -> tuple[Array, Array, Array]:
        """X'X, X'Y and the count of the pairs of one lead: a short lead has more of them than a long one."""
        initial, targets, _ = chunk.pairs(self.history, np.array([lead]))
        x, y = predictors(initial), targets["pc"].values[:, 0]
        return x.T @ x, x.T @ y, np.array(len(x))

    def update(self, state: Maps, total: Sum) -> Learnt[Maps]:
        xx, xy, count = total.tree
        variance = np.trace(xx, axis1=1, axis2=2) / (count * xx.shape[1])
        penalty = self.penalty * variance[:, None, None] * np.eye(xx.shape[1])
        return Learnt(state._replace(coefficients=np.linalg.solve(xx + penalty, xy)), finished=True)

    def forecast(self, state: Maps, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        wanted = state.coefficients[lead_index(state.lead_times, lead_times)]
        pc = np.einsum("nf,lfm->nlm", predictors(initial), wanted)
        coords = {"init_time": initial["init_time"], "lead_time": lead_times, "mode": initial["mode"]}
        return xr.Dataset({"pc": (("init_time", "lead_time", "mode"), pc)}, coords)


@dataclass(frozen=True)
class EofRidge(Composed):
    """Settings.

    modes: number of EOFs.
    lags: months of components that the regression sees, beside their mean of a year.
    penalty: lambda, as a number of months in which the predictors are pretended to have varied without effect.
    """

    modes: int = 8
    lags: int = 2
    penalty: float = 40.0

    def build(self) -> Model[Any, Any]:
        return Then(Eof(self.modes), beside(pc=Then(Trailing(12), Ridge(self.lags, self.penalty)), residual=Damping()))
