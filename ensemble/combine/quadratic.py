"""Quadratic functions of weights that must not be negative, and where they are least."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from ensemble.task import Array


def nonnegative(curvature: Array, slope: Array) -> Array:
    """The x (n,) >= 0 that minimises x'Qx/2 - c'x of Q (n, n), positive definite, and c (n,).

    With Q = LL' that is the x >= 0 that minimises |L'x - L^-1 c|. Raises LinAlgError where Q is not positive definite.
    """
    from scipy.optimize import nnls  # takes a quarter of a second, for which those need not wait who solve nothing

    lower = np.linalg.cholesky(curvature)
    x: Array = nnls(lower.T, solve_triangular(lower, slope, lower=True), maxiter=100 * len(slope))[0]
    return x
