"""How many independent samples a series is worth."""

from __future__ import annotations

import numpy as np

from ensemble.task import Array


def autocovariance(series: Array, *, about: Array | float | None = None) -> Array:
    """(start, ...) -> (lag, ...): sums of products over the pairs that are there, divided by the number of starts that are.

    NaN is a gap. Deviations are from the mean, or from `about`.
    """
    there = np.isfinite(series)
    n = there.sum(0)
    if about is None:
        about = np.where(there, series, 0.0).sum(0) / np.maximum(n, 1)
    deviation = np.where(there, series - about, 0.0)
    power = np.abs(np.fft.rfft(deviation, 2 * len(series), axis=0)) ** 2
    return np.asarray(np.fft.irfft(power, axis=0)[: len(series)] / np.maximum(n, 1))


def effective_number(series: Array, *, about: Array | float | None = None) -> Array:
    """(start, ...) -> (...): independent samples with the same variance of their mean; NaN where nothing varies.

    n / (1 + 2 sum of autocorrelations), the sum cut off where a pair of neighbours in it is no longer positive (the initial
    positive sequence of Geyer 1992, doi 10.1214/ss/1177011137); at least 1 and at most n. Short series overrate it.
    """
    n = np.isfinite(series).sum(0)
    lagged = autocovariance(series, about=about)
    tiny = 1e-14 * np.square(np.where(np.isfinite(series), series, 0.0)).max(0, initial=0.0)
    correlation = lagged / np.where(lagged[0] > tiny, lagged[0], np.nan)
    pairs = correlation[: len(series) // 2 * 2].reshape(len(series) // 2, 2, *series.shape[1:]).sum(1)
    first = np.cumprod(pairs > 0, axis=0) * pairs
    inflation = 2 * first.sum(0) - 1
    return np.asarray(np.where(np.isnan(correlation[0]), np.nan, np.clip(n / np.maximum(inflation, 1e-9), 1, n)))
