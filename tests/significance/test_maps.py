"""Where on the map a model differs from a baseline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy.stats import ttest_1samp

import ensemble as ens
from ensemble.errors import InputError
from ensemble.parts import Damping
from ensemble.significance import significant_maps, usual_baseline
from ensemble.significance.maps import blocks_of
from ensemble.task import Period
from ensemble.testing.sea import basin_study

RANDOM = np.random.default_rng(8)
LIKE = xr.DataArray(
    np.zeros((3, 2, 50)),
    {"model": ["ref", "same", "better"], "kind": ("model", ["reference", "physics", "physics"]), "lead_time": [1, 2]},
    ("model", "lead_time", "x"),
)


def some(blocks: int = 8, gain: float = 1.0) -> Any:
    mse = 2.0 + 0.3 * RANDOM.standard_normal((blocks, 1, 2, 50)) + 0.2 * RANDOM.standard_normal((blocks, 3, 2, 50))
    mse[:, 2, :, :20] -= gain
    starts = np.full(mse.shape, 12)
    return blocks_of(list(mse * starts), list(starts), LIKE), mse


def test_with_equal_blocks_it_is_the_t_test() -> None:
    blocks, mse = some()
    made = significant_maps(blocks, "ref")
    for name, i in (("same", 1), ("better", 2)):
        expected = ttest_1samp(mse[:, i] - mse[:, 0], 0.0)
        np.testing.assert_allclose(made["p_value"].sel(model=name), expected.pvalue, rtol=1e-9)
        np.testing.assert_allclose(made["difference"].sel(model=name), (mse[:, i] - mse[:, 0]).mean(0), rtol=1e-12)
    assert made.attrs["baseline"] == "ref"


def test_what_is_better_is_found_and_chance_is_not() -> None:
    made = significant_maps(some()[0], "ref")
    better = made["significant"].sel(model="better")
    assert better[:, :20].mean() > 0.95
    assert better[:, 20:].mean() < 0.15
    false = [float(significant_maps(some(gain=0.0)[0], "ref")["significant"].any()) for _ in range(60)]
    assert np.mean(false) < 0.25  # the share of maps with any false discovery, of two models each at a rate of 0.1


def test_blocks_weigh_by_their_starts_and_gaps_are_not_tested() -> None:
    squared, starts = RANDOM.random((6, 3, 2, 50)), RANDOM.integers(1, 9, (6, 1, 2, 50)) * np.ones((1, 3, 1, 1), int)
    starts[:, :, :, 7] = 0
    starts[2:, :, :, 9] = 0
    squared = np.where(starts > 0, squared * starts, 0)
    made = significant_maps(blocks_of(list(squared), list(starts), LIKE), "same")
    n, d = starts[:, 0, 0, 3], (squared / np.maximum(starts, 1))[:, [0, 1], 0, 3]
    d = d[:, 0] - d[:, 1]
    mean = (n * d).sum() / n.sum()
    t = mean / np.sqrt((n * (d - mean) ** 2).sum() / n.sum() / 5)
    assert float(made["difference"].sel(model="ref")[0, 3]) == pytest.approx(mean, rel=1e-12)
    from scipy.stats import t as student

    assert float(made["p_value"].sel(model="ref")[0, 3]) == pytest.approx(2 * student.sf(abs(t), 5), rel=1e-9)
    assert made["p_value"][:, :, [7, 9]].isnull().all()
    assert made["difference"][:, :, 7].isnull().all()
    assert not made["significant"][:, :, [7, 9]].any()


def test_too_few_blocks_and_strangers_are_refused() -> None:
    with pytest.raises(InputError, match="2 blocks"):
        significant_maps(some(blocks=2)[0], "ref")
    with pytest.raises(InputError, match="did you mean same"):
        significant_maps(some()[0], "sane")
    assert usual_baseline(some()[0]) == "ref"


class Half(Damping):
    kind = "statistical"

    def forecast(self, *arguments: Any) -> xr.Dataset:
        return super().forecast(*arguments) * 0.5


def test_a_run_tests_its_maps_and_writes_them(tmp_path: Path) -> None:
    study = basin_study(good=Damping(), half=Half())
    train, test = (Period(study.data.times[first], study.data.times[last]) for first, last in ((0, 35), (36, 95)))
    study = replace(study, validate=None, train=train, test=test)
    run = ens.run(study, workers=0, show=False, out=tmp_path / "out", keep_forecasts=True)
    assert run.blocks is not None
    assert run.blocks.mse.sizes["block"] == 4
    made = run.significant_maps("good")
    with xr.open_dataset(tmp_path / "out" / "significance_maps.nc") as saved:
        assert saved.attrs["blocks"] == 4
        assert {"difference", "p_value", "significant"} <= set(saved)
    squares = run.maps["rmse"] ** 2
    np.testing.assert_allclose(
        made["difference"].sel(model="half"), (squares.sel(model="half") - squares.sel(model="good")), rtol=1e-9, atol=1e-12
    )


def test_the_sums_of_blocks_are_those_of_the_run() -> None:
    study = basin_study(good=Damping(), half=Half())
    one = ens.run(study, workers=0, show=False)
    assert one.blocks is not None
    whole = (one.blocks.mse * one.blocks.starts).sum("block") / one.blocks.starts.sum("block")
    np.testing.assert_allclose(np.sqrt(whole), one.maps["rmse"], rtol=1e-12)
