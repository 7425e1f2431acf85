"""Scores against other packages, one thread against one thread: the same numbers, and how much sooner; `make bench` prints it."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

from ensemble.execute.threads import one_thread
from ensemble.score import SCORES, Region, Statistic, Tally, Values, tally
from ensemble.score.evaluate import statistics_of
from ensemble.score.statistics import FairCrps
from ensemble.task import Array, Field

pytestmark = pytest.mark.bench
SLACK = 0.5  # what noise may take from a ratio: a machine whose cores are shared has its moods
LATITUDE, LONGITUDE = np.linspace(-88.0, 88.0, 45), np.arange(0.0, 360.0, 4.0)
AREA = np.cos(np.deg2rad(LATITUDE))[:, None] * np.ones(90)
FIELD = Field({"latitude": LATITUDE, "longitude": LONGITUDE}, np.ones((45, 90), bool), AREA, {})
DIMS = ("init_time", "lead_time", "latitude", "longitude")
SPACE = ["latitude", "longitude"]
DETERMINISTIC = statistics_of([SCORES[name]() for name in ("rmse", "mae", "bias", "correlation", "acc")])


def seconds(function: Callable[[], object], repeats: int = 3) -> float:
    def once() -> float:
        began = time.perf_counter()
        function()
        return time.perf_counter() - began

    return min(once() for _ in range(repeats))


def drawn(*shape: int, gaps: float = 0.0) -> Array:
    random = np.random.default_rng(sum(shape))
    made = random.standard_normal(shape, dtype=np.float32)
    made[random.random(shape, dtype=np.float32) < gaps] = np.nan
    return made


def tallied(members: Array, truth: Array, statistics: tuple[Statistic, ...]) -> Tally:
    times = np.datetime64("2000-01-01", "s") + np.arange(len(truth)) * np.timedelta64(1, "D")
    return tally(times, [Values(members, truth)], FIELD, {"all": Region()}, statistics)


def test_deterministic_scores_with_maps_and_series() -> None:
    xs, continuous = pytest.importorskip("xskillscore"), pytest.importorskip("scores.continuous")
    pearson = pytest.importorskip("scores.continuous.correlation").pearsonr
    forecast, truth = drawn(360, 12, 45, 90), drawn(360, 12, 45, 90, gaps=0.05)
    f, t, area = xr.DataArray(forecast, dims=DIMS), xr.DataArray(truth, dims=DIMS), xr.DataArray(AREA, dims=SPACE)

    def xskillscore() -> list[xr.DataArray]:
        made = []
        for dim, weights in (("init_time", None), (SPACE, area)):
            made += [each(f, t, dim=dim, weights=weights, skipna=True) for each in (xs.rmse, xs.mae, xs.me, xs.pearson_r)]
        return made

    def scores() -> list[xr.DataArray]:
        made = []
        for dim, weights in ((["init_time"], None), (SPACE, area)):
            errors = (continuous.rmse, continuous.mae, continuous.additive_bias)
            made += [each(f, t, reduce_dims=dim, weights=weights) for each in errors]
            made.append(pearson(f, t, reduce_dims=dim))
        return made

    def ours() -> Tally:
        return tallied(forecast[:, :, None], truth, DETERMINISTIC)

    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sums, theirs = ours(), xskillscore()
        mse = sums.by_start["SquaredError"][0, :, :, 0] / sums.weight[0, :, :, 0]
        np.testing.assert_allclose(np.sqrt(mse), theirs[4], rtol=1e-4)
        np.testing.assert_allclose(np.sqrt(sums.at_points["SquaredError"] / sums.starts)[0], theirs[0], rtol=1e-4)
        own, one, other = seconds(ours, 9), seconds(xskillscore), seconds(scores)
    print(f"\ndeterministic: {own:.3f} s; xskillscore {one:.2f} s, {one / own:.0f} times; scores {other:.2f} s, {other / own:.0f} times")
    assert one / own > 80 * SLACK
    assert other / own > 30 * SLACK


def test_fair_crps_of_fifty_members() -> None:
    crps = pytest.importorskip("scores.probability").crps_for_ensemble
    members, truth = drawn(60, 2, 50, 45, 90), drawn(60, 2, 45, 90)
    f, t = xr.DataArray(members, dims=(*DIMS[:2], "member", *SPACE)), xr.DataArray(truth, dims=DIMS)
    with one_thread():
        sums = tallied(members, truth, (FairCrps(),))
        expected = crps(f, t, ensemble_member_dim="member", method="fair", reduce_dims=["init_time"])
        np.testing.assert_allclose(sums.at_points["FairCrps"][0] / 60, expected, rtol=1e-4)
        own = seconds(lambda: tallied(members, truth, (FairCrps(),)))
        other = seconds(lambda: crps(f, t, ensemble_member_dim="member", method="fair", preserve_dims="all"))
    print(f"\nfair CRPS of 50 members: {own:.3f} s; scores {other:.2f} s, {other / own:.1f} times")
    assert other / own > 5 * SLACK


@pytest.mark.parametrize("members", [1, 20])
def test_memory_does_not_grow_with_the_starts(members: int) -> None:
    statistics = (*DETERMINISTIC, *statistics_of([SCORES["crps"](), SCORES["spread"]()]))
    peaks = {}
    for starts in (40, 80):
        many, truth = drawn(starts * (20 // members), 12, members, 45, 90), drawn(starts * (20 // members), 12, 45, 90)
        tallied(many, truth, statistics)
        tracemalloc.start()
        tallied(many, truth, statistics)
        peaks[starts] = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        print(f"\n{members} members: beside {many.nbytes / 2**20:.0f} MiB of forecasts {peaks[starts]:.1f} MiB are made")
        assert peaks[starts] < many.nbytes / 2**20 / 2
    assert peaks[80] < 1.2 * peaks[40]
