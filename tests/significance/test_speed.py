"""Intervals cost little more than the product they need; run by hand or by `make bench`."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from ensemble.score.scores import Rmse
from ensemble.significance import Bootstrap, intervals
from tests.significance.series import means


def seconds(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


@pytest.mark.bench
def test_a_thousand_resamples_cost_at_most_twice_their_product() -> None:
    sums = np.random.default_rng(0).random((4, 730, 5, 4000))
    times = np.datetime64("2020-01-01", "s") + np.arange(730) * np.timedelta64(12, "h")
    data = means(np.full(sums.shape, 2.0), times, SquaredError=sums)
    draw = Bootstrap(resamples=1000).draw(times, np.timedelta64(10, "D"))
    flat = np.ascontiguousarray(sums.transpose(1, 0, 2, 3).reshape(730, -1))
    pairs = [(seconds(lambda: draw.counts @ flat), seconds(lambda: intervals([Rmse()], data, draw))) for _ in range(3)]
    product, whole = (min(each) for each in zip(*pairs, strict=True))
    print(f"1000 resamples of 80,000 series of 730 starts: {whole:.2f} s, product {product:.2f} s, ratio {whole / product:.2f}")
    assert whole < 2 * product
