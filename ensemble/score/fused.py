"""The standard statistics of much data, by compiled passes: one over forecast and truth, one over sorted members.

What they give is what each `Statistic.at` says, to rounding. In each process numba costs about half a second before its first
pass (0.2 s its import, 0.25 s its first call, though all is compiled), in which numpy adds up some 35 million values at 14 ns each;
the passes take 3 ns. A small study is therefore left to numpy. Which of the two it is, is settled by the size of the study
(`tally(compiled=...)`), or of the piece where nothing is said of that, and never by the workers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ensemble.score.plain import CACHE, Grid
from ensemble.score.statistics import (
    AbsoluteError,
    EnsembleCrps,
    Error,
    FairCrps,
    Forecast,
    Product,
    SquaredError,
    SquaredForecast,
    SquaredTruth,
    Statistic,
    Truth,
    Values,
    Variance,
)
from ensemble.task import Array

MUCH = 2**24  # values of forecasts, members counted, in one piece of starts
ERRORS = (Error(), SquaredError(), AbsoluteError(), Forecast(), Truth(), SquaredForecast(), SquaredTruth(), Product())
MEMBERS = (Variance(), EnsembleCrps(), FairCrps())
STANDARD = (*ERRORS, *MEMBERS)
LINE = 8  # doubles


def much(models: Sequence[Values]) -> bool:
    """Whether the compiled passes are worth their import."""
    return sum(each.members.size for each in models) >= MUCH


def count(counts: Array, where: Grid, starts: Array) -> tuple[Array, Array]:
    """Area and number of points that count, (init_time, lead_time, region); `starts` (lead_time, point) is added to."""
    from ensemble.score.kernels import add_counts

    shape = (*counts.shape[:2], len(where.spans))
    weight, number = np.zeros(shape), np.zeros(shape, np.int64)
    add_counts(_flat(counts, 2, np.bool_), where.weights, where.inside, where.spans, weight, number, starts)
    return weight, number


@dataclass(frozen=True)
class Fused:
    """Sums of one model as they grow, of all statistics of a pass if any of them is wanted."""

    wanted: Sequence[Statistic]
    where: Grid
    single: bool  # whether there is one member: its CRPS is its absolute error, and what needs two is undefined
    draws: bool
    error_area: Array  # (init_time, lead_time, region, statistic)
    error_starts: Array  # (statistic, lead_time, point and more)
    member_area: Array
    member_starts: Array

    @classmethod
    def of(cls, values: Values, wanted: Sequence[Statistic], where: Grid) -> Fused:
        """Nothing yet."""
        (starts, leads), (regions, points) = values.truth.shape[:2], where.inside.shape
        single = values.members.shape[2] == 1
        errors = {*ERRORS, EnsembleCrps()} if single else set(ERRORS)
        number = (len(ERRORS) if errors & set(wanted) else 0, len(MEMBERS) if set(MEMBERS) & set(wanted) and not single else 0)
        empty = [(np.zeros((starts, leads, regions, n)), _aligned(n, leads, points)) for n in number]
        return cls(wanted, where, single, values.draws, *empty[0], *empty[1])

    def add(self, values: Values, block: slice, counts: Array) -> None:
        """Some of the starts, of which `counts` are counted."""
        if not self.wanted:
            return
        from ensemble.score.kernels import add_errors

        single = {values.members.dtype, values.truth.dtype} == {np.dtype(np.float32)}
        kind = np.float32 if single else np.float64
        members, truth, counts = _flat(values.members[block], 3, kind), _flat(values.truth[block], 2, kind), _flat(counts, 2, np.bool_)
        if len(self.error_starts):
            normal = None if values.normal is None else _flat(values.normal[block], 2, np.float64)
            _, weights, spans = self.where
            add_errors(members, truth, normal, counts, weights, spans, self.error_area[block], self.error_starts)
        if len(self.member_starts):
            self._add_members(members, truth, counts, self.member_area[block])

    def _add_members(self, members: Array, truth: Array, counts: Array, area: Array) -> None:
        """Start by start, and as many lead times as the cache holds: the members of a point are brought together and sorted."""
        from ensemble.score.kernels import add_members

        _, weights, spans = self.where
        together = max(1, CACHE // members[0, 0].nbytes)
        for start in range(len(truth)):
            for lead in range(0, truth.shape[1], together):
                ordered = members[start, lead : lead + together].swapaxes(1, 2).copy()
                ordered.sort(axis=2)
                add_members(ordered, start, lead, truth, counts, Variance() in self.wanted, weights, spans, area, self.member_starts)

    def done(self, number: Array, starts: Array) -> tuple[dict[str, Array], dict[str, Array]]:
        """By start (init_time, lead_time, region) and at points (lead_time, point), of what is wanted."""
        undefined = np.where(number > 0, np.nan, 0.0), np.where(starts > 0, np.nan, 0.0)
        errors, members = (self.error_area, self.error_starts), (self.member_area, self.member_starts)

        def of(each: Statistic) -> tuple[Array, Array]:
            if self.single and each in MEMBERS:
                return of(AbsoluteError()) if each.members == 1 else undefined
            if not self.draws and each == FairCrps():
                return of(EnsembleCrps())
            known, (area, points) = (ERRORS, errors) if each in ERRORS else (MEMBERS, members)
            return area[..., known.index(each)], points[known.index(each), :, : starts.shape[1]]

        made = {each.name: of(each) for each in self.wanted}
        return {name: area for name, (area, _) in made.items()}, {name: points for name, (_, points) in made.items()}


def _aligned(*shape: int) -> Array:
    """Zeros of which each row begins a line of the cache, which a vector of doubles fills: it is longer than asked for, at its end."""
    *rows, points = shape
    whole = (*rows, -(-points // LINE) * LINE)
    made = np.zeros(math.prod(whole) + LINE)
    first = -(made.ctypes.data // made.itemsize) % LINE
    return made[first : first + math.prod(whole)].reshape(whole)


def _flat(values: Array, leading: int, kind: type) -> Array:
    """With points along one axis, in the machine's own order; marked read-only, so that there is one kind to compile for."""
    made: Array = np.ascontiguousarray(values, dtype=kind).reshape(*values.shape[:leading], -1)
    made.flags.writeable = False
    return made
