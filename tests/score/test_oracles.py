"""Shared scores are those of `scores`, `xskillscore` and `scoringrules`, on data with gaps that is tallied in pieces."""

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

from ensemble.score import SCORES, Region, Values, fused, tally
from ensemble.score.evaluate import Labels, evaluate, statistics_of
from ensemble.sums import total
from ensemble.task import Array, Field

DIMS, SPACE, ALL = ("init_time", "lead_time", "latitude", "longitude"), ["latitude", "longitude"], ["init_time", "latitude", "longitude"]
SHAPE, MEMBERS = (13, 4, 7, 11), 5
RANDOM = np.random.default_rng(0)
TRUTH = RANDOM.standard_normal(SHAPE) + RANDOM.standard_normal((SHAPE[0], 1, 1, 1))
FORECAST = 0.6 * TRUTH[:, :, None] + 0.3 + RANDOM.standard_normal((*SHAPE[:2], MEMBERS, *SHAPE[2:]))
TRUTH[RANDOM.random(SHAPE) < 0.1] = np.nan
FORECAST[RANDOM.random(FORECAST.shape) < 0.02] = np.nan
COORDS = {"latitude": np.linspace(-60.0, 60.0, SHAPE[2]), "longitude": np.linspace(0.0, 300.0, SHAPE[3])}
AREA = np.cos(np.deg2rad(COORDS["latitude"]))[:, None] * np.ones(SHAPE[3])
NAMES = ("rmse", "mae", "bias", "correlation", "acc", "crps", "crps_standard", "spread", "deviation_ratio", "centred_rmse")

COUNTED = np.isfinite(TRUTH) & np.isfinite(FORECAST).all(2)
TIMES = np.datetime64("2001-01", "s") + np.arange(SHAPE[0]) * np.timedelta64(1, "D")
F = xr.DataArray(np.where(COUNTED, FORECAST.mean(2), np.nan), dims=DIMS)
T = xr.DataArray(np.where(COUNTED, TRUTH, np.nan), dims=DIMS)
X = xr.DataArray(np.where(COUNTED[:, :, None], FORECAST, np.nan), dims=(*DIMS[:2], "member", *SPACE))
W = xr.DataArray(AREA, dims=SPACE)

Pieces = tuple[list[slice], list[slice], list[slice], list[slice]]
WHOLE, CUT = [slice(None)], [slice(0, 5), slice(5, None)]


def scored(kind: type, pieces: Pieces) -> tuple[xr.Dataset, xr.Dataset]:
    """Table and maps; pieces of starts are added up, those of other dimensions stand side by side."""
    scores = [SCORES[name]() for name in NAMES]
    leads, rows, columns = pieces[1:]
    tables, maps = [], []
    for lead in leads:
        for row in rows:
            for column in columns:
                where = Field({"latitude": COORDS["latitude"][row], "longitude": COORDS["longitude"][column]}, *_of(row, column), {})
                sums = [
                    tally(
                        TIMES[start],
                        [Values(FORECAST.astype(kind)[start, lead, :, row, column], TRUTH.astype(kind)[start, lead, row, column])],
                        where,
                        {"all": Region()},
                        statistics_of(scores),
                    )
                    for start in pieces[0]
                ]
                labels = Labels(("model",), ("external",), (MEMBERS,), tuple(range(SHAPE[1]))[lead], {"all": Region()}, where)
                table, drawn = evaluate(total(sums), scores, labels)
                tables.append(table)
                maps.append(drawn)
    joined = xr.combine_by_coords(maps, combine_attrs="drop", data_vars="all", coords="minimal", compat="override", join="outer")
    assert isinstance(joined, xr.Dataset)
    return xr.concat(tables, "lead_time", data_vars="minimal", coords="minimal", compat="override"), joined


def _of(row: slice, column: slice) -> tuple[Array, Array]:
    return np.ones(SHAPE[2:], bool)[row, column], AREA[row, column]


def wet(values: xr.DataArray) -> xr.DataArray:
    """The mean over starts and area of what was made at points."""
    return values.weighted(W).mean(ALL)


def over_starts(function: Callable[..., xr.DataArray]) -> Callable[[], xr.DataArray]:
    return lambda: function(F, T, dim="init_time", skipna=True)


def standard_crps() -> xr.DataArray:
    rules = pytest.importorskip("scoringrules")
    made = rules.crps_ensemble(T.values, np.moveaxis(X.values, 2, -1), estimator="nrg")
    return xr.DataArray(made, dims=DIMS)


def fair_crps() -> xr.DataArray:
    rules = pytest.importorskip("scoringrules")
    return xr.DataArray(rules.crps_ensemble(T.values, np.moveaxis(X.values, 2, -1), estimator="fair"), dims=DIMS)


PLACES = [(WHOLE, WHOLE, WHOLE, WHOLE), (CUT, WHOLE, WHOLE, WHOLE), (CUT, [slice(0, 1), slice(1, None)], WHOLE, WHOLE)]
EACH = [(CUT, WHOLE, [slice(0, 3), slice(3, None)], CUT), *PLACES]


@pytest.mark.parametrize("much", [np.inf, 0], ids=["numpy", "compiled"])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("pieces", PLACES, ids=["whole", "starts", "starts and leads"])
def test_tables(monkeypatch: pytest.MonkeyPatch, pieces: Pieces, kind: type, much: float) -> None:
    xs, continuous = pytest.importorskip("xskillscore"), pytest.importorskip("scores.continuous")
    probability = pytest.importorskip("scores.probability")
    monkeypatch.setattr(fused, "MUCH", much)
    table = scored(kind, pieces)[0].isel(model=0, region=0)
    weights = W.broadcast_like(T.isel(lead_time=0, drop=True)).transpose(*ALL)
    ensemble = dict(ensemble_member_dim="member", reduce_dims=ALL, weights=W)
    expected = {
        "rmse": [xs.rmse(F, T, dim=ALL, weights=weights, skipna=True), continuous.rmse(F, T, reduce_dims=ALL, weights=W)],
        "mae": [xs.mae(F, T, dim=ALL, weights=weights, skipna=True), continuous.mae(F, T, reduce_dims=ALL, weights=W)],
        "bias": [xs.me(F, T, dim=ALL, weights=weights, skipna=True), continuous.additive_bias(F, T, reduce_dims=ALL, weights=W)],
        "acc": [xs.pearson_r(F, T, dim=SPACE, weights=W, skipna=True).mean("init_time")],
        "correlation": [xs.pearson_r(F, T, dim="init_time", skipna=True).weighted(W).mean(SPACE)],
        "crps": [wet(fair_crps()), probability.crps_for_ensemble(X, T, method="fair", **ensemble)],
        "crps_standard": [wet(standard_crps()), probability.crps_for_ensemble(X, T, method="ecdf", **ensemble)],
        "spread": [np.sqrt(wet(X.var("member", ddof=1, skipna=False)))],
    }
    for name, others in expected.items():
        for other in others:
            np.testing.assert_allclose(table[name], other, rtol=1e-6, atol=1e-8, err_msg=name)
    assert table.n.values.tolist() == COUNTED.sum((0, 2, 3)).tolist()


@pytest.mark.parametrize("much", [np.inf, 0], ids=["numpy", "compiled"])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("pieces", EACH, ids=["all", "whole", "starts", "starts and leads"])
def test_maps(monkeypatch: pytest.MonkeyPatch, pieces: Pieces, kind: type, much: float) -> None:
    xs, continuous = pytest.importorskip("xskillscore"), pytest.importorskip("scores.continuous")
    pearson = pytest.importorskip("scores.continuous.correlation").pearsonr
    monkeypatch.setattr(fused, "MUCH", much)
    maps = scored(kind, pieces)[1].isel(model=0)
    expected = {
        "rmse": [over_starts(xs.rmse)(), continuous.rmse(F, T, reduce_dims=["init_time"])],
        "mae": [over_starts(xs.mae)(), continuous.mae(F, T, reduce_dims=["init_time"])],
        "bias": [over_starts(xs.me)(), continuous.additive_bias(F, T, reduce_dims=["init_time"])],
        "correlation": [over_starts(xs.pearson_r)(), pearson(F, T, reduce_dims=["init_time"])],
        "crps": [fair_crps().mean("init_time")],
        "crps_standard": [standard_crps().mean("init_time"), xs.crps_ensemble(T, X, dim="init_time")],
        "spread": [np.sqrt(X.var("member", ddof=1, skipna=False).mean("init_time"))],
        "deviation_ratio": [F.std("init_time") / T.std("init_time")],
        "centred_rmse": [np.sqrt((F - T).var("init_time"))],
    }
    for name, others in expected.items():
        for other in others:
            np.testing.assert_allclose(maps[name].transpose(*DIMS[1:]), other, rtol=1e-6, atol=2e-7, err_msg=name)
