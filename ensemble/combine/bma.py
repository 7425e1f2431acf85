"""Bayesian model averaging: each forecast wears a normal distribution, and weights are how often its model was the one to trust.

Weights and width have the greatest likelihood of what was observed. A round through the validation period asks of every point
which model it is likely to have come from; the answers, added up, are the next weights and width (expectation and
maximisation), and with them come slopes that lead further (`likelihood.py`). The first round gathers the moments that the
start, and the regressions if any, are made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.combine.base import rescaled, weighted_mean
from ensemble.combine.errors import Past, mass, past_of
from ensemble.combine.likelihood import Slopes, slopes, step
from ensemble.combine.mixture import quantile
from ensemble.combine.predictive import Predictive, by_lead
from ensemble.combine.weighing import check_mass
from ensemble.model import Learnt
from ensemble.sums import Sum
from ensemble.task import Array, Domain

RARE = 1e-15  # no weight falls below it, so that none is beyond recall
SLACK = 1e-11  # of log likelihoods: what rounding moves is neither better nor worse


class Averaging(NamedTuple):
    """At each lead: the line `offset` + `slope` x forecast of each model, and the mixture around these lines."""

    offset: Array  # (model, lead_time)
    slope: Array  # (model, lead_time)
    at: Array  # (model + 1, lead_time): weights, and below them the log of the variance
    refuge: Array  # as `at`: where to go on from if `value` (lead_time,), a log likelihood, is not reached there
    value: Array
    rounds: int = 0

    @property
    def weight(self) -> Array:
        """(model, lead_time)."""
        return self.at[:-1]

    @property
    def variance(self) -> Array:
        """(lead_time,) [unit of the variable, squared]."""
        variance: Array = np.exp(self.at[-1])
        return variance


@dataclass(frozen=True)
class Bma(Predictive[Averaging, Sum]):
    """Bayesian model averaging: p(y | f) = sum w_i N(y; a_i + b_i f_i, s^2), at each lead.

    Raftery et al. (2005), doi 10.1175/MWR2906.1, eq. 2; the forecast is its mean. Points weigh what their area does.

    shrink: the share of equal weights that each round mixes in, as a Dirichlet prior does: w_i = (1 - shrink) n_i/n + shrink/models.
    regress: whether a_i, b_i are those of a regression of the truth on each model, as in the paper; else 0 and 1.
    tolerance: the change of weights and, relatively, variance in one round at which they are taken as found.
    rounds: the most rounds through the validation period.
    """

    name: ClassVar[str] = "bma"
    regress: bool = False
    tolerance: float = 1e-9
    rounds: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tolerance <= 0 or self.rounds < 1:
            raise ValueError(f"tolerance {self.tolerance} must be above 0, and rounds {self.rounds} at least 1")

    def start(self, domain: Domain, seed: int) -> Learnt[Averaging]:
        del seed
        models, leads = len(domain.fields["forecast"].coords["model"]), len(domain.lead_times)
        nothing = np.zeros((models + 1, leads))
        return Learnt(Averaging(np.zeros((models, leads)), np.ones((models, leads)), nothing, nothing, np.full(leads, -np.inf)), False)

    def summarise(self, state: Averaging, chunk: Chunk) -> Sum:
        past = past_of(chunk)
        of = slopes(past, state.offset, state.slope, state.weight, state.variance) if state.rounds else moments(past)
        return Sum((of, mass(past)))

    def update(self, state: Averaging, total: Sum) -> Learnt[Averaging]:
        sums, mass = total.tree
        check_mass(mass, self.name)
        if not state.rounds:
            return Learnt(self._first(state, *(each / mass for each in sums)), finished=False)
        of = sums.over(mass)
        safe = self._next(state.weight * of.gain, of.squared)
        value = of.value + self._prior(len(state.weight)) * np.log(state.weight).sum(0)
        worse = value < state.value - SLACK
        at = np.where(worse, state.refuge, self._leap(state, of, safe))
        found = not worse.any() and np.abs(at - state.at).max() < self.tolerance
        last = state.rounds >= self.rounds
        refuge, value = np.where(worse, state.refuge, safe), np.where(worse, state.value, value)
        return Learnt(state._replace(at=refuge if last else at, refuge=refuge, value=value, rounds=state.rounds + 1), bool(found or last))

    def _leap(self, state: Averaging, of: Slopes, safe: Array) -> Array:
        """Where Newton's step leads; no weight falls to less than a hundredth of what it would `safe`ly be."""
        if self.share == 1:
            return safe
        weight, height = step(of, state.weight, state.variance, self._prior(len(state.weight)))
        weight = np.maximum(weight, 0.01 * safe[:-1])
        return np.concatenate([weight / weight.sum(0), height[None]])

    def _prior(self, models: int) -> float:
        """The exponent of each weight in the Dirichlet prior that `shrink` is, per unit of mass."""
        return self.share / (1 - self.share) / models if self.share < 1 else 0.0

    def _first(self, state: Averaging, means: Array, squares: Array, products: Array, truth: Array, truths: Array) -> Averaging:
        """Equal weights around the lines, with the mean variance around them, from means (model, lead_time) and (lead_time,)."""
        offset, slope = state.offset, state.slope
        if self.regress:
            spread, shared = squares - means**2, products - means * truth
            varied = spread > 1e-12 * squares
            slope = np.where(varied, shared / np.where(varied, spread, 1), 0)
            offset = truth - slope * means
        line = offset**2 + 2 * offset * slope * means + slope**2 * squares
        squared = (line - 2 * (offset * truth + slope * products) + truths).mean(0)
        at = self._next(np.full(slope.shape, 1 / len(slope)), squared)
        return Averaging(offset, slope, at, at, state.value, 1)

    def _next(self, share: Array, squared: Array) -> Array:
        """(model + 1, lead_time): weights and log variance of the shares of models and the mean squared distance to them."""
        if (squared <= 0).any():
            raise ValueError(f"{self.name}: a model has no error at all in the validation period; has it seen the truth?")
        weight = np.maximum((1 - self.share) * share + self.share / len(share), RARE)
        return np.concatenate([weight / weight.sum(0), np.log(squared)[None]])

    def weights(self, state: Averaging, domain: Domain) -> Array:
        del domain
        return state.weight

    def combine(self, state: Averaging, domain: Domain, forecasts: xr.DataArray) -> xr.DataArray:
        del domain
        return weighted_mean(state.weight, corrected(state, forecasts) if self.regress else forecasts)

    def quantiles(self, state: Averaging, forecasts: xr.DataArray, levels: Sequence[float]) -> xr.DataArray:
        """(model, init_time, lead_time, ...) -> (quantile, init_time, lead_time, ...); levels (k - 1/2)/n are n members alike."""
        centres = corrected(state, forecasts)
        weight, deviation = by_lead(state.weight, centres.ndim)[:, 0], by_lead(np.sqrt(state.variance), centres.ndim)[0]
        starts = centres.values.swapaxes(0, 1)  # one at a time, so that all stays in the cache
        values = np.array([[quantile(level, weight, start, deviation) for start in starts] for level in levels])
        values = values.reshape(len(levels), *centres.shape[1:])
        return xr.DataArray(values, dims=("quantile", *centres.dims[1:]), coords={"quantile": list(levels)})

    def cost(self, state: Averaging, chunk: Chunk) -> Array:
        return -slopes(past_of(chunk), state.offset, state.slope, state.weight, state.variance).value

    def some(self, state: Averaging, models: Array) -> Averaging:
        """The distributions of these stay as they are, and their weights add up to one again."""
        at = np.concatenate([rescaled(state.weight[models]), state.at[-1:]])
        return state._replace(offset=state.offset[models], slope=state.slope[models], at=at, refuge=at)


def corrected(state: Averaging, forecasts: xr.DataArray) -> xr.DataArray:
    """Forecasts (model, init_time, lead_time, ...) on the line of their model."""
    offset, slope = (xr.DataArray(each, dims=("model", "lead_time")) for each in (state.offset, state.slope))
    made: xr.DataArray = forecasts * slope + offset
    return made.transpose(*forecasts.dims)


def moments(past: Past) -> tuple[Array, Array, Array, Array, Array]:
    """Sums of f, f^2, f y (model, lead_time), y and y^2 (lead_time,) over starts and area."""
    forecast, truth = np.where(past.there, past.forecast, 0).astype(float), np.where(past.there, past.truth, 0).astype(float)
    of_models = [(each @ past.area).sum(1) for each in (forecast, forecast**2, forecast * truth)]
    return of_models[0], of_models[1], of_models[2], (truth @ past.area).sum(0), (truth**2 @ past.area).sum(0)
