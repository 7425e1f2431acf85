"""Single forecasts wear their past errors: one probabilistic table ranks all, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import ensemble as ens
from ensemble.combine import Bma, Mean
from ensemble.combine.dressing import Dressing
from ensemble.errors import InputError
from ensemble.hindcast import problem_of, verifying
from ensemble.parts import Damping
from ensemble.score import SCORES
from ensemble.study import Study
from ensemble.testing.sea import basin_study


class Half(Damping):
    def forecast(self, *arguments: Any) -> xr.Dataset:
        return super().forecast(*arguments) * 0.5


def study(**changes: Any) -> Study:
    made = basin_study(good=Damping(), half=Half())
    scores = tuple(SCORES[name]() for name in ("rmse", "mae", "bias", "crps", "crps_standard", "spread", "spread_error_ratio"))
    return replace(made, combinations={"mean": Mean(), "bma": Bma(members=9)}, scores=scores, **changes)


@pytest.fixture(scope="module")
def runs() -> tuple[ens.Run, ens.Run]:
    plain, dressed = (ens.run(each, workers=0, show=False, keep_forecasts=True) for each in (study(), study(dress=Dressing())))
    return plain, dressed


def test_the_forecast_itself_is_left_as_it_was(runs: tuple[ens.Run, ens.Run]) -> None:
    plain, dressed = runs
    for score in ("rmse", "bias"):
        np.testing.assert_allclose(dressed.scores[score], plain.scores[score], rtol=1e-10, atol=1e-12)
    assert np.isnan(plain.scores["crps"].sel(model=["good", "half", "mean"])).all()
    assert np.isfinite(dressed.scores["crps"]).all()


def test_what_is_dressed_is_marked(runs: tuple[ens.Run, ens.Run]) -> None:
    plain, dressed = runs
    assert dressed.scores["members"].values.tolist() == [20, 20, 20, 9]
    assert not dressed.scores["draws"].any()
    assert plain.scores["draws"].values.tolist() == [True, True, True, False]
    assert plain.scores["members"].values.tolist() == [1, 1, 1, 9]


def test_the_spread_is_that_of_errors_in_the_validation_period(runs: tuple[ens.Run, ens.Run]) -> None:
    one = runs[1].study
    assert one.validate is not None
    past = ens.run(replace(one, validate=None, test=one.validate, combinations={}, dress=None), workers=0, show=False, keep_forecasts=True)
    assert past.forecasts is not None
    assert runs[1].forecasts is not None
    starts = one.starts(one.validate)
    error = past.forecasts["half"]["sst"].values - verifying(problem_of(one), starts)
    worn = runs[1].forecasts["half"]["sst"]
    issued = worn["init_time"].values.astype("datetime64[M]").astype(int) % 12
    months = starts.astype("datetime64[M]").astype(int) % 12
    for k in (0, 5):
        near = np.minimum((months - issued[k]) % 12, (issued[k] - months) % 12) <= 2
        width = np.sqrt((error[near] ** 2).mean(0))
        levels = worn.isel(init_time=k).values
        np.testing.assert_allclose(levels.max(1) - levels.min(1), 2 * 1.959963984540054 * width, rtol=1e-9)


def test_members_that_are_no_draws_are_not_taken_for_such(runs: tuple[ens.Run, ens.Run]) -> None:
    scores = runs[1].scores
    np.testing.assert_array_equal(scores["crps"], scores["crps_standard"])
    np.testing.assert_allclose(scores["spread_error_ratio"], scores["spread"] / scores["rmse"], rtol=1e-10)


def test_a_recipe_dresses_and_says_so(tmp_path: Path) -> None:
    only = ["lim", "damped_persistence"]
    run = ens.run("enso_small", only=only, settings=["dress={members: 7, window: 1}"], workers=0, show=False, out=tmp_path / "out")
    assert set(run.scores["members"].values.tolist()) == {7}
    again = ens.read_recipe(tmp_path / "out" / "recipe.yaml")
    assert again.dress == Dressing(members=7, window=1)
    with xr.open_dataset(tmp_path / "out" / "scores.nc") as saved:
        assert not saved["draws"].any()
    assert ens.read_recipe("enso_small", settings=["dress=true"]).dress == Dressing()


def test_what_cannot_be_dressed_is_refused() -> None:
    with pytest.raises(InputError, match=r"dress: past errors are learnt from the validation period.*give `validate:`"):
        study(dress=Dressing(), validate=None)
    with pytest.raises(InputError, match=r"dress: no forecast of the validation period was issued within 0 months of 2\d\d\d-"):
        ens.read_recipe("enso_small", settings=["dress={window: 0}", "validate=[2009-01, 2009-10]"])
    with pytest.raises(InputError, match="dress: members 1 must be at least 2"):
        ens.read_recipe("enso_small", settings=["dress={members: 1}"])
