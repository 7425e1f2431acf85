"""Scores that look at one tail of the distribution, or at one rare event."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from ensemble.score.base import PointScore
from ensemble.score.events import COMMON, Event, Hit, Occurred, OfEvent, Warned
from ensemble.score.means import Means
from ensemble.score.statistics import EnsembleCrps, FairCrps, Statistic, Values
from ensemble.task import Array


@dataclass(frozen=True)
class TailCrps(OfEvent):
    """Standard CRPS of max(x, t) above a threshold t, or of min(x, t) below one [unit of the variable]."""

    event: Event

    def at(self, values: Values) -> Array:
        return EnsembleCrps().at(_tail(self.event, values))


@dataclass(frozen=True)
class FairTailCrps(OfEvent):
    """The same, fair to small ensembles."""

    event: Event
    members = 2

    def at(self, values: Values) -> Array:
        return FairCrps().at(_tail(self.event, values))


def _tail(event: Event, values: Values) -> Values:
    """Members and truth with all that is not beyond the threshold moved onto it."""
    edge, chained = event.edge(values), np.maximum if event.side == "above" else np.minimum
    each = edge[:, :, None] if isinstance(edge, np.ndarray) else edge
    return Values(chained(values.members, each), chained(values.truth, edge), draws=values.draws)


@dataclass(frozen=True)
class ThresholdWeightedCrps(PointScore):
    """CRPS of what lies beyond the threshold of `event`; `fair` to small ensembles, or of the members as they are.

    Gneiting and Ranjan (2011), doi 10.1198/jbes.2010.08110, with the weight 1 beyond it and 0 elsewhere; as the CRPS of chained
    values: Allen et al. (2023), doi 10.1137/22M1532184. Of a model without members the fair one is NaN.
    """

    event: Event = COMMON
    fair: bool = True
    name: str = "twcrps"

    long_name = "threshold-weighted continuous ranked probability score"
    power = 1
    usual = False

    def __post_init__(self) -> None:
        self.event.check()

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        return (FairTailCrps(self.event) if self.fair else TailCrps(self.event),)

    def of(self, means: Means) -> xr.DataArray:
        return means[self.statistics[0]].assign_attrs(event=str(self.event))


@dataclass(frozen=True)
class Sedi(PointScore):
    """Symmetric extremal dependence index of warnings by the mean of the members: 1 at best, 0 by chance, however rare the event.

    (ln F - ln H - ln(1 - F) + ln(1 - H)) / (ln F + ln H + ln(1 - F) + ln(1 - H)) of the hit rate H and the false alarm rate F. Ferro
    and Stephenson (2011), doi 10.1175/WAF-D-10-05030.1, eq. 7, who advise to compare forecasts that warn as often as it occurs.
    Undefined (NaN) where a rate is 0 or 1, or has no cases: of a perfect forecast as well.
    """

    event: Event = COMMON
    name: str = "sedi"

    long_name = "symmetric extremal dependence index of the mean"
    best = "high"
    usual = False

    def __post_init__(self) -> None:
        self.event.check()

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        return Hit(self.event), Warned(self.event), Occurred(self.event)

    def of(self, means: Means) -> xr.DataArray:
        hit, warned, occurred = (means[each] for each in self.statistics)
        some = (occurred > 0) & (occurred < 1)
        h, f = hit / occurred.where(some), (warned - hit) / (1 - occurred).where(some)
        inside = (h > SLIGHT) & (h < 1 - SLIGHT) & (f > SLIGHT) & (f < 1 - SLIGHT)
        ln_f, ln_h, ln_not_f, ln_not_h = (each.where(inside).copy(data=np.log(each.where(inside).values)) for each in (f, h, 1 - f, 1 - h))
        index = (ln_f - ln_h - ln_not_f + ln_not_h) / (ln_f + ln_h + ln_not_f + ln_not_h)
        return index.assign_attrs(event=str(self.event))


SLIGHT = 1e-12  # a rate this near to 0 or 1 is rounding: sums of weights are not exact
