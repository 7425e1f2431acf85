"""The statistical models are what their papers say, written out without sums."""

from typing import Any

import numpy as np
import pytest

from ensemble import Model, load
from ensemble.chunk import Chunk, Pairs, known_ahead
from ensemble.execute import Serial
from ensemble.fitting import fit
from ensemble.parts import Damping, Eof, Then, Trailing, predictors
from ensemble.prepare import chunk_of
from ensemble.task import Array, Domain, month
from ensemble.testing import basin_study

STUDY = basin_study(model=Damping())
MODES = 4


def components(shards: int) -> tuple[list[Chunk], Domain]:
    """The record as principal components, and where they live."""
    chunks = [chunk_of(STUDY.data, STUDY.domain, STUDY.train, shards, i, 14) for i in range(shards)]
    patterns = fit(Eof(MODES), [[chunk] for chunk in chunks], STUDY.domain, Serial(), 0)
    domain = Eof(MODES).domain(patterns, STUDY.domain).only("pc")
    return [chunk.mapped(lambda data: Eof(MODES).apply(patterns, data)[["pc"]], domain, 0) for chunk in chunks], domain


def forecast_of(model: Model[Any, Any], state: Any, pairs: Pairs) -> Array:
    leads = STUDY.lead_times
    forcing = known_ahead(STUDY.domain, pairs.initial["init_time"].values, leads)
    made: Array = model.forecast(state, pairs.initial, leads, forcing, 0)["pc"].values
    return made


@pytest.mark.parametrize("window", [1, 2])
def test_constructed_analogs_by_sums_are_those_by_weights_on_a_library(window: int) -> None:
    (chunk,), domain = components(1)
    pairs = chunk.pairs(1)
    z, y, of = pairs.initial["pc"].values[:, 0], pairs.targets["pc"].values, month(pairs.initial["init_time"].values)
    model = load("constructed_analogs").Analogs(window=window, ridge=0.7)
    made = forecast_of(model, fit(model, [[chunk]], domain, Serial(), 0), pairs)
    for start in range(0, len(z), 5):
        near = np.isin(of, (of[start] + np.arange(-window, window + 1)) % 12)
        library = z[near]
        penalty = 0.7 * (library**2).sum(1).mean()
        weights = np.linalg.solve(library @ library.T + penalty * np.eye(len(library)), library @ z[start])
        np.testing.assert_allclose(made[start], np.tensordot(weights, y[near], (0, 0)), rtol=1e-8)


def test_a_month_without_past_states_is_named() -> None:
    (chunk,), domain = components(1)
    few = Chunk(chunk.data.isel(time=slice(0, 8)), domain, 0, 8, True)
    with pytest.raises(ValueError, match="no past state begins within 1 months of month 8"):
        fit(load("constructed_analogs").Analogs(window=1, ridge=1.0), [[few]], domain, Serial(), 0)


@pytest.mark.parametrize("shards", [1, 3])
def test_ridge_regression_by_sums_is_that_of_all_rows_for_each_lead(shards: int) -> None:
    chunks, domain = components(shards)
    ridge = load("eof_ridge").Ridge(lags=2, penalty=3.0)
    model = Then(Trailing(12), ridge)
    coefficients = fit(model, [[chunk] for chunk in chunks], domain, Serial(), 0).second.coefficients
    (whole,), _ = components(1)
    slow = whole.mapped(lambda data: Trailing(12).apply(None, data), Trailing(12).domain(None, domain), 11)
    for k, lead in enumerate(STUDY.lead_times):
        pairs = slow.pairs(2, np.array([lead]))
        x, y = predictors(pairs.initial), pairs.targets["pc"].values[:, 0]
        root = np.sqrt(3.0 * (x**2).mean()) * np.eye(x.shape[1])  # the penalty as rows that had no effect
        expected = np.linalg.lstsq(np.concatenate([x, root]), np.concatenate([y, np.zeros((len(root), MODES))]))[0]
        assert len(x) == 60 - 1 - lead
        np.testing.assert_allclose(coefficients[k], expected, rtol=1e-6, atol=1e-9)
