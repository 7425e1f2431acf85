"""Scores of forecasts that have members."""

from __future__ import annotations

from dataclasses import dataclass

import xarray as xr

from ensemble.score.base import PointScore, root
from ensemble.score.means import Means
from ensemble.score.statistics import EnsembleCrps, FairCrps, SquaredError, Variance


@dataclass(frozen=True)
class Crps(PointScore):
    """Fair continuous ranked probability score; NaN for models without members. Ferro (2014), doi 10.1002/qj.2270."""

    name = "crps"
    long_name = "fair continuous ranked probability score (models with members)"
    statistics = (FairCrps(),)
    power = 1

    def of(self, means: Means) -> xr.DataArray:
        return means[FairCrps()]


@dataclass(frozen=True)
class StandardCrps(PointScore):
    """Continuous ranked probability score of the members as they are: it favours large ensembles. Hersbach (2000), eq. 21.

    doi 10.1175/1520-0434(2000)015<0559:DOTCRP>2.0.CO;2. With one member it is the mean absolute error.
    """

    usual = False
    name = "crps_standard"
    long_name = "standard continuous ranked probability score"
    statistics = (EnsembleCrps(),)
    power = 1

    def of(self, means: Means) -> xr.DataArray:
        return means[EnsembleCrps()]


@dataclass(frozen=True)
class Spread(PointScore):
    """Root of the mean variance of the members; NaN for models without. Fortin et al. (2014), doi 10.1175/JHM-D-14-0008.1."""

    name = "spread"
    long_name = "root of the mean variance of the members (models with members)"
    statistics = (Variance(),)
    power = 1
    best = "neither"

    def of(self, means: Means) -> xr.DataArray:
        return root(means[Variance()])


@dataclass(frozen=True)
class SpreadErrorRatio(PointScore):
    """Spread over the error of the mean of m members, times sqrt((m + 1) / m): 1 for a reliable ensemble, below 1 for one too sure.

    Fortin et al. (2014), doi 10.1175/JHM-D-14-0008.1, eq. 15. NaN for models without members.
    """

    usual = False
    name = "spread_error_ratio"
    long_name = "spread over error of the mean, corrected for the number of members (models with members)"
    statistics = (Variance(), SquaredError())
    best = "neither"

    def of(self, means: Means) -> xr.DataArray:
        variance, error = means[Variance()], means[SquaredError()]
        m = error["members"].where(error["members"] > 1)
        chance = (1 / m).where(error["draws"], 0.0 * m)  # the mean of quantiles does not err by chance
        ratio = root(variance * (1 + chance) / error.where(error > 0))
        return ratio.drop_vars(("members", "draws"), errors="ignore").assign_coords(error.coords)
