"""How far forecasts have drifted from the truth, by start month and lead: what is counted of it, and what is made of that.

Per pair of forecast and truth a few quantities, of which the count, the means and some products of departures are kept for each
start month, lead and point. These add up (Chan, Golub and LeVeque 1983, doi 10.1080/00031305.1983.10483115), and unlike sums of
squares do not lose in kelvin the digits that a small variance needs. A pair of which either is missing is not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ensemble.parts.damping import lead_index
from ensemble.task import Array, Times, month

FEWEST = 5  # years: a line through fewer, a year after its end, is less sure than a single error is (variance 1.1 of it with five)
STEADY = 1e-6  # of the truth's spread: a forecast that varies less does not vary


@dataclass(frozen=True)
class Moments:
    """Of pairs of each start month, lead and point: `mean` of quantities, `product` of departures of two of them, summed."""

    count: Array  # (start month, lead_time, ...)
    mean: Array  # (quantity, start month, lead_time, ...)
    product: Array  # (of, start month, lead_time, ...)
    of: tuple[tuple[int, int], ...]  # which two quantities

    def __add__(self, other: Moments) -> Moments:
        count = self.count + other.count
        share = other.count / np.maximum(count, 1)
        apart = other.mean - self.mean
        between = [self.count * share * apart[i] * apart[j] for i, j in self.of]
        product = self.product + other.product
        return Moments(count, self.mean + share * apart, product + np.stack(between) if between else product, self.of)


class Drift(NamedTuple):
    """What is to be taken out, (start month, lead_time, ...) [unit of the variable]; NaN where too few pairs tell, None if not wanted."""

    lead_times: Array
    pairs: Array  # (start month, lead_time): from how many it was learnt, at the point that has most
    known: Array  # (start month, lead_time): whether they are enough, at any point
    error: Array  # in the mean
    slope: Array | None = None  # of the error [per year], and
    year: Array | None = None  # the year at which it is `error`
    ratio: Array | None = None  # by which departures grow, and
    centre: Array | None = None  # what they are counted from

    def correct(self, values: Array, init_time: Times, lead_times: Array) -> Array:
        """Forecasts (init_time, lead_time, member, ...) without their drift; NaN at points of which it is not known."""
        rows, columns = month(init_time)[:, None], lead_index(self.lead_times, lead_times)[None, :]

        def at(what: Array) -> Array:
            return np.asarray(what[rows, columns][:, :, None])

        off = at(self.error)
        if self.slope is not None and self.year is not None:
            off = off + at(self.slope) * (years(init_time).reshape(-1, *[1] * (values.ndim - 1)) - at(self.year))
        made: Array = values - off
        if self.ratio is not None and self.centre is not None:
            made = made + (at(self.ratio) - 1) * (values - at(self.centre))
        return made


class Way(NamedTuple):
    """How to correct: the quantities of a pair, the products that are kept, and what they tell with months `near` pooled."""

    quantities: Callable[[Array, Array, Array], tuple[Array, ...]]  # of forecast, truth and year (init_time, lead_time, ...)
    of: tuple[tuple[int, int], ...]
    learn: Callable[[Moments, Array, Array], Drift]  # moments, near (start month, start month), lead_times
    needs: str
    cure: str
    done: str


def years(init_time: Times) -> Array:
    """Start times [years since 1970]; a start month of one year is exactly a year after that of the year before."""
    whole: Array = init_time.astype("datetime64[M]").astype(int) / 12
    return whole


def moments(way: Way, forecast: Array, truth: Array, init_time: Times) -> Moments:
    """Of pairs (init_time, lead_time, ...)."""
    there = np.isfinite(forecast) & np.isfinite(truth)
    year = np.broadcast_to(years(init_time).reshape(-1, *[1] * (forecast.ndim - 1)), forecast.shape)
    quantities = np.stack(way.quantities(forecast, truth, year))
    shape = (12, *forecast.shape[1:])
    count, mean, product = np.zeros(shape), np.zeros((len(quantities), *shape)), np.zeros((len(way.of), *shape))
    for m in np.unique(month(init_time)):
        here = month(init_time) == m
        values = np.where(there[here], quantities[:, here], 0.0)
        count[m] = there[here].sum(0)
        mean[:, m] = values.sum(1) / np.maximum(count[m], 1)
        departure = np.where(there[here], values - mean[:, None, m], 0.0)
        for k, (i, j) in enumerate(way.of):
            product[k, m] = (departure[i] * departure[j]).sum(0)
    return Moments(count, mean, product, way.of)


def near(window: int) -> Array:
    """(start month, start month): one where they are no more than `window` months apart, around the year."""
    apart = np.abs((np.arange(12)[:, None] - np.arange(12) + 6) % 12 - 6)
    close: Array = (apart <= window).astype(float)
    return close


def _pooled(close: Array, values: Array) -> Array:
    pooled: Array = np.tensordot(close, values, (1, 0))
    return pooled


def _drift(lead_times: Array, count: Array, known: Array, **coefficients: Array) -> Drift:
    """With NaN where it is not `known` (start month, lead_time, ...)."""
    told = {name: np.where(known, values, np.nan) for name, values in coefficients.items()}
    flat = (*count.shape[:2], -1)
    most, some = np.asarray(count.reshape(flat).max(-1), int), np.asarray(known.reshape(flat).any(-1))
    return Drift(lead_times, most, some, **told)


def _mean(total: Moments, close: Array, lead_times: Array) -> Drift:
    """The mean error."""
    n = _pooled(close, total.count)
    error = _pooled(close, total.count * total.mean[0]) / np.maximum(n, 1)
    return _drift(lead_times, n, n > 0, error=error)


def _line(total: Moments, close: Array, lead_times: Array) -> Drift:
    """The error as a line in the start's year; its slope is that within each of the months that are pooled.

    n pairs, one a year of Y years in a row, have the variance (Y^2 - 1) / 12 of their year, by which years are counted.
    """
    n = _pooled(close, total.count)
    error, year = (_pooled(close, total.count * each) / np.maximum(n, 1) for each in total.mean)
    together, spread = (_pooled(close, each) for each in total.product)
    known = (n >= FEWEST) & (12 * spread / np.maximum(n, 1) + 1 > (FEWEST - 0.5) ** 2)
    slope = together / np.where(known, spread, 1)
    return _drift(lead_times, n, known, error=error, slope=slope, year=year)


def _spread(total: Moments, close: Array, lead_times: Array) -> Drift:
    """The mean error, and the truth's standard deviation over the forecast's, each within the months that are pooled."""
    n = _pooled(close, total.count)
    forecast, truth = total.mean
    error = _pooled(close, total.count * (forecast - truth)) / np.maximum(n, 1)
    of_forecast, of_truth = (_pooled(close, each) for each in total.product)
    varies = of_forecast > STEADY**2 * of_truth
    ratio = np.where(varies, np.sqrt(of_truth / np.where(varies, of_forecast, 1)), 1)
    n = np.where(total.count > 0, n, 0)  # a month has a mean of its own, or none
    return _drift(lead_times, n, n >= FEWEST, error=error, ratio=ratio, centre=forecast)


WAYS = {
    "mean": Way(lambda f, y, t: (f - y,), (), _mean, "a pair", "or widen `window`", "the mean error is subtracted"),
    "variance": Way(
        lambda f, y, t: (f, y), ((0, 0), (1, 1)), _spread,
        f"{FEWEST} pairs", "widen `window`, or write `correct: mean`", "mean and standard deviation are made the truth's",
    ),
    "drift": Way(
        lambda f, y, t: (f - y, t), ((0, 1), (1, 1)), _line,
        f"pairs of {FEWEST} years", "or write `correct: mean`", "a line of the error in the start's year is subtracted",
    ),
}  # fmt: skip
