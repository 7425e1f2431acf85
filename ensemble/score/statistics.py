"""What is computed at each point; only sums of it are ever kept."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ensemble.task import Array


@dataclass(frozen=True)
class Values:
    """Anomalies of one model's forecasts and of the truth, NaN where a point does not count.

    `members` (init_time, lead_time, member, ...), with a single member where the forecast is single-valued, and
    `truth` (init_time, lead_time, ...), both in double precision.
    """

    members: Array
    truth: Array

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

    @property
    def name(self) -> str:
        """What its sums are called."""
        return type(self).__name__

    @abc.abstractmethod
    def at(self, values: Values) -> Array:
        """(init_time, lead_time, ...)."""


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
class FairCrps(Statistic):
    """Fair continuous ranked probability score of m members [unit of the variable].

    mean |x - y| - sum_ij |x_i - x_j| / (2 m (m - 1)), the double sum by sorting. Ferro (2014), doi 10.1002/qj.2270.
    """

    members = 2

    def at(self, values: Values) -> Array:
        m = values.members.shape[2]
        ordered = np.sort(values.members, axis=2)
        weights = (2 * np.arange(1, m + 1) - m - 1) / (m * (m - 1))
        apart = np.tensordot(ordered, weights, axes=(2, 0))
        crps: Array = np.abs(values.members - values.truth[:, :, None]).mean(2) - apart
        return crps
