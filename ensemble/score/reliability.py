"""What a probability turned out to mean: tables by forecast probability, and what is made of them.

All are made of the same three sums for each bin of probabilities (see `Binned`), by region; there are no maps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from ensemble.score.base import Score
from ensemble.score.events import COMMON, Binned, Event
from ensemble.score.means import Evidence, Means
from ensemble.score.probability import ProbabilityError
from ensemble.score.statistics import Statistic

BINS = 10


class FromBins(Score):
    """A score that is made of a table by probability."""

    event: Event
    bins: int

    usual = False

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        return tuple(Binned(self.event, self.bins, what) for what in ("share", "forecast", "occurred"))

    @property
    def dim(self) -> str:
        return f"bin_of_{self.bins}"

    def parts(self, means: Means) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
        """(model, lead_time, region, bin): the share of all cases, of their probabilities, and of what occurred, by lower edge."""
        share, forecast, occurred = (
            means[Binned(self.event, self.bins, what)].assign_coords({self.dim: np.arange(self.bins) / self.bins})
            for what in ("share", "forecast", "occurred")
        )
        return share, forecast, occurred

    def told(self, values: xr.DataArray) -> xr.DataArray:
        return values.assign_attrs(event=str(self.event))


def check(event: Event, bins: int) -> None:
    """Raise ValueError for what no table can be made of."""
    event.check()
    if bins < 2:
        raise ValueError(f"bins: {bins}; give 2 or more")


@dataclass(frozen=True)
class Reliability(FromBins):
    """The reliability diagram, (model, lead_time, region, bin, curve), bins being called by their lower edge.

    `forecast`, the mean probability of the bin's cases; `observed`, how often the event occurred in them; `share`, of all cases, by
    area. The first two are undefined (NaN) for a bin without cases. Wilks (2011), Statistical Methods, section 8.4.4.
    """

    event: Event = COMMON
    bins: int = BINS
    name: str = "reliability"

    long_name = "reliability diagram: mean probability, observed frequency, and share of the cases"
    best = "neither"
    ranks = False

    def __post_init__(self) -> None:
        check(self.event, self.bins)

    def table(self, evidence: Evidence) -> xr.DataArray:
        share, forecast, occurred = self.parts(evidence.regions)
        some = share.where(share > 0)
        return self.told(_beside("curve", {"forecast": forecast / some, "observed": occurred / some, "share": share}))


@dataclass(frozen=True)
class BrierComponents(FromBins):
    """The standard Brier score as reliability - resolution + uncertainty, (model, lead_time, region, component).

    Murphy (1973), doi 10.1175/1520-0450(1973)012<0595:ANVPOT>2.0.CO;2. Where a bin holds several probabilities, what varies within
    it is part of the resolution, so that the sum is exact: Stephenson et al. (2008), doi 10.1175/2007WAF2006116.1, eq. 11.
    """

    event: Event = COMMON
    bins: int = BINS
    name: str = "brier_components"

    long_name = "Brier score as reliability - resolution + uncertainty"
    best = "neither"
    ranks = False

    def __post_init__(self) -> None:
        check(self.event, self.bins)

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        return (*super().statistics, ProbabilityError((self.event,)))

    def table(self, evidence: Evidence) -> xr.DataArray:
        share, forecast, occurred = self.parts(evidence.regions)
        brier, often = evidence.regions[ProbabilityError((self.event,))], occurred.sum(self.dim, skipna=False)
        reliability = ((forecast - occurred) ** 2 / share.where(share > 0)).sum(self.dim, min_count=1)
        uncertainty = often * (1 - often)
        parts = {"reliability": reliability, "resolution": reliability + uncertainty - brier, "uncertainty": uncertainty}
        return self.told(_beside("component", parts))


@dataclass(frozen=True)
class Roc(FromBins):
    """Relative operating characteristic, (model, lead_time, region, bin, rate): warnings from each bin's lower edge on.

    `hit_rate`, of the cases in which it occurred, and `false_alarm_rate`, of those in which it did not, the share with a warning.
    Undefined (NaN) where there are none. Mason (1982), Aust. Met. Mag. 30, 291; Mason and Graham (2002), doi
    10.1256/003590002320603584.
    """

    event: Event = COMMON
    bins: int = BINS
    name: str = "roc"

    long_name = "relative operating characteristic: hit rate and false alarm rate of warnings from a probability on"
    best = "neither"
    ranks = False

    def __post_init__(self) -> None:
        check(self.event, self.bins)

    def table(self, evidence: Evidence) -> xr.DataArray:
        share, _, occurred = self.parts(evidence.regions)
        rates = {"hit_rate": occurred, "false_alarm_rate": share - occurred}
        return self.told(_beside("rate", {name: _onwards(_normed(each, self.dim), self.dim) for name, each in rates.items()}))


@dataclass(frozen=True)
class RocArea(FromBins):
    """Area under the straight lines through the points of the relative operating characteristic: 1 at best, 0.5 without skill.

    Mason and Graham (2002), doi 10.1256/003590002320603584. More bins than members lose none of it.
    """

    event: Event = COMMON
    bins: int = BINS
    name: str = "roc_area"

    long_name = "area under the relative operating characteristic"
    best = "high"

    def __post_init__(self) -> None:
        check(self.event, self.bins)

    def table(self, evidence: Evidence) -> xr.DataArray:
        share, _, occurred = self.parts(evidence.regions)
        hits, false = _normed(occurred, self.dim), _normed(share - occurred, self.dim)
        return self.told((false * (_onwards(hits, self.dim) - hits / 2)).sum(self.dim, skipna=False))


def _normed(values: xr.DataArray, dim: str) -> xr.DataArray:
    """As shares of their sum."""
    whole = values.sum(dim, skipna=False)
    return values / whole.where(whole > 0)


def _onwards(values: xr.DataArray, dim: str) -> xr.DataArray:
    """The sum from each bin to the last."""
    return values.isel({dim: slice(None, None, -1)}).cumsum(dim, skipna=False).isel({dim: slice(None, None, -1)})


def _beside(dim: str, parts: Mapping[str, xr.DataArray]) -> xr.DataArray:
    """(..., dim), called by their names."""
    return xr.concat(list(parts.values()), xr.Variable(dim, list(parts))).transpose(..., dim)
