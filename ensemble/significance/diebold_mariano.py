"""Whether two models' losses differ in the mean, by the variance of the mean difference.

d = mean of the differences, gamma_k their autocovariances, h steps ahead, n starts:

    V = gamma_0 + 2 sum_(k=1)^(h-1) gamma_k          DM = sqrt((n - h)(n - h + 1)) / n * d / sqrt(V / n)

to be held against t with n - 1 degrees of freedom. The factor is (n + 1 - 2 h + h (h - 1) / n) / n under the root.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from ensemble.task import Array


class DieboldMariano(NamedTuple):
    """Of each lead (and whatever stands behind it); negative where the first model is the better one."""

    statistic: Array
    p_value: Array  # two-sided
    n: Array  # starts that both models have
    bartlett: Array  # whether V came out negative, and the weights 1 - k / h of Newey and West (1987) were used instead


def diebold_mariano(difference: Array, steps_ahead: Array) -> DieboldMariano:
    """Losses of the first model minus those of the second, (start, lead_time, ...), with h of each lead, (lead_time,).

    NaN is a gap. Where V is not positive, V is made with the triangular weights of Newey and West (1987), doi 10.2307/1913610,
    and this is said in `bartlett`. Losses that are the same everywhere give 0 and p = 1; no more starts than h give NaN.
    Diebold and Mariano (1995), doi 10.1080/07350015.1995.10524599; Harvey, Leybourne and Newbold (1997), doi 10.1016/S0169-2070(96)00719-4.
    """
    leads = [_one(difference[:, lead], int(h)) for lead, h in enumerate(steps_ahead)]
    return DieboldMariano(*(np.stack(each) for each in zip(*leads, strict=True)))


def _one(difference: Array, h: int) -> tuple[Array, Array, Array, Array]:
    """Of one lead, (start, ...)."""
    there = np.isfinite(difference)
    n = there.sum(0)
    mean = np.where(there, difference, 0.0).sum(0) / np.maximum(n, 1)
    deviation = np.where(there, difference - mean, 0.0)
    lagged = np.stack([(deviation[k:] * deviation[: len(deviation) - k]).sum(0) for k in range(min(h, len(deviation)))]) / np.maximum(n, 1)
    rounding = lagged[0] <= (1e-14 * mean) ** 2
    variance = np.where(rounding, 0.0, _around(lagged, np.ones(len(lagged))))
    bartlett = ~rounding & ~(variance > 1e-12 * lagged[0])
    variance = np.where(bartlett, _around(lagged, 1 - np.arange(len(lagged)) / h), variance)
    factor = np.sqrt(np.maximum((n - h) * (n - h + 1.0), 0.0)) / np.maximum(n, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = factor * mean / np.sqrt(variance / n)
    statistic = np.where((mean == 0) & (variance == 0), 0.0, statistic)
    statistic = np.where((n > h) & (n > 1), statistic, np.nan)
    return statistic, 2 * stdtr(np.maximum(n - 1, 1), -np.abs(statistic)), n, bartlett


def _around(lagged: Array, weights: Array) -> Array:
    """gamma_0 + 2 sum of weighted gamma_k."""
    total: Array = 2 * np.tensordot(weights, lagged, axes=1) - lagged[0]
    return total
