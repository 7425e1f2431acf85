"""The quantiles of each calendar month over the training data: edges that forecast and truth are held against.

They are those of the truth. That is right for models that are fitted here, whose forecasts have the truth's climatology, and for
whatever has been corrected to it. An archive that has not been is held against them all the same: its bias and its spread are part
of its score. Edges from its own climatology, as seasonal centres use, would hide both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ensemble.chunk import Chunk
from ensemble.model import Learner, Learnt
from ensemble.sums import Rows
from ensemble.task import Array, Domain, Times, Window, month

STEP = Window("step", 1, 1)


class Sample(NamedTuple):
    """What one chunk holds: `values` (time, window, ...), NaN where a window is not whole, and the `month` (time,) of its first step."""

    values: Array
    month: Array


@dataclass(frozen=True)
class Quantiles(Learner[Array, Rows[Sample]]):
    """Quantiles of the target by calendar month, (window, level, month, ...) [unit of the variable].

    Of single steps, or of `windows` of them, by the month of the first. A quantile at `level` is such that the next value lies below
    it with that probability: it stands at position level (n + 1) of n ordered values, interpolated (Weibull; type 6 of Hyndman and
    Fan 1996, doi 10.1080/00031305.1996.10473566), and is the smallest or the largest of them beyond. Missing values are left out; a
    month without any has NaN. The samples are kept whole until they are put in order: three times the training data, for each window.
    """

    levels: tuple[float, ...]
    windows: tuple[Window, ...] = ()

    def __post_init__(self) -> None:
        outside = [each for each in self.levels if not 0 < each < 1]
        if outside:
            raise ValueError(f"a quantile is between 0 and 1; found {outside[0]}")

    def start(self, domain: Domain, seed: int) -> Learnt[Array]:
        del domain, seed
        return Learnt(np.empty(0), finished=False)

    def summarise(self, state: Array, chunk: Chunk) -> Rows[Sample]:
        del state
        values, times = chunk.data[chunk.domain.target].values, chunk.own()["time"].values
        own = [_windows(values, each)[chunk.start : chunk.stop] for each in self.windows or (STEP,)]
        return Rows((Sample(np.stack(own, axis=1), month(times)),))

    def update(self, state: Array, total: Rows[Sample]) -> Learnt[Array]:
        del state
        months = np.concatenate([each.month for each in total.pieces])
        values = np.concatenate([each.values for each in total.pieces])
        by_month = [quantiles(values[months == each], self.levels) for each in range(12)]
        return Learnt(np.moveaxis(np.stack(by_month), (2, 1, 0), (0, 1, 2)), finished=True)

    def edges(self, state: Array, domain: Domain, init_time: Times) -> Mapping[float, Array]:
        """(init_time, lead_time, ...) for each level: those of the months that forecasts verify in."""
        first = np.array([each.first for each in self.windows]) if self.windows else domain.lead_times
        which = np.arange(len(first)) if self.windows else np.zeros(len(first), dtype=int)
        months = month(domain.valid_time(init_time, first))
        return {level: state[which, i, months] for i, level in enumerate(self.levels)}


def _windows(values: Array, window: Window) -> Array:
    """(time, ...): the mean or the sum of the window that begins at each step; NaN where it is not whole."""
    length, made = window.last - window.first + 1, np.full(values.shape, np.nan)
    whole = len(values) - length + 1
    if whole > 0:
        parts = np.lib.stride_tricks.sliding_window_view(values, length, axis=0)
        made[:whole] = parts.mean(-1, dtype=float) if window.how == "mean" else parts.sum(-1, dtype=float)
    return made


def quantiles(values: Array, levels: Sequence[float]) -> Array:
    """(n, ...) -> (level, ...), of what is not missing at each point."""
    if not len(values):
        return np.full((len(levels), *values.shape[1:]), np.nan)
    ordered, count = np.sort(values, axis=0), np.isfinite(values).sum(0)  # the missing come last
    last = np.maximum(count - 1, 0)
    made = []
    for level in levels:
        at = np.clip(level * (count + 1) - 1, 0, last)
        below = np.floor(at).astype(int)
        low, high = (np.take_along_axis(ordered, each[None], 0)[0] for each in (below, np.minimum(below + 1, last)))
        made.append(low + (at - below) * (high - low))
    return np.stack(made)
