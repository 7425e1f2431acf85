"""Whether one model beats another more often than a coin would: a random walk, a step up where it does and down where not.

Nothing is assumed about how losses are distributed. The test takes starts as independent; what a walk is worth where they are
not, by the autocorrelation of its steps, stands beside it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import bdtr, ndtr, ndtri

from ensemble.significance.independent import effective_number
from ensemble.task import Array


class SignTest(NamedTuple):
    """DelSole and Tippett (2016), doi 10.1175/MWR-D-15-0218.1."""

    walk: Array  # (start, ...): wins so far of the first model minus those of the second
    bound: Array  # (start, ...): the walk of a fair coin stays within plus and minus this, at the level of confidence
    wins: Array  # (...): starts at which the first model is the better one
    n: Array  # (...): starts that are decided; where losses are equal nobody wins
    n_effective: Array  # (...): independent ones among them
    p_value: Array  # (...): two-sided, of the binomial distribution, starts independent
    p_dependent: Array  # (...): the same of the walk as long as `n_effective`


def sign_test(difference: Array, level: float = 0.95) -> SignTest:
    """Losses of the first model minus those of the second, (start, ...); NaN is a gap."""
    decided = np.isfinite(difference) & (difference != 0)
    steps = np.where(decided, -np.sign(difference), 0.0)
    n, wins = decided.sum(0), (steps > 0).sum(0)
    effective = effective_number(np.where(decided, steps, np.nan), about=0.0)
    bound = -ndtri((1 - level) / 2) * np.sqrt(np.cumsum(decided, 0))
    end = np.abs(steps.sum(0)) / np.sqrt(np.maximum(n, 1))
    exact = np.minimum(1.0, 2 * bdtr(np.minimum(wins, n - wins), np.maximum(n, 1), 0.5))
    dependent = 2 * ndtr(-end * np.sqrt(effective / np.maximum(n, 1)))
    return SignTest(
        np.cumsum(steps, 0),
        bound,
        wins,
        n,
        np.where(n > 0, effective, 0.0),
        np.where(n > 0, exact, 1.0),
        np.where(n > 0, np.maximum(dependent, exact), 1.0),
    )
