"""How good probabilities are: of an event, and of categories between quantiles of the climatology."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from ensemble.score.base import PointScore
from ensemble.score.events import COMMON, Event, Occurred, OfSettings
from ensemble.score.means import Means
from ensemble.score.statistics import Statistic, Values
from ensemble.task import Array


class OfEvents(OfSettings):
    """A statistic that is added up over events: one of them, or those that lie below each of several quantiles."""

    events: tuple[Event, ...]

    @property
    def levels(self) -> tuple[float, ...]:
        return tuple(level for event in self.events for level in event.levels)


@dataclass(frozen=True)
class ProbabilityError(OfEvents):
    """(p - o)^2, p being the share of the members and o what occurred, 1 or 0. Brier (1950).

    doi 10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2.
    """

    events: tuple[Event, ...]

    def at(self, values: Values) -> Array:
        return _added([(each.probabilities(values) - each.occurred(values)) ** 2 for each in self.events])


@dataclass(frozen=True)
class FairProbabilityError(OfEvents):
    """(p - o)^2 - p (1 - p) / (m - 1): its mean is what infinitely many members would have. Ferro (2014), doi 10.1002/qj.2270, eq. 5.

    Undefined (NaN) where only one of the members is there. Of members that are no draws, (p - o)^2.
    """

    events: tuple[Event, ...]
    members = 2

    def at(self, values: Values) -> Array:
        return _added([self._of(each, values) for each in self.events])

    def _of(self, event: Event, values: Values) -> Array:
        beyond, m = event.members(values)
        p = beyond / np.maximum(m, 1)
        chance = p * (1 - p) / np.where(m > 1, m - 1, np.nan) if values.draws else 0.0
        return (p - event.occurred(values)) ** 2 - chance


@dataclass(frozen=True)
class ClimatologicalError(OfEvents):
    """(p - o)^2 of the probability that each event has in the climatology, of which it is a quantile."""

    events: tuple[Event, ...]

    def at(self, values: Values) -> Array:
        return _added([(each.probability - each.occurred(values)) ** 2 for each in self.events if each.probability is not None])


def _added(each: list[Array]) -> Array:
    """The sum over events."""
    return np.add.reduce(each)  # type: ignore[no-any-return]  # of arrays


@dataclass(frozen=True)
class Brier(PointScore):
    """Mean squared error of the probability of an `event`; `fair` to small ensembles, or of the members as they are.

    Brier (1950), doi 10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2; Ferro (2014), doi 10.1002/qj.2270. Of a model without members
    the fair one is NaN; the other takes its probability as 0 or 1.
    """

    event: Event = COMMON
    fair: bool = True
    name: str = "brier"

    long_name = "Brier score"
    usual = False

    def __post_init__(self) -> None:
        self.event.check()

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        return (_loss((self.event,), fair=self.fair),)

    def of(self, means: Means) -> xr.DataArray:
        return means[self.statistics[0]].assign_attrs(event=str(self.event))


@dataclass(frozen=True)
class BrierSkill(PointScore):
    """1 - Brier score / that of a constant probability. Wilks (2011), Statistical Methods, eq. 8.38.

    The constant is the probability that a quantile has in the climatology. For any other threshold it is how often the event occurred
    in the sample, over the region: where it is common in one part of that and rare in another, a forecast that knows no more has
    skill (Hamill and Juras 2006, doi 10.1256/qj.06.25).
    """

    event: Event = COMMON
    fair: bool = True
    name: str = "brier_skill"

    long_name = "Brier skill score against a constant probability"
    best = "high"
    usual = False

    def __post_init__(self) -> None:
        self.event.check()

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        known = self.event.probability is not None
        return _loss((self.event,), fair=self.fair), ClimatologicalError((self.event,)) if known else Occurred(self.event)

    def of(self, means: Means) -> xr.DataArray:
        loss, other = (means[each] for each in self.statistics)
        reference = other if self.event.probability is not None else other * (1 - other)
        return (1 - loss / reference.where(reference > 0)).assign_attrs(event=str(self.event))


@dataclass(frozen=True)
class Rpss(PointScore):
    """Ranked probability skill score of `categories` that are equally probable in the climatology, against that probability.

    Of squared differences of the cumulative probabilities: Epstein (1969), doi 10.1175/1520-0450(1969)008<0985:ASSFPF>2.0.CO;2; `fair`
    to small ensembles: Ferro (2014), doi 10.1002/qj.2270. Without `fair`, few members pull it down by about 1 / m.
    """

    categories: int = 3
    fair: bool = True
    name: str = "rpss"

    long_name = "ranked probability skill score against the climatological probabilities"
    best = "high"
    usual = False

    def __post_init__(self) -> None:
        if self.categories < 2:
            raise ValueError(f"categories: {self.categories} cannot be told apart; give 2 or more, 3 for terciles")

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        events = tuple(Event("below", k / self.categories, "quantile") for k in range(1, self.categories))
        return _loss(events, fair=self.fair), ClimatologicalError(events)

    def of(self, means: Means) -> xr.DataArray:
        loss, reference = (means[each] for each in self.statistics)
        return 1 - loss / reference.where(reference > 0)


def _loss(events: tuple[Event, ...], *, fair: bool) -> Statistic:
    return FairProbabilityError(events) if fair else ProbabilityError(events)
