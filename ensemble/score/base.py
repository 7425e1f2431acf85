"""What a score is: a function of means of statistics, with a table and perhaps a map."""

from __future__ import annotations

import abc
from collections.abc import Collection
from typing import ClassVar

import numpy as np
import xarray as xr

from ensemble.score.means import Evidence, Means
from ensemble.score.statistics import Statistic


class Score(abc.ABC):
    """A number that says how good a forecast was."""

    name: str  # of the class, or a setting
    long_name: ClassVar[str]
    power: ClassVar[int] = 0  # of the variable's unit
    best: ClassVar[str] = "low"  # or "high", or "zero": which value is the best one
    of_anomalies: ClassVar[bool] = False  # whether it misleads where no climatology is taken out
    usual: ClassVar[bool] = True  # whether it is made where none are asked for
    ranks: ClassVar[bool] = True  # whether it is a number that models can be ranked by, rather than a table for each

    @property
    @abc.abstractmethod
    def statistics(self) -> tuple[Statistic, ...]:
        """Whose means it is made of."""

    def possible(self, models: Collection[str]) -> bool:
        """Whether it can be made where these models are run."""
        del models
        return True

    @abc.abstractmethod
    def table(self, evidence: Evidence) -> xr.DataArray:
        """(model, lead_time, region)."""

    def map(self, evidence: Evidence) -> xr.DataArray | None:
        """(model, lead_time, ...), where the score has a meaning at a point."""
        del evidence
        return None


class PointScore(Score):
    """A score that is a function of means, whatever they are taken over."""

    @abc.abstractmethod
    def of(self, means: Means) -> xr.DataArray:
        """(model, lead_time, ...)."""

    def table(self, evidence: Evidence) -> xr.DataArray:
        return self.of(evidence.regions)

    def map(self, evidence: Evidence) -> xr.DataArray | None:
        return self.of(evidence.points)


def root(mean: xr.DataArray) -> xr.DataArray:
    """The square root, of a mean that rounding may have moved below zero."""
    clipped = mean.clip(min=0)
    return clipped.copy(data=np.sqrt(clipped.values))
