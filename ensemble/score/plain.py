"""Sums of any statistic, by numpy: each is made at the points of a block of starts that the cache holds, and added up from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ensemble.score.statistics import Statistic, Values
from ensemble.task import Array

CACHE = 2**20  # bytes of forecasts that statistics are made of at a time


class Grid(NamedTuple):
    """Regions over points, flat: `inside` and `weights` (region, point), and where along the points each region begins and ends."""

    inside: Array
    weights: Array
    spans: Array  # (region, 2)

    @classmethod
    def of(cls, regions: Sequence[Array], area: Array) -> Grid:
        """Of masks and the area of each point."""
        inside = np.stack([each.ravel() for each in regions])
        points = inside.shape[1]
        spans = [(each.argmax(), points - each[::-1].argmax()) if each.any() else (0, 0) for each in inside]
        return cls(inside, inside * area.ravel().astype(float), np.array(spans, dtype=np.int64))


def count(counts: Array, where: Grid, starts: Array) -> tuple[Array, Array]:
    """Area and number of points that count, (init_time, lead_time, region); `starts` (lead_time, point) is added to."""
    flat = _flat(counts)
    starts += flat.sum(0)
    return flat.astype(float) @ where.weights.T, flat.astype(np.int64) @ where.inside.T.astype(np.int64)


@dataclass(frozen=True)
class Plain:
    """Sums of one model as they grow."""

    statistics: Sequence[Statistic]
    where: Grid
    shape: tuple[int, ...]  # (init_time, lead_time, ...)
    over_area: dict[str, Array] = field(default_factory=dict)  # (init_time, lead_time, region, [along])
    over_starts: dict[str, Array] = field(default_factory=dict)  # (lead_time, point, [along])

    def add(self, values: Values, block: slice, counts: Array) -> None:
        """Some of the starts, of which `counts` are counted."""
        if not self.statistics:
            return
        together = max(1, CACHE // max(1, 8 * values.members[0].size))
        for first in range(block.start, block.stop, together):
            piece = slice(first, min(first + together, block.stop))
            part, counted = values.anomalies(piece), counts[first - block.start : piece.stop - block.start]
            for each in self.statistics:
                self._keep(each, piece, _at(each, part, counted), counted.ndim)

    def _keep(self, statistic: Statistic, piece: slice, at: Array, dims: int) -> None:
        name, area = statistic.name, _over_area(at, self.where.weights.T, dims)
        self.over_area.setdefault(name, np.zeros((self.shape[0], *area.shape[1:])))[piece] = area
        if statistic.mapped:
            total = at.sum(0).reshape(at.shape[1], -1, *at.shape[dims:])
            self.over_starts[name] = self.over_starts[name] + total if name in self.over_starts else total


def _at(statistic: Statistic, part: Values, counted: Array) -> Array:
    """(init_time, lead_time, ..., [along]): zero where nothing counts, NaN where a forecast has too few members."""
    wide = counted[..., None] if statistic.along else counted
    if part.members.shape[2] < statistic.members:
        return np.where(wide, np.nan, 0.0)
    return np.where(wide, statistic.at(part), 0.0)


def _over_area(at: Array, weights: Array, dims: int) -> Array:
    """(init_time, lead_time, ..., [along]) -> (init_time, lead_time, region, [along]); `dims` is the number without the last."""
    if at.ndim == dims:
        return _flat(at) @ weights
    return np.swapaxes(_flat(np.moveaxis(at, -1, 2), 3) @ weights, 2, 3)


def _flat(values: Array, leading: int = 2) -> Array:
    """(init_time, lead_time, ...) -> (init_time, lead_time, points)."""
    return values.reshape(*values.shape[:leading], -1)
