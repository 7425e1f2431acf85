"""The compiled passes over a block of forecasts: what is at a point is added up where it is made, and is never an array.

Each looks at a piece of the last axis at a time, which stays in the first cache: what counts is copied there as doubles, zero
where nothing counts (chosen, not multiplied: NaN times zero is NaN), and all loops over it are free of branches, so that they
become vector instructions. Sums over starts are taken start by start, in their order; sums over area in the order of vector
lanes, which is fixed for one kind of processor: `reassoc` is granted to them, but nothing that would let the compiler take NaN
for impossible. Loops write two arrays at most: for more, LLVM does not prove them apart and leaves the loop scalar.

Arrays are flat in space: members (init_time, lead_time, member, point), all others (init_time, lead_time, point); `weights`
(region, point) are not zero only in `spans` (region, 2). Written are `starts` (init_time, lead_time, region, statistic); added to
are `points` (statistic, lead_time, point).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from ensemble.task import Array

PIECE = 512  # points; a few rows of so many doubles fit into the first cache
FAST = {"reassoc", "contract", "nsz"}


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` by numba, kept for later processes beside this file, or in the user's cache, or nowhere if neither can be written."""
    options: dict[str, Any] = {"nogil": True, "fastmath": FAST, "error_model": "numpy"}
    try:
        made: Callable[..., Any] = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba: no locator available
        made = numba.njit(**options)(function)
    return made


@compiled
def add_errors(
    members: Array, truth: Array, normal: Array | None, counts: Array, weights: Array, spans: Array, starts: Array, points: Array,
) -> None:  # fmt: skip
    """Error, its square and size, forecast, truth, their squares and their product, in this order, of anomalies from `normal`."""
    forecast, true, mean, number = np.empty(PIECE), np.empty(PIECE), np.empty(PIECE), np.empty(PIECE)
    for lead in range(truth.shape[1]):
        for first in range(0, truth.shape[2], PIECE):
            last = min(first + PIECE, truth.shape[2])
            n = last - first
            for start in range(len(truth)):
                f, t, counted = forecast[:n], true[:n], counts[start, lead, first:last]
                if members.shape[2] == 1:
                    _choose(members[start, lead, 0, first:last], counted, f)
                else:
                    _mean(members, start, lead, first, last, mean[:n], number[:n])
                    _choose(mean, counted, f)
                _choose(truth[start, lead, first:last], counted, t)
                if normal is not None:
                    _less(f, t, counted, normal[start, lead, first:last])
                _over_starts(f, t, points, lead, first, last)
                for region in range(len(weights)):
                    low, high = max(spans[region, 0], first), min(spans[region, 1], last)
                    if low < high:
                        inside = weights[region, low:high]
                        _over_area(
                            forecast[low - first : high - first], true[low - first : high - first], inside, starts[start, lead, region]
                        )


@compiled
def _choose(values: Array, counts: Array, made: Array) -> None:
    for i in range(len(made)):
        value = values[i]
        made[i] = value if counts[i] else 0.0


@compiled
def _mean(members: Array, start: int, lead: int, first: int, last: int, mean: Array, number: Array) -> None:
    """Of the members that are there."""
    mean[:] = 0.0
    number[:] = 0.0
    for member in range(members.shape[2]):
        x = members[start, lead, member, first:last]
        for i in range(len(mean)):
            there = x[i] == x[i]
            mean[i] += x[i] if there else 0.0
            number[i] += 1.0 if there else 0.0
    for i in range(len(mean)):
        mean[i] /= number[i]


@compiled
def _less(f: Array, t: Array, counts: Array, normal: Array) -> None:
    for i in range(len(f)):
        value = normal[i]
        value = value if counts[i] else 0.0
        f[i] -= value
        t[i] -= value


@compiled
def _over_starts(f: Array, t: Array, points: Array, lead: int, first: int, last: int) -> None:
    error, squared = points[0, lead, first:last], points[1, lead, first:last]
    for i in range(len(f)):
        e = f[i] - t[i]
        error[i] += e
        squared[i] += e * e
    size, product = points[2, lead, first:last], points[7, lead, first:last]
    for i in range(len(f)):
        size[i] += abs(f[i] - t[i])
        product[i] += f[i] * t[i]
    forecast, squared = points[3, lead, first:last], points[5, lead, first:last]
    for i in range(len(f)):
        forecast[i] += f[i]
        squared[i] += f[i] * f[i]
    truth, squared = points[4, lead, first:last], points[6, lead, first:last]
    for i in range(len(f)):
        truth[i] += t[i]
        squared[i] += t[i] * t[i]


@compiled
def _over_area(f: Array, t: Array, weights: Array, sums: Array) -> None:
    error = squared = size = forecast = truth = forecast_squared = truth_squared = product = 0.0
    for i in range(len(f)):
        w, e = weights[i], f[i] - t[i]
        error += w * e
        squared += w * (e * e)
        size += w * abs(e)
        forecast += w * f[i]
        truth += w * t[i]
        forecast_squared += w * (f[i] * f[i])
        truth_squared += w * (t[i] * t[i])
        product += w * (f[i] * t[i])
    made = (error, squared, size, forecast, truth, forecast_squared, truth_squared, product)
    for i in range(len(made)):
        sums[i] += made[i]


@compiled
def add_members(
    ordered: Array, start: int, earliest: int, truth: Array, counts: Array, spread: bool, weights: Array, spans: Array, starts: Array,
    points: Array,
) -> None:  # fmt: skip
    """Variance (if `spread`), standard and fair CRPS of one start and of some of its lead times, from the `earliest`.

    Members are `ordered` (lead_time, point, member), NaN last.
    """
    rank, made = 2.0 * np.arange(ordered.shape[2]) + 1.0, np.empty((3, PIECE))
    for k in range(len(ordered)):
        lead = earliest + k
        for first in range(0, truth.shape[2], PIECE):
            last = min(first + PIECE, truth.shape[2])
            for i in range(last - first):
                x, y = ordered[k, first + i], np.float64(truth[start, lead, first + i])
                m, standard, fair = _crps(x, y, rank)
                variance = _variance(x, y, m) if spread else 0.0
                counted = counts[start, lead, first + i]
                made[0, i] = variance if counted else 0.0
                made[1, i] = standard if counted else 0.0
                made[2, i] = fair if counted else 0.0
            for which in range(3):
                _add(made[which, : last - first], points[which, lead, first:last])
                for region in range(len(weights)):
                    low, high = max(spans[region, 0], first), min(spans[region, 1], last)
                    if low < high:
                        here = made[which, low - first : high - first]
                        starts[start, lead, region, which] += _dot(here, weights[region, low:high])


@compiled
def _crps(x: Array, y: float, rank: Array) -> tuple[float, float, float]:
    """Number, standard and fair CRPS of sorted members; sum_ij |x_i - x_j| / 2 = sum_i (2 i - m - 1) x_i, and `rank` is 2 i - 1."""
    m = near = total = ranked = 0.0
    for i in range(len(x)):
        there = x[i] == x[i]
        d = x[i] - y if there else 0.0
        m += 1.0 if there else 0.0
        near += abs(d)
        total += d
        ranked += rank[i] * d
    apart = ranked - m * total
    fair = near / m - apart / (m * (m - 1.0)) if m > 1.0 else np.nan
    return m, near / m - apart / (m * m), fair


@compiled
def _variance(x: Array, y: float, m: float) -> float:
    total = squared = 0.0
    for i in range(len(x)):
        total += x[i] - y if x[i] == x[i] else 0.0
    mean = total / m
    for i in range(len(x)):
        d = x[i] - y - mean if x[i] == x[i] else 0.0
        squared += d * d
    return squared / (m - 1.0) if m > 1.0 else np.nan


@compiled
def _add(values: Array, sums: Array) -> None:
    for i in range(len(values)):
        sums[i] += values[i]


@compiled
def _dot(values: Array, weights: Array) -> float:
    total = 0.0
    for i in range(len(values)):
        total += values[i] * weights[i]
    return total


@compiled
def add_counts(counts: Array, weights: Array, inside: Array, spans: Array, weight: Array, count: Array, starts: Array) -> None:
    """The area and the number of points that count, (init_time, lead_time, region), and starts by point (lead_time, point)."""
    for start in range(len(counts)):
        for lead in range(counts.shape[1]):
            _add(counts[start, lead], starts[lead])
            for region in range(len(weights)):
                low, high = spans[region]
                counted = counts[start, lead, low:high]
                weight[start, lead, region] += _dot(counted, weights[region, low:high])
                count[start, lead, region] += _number(counted, inside[region, low:high])


@compiled
def _number(counted: Array, inside: Array) -> int:
    total = 0
    for i in range(len(counted)):
        total += counted[i] & inside[i]
    return total
