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
    (init_time, lead_time, ...), all in double precision; `edges`, of the same shape, are quantiles of the climatology by level.
    """

    members: Array
    truth: Array
    normal: Array | None = None
    edges: Mapping[float, Array] = field(default_factory=dict)

    def anomalies(self, starts: slice) -> Values:
        """Of some of the starts, counted from the normal; so are the edges."""
        members, truth = self.members[starts], self.truth[starts]
        edges = {level: each[starts] for level, each in self.edges.items()}
        if self.normal is None:
            return Values(members, truth, edges=edges)
        normal = self.normal[starts]
        return Values(members - normal[:, :, None], truth - normal, edges={level: each - normal for level, each in edges.items()})

    def has(self) -> Array:
        """(init_time, lead_time, ...): where every member has a value."""
        return np.asarray(np.isfinite(self.members).all(2))

    @cached_property
    def forecast(self) -> Array:
        """The mean of the members."""
        mean: Array = self.members.mean(2) if self.members.shape[2] > 1 else self.members[:, :, 0]
        return mean

    @cached_property
    def error(self) -> Array:
        """Forecast minus truth."""
        return self.forecast - self.truth


class Statistic(abc.ABC):
    """A number at each point; frozen, and equal to any other of its class, so that scores share it."""

    members: int = 1  # how many a forecast must have for it to be defined
    along: str = ""  # the dimension that it has beside those of the field, as `rank`
    mapped: bool = True  # whether it is summed over starts at each point, beside over area at each start
    levels: tuple[float, ...] = ()  # quantiles of the climatology that it is made with

    @property
    def name(self) -> str:
        """What its sums are called."""
        return type(self).__name__

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
    """Unbiased variance of the members about their mean [unit of the variable, squared]."""

    members = 2

    def at(self, values: Values) -> Array:
        variance: Array = values.members.var(2, ddof=1)
        return variance


@dataclass(frozen=True)
class EnsembleCrps(Statistic):
    """Continuous ranked probability score of the distribution that m members are [unit of the variable].

    mean |x - y| - sum_ij |x_i - x_j| / (2 m^2). Hersbach (2000), eq. 21.
    """

    def at(self, values: Values) -> Array:
        return _absolute(values) - _apart(values, values.members.shape[2] ** 2)


@dataclass(frozen=True)
class FairCrps(Statistic):
    """Fair continuous ranked probability score of m members [unit of the variable].

    mean |x - y| - sum_ij |x_i - x_j| / (2 m (m - 1)). Ferro (2014), doi 10.1002/qj.2270.
    """

    members = 2

    def at(self, values: Values) -> Array:
        m = values.members.shape[2]
        return _absolute(values) - _apart(values, m * (m - 1))


def _absolute(values: Values) -> Array:
    """Mean over the members of |x - y|."""
    mean: Array = np.abs(values.members - values.truth[:, :, None]).mean(2)
    return mean


def _apart(values: Values, pairs: int) -> Array:
    """sum_ij |x_i - x_j| / (2 pairs), the double sum by sorting."""
    m = values.members.shape[2]
    weights = (2 * np.arange(1, m + 1) - m - 1) / pairs
    apart: Array = np.tensordot(np.sort(values.members, axis=2), weights, axes=(2, 0))
    return apart
