"""Sums of statistics: by start, lead and region, and as maps by lead, in double precision.

The sums by start stand one after the other (a correlation in space is made of each start's own), the maps add up. Nothing
else of a forecast crosses machines on its way to a score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from ensemble.score import fused, plain
from ensemble.score.fused import STANDARD, Fused, much
from ensemble.score.plain import CACHE, Grid, Plain
from ensemble.score.region import Region
from ensemble.score.statistics import Statistic, Values
from ensemble.task import Array, Field


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
    compiled: bool | None = None,
) -> Tally:
    """The sums of one chunk, a block of its starts at a time: nothing that is made on the way is larger than a block.

    With `common` every model is counted on the same starts and points, those that all of them and the truth have; without,
    each on those that it has itself. Standard statistics come from the compiled passes if these are `compiled`, or where nothing is
    said of it, if there is much to add up.
    """
    truth, where = models[0].truth, Grid.of([region.mask(field) for region in regions.values()], field.area)
    quick = much(models) if compiled is None else compiled
    count = fused.count if quick else plain.count
    made = [_Sums.of(values, statistics, where, quick=quick) for values in models]
    which = [0] * len(models) if common else list(range(len(models)))  # of the masks, each model is counted on
    shape = (*truth.shape[:2], len(regions))
    weight, number = np.zeros((which[-1] + 1, *shape)), np.zeros((which[-1] + 1, *shape), np.int64)
    had = np.zeros((len(models), *shape), np.int64)
    starts = np.zeros((which[-1] + 1, truth.shape[1], field.mask.size), np.int64)
    for block in _blocks(truth):
        true = np.isfinite(truth[block]) & field.mask
        own = [true & values.some(block).has() for values in models]
        valid = [reduce(np.logical_and, own)] if common else own
        for i, mask in enumerate(valid):
            weight[i, block], number[i, block] = count(mask, where, starts[i])
        for i, values in enumerate(models):
            counts = valid[which[i]]
            same = own[i] is counts or np.array_equal(own[i], counts)
            had[i, block] = number[which[i], block] if same else count(own[i], where, np.zeros_like(starts[0]))[1]
            made[i].add(values, block, counts)
    by_start, at_points = zip(*(each.done(number[i], starts[i]) for i, each in zip(which, made, strict=True)), strict=True)
    space = (len(models), truth.shape[1], *field.mask.shape)
    return Tally(
        init_time,
        {each.name: _together([sums[each.name] for sums in by_start]) for each in statistics},
        weight[which],
        number[which],
        had,
        {each.name: _shaped(_together([sums[each.name] for sums in at_points]), space) for each in statistics if each.mapped},
        starts[which].reshape(space),
    )


@dataclass(frozen=True)
class _Sums:
    """Sums of one model as they grow, each statistic in the way that suits it."""

    plain: Plain
    fused: Fused

    @classmethod
    def of(cls, values: Values, statistics: Sequence[Statistic], where: Grid, *, quick: bool) -> _Sums:
        known = [each for each in statistics if quick and each in STANDARD]
        rest = [each for each in statistics if each not in known]
        return cls(Plain(rest, where, values.truth.shape), Fused.of(values, known, where))

    def add(self, values: Values, block: slice, counts: Array) -> None:
        self.plain.add(values, block, counts)
        self.fused.add(values, block, counts)

    def done(self, number: Array, starts: Array) -> tuple[dict[str, Array], dict[str, Array]]:
        """By start (init_time, lead_time, region, [along]) and at points (lead_time, point, [along])."""
        over_area, over_starts = self.fused.done(number, starts)
        return {**self.plain.over_area, **over_area}, {**self.plain.over_starts, **over_starts}


def _blocks(truth: Array) -> Iterator[slice]:
    """Of starts, so that the cache holds the truth of one."""
    together = max(1, CACHE // max(1, truth[:1].nbytes))
    return (slice(first, min(first + together, len(truth))) for first in range(0, len(truth), together))


def _shaped(values: Array, space: tuple[int, ...]) -> Array:
    return values.reshape(*space, *values.shape[3:])


def _together(models: Sequence[Array]) -> Array:
    """(model, ...): what has a dimension of its own is filled up to the longest, with zeros, or with NaN where it is undefined."""
    longest = max(each.shape[-1] for each in models)
    return np.stack([each if each.shape[-1] == longest else _longer(each, longest) for each in models])


def _longer(values: Array, length: int) -> Array:
    rest = np.where(np.isnan(values[..., :1]), np.nan, 0.0)
    return np.concatenate([values, np.repeat(rest, length - values.shape[-1], axis=-1)], axis=-1)
