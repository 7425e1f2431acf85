"""Yes or no: whether a value lies beyond a threshold, how probable members make that, and tables of how often it then is so.

A forecast of m members has m + 1 probabilities. In tables these are put into bins of equal width, so that ensembles of different
size can be read side by side: a bin holds its lower edge and not its upper one, except that the last holds 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from ensemble.score.statistics import Statistic, Values
from ensemble.task import Array


class Event(NamedTuple):
    """`above` or `below` a threshold; in a recipe `[above, 28]`, `[below, -0.5, anomaly]`, `[above, 0.9, quantile]`.

    The threshold is a `value` in the unit of the variable; or an `anomaly` from the climatology of the training data in that unit
    (from zero where a study has none); or a `quantile` of the truth in the training data, by point and calendar month.
    """

    side: Literal["above", "below"]
    threshold: float
    of: Literal["value", "anomaly", "quantile"] = "value"

    @property
    def levels(self) -> tuple[float, ...]:
        """The quantiles of the climatology that it is made with."""
        return (self.threshold,) if self.of == "quantile" else ()

    @property
    def probability(self) -> float | None:
        """How probable it is by its definition; None where that depends on the climate."""
        if self.of != "quantile":
            return None
        return self.threshold if self.side == "below" else 1 - self.threshold

    def __str__(self) -> str:
        return f"{self.side} {'' if self.of == 'value' else f'the {self.of} '}{self.threshold:g}"

    def check(self) -> None:
        """Raise ValueError for a quantile that is none, or a threshold that is no number."""
        if self.of == "quantile" and not 0 < self.threshold < 1:
            raise ValueError(f"event: the quantile {self.threshold:g} is not between 0 and 1; write 0.9 for the upper tenth")
        if not np.isfinite(self.threshold):
            raise ValueError(f"event: the threshold {self.threshold} is not a number")

    def edge(self, values: Values) -> Array | float:
        """The threshold (init_time, lead_time, ...) as it compares with forecast and truth, which are counted from the normal."""
        if self.of == "quantile":
            return values.edges[self.threshold]
        return self.threshold if self.of == "anomaly" or values.removed is None else self.threshold - values.removed

    def beyond(self, x: Array, edge: Array | float) -> Array:
        """Whether `x` is; false where it is missing."""
        return x > edge if self.side == "above" else x < edge

    def members(self, values: Values) -> tuple[Array, Array]:
        """(init_time, lead_time, ...): how many members are beyond, and how many there are."""
        edge = self.edge(values)
        each = edge[:, :, None] if isinstance(edge, np.ndarray) else edge
        return self.beyond(values.members, each).sum(2), np.isfinite(values.members).sum(2)

    def probabilities(self, values: Values) -> Array:
        """(init_time, lead_time, ...): the share of the members that are beyond."""
        beyond, m = self.members(values)
        return beyond / np.maximum(m, 1)

    def occurred(self, values: Values) -> Array:
        """(init_time, lead_time, ...): 1 where the truth is beyond, else 0."""
        return self.beyond(values.truth, self.edge(values)).astype(float)


COMMON = Event("above", 0.0, "anomaly")  # half of all cases, more or less, in any climate


class OfSettings(Statistic):
    """A statistic of a frozen dataclass with settings, which are part of its name."""

    @property
    def name(self) -> str:
        return repr(self)


class OfEvent(OfSettings):
    """A statistic of an event."""

    event: Event

    @property
    def levels(self) -> tuple[float, ...]:
        return self.event.levels


@dataclass(frozen=True)
class Occurred(OfEvent):
    """Whether it was so: 1 or 0."""

    event: Event

    def at(self, values: Values) -> Array:
        return self.event.occurred(values)


@dataclass(frozen=True)
class Warned(OfEvent):
    """Whether the mean of the members said so: 1 or 0."""

    event: Event

    def at(self, values: Values) -> Array:
        return self.event.beyond(values.forecast, self.event.edge(values)).astype(float)


@dataclass(frozen=True)
class Hit(OfEvent):
    """Whether it was so, and the mean of the members had said so: 1 or 0."""

    event: Event

    def at(self, values: Values) -> Array:
        edge = self.event.edge(values)
        both: Array = self.event.beyond(values.forecast, edge) & self.event.beyond(values.truth, edge)
        return both.astype(float)


@dataclass(frozen=True)
class Binned(OfEvent):
    """The table by forecast probability: `share` of the cases in each bin, the sum there of the probability, and of what occurred."""

    event: Event
    bins: int
    what: Literal["share", "forecast", "occurred"]
    mapped = False

    @property
    def along(self) -> str:
        return f"bin_of_{self.bins}"

    def at(self, values: Values) -> Array:
        beyond, m = self.event.members(values)
        bin_ = np.minimum(beyond * self.bins // np.maximum(m, 1), self.bins - 1)  # of whole numbers: no edge is missed by rounding
        made = np.zeros((*bin_.shape[:2], self.bins, *bin_.shape[2:]))
        np.put_along_axis(made, bin_[:, :, None], self._each(beyond / np.maximum(m, 1), values)[:, :, None], axis=2)
        return np.moveaxis(made, 2, -1)

    def _each(self, probability: Array, values: Values) -> Array:
        """What a case adds to its bin."""
        if self.what == "share":
            return np.ones_like(probability)
        return probability if self.what == "forecast" else self.event.occurred(values)
