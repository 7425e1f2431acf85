"""What is computed at each point; only sums of it are ever kept."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ensemble.task import Array


@dataclass(frozen=True)
class Values:
    """One model's forecasts and the truth, NaN where a point does not count, and the `normal` that both are counted from.

    `members` (init_time, lead_time, member, ...), with a single member where the forecast is single-valued, `truth` and `normal`
    (init_time, lead_time, ...), in single or double precision; `edges`, of the same shape, are quantiles of the climatology by level.
    `draws` says whether members were drawn from the distribution they stand for, or are equally likely quantiles of it: what is
    fair to few draws would flatter these.
    """

    members: Array
    truth: Array
    normal: Array | None = None
    edges: Mapping[float, Array] = field(default_factory=dict)
    removed: Array | None = None  # the normal, where it has been taken out
    draws: bool = True

    def anomalies(self, starts: slice) -> Values:
        """Of some of the starts, in double precision and counted from the normal; so are the edges."""
        members, truth = np.asarray(self.members[starts], float), np.asarray(self.truth[starts], float)
        edges = {level: each[starts] for level, each in self.edges.items()}
        if self.normal is None:
            return Values(members, truth, edges=edges, draws=self.draws)
        normal = self.normal[starts]
        counted = {level: each - normal for level, each in edges.items()}
        return Values(members - normal[:, :, None], truth - normal, edges=counted, removed=normal, draws=self.draws)

    def part(self, starts: slice) -> Values:
        """The same, of some of the starts."""
        edges = {level: each[starts] for level, each in self.edges.items()}
        normal = None if self.normal is None else self.normal[starts]
        return Values(self.members[starts], self.truth[starts], normal, edges, draws=self.draws)

    def some(self, starts: slice) -> Values:
        """Forecasts and truth of some of the starts, as they are."""
        return Values(self.members[starts], self.truth[starts])

    def has(self) -> Array:
        """(init_time, lead_time, ...): where every member has a value."""
        single = self.members.shape[2] == 1
        return np.asarray(np.isfinite(self.members[:, :, 0]) if single else np.isfinite(self.members).all(2))

    @cached_property
    def forecast(self) -> Array:
        """The mean of the members that are there."""
        return _quotient(np.nansum(self.members, axis=2), self.number) if self.gaps else self._whole

    @cached_property
    def _whole(self) -> Array:
        """The mean of all members: NaN where one is missing."""
        mean: Array = self.members.mean(2) if self.members.shape[2] > 1 else self.members[:, :, 0]
        return mean

    @cached_property
    def gaps(self) -> bool:
        """Whether there are forecasts that lack some of their members, but not all of them."""
        if self.members.shape[2] == 1:
            return False
        missing = np.isnan(self._whole)
        return bool(missing.any()) and not np.isnan(np.moveaxis(self.members, 2, -1)[missing]).all()

    @cached_property
    def number(self) -> Array:
        """How many members are there, (init_time, lead_time, ...), or one number where none is missing that has a forecast."""
        m = self.members.shape[2]
        return np.asarray(m - np.isnan(self.members).sum(2) if self.gaps else m)

    @property
    def pairs(self) -> Array:
        """What a double sum over members is divided by: of draws, the pairs of two; of quantiles, all."""
        return self.number * (self.number - 1) if self.draws else self.number**2

    @cached_property
    def error(self) -> Array:
        """Forecast minus truth."""
        return self.forecast - self.truth


class Statistic(abc.ABC):
    """A number at each point; frozen, and equal to any other of its class, so that scores share it."""

    members: int = 1  # how many a forecast must have for it to be defined
    mapped: bool = True  # whether it is summed over starts at each point, beside over area at each start

    @property
    def name(self) -> str:
        """What its sums are called."""
        return type(self).__name__

    @property
    def along(self) -> str:
        """The dimension that it has beside those of the field, as `rank`."""
        return ""

    @property
    def levels(self) -> tuple[float, ...]:
        """Quantiles of the climatology that it is made with."""
        return ()

    @abc.abstractmethod
    def at(self, values: Values) -> Array:
        """(init_time, lead_time, ...), and `along` last; where that is longer for one model than for another, the rest is zero."""


@dataclass(frozen=True)
class Error(Statistic):
    """Forecast minus truth [unit of the variable]."""

    def at(self, values: Values) -> Array:
        return values.error


@dataclass(frozen=True)
class SquaredError(Statistic):
    """[unit of the variable, squared]."""

    def at(self, values: Values) -> Array:
        return values.error**2


@dataclass(frozen=True)
class AbsoluteError(Statistic):
    """[unit of the variable]."""

    def at(self, values: Values) -> Array:
        return np.abs(values.error)


@dataclass(frozen=True)
class Forecast(Statistic):
    """The forecast anomaly itself [unit of the variable]."""

    def at(self, values: Values) -> Array:
        return values.forecast


@dataclass(frozen=True)
class Truth(Statistic):
    """The true anomaly itself [unit of the variable]."""

    def at(self, values: Values) -> Array:
        return values.truth


@dataclass(frozen=True)
class SquaredForecast(Statistic):
    """[unit of the variable, squared]."""

    def at(self, values: Values) -> Array:
        return values.forecast**2


@dataclass(frozen=True)
class SquaredTruth(Statistic):
    """[unit of the variable, squared]."""

    def at(self, values: Values) -> Array:
        return values.truth**2


@dataclass(frozen=True)
class Product(Statistic):
    """Forecast anomaly times true anomaly [unit of the variable, squared]."""

    def at(self, values: Values) -> Array:
        return values.forecast * values.truth


@dataclass(frozen=True)
class Variance(Statistic):
    """Unbiased variance of the members that are there about their mean [unit of the variable, squared]."""

    members = 2

    def at(self, values: Values) -> Array:
        if values.gaps:
            return _quotient(np.nansum((values.members - values.forecast[:, :, None]) ** 2, axis=2), values.number - 1)
        variance: Array = values.members.var(2, ddof=1)
        return variance


@dataclass(frozen=True)
class EnsembleCrps(Statistic):
    """Continuous ranked probability score of the distribution that the m members that are there are [unit of the variable].

    mean |x - y| - sum_ij |x_i - x_j| / (2 m^2). Hersbach (2000), eq. 21.
    """

    def at(self, values: Values) -> Array:
        return _absolute(values) - _quotient(_apart(values), values.number**2)


@dataclass(frozen=True)
class FairCrps(Statistic):
    """Fair continuous ranked probability score of the m members that are there [unit of the variable].

    mean |x - y| - sum_ij |x_i - x_j| / (2 m (m - 1)). Ferro (2014), doi 10.1002/qj.2270. Of members that are no draws, the standard one.
    """

    members = 2

    def at(self, values: Values) -> Array:
        return _absolute(values) - _quotient(_apart(values), values.pairs)


def _quotient(over: Array, under: Array) -> Array:
    """NaN where `under` is not positive: for want of members nothing is defined."""
    if under.ndim == 0:
        return over / under if under > 0 else np.full(over.shape, np.nan)
    quotient: Array = np.divide(over, under, out=np.full(over.shape, np.nan), where=under > 0)
    return quotient


def _absolute(values: Values) -> Array:
    """Mean over the members of |x - y|."""
    apart = np.abs(values.members - values.truth[:, :, None])
    return _quotient(np.nansum(apart, axis=2), values.number) if values.gaps else np.asarray(apart.mean(2))


def _apart(values: Values) -> Array:
    """sum_ij |x_i - x_j| / 2, the double sum by sorting, which puts those that are not there last."""
    ordered, rank = np.sort(values.members, axis=2), 2.0 * np.arange(1, values.members.shape[2] + 1) - 1
    if not values.gaps:
        apart: Array = np.tensordot(ordered, rank - values.number, axes=(2, 0))
        return apart
    weights = rank.reshape(-1, *[1] * (ordered.ndim - 3)) - values.number[:, :, None]
    return np.asarray(np.nansum(weights * ordered, axis=2))
