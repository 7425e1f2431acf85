"""Which of many tests stand when as many as these are made."""

from __future__ import annotations

import numpy as np

from ensemble.task import Array


def false_discovery(p_values: Array, rate: float = 0.1, axis: int | tuple[int, ...] | None = None) -> Array:
    """Which tests are significant when at most the share `rate` of those that are may be so by chance; NaN is no test.

    All tests together, or those along `axis`. The largest p(i) <= rate i / N is the threshold. For neighbouring points, whose
    tests hang together, a rate of twice the level for the whole map is the right one. Benjamini and Hochberg (1995), doi
    10.1111/j.2517-6161.1995.tb02031.x; Wilks (2016), doi 10.1175/BAMS-D-15-00267.1, eq. 3.
    """
    p_values = np.asarray(p_values)
    axes = tuple(range(p_values.ndim)) if axis is None else tuple(np.atleast_1d(axis))
    moved = np.moveaxis(p_values, axes, range(len(axes)))
    tests = moved.reshape(-1, *moved.shape[len(axes) :])
    order = np.sort(tests, axis=0)
    place = np.arange(1, len(tests) + 1).reshape(-1, *[1] * (tests.ndim - 1))
    under = order <= rate * place / np.maximum(np.isfinite(tests).sum(0), 1)
    threshold = np.where(under, order, -np.inf).max(0, initial=-np.inf)
    found: Array = np.moveaxis((tests <= threshold).reshape(moved.shape), range(len(axes)), axes)
    return found
