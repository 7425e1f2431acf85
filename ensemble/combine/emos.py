"""Ensemble model output statistics: a regression on the models that also says how wide the errors are, wider where models differ.

The parameters have the lowest mean score in the validation period. A round through it gives the mean score with its slopes and
curvatures, from which Newton's step leads on (`regression.py`); where that landed higher than it started, the next round tries
a quarter of the way. The first round gathers the moments that parameters are counted from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.combine.base import rescaled
from ensemble.combine.errors import Past, mass, past_of
from ensemble.combine.predictive import Predictive
from ensemble.combine.regression import Frame, Shape, Slopes, distribution, each_model, first, slopes, step
from ensemble.combine.weighing import check_mass
from ensemble.model import Learnt
from ensemble.sums import Sum
from ensemble.task import Array, Domain

SLACK = 1e-12  # of mean losses in units of the error: what rounding moves is neither better nor worse
NOTHING = 1e-12  # of squares: what is left of them is rounding


class Regression(NamedTuple):
    """At each lead: where parameters are counted from, and the parameters."""

    frame: Frame
    at: Array  # (parameter, lead_time): a, b, c, d as in `regression.py`
    refuge: Array  # as `at`: the best so far, of the loss `value` (lead_time,)
    value: Array
    rounds: int = 0

    @property
    def slope(self) -> Array:
        """(model, lead_time): b_i."""
        return each_model(self.at, len(self.frame.centre))

    @property
    def intercept(self) -> Array:
        """(lead_time,): a [unit of the variable]."""
        a: Array = self.frame.truth + self.frame.unit * self.at[0] - (self.slope * self.frame.centre).sum(0)
        return a


@dataclass(frozen=True)
class Emos(Predictive[Regression, Sum]):
    """Ensemble model output statistics: y ~ N(a + sum b_i f_i, c + d S^2) at each lead, with S^2 the variance of the models.

    Gneiting et al. (2005), doi 10.1175/MWR2904.1, eq. 2, with b, c, d >= 0, by the least mean continuous ranked probability
    score; points weigh what their area does. The forecast is the mean of the distribution, its weights are b_i / sum b_i,
    equal where all b_i are zero.

    shrink: how strongly the b_i are drawn towards one value for all: their scatter costs shrink/(1 - shrink) times what leaving
        the best ones costs the score, in the mean over directions (0: nothing; 1: all models share one b, weights are equal).
        Weights tell little in short records: where no rolling origins choose it is 0.9.
    family: `normal`, or `logistic`, whose scale is then what is regressed, not its standard deviation.
    censored: whether all below zero is zero, as with rain; for data that are no anomalies.
    link: `variance` as above, or `log`, where log(scale) = c + d log(S), d >= 0 (Messner et al. 2014, doi 10.1175/MWR-D-13-00355.1).
    loss: `crps`, or `likelihood`, which minds outliers more.
    tolerance: the change of parameters in one round, in units of the error, at which they are taken as found.
    rounds: the most rounds through the validation period.
    """

    name: ClassVar[str] = "emos"
    cautious: ClassVar[float] = 0.9
    family: Literal["normal", "logistic"] = "normal"
    censored: bool = False
    link: Literal["variance", "log"] = "variance"
    loss: Literal["crps", "likelihood"] = "crps"
    tolerance: float = 1e-8
    rounds: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        choices = {"family": ("normal", "logistic"), "link": ("variance", "log"), "loss": ("crps", "likelihood")}
        for setting, known in choices.items():
            if (given := getattr(self, setting)) not in known:
                raise ValueError(f"{setting} {given!r} must be {' or '.join(known)}")
        if self.tolerance <= 0 or self.rounds < 1:
            raise ValueError(f"tolerance {self.tolerance} must be above 0, and rounds {self.rounds} at least 1")

    @property
    def shape(self) -> Shape:
        """What is fitted."""
        return Shape(self.family, self.censored, self.link, self.loss)

    def start(self, domain: Domain, seed: int) -> Learnt[Regression]:
        del seed
        models, leads = len(domain.fields["forecast"].coords["model"]), len(domain.lead_times)
        frame = Frame(np.zeros((models, leads)), np.zeros(leads), np.ones(leads), np.zeros(leads))
        at = first(models, leads, self.shape, shared=self.share == 1)
        return Learnt(Regression(frame, at, at, np.full(leads, np.inf)), finished=False)

    def summarise(self, state: Regression, chunk: Chunk) -> Sum:
        past = past_of(chunk)
        return Sum((slopes(past, state.frame, state.at, self.shape) if state.rounds else moments(past), mass(past)))

    def update(self, state: Regression, total: Sum) -> Learnt[Regression]:
        sums, mass = total.tree
        check_mass(mass, self.name)
        if not state.rounds:
            return Learnt(state._replace(frame=self._frame(*(each / mass for each in sums)), rounds=1), finished=False)
        of = self._drawn_together(sums.over(mass), state)
        worse = of.value > state.value + SLACK
        at = np.where(worse, state.refuge + (state.at - state.refuge) / 4, step(of, state.at, self.shape))
        found = not worse.any() and np.abs(at - state.at).max() < self.tolerance
        last = state.rounds >= self.rounds
        refuge, value = np.where(worse, state.refuge, state.at), np.where(worse, state.value, of.value)
        return Learnt(Regression(state.frame, refuge if last else at, refuge, value, state.rounds + 1), bool(found or last))

    def _frame(self, means: Array, squared: Array, truth: Array, equal: Array, spread: Array) -> Frame:
        """From means of `moments`."""
        unit = equal - (means.mean(0) - truth) ** 2
        if (squared <= 0).any() or (unit <= NOTHING * equal).any():
            raise ValueError(
                f"{self.name}: a model, or the mean of all, has no error, or always the same one, in the validation period; "
                "has it seen the truth?"
            )
        return Frame(means, truth, np.sqrt(unit), np.where(spread > NOTHING * unit, spread, 0.0))

    def _drawn_together(self, of: Slopes, state: Regression) -> Slopes:
        """With the cost of b_i that differ."""
        models = len(state.frame.centre)
        if self.share in (0, 1) or models == 1:
            return of
        frame = state.frame
        apart = np.maximum(frame.spread - frame.centre.var(0, ddof=1), 0) / frame.unit**2
        stiff = self.share / (1 - self.share) * apart * (1 / np.sqrt(np.pi) if self.loss == "crps" else 1.0)
        b = state.at[1:-2]
        bend = np.zeros((*of.whole.shape[:2], 1))
        bend[1:-2, 1:-2, 0] = np.eye(models) - 1 / models
        scatter = b - b.mean(0)
        slope = np.concatenate([0 * stiff[None], stiff * scatter, 0 * stiff[None], 0 * stiff[None]])
        return Slopes(of.value + stiff * (scatter**2).sum(0) / 2, of.slope + slope, of.sure + stiff * bend, of.whole + stiff * bend)

    def weights(self, state: Regression, domain: Domain) -> Array:
        del domain
        return rescaled(state.slope)

    def combine(self, state: Regression, domain: Domain, forecasts: xr.DataArray) -> xr.DataArray:
        """(model, init_time, lead_time, ...) -> (init_time, lead_time, ...): the mean of the distribution; missing where a model is."""
        del domain
        location, scale = distribution(state.frame, state.at, forecasts.values.astype(float), self.shape)
        return forecasts[0].drop_vars("model", errors="ignore").copy(data=self._mean(location, scale))

    def _mean(self, location: Array, scale: Array) -> Array:
        return scale * self.shape.wears.below(location / scale) if self.censored else location

    def quantiles(self, state: Regression, forecasts: xr.DataArray, levels: Sequence[float]) -> xr.DataArray:
        location, scale = distribution(state.frame, state.at, forecasts.values.astype(float), self.shape)
        z = self.shape.wears.quantile(np.array(levels, float))
        values = location + scale * z.reshape(-1, *(1,) * location.ndim)
        values = np.maximum(values, 0) if self.censored else values
        return xr.DataArray(values, dims=("quantile", *forecasts.dims[1:]), coords={"quantile": list(levels)})

    def cost(self, state: Regression, chunk: Chunk) -> Array:
        return slopes(past_of(chunk), state.frame, state.at, self.shape).value

    def some(self, state: Regression, models: Array) -> Regression:
        """The sum of the b_i is kept, and each model counted from its own mean."""
        b = rescaled(state.slope[models]) * state.slope.sum(0)
        at = np.concatenate([state.at[:1], b, state.at[-2:]])
        return state._replace(frame=state.frame._replace(centre=state.frame.centre[models]), at=at, refuge=at)


def moments(past: Past) -> tuple[Array, Array, Array, Array, Array]:
    """Sums over starts and area of f and the squared error (model, lead_time), of y, the squared error of the equal mean, and S^2."""
    models, _, leads, _ = past.forecast.shape
    sums = [np.zeros(each) for each in ((models, leads), (models, leads), (leads,), (leads,), (leads,))]
    for start, there in enumerate(past.there):  # one at a time, so that there is no second array of all errors
        forecast = np.where(there, past.forecast[:, start], 0).astype(float)
        truth = np.where(there, past.truth[start], 0).astype(float)
        spread = forecast.var(0, ddof=1) if models > 1 else 0 * truth
        for all_starts, one in zip(sums, (forecast, (forecast - truth) ** 2, truth, (forecast.mean(0) - truth) ** 2, spread), strict=True):
            all_starts += one @ past.area
    return sums[0], sums[1], sums[2], sums[3], sums[4]
