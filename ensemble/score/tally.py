"""Sums of statistics: by start, lead and region, and as maps by lead, in double precision.

The sums by start stand one after the other (a correlation in space is made of each start's own), the maps add up. Nothing
else of a forecast crosses machines on its way to a score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ensemble.score.region import Region
from ensemble.score.statistics import Statistic, Values
from ensemble.task import Array, Field

CACHE = 2**20  # bytes of forecasts that statistics are made of at a time


@dataclass(frozen=True)
class Tally:
    """Weighted sums of `statistic -> values`, what they were taken over, and what each model had on its own."""

    init_time: Array  # (init_time,)
    by_start: Mapping[str, Array]  # (model, init_time, lead_time, region, [along])
    weight: Array  # (model, init_time, lead_time, region): area that counted
    count: Array  # the same shape: points that counted
    had: Array  # the same shape: points that the model and the truth have, whatever the others lack
    at_points: Mapping[str, Array]  # (model, lead_time, ..., [along]), of the statistics that are mapped
    starts: Array  # (model, lead_time, ...): starts that counted

    def __add__(self, other: Tally) -> Tally:
        def after(mine: Array, others: Array) -> Array:
            return np.concatenate([mine, others], axis=1)

        return Tally(
            np.concatenate([self.init_time, other.init_time]),
            {name: after(each, other.by_start[name]) for name, each in self.by_start.items()},
            after(self.weight, other.weight),
            after(self.count, other.count),
            after(self.had, other.had),
            {name: each + other.at_points[name] for name, each in self.at_points.items()},
            self.starts + other.starts,
        )

    def select(self, models: Sequence[int]) -> Tally:
        """The same of some of the models."""
        index = list(models)
        by_start = {name: each[index] for name, each in self.by_start.items()}
        at_points = {name: each[index] for name, each in self.at_points.items()}
        rest = {name: getattr(self, name)[index] for name in ("weight", "count", "had", "starts")}
        return replace(self, by_start=by_start, at_points=at_points, **rest)


def tally(
    init_time: Array,
    models: Sequence[Values],
    field: Field,
    regions: Mapping[str, Region],
    statistics: Sequence[Statistic],
    *,
    common: bool = True,
) -> Tally:
    """The sums of one chunk.

    With `common` every model is counted on the same starts and points, those that all of them and the truth have; without,
    each on those that it has itself.
    """
    true = np.isfinite(models[0].truth) & field.mask
    own = [true & values.has() for values in models]
    valid = [np.logical_and.reduce(own)] * len(own) if common else own
    inside = np.stack([region.mask(field).ravel() for region in regions.values()])
    weights = (inside * field.area.ravel()).T
    sums = [_summed(values, counts, statistics, weights) for values, counts in zip(models, valid, strict=True)]
    whole = inside.T.astype(np.int64)
    return Tally(
        init_time,
        {each.name: _together([starts[each.name] for starts, _ in sums]) for each in statistics},
        _once(valid, lambda counts: _flat(counts).astype(float) @ weights),
        _once(valid, lambda counts: _flat(counts).astype(np.int64) @ whole),
        _once(own, lambda counts: _flat(counts).astype(np.int64) @ whole),
        {each.name: _together([points[each.name] for _, points in sums]) for each in statistics if each.mapped},
        _once(valid, lambda counts: counts.sum(0)),
    )


def _summed(values: Values, counts: Array, statistics: Sequence[Statistic], weights: Array) -> tuple[dict[str, Array], dict[str, Array]]:
    """The sums of one model over area, by start, and over starts, by point; a block of starts at a time, that the cache holds."""
    together = max(1, CACHE // max(1, values.members[:1].nbytes))
    starts: dict[str, list[Array]] = {each.name: [] for each in statistics}
    points: dict[str, Array] = {}
    for first in range(0, len(counts), together):
        block = slice(first, first + together)
        part, counted = values.anomalies(block), counts[block]
        for each in statistics:
            at = _at(each, part, counted)
            starts[each.name].append(_over_area(at, weights, counts.ndim))
            if each.mapped:
                points[each.name] = points[each.name] + at.sum(0) if first else at.sum(0)
    return {name: np.concatenate(each) for name, each in starts.items()}, points


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


def _together(models: Sequence[Array]) -> Array:
    """(model, ...): what has a dimension of its own is filled up to the longest, with zeros, or with NaN where it is undefined."""
    longest = max(each.shape[-1] for each in models)
    return np.stack([each if each.shape[-1] == longest else _longer(each, longest) for each in models])


def _longer(values: Array, length: int) -> Array:
    rest = np.where(np.isnan(values[..., :1]), np.nan, 0.0)
    return np.concatenate([values, np.repeat(rest, length - values.shape[-1], axis=-1)], axis=-1)


def _flat(values: Array, leading: int = 2) -> Array:
    """(init_time, lead_time, ...) -> (init_time, lead_time, points)."""
    return values.reshape(*values.shape[:leading], -1)


def _once(masks: Sequence[Array], function: Callable[[Array], Array]) -> Array:
    """`function` of each mask, (model, ...); of masks that are the same it is taken once."""
    made: list[Array] = []
    for i, mask in enumerate(masks):
        same = next((j for j in range(i) if masks[j] is mask or np.array_equal(masks[j], mask)), None)
        made.append(function(mask) if same is None else made[same])
    return np.stack(made)
