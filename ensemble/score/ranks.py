"""Whether the members are what they claim to be: draws, of which the truth might be one more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from ensemble.score.base import PointScore, Score
from ensemble.score.means import Evidence, Means
from ensemble.score.statistics import Statistic, Values
from ensemble.task import Array


@dataclass(frozen=True)
class Rank(Statistic):
    """Where the truth stands among the m members: a one in one of m + 1 places, shared equally by those that a tie leaves open.

    Where a member is missing, the places of the others are wider, and the one is shared by the places that the truth's covers.
    """

    members = 2
    mapped = False

    @property
    def along(self) -> str:
        return "rank"

    def at(self, values: Values) -> Array:
        truth, places = values.truth[:, :, None], values.members.shape[2] + 1
        wide = places / (np.isfinite(values.members).sum(2) + 1)
        first = (values.members < truth).sum(2) * wide
        after = first + ((values.members == truth).sum(2) + 1) * wide
        covered = [np.minimum(after, k + 1) - np.maximum(first, k) for k in range(places)]
        return np.asarray(np.maximum(np.stack(covered, axis=-1), 0.0) / (after - first)[..., None])


@dataclass(frozen=True)
class GaussianIgnorance(Statistic):
    """log(2 pi s^2) / 2 + (y - x)^2 / (2 s^2) of the mean x and the unbiased variance s^2 of the members.

    Undefined (NaN) where all members are the same.
    """

    members = 2

    def at(self, values: Values) -> Array:
        m = np.isfinite(values.members).sum(2)
        mean = np.nansum(values.members, axis=2) / np.maximum(m, 1)
        squares = np.nansum((values.members - mean[:, :, None]) ** 2, axis=2)
        variance = np.where((m > 1) & (squares > 0), squares / np.maximum(m - 1, 1), np.nan)
        ignorance: Array = np.log(2 * np.pi * variance) / 2 + (values.truth - mean) ** 2 / (2 * variance)
        return ignorance


@dataclass(frozen=True)
class RankHistogram(Score):
    """How often the truth takes each rank among the members, (model, lead_time, region, rank); 1 / (m + 1) where they are reliable.

    By area, and adding up to 1; rank 0 is below all members. Zero beyond the m members of a model (coordinate `members`), NaN for one
    without. Hamill (2001), doi 10.1175/1520-0493(2001)129<0550:IORHFV>2.0.CO;2.
    """

    usual, ranks = False, False
    name = "rank_histogram"
    long_name = "share of each rank of the truth among the members (models with members)"
    statistics = (Rank(),)
    best = "neither"

    def table(self, evidence: Evidence) -> xr.DataArray:
        share = evidence.regions[Rank()]
        return share.assign_coords(rank=np.arange(share.sizes["rank"])).transpose(..., "rank")


@dataclass(frozen=True)
class RankDeviation(Score):
    """Sum over ranks of |share - 1 / (m + 1)|, from 0 for a flat histogram to 2 m / (m + 1); NaN for models without members.

    The reliability index of Delle Monache et al. (2006), doi 10.1029/2005JD006917. A small sample is never flat.
    """

    usual = False
    name = "rank_deviation"
    long_name = "deviation of the rank histogram from a flat one (models with members)"
    statistics = (Rank(),)

    def table(self, evidence: Evidence) -> xr.DataArray:
        share = evidence.regions[Rank()]
        m = share["members"]
        apart = abs(share - 1 / (m + 1)).where(xr.DataArray(np.arange(share.sizes["rank"]), dims="rank") <= m, 0.0)
        return apart.sum("rank", skipna=False)


@dataclass(frozen=True)
class Ignorance(PointScore):
    """Minus the logarithm of the density at the truth [nats] of the normal distribution with the members' mean and variance.

    Roulston and Smith (2002), doi 10.1175/1520-0493(2002)130<1653:EPFUIT>2.0.CO;2; Gneiting et al. (2005), doi 10.1175/MWR2904.1. It
    moves with the variable's unit, and differences do not. Undefined (NaN) where all members are the same somewhere, and for models
    without.
    """

    usual = False
    name = "ignorance"
    long_name = "ignorance of the normal distribution of the members (models with members)"
    statistics = (GaussianIgnorance(),)

    def of(self, means: Means) -> xr.DataArray:
        return means[GaussianIgnorance()]
