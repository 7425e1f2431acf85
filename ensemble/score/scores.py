"""The scores: what is made of means of statistics. Here stand the square roots, and nowhere before.

`PointScore` is a function of means and so has maps beside its table; a `Score` that needs each start's own means, or those
at each point, says how its table is made and has no map unless it gives one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from ensemble.score.base import PointScore, Score, root
from ensemble.score.extremes import Sedi, ThresholdWeightedCrps
from ensemble.score.means import Evidence, Means
from ensemble.score.members import Crps, Spread, SpreadErrorRatio, StandardCrps
from ensemble.score.probability import Brier, BrierSkill, Rpss
from ensemble.score.ranks import Ignorance, RankDeviation, RankHistogram
from ensemble.score.reliability import BrierComponents, Reliability, Roc, RocArea
from ensemble.score.statistics import (
    AbsoluteError,
    Error,
    Forecast,
    Product,
    SquaredError,
    SquaredForecast,
    SquaredTruth,
    Truth,
)


@dataclass(frozen=True)
class Rmse(PointScore):
    """Root of the mean squared error over starts and area. Wilks (2011), Statistical Methods, eq. 8.30."""

    name = "rmse"
    long_name = "root mean squared error"
    statistics = (SquaredError(),)
    power = 1

    def of(self, means: Means) -> xr.DataArray:
        return root(means[SquaredError()])


@dataclass(frozen=True)
class Mae(PointScore):
    """Mean absolute error. Wilks (2011), eq. 8.28."""

    name = "mae"
    long_name = "mean absolute error"
    statistics = (AbsoluteError(),)
    power = 1

    def of(self, means: Means) -> xr.DataArray:
        return means[AbsoluteError()]


@dataclass(frozen=True)
class Bias(PointScore):
    """Mean error, forecast minus truth. Wilks (2011), eq. 8.31."""

    name = "bias"
    long_name = "mean error"
    statistics = (Error(),)
    power = 1
    best = "zero"

    def of(self, means: Means) -> xr.DataArray:
        return means[Error()]


@dataclass(frozen=True)
class CentredRmse(Score):
    """Error without bias: the mean error of each point and lead is taken out before the mean over area.

    sqrt(area mean of (mean squared error - mean error^2)). Murphy (1988), doi 10.1175/1520-0493(1988)116<2417:SSBOTM>2.0.CO;2.
    """

    name = "centred_rmse"
    long_name = "root mean squared error without the mean error of each point"
    statistics = (SquaredError(), Error())
    power = 1

    def table(self, evidence: Evidence) -> xr.DataArray:
        return root(evidence.over_area(self._squared(evidence.points)))

    def map(self, evidence: Evidence) -> xr.DataArray | None:
        return root(self._squared(evidence.points))

    def _squared(self, means: Means) -> xr.DataArray:
        return means[SquaredError()] - means[Error()] ** 2


@dataclass(frozen=True)
class Acc(Score):
    """Anomaly correlation in space of each start, then averaged over starts; `centred`: of departures from the area means.

    Undefined (NaN) where a forecast does not vary in space. Wilks (2011), eq. 8.65, or 8.66 where it is not centred; WMO-No. 485,
    appendix 2.2.34.
    """

    centred: bool = True
    name: str = "acc"

    of_anomalies = True
    long_name = "anomaly correlation in space, averaged over starts"
    statistics = (Forecast(), Truth(), SquaredForecast(), SquaredTruth(), Product())
    best = "high"

    def table(self, evidence: Evidence) -> xr.DataArray:
        f, t, ff, tt, ft = (evidence.regions.of_start(each) for each in self.statistics)
        if not self.centred:
            f, t = 0 * f, 0 * t
        return evidence.regions.over_starts(_correlation(f, t, ff, tt, ft))


@dataclass(frozen=True)
class IndexCorrelation(Score):
    """Correlation in time of each region's mean. Undefined (NaN) where a forecast does not vary in time."""

    of_anomalies = True
    name = "index_correlation"
    long_name = "correlation in time of the region's mean"
    statistics = (Forecast(), Truth())
    best = "high"

    def table(self, evidence: Evidence) -> xr.DataArray:
        f, t = (evidence.regions.of_start(each) for each in self.statistics)
        means = [evidence.regions.over_starts(each) for each in (f, t, f**2, t**2, f * t)]
        return _correlation(*means)


@dataclass(frozen=True)
class Correlation(Score):
    """Correlation in time at each point; its area mean in tables. Undefined (NaN) where a forecast does not vary in time."""

    of_anomalies = True
    usual = False
    name = "correlation"
    long_name = "correlation in time at each point, averaged over area"
    statistics = (Forecast(), Truth(), SquaredForecast(), SquaredTruth(), Product())
    best = "high"

    def table(self, evidence: Evidence) -> xr.DataArray:
        return evidence.over_area(self.map(evidence))

    def map(self, evidence: Evidence) -> xr.DataArray:
        return _correlation(*(evidence.points[each] for each in self.statistics))


@dataclass(frozen=True)
class DeviationRatio(PointScore):
    """Standard deviation of the forecast over that of the truth; below 1 a forecast is too smooth.

    Taylor (2001), doi 10.1029/2000JD900719. Over starts and area together in tables, over starts in maps.
    """

    of_anomalies = True
    usual = False
    name = "deviation_ratio"
    long_name = "standard deviation of the forecast over that of the truth"
    statistics = (Forecast(), Truth(), SquaredForecast(), SquaredTruth())
    best = "neither"

    def of(self, means: Means) -> xr.DataArray:
        f, t, ff, tt = (means[each] for each in self.statistics)
        truth = (tt - t**2).clip(min=0)
        return root((ff - f**2).clip(min=0) / truth.where(truth > 1e-12 * tt))


@dataclass(frozen=True)
class Msss(PointScore):
    """Mean squared error skill score against each reference that was run: 1 - MSE / MSE of the reference.

    Murphy (1988), doi 10.1175/1520-0493(1988)116<2417:SSBOTM>2.0.CO;2.
    """

    references: tuple[str, ...] = ("climatology", "climatology_running", "persistence")

    name = "msss"
    long_name = "mean squared error skill score"
    statistics = (SquaredError(),)
    best = "high"

    def possible(self, models: Collection[str]) -> bool:
        return any(reference in models for reference in self.references)

    def of(self, means: Means) -> xr.DataArray:
        mse = means[SquaredError()]
        present = [each for each in self.references if each in mse["model"].values]
        reference = mse.sel(model=present).rename(model="reference").reset_coords(drop=True)
        return 1 - mse / reference.where(reference > 0)


def _correlation(f: xr.DataArray, t: xr.DataArray, ff: xr.DataArray, tt: xr.DataArray, ft: xr.DataArray) -> xr.DataArray:
    """Pearson's, from means; variances that are rounding of zero count as zero, and the correlation is then undefined."""
    var_f, var_t = ff - f**2, tt - t**2
    varies = (var_f > 1e-12 * ff) & (var_t > 1e-12 * tt)
    product = (var_f * var_t).where(varies)
    return (ft - f * t) / product.copy(data=np.sqrt(product.values))


_ERRORS = (Rmse, Mae, Bias, CentredRmse, Acc, Correlation, IndexCorrelation, DeviationRatio, Msss)
_MEMBERS = (Crps, StandardCrps, Spread, SpreadErrorRatio, RankHistogram, RankDeviation, Ignorance)
_EVENTS = (Brier, BrierSkill, BrierComponents, Reliability, Roc, RocArea, Rpss, ThresholdWeightedCrps, Sedi)
_ALL: tuple[type[Score], ...] = (*_ERRORS, *_MEMBERS, *_EVENTS)
SCORES: Mapping[str, type[Score]] = {each.name: each for each in _ALL}
