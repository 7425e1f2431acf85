"""A polynomial in time, fitted at each point to all of a record and taken out of it.

It looks at every year there is, those to come among them: for hindcasts that are held against observations, and not for
forecasting. The fit is a sum over blocks of the record, of its products with polynomials that are orthonormal over the steps;
where values are missing these no longer are, and the normal equations say by how much.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.task import Array, Times, unit_of

HIGHEST = 9  # a polynomial of a higher degree is no trend


class Trend(NamedTuple):
    """The polynomial at each point: `coefficients` (power, ...) of what is orthonormal over `times`."""

    times: Times  # (time,): all steps of the record, ascending
    step: np.timedelta64  # in whose unit time is counted, so that months are of one length
    coefficients: Array

    def at(self, times: Times) -> Array:
        """(time, ...) at some steps of the record; NaN at points with too few values to fit it to."""
        basis = _basis(self.times, self.step, len(self.coefficients) - 1)[np.searchsorted(self.times, times)]
        values: Array = np.tensordot(basis, self.coefficients, 1)
        return values


def fitted(times: Times, step: np.timedelta64, degree: int, blocks: Iterable[Array]) -> Trend:
    """The polynomial of `degree` that is nearest to a record: `blocks` (time, ...) of it, one after the other, NaN where missing."""
    check_degree(degree, len(times))
    basis, begin, k = _basis(times, step, degree), 0, degree + 1
    moments: Array = np.zeros(())
    products: Array = np.zeros(())
    count: Array = np.zeros(())
    for block in blocks:
        rows = basis[begin : begin + len(block)]
        begin += len(block)
        there = np.isfinite(block)
        moments = moments + np.tensordot(rows, np.where(there, block, 0.0), (0, 0))
        pairs = (rows[:, :, None] * rows[:, None, :]).reshape(-1, k * k)
        products = products + np.tensordot(pairs, there.astype(float), (0, 0))
        count = count + there.sum(0)
    return Trend(times, step, _solved(moments, products, count, len(times)))


def check_degree(degree: int | None, steps: int | None = None) -> None:
    """Raise InputError for what is no degree of a trend, or too high a one for so many steps."""
    if degree is not None and not 0 <= degree <= HIGHEST:
        raise InputError(f"detrend: {degree} is no degree of a trend; write 1 for a straight line, 2 for a parabola, at most {HIGHEST}")
    if degree is not None and steps is not None and steps < degree + 2:
        raise InputError(f"detrend: {degree} needs {degree + 2} steps or more, and there are {steps}; lower it, or leave it out")


def finding(degree: int, times: Times, *, what: str, where: str) -> Finding:
    """The line of the data table; `what` the trend is taken out of, in words."""
    first, last = (str(time.astype("datetime64[D]")) for time in (times[0], times[-1]))
    done = (
        f"the polynomial of degree {degree} in time is taken out of {what}. It is fitted to all of these, the later ones too: good for "
        f"verifying past forecasts, not for forecasting. A point with fewer than {degree + 2} values becomes missing"
    )
    return Finding("trend", where, f"{len(times)} times, {first} to {last}", done)


def _basis(times: Times, step: np.timedelta64, degree: int) -> Array:
    """(time, power): polynomials in the time since the first step, orthonormal over the steps."""
    counted = times.astype(f"datetime64[{unit_of(step)[0]}]").astype(np.int64)
    passed = (counted - counted[0]) / max(counted[-1] - counted[0], 1)
    basis: Array = np.linalg.qr(np.polynomial.legendre.legvander(2 * passed - 1, degree))[0]
    return basis


def _solved(moments: Array, products: Array, count: Array, steps: int) -> Array:
    """(power, ...): where no value is missing the products are those of the unit matrix, and the moments are the answer."""
    k = len(moments)
    gaps = (count < steps) & (count > k)
    made = np.where(count > k, moments, np.nan)
    if gaps.any():
        matrix = np.moveaxis(products.reshape(k, k, *count.shape), (0, 1), (-2, -1))[gaps]
        made[:, gaps] = np.linalg.solve(matrix, moments[:, gaps].T[..., None])[..., 0].T
    return made
