"""Rules that say how sure they are: a distribution at each point, handed on as members that are equally likely.

The members of a point are the quantiles of its distribution at the levels (k - 1/2)/n, k = 1 ... n: of all sets of n values
these have the least mean score of any truth drawn from it (Broecker 2012, doi 10.1002/qj.1891). They are no random draws, so
what is made for draws has to know:

- the standard ensemble score of the members is that of the distribution, at n = 20 within 0.5 %; the fair score takes off what
  draws would owe to chance, and is too low by E|X - X'|/(2n), 5 % of the score of a normal distribution;
- their mean is that of a distribution with two equal halves, and near it in any other (at n = 20 within 1 % of the scale for a
  normal one censored at zero, within 9 % in a mixture in heaps); their variance, with n - 1 below, is 1.2 % less than a normal one's;
- half as many truths fall beyond the outermost members as fall between two: the first and the last rank have 1/(2n) of all.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, final

import numpy as np
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.combine.base import Shrinking
from ensemble.execute import Serial
from ensemble.fitting import fit
from ensemble.model import State, Summary
from ensemble.sums import Sum, total
from ensemble.task import Array, Domain

SHARES = (1.0, 0.98, 0.9, 0.75, 0.5, 0.0)  # of shrinking, among which rolling origins choose


@dataclass(frozen=True)
class Predictive(Shrinking[State, Summary]):
    """A rule whose forecast is a distribution, learnt in many rounds.

    members: how many equally likely values it is handed on as; 1 is its mean alone.
    """

    members: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.members < 1:
            raise ValueError(f"members {self.members} must be at least 1, the mean alone")

    @final
    def tuned(self, folds: Sequence[Sequence[Chunk]], domain: Domain) -> Self:
        """With the `shrink` of the least loss when each fold is forecast with what was learnt from those before it."""
        if self.shrink is not None or len(folds) < 2:
            return self
        tried = [replace(self, shrink=share) for share in SHARES]
        losses = [sum(rule.ahead(folds[:i], folds[i], domain) for i in range(1, len(folds))) for rule in tried]
        return min(zip(losses, tried, strict=True), key=lambda each: each[0])[1]  # of equals the most cautious

    @final
    def ahead(self, before: Sequence[Sequence[Chunk]], after: Sequence[Chunk], domain: Domain) -> float:
        """The loss of what is learnt from the folds `before` in the one `after` them, added up over starts and leads."""
        state = fit(self, [[chunk] for fold in before for chunk in fold], domain, Serial(), 0)
        return float(total([Sum(self.cost(state, chunk)) for chunk in after]).tree.sum())

    @abc.abstractmethod
    def cost(self, state: State, chunk: Chunk) -> Array:
        """(lead_time,): what the state has been learnt to keep low, added up over starts; on one scale for all values of `shrink`."""

    @property
    def distribution(self) -> bool:
        return self.members > 1

    @abc.abstractmethod
    def quantiles(self, state: State, forecasts: xr.DataArray, levels: Sequence[float]) -> xr.DataArray:
        """(model, init_time, lead_time, ...) -> (quantile, init_time, lead_time, ...); missing where a model is."""

    @abc.abstractmethod
    def some(self, state: State, models: Array) -> State:
        """What would be known of some of the models alone, by index; weights are rescaled, nothing is learnt anew."""

    def sample(self, state: State, domain: Domain, forecasts: xr.DataArray) -> xr.DataArray:
        """(model, init_time, lead_time, ...) -> (init_time, lead_time, member, ...)."""
        if self.members == 1:
            return self.combine(state, domain, forecasts).expand_dims("member", axis=2)
        made = self.quantiles(state, forecasts, levels(self.members)).rename(quantile="member").drop_vars("member")
        return made.transpose("init_time", "lead_time", "member", ...)

    @final
    def sample_some(self, state: State, domain: Domain, forecasts: xr.DataArray, models: Array) -> xr.DataArray:
        """As `sample`, of starts at which the others failed: `forecasts` of those of the domain's models that are left, by index."""
        return self.sample(self.some(state, models), domain, forecasts)

    @final
    def combine_some(self, state: State, domain: Domain, forecasts: xr.DataArray, models: Array) -> xr.DataArray:
        return self.combine(self.some(state, models), domain, forecasts)


def levels(members: int) -> list[float]:
    """Of the quantiles that stand for a distribution: the middles of equal parts."""
    middles: list[float] = ((np.arange(members) + 0.5) / members).tolist()
    return middles


def by_lead(values: Array, dims: int) -> Array:
    """(lead_time,) or (model, lead_time), to be broadcast against (model, init_time, lead_time, ...) of `dims` dimensions."""
    return values.reshape(*values.shape[:-1], 1, -1, *(1,) * (dims - 3))
