"""Hindcasts in files with errors that are known, corrected in a whole run by a recipe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import yaml

import ensemble as ens
from ensemble import plugins
from ensemble.checks import check_against_record
from ensemble.errors import InputError
from ensemble.parts import Corrected
from ensemble.task import Array, month, shift
from tests.prepare.layouts import Forecast, nmme

MONTH = np.timedelta64(1, "M")
FIRST, YEARS, LEADS = np.datetime64("1990-01-01", "s"), 20, 4
STARTS = np.sort(np.concatenate([12 * np.arange(YEARS - 1) + 4, 12 * np.arange(YEARS - 1) + 10]))  # Mays and Novembers
INIT = shift(FIRST, STARTS, MONTH)
SPACE = (np.array([-10.0, 20.0]), np.array([0.0, 120.0, 240.0]))
TRAINED = STARTS + LEADS <= 12 * 15  # all leads verify by the end of 2004


def observed() -> Array:
    """(month, latitude, longitude) [K]."""
    random = np.random.default_rng(0)
    season = 5 * np.cos(2 * np.pi * np.arange(12 * YEARS) / 12)
    return np.asarray(280 + season[:, None, None] + random.normal(size=(12 * YEARS, 2, 3)))


def verifying() -> Array:
    """(init_time, lead_time, member of one, latitude, longitude)."""
    return observed()[STARTS[:, None] + np.arange(LEADS)][:, :, None]


def bias() -> Array:
    """(start month, lead_time, member of one, latitude, longitude) [K]; as (init_time, ...) by `bias()[month(INIT)]`."""
    return np.random.default_rng(1).normal(size=(12, LEADS, 1, 2, 3))


def members() -> Array:
    """Departures of three members that add up to nothing."""
    apart = np.random.default_rng(2).normal(size=(len(INIT), LEADS, 3, 2, 3))
    return np.asarray(apart - apart.mean(2, keepdims=True))


def hindcast(how: str) -> Array:
    """(init_time, lead_time, member, latitude, longitude) whose only error is of a kind that `how` corrects."""
    truth, off = verifying(), bias()[month(INIT)]
    if how == "drift":
        return truth + off + 0.1 * off * (INIT.astype("datetime64[Y]").astype(int) - 20).reshape(-1, 1, 1, 1, 1) + members()
    if how == "variance":  # too small a signal in the right place, and members too close together
        normal = np.zeros(truth.shape)
        for m in np.unique(month(INIT)):
            normal[month(INIT) == m] = truth[(month(INIT) == m) & TRAINED].mean(0)
        return np.asarray(normal + off + 0.4 * (truth - normal) + 0.4 * members())
    return truth + off + members()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("corrected")
    lat, lon = ("lat", SPACE[0], {"units": "degrees_north"}), ("lon", SPACE[1], {"units": "degrees_east"})
    time = shift(FIRST, np.arange(12 * YEARS), MONTH).astype("datetime64[ns]")
    data = xr.Dataset({"tas": (("time", "lat", "lon"), observed(), {"units": "K"})}, {"time": time, "lat": lat, "lon": lon})
    data.to_netcdf(folder / "obs.nc")
    for how in ("mean", "variance", "drift"):
        (folder / how).mkdir()
        nmme(Forecast(hindcast(how), INIT, MONTH, *SPACE), folder / how)
    return folder


def recipe(folder: Path, models: list[Any], **changes: Any) -> Path:
    given = {
        "data": {"files": {"path": "obs.nc"}},
        "train": ["1990-01", "2004-12"],
        "validate": ["2005-01", "2006-12"],
        "test": ["2007-01", "2009-12"],
        "models": models,
        "scores": ["rmse", "bias", "spread"],
        "combine": ["mean"],
    }
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump({name: each for name, each in {**given, **changes}.items() if each is not None}))
    return path


def archive(how: str, **settings: Any) -> dict[str, Any]:
    return {"model": "archive", "path": f"{how}/nmme.nc", **settings}


MODELS: list[Any] = [
    {"raw": archive("mean")},
    {"by_mean": archive("mean", correct="mean")},
    {"by_variance": archive("variance", correct="variance")},
    {"by_drift": archive("drift", correct={"how": "drift", "window": 0})},
    {"by_both": archive("drift", correct=["drift", {"how": "variance", "window": 2}])},
    {"damped_persistence": {"correct": "variance"}},
    "climatology",
]


@pytest.fixture(scope="module")
def run(folder: Path) -> ens.Run:
    made = ens.run(recipe(folder, MODELS), workers=0, show=False, keep_forecasts=True, out=folder / "out")
    assert not made.failures
    return made


def forecasts(run: ens.Run, name: str) -> Array:
    assert run.forecasts is not None
    return np.asarray(run.forecasts[name]["tas"].values)


TESTED = (STARTS >= 12 * 17) & (STARTS + LEADS <= 12 * 20)  # 2007 to 2009


@pytest.mark.parametrize("how", ["mean", "variance", "drift"])
def test_what_is_wrong_in_the_files_is_taken_out(how: str, run: ens.Run) -> None:
    assert run.forecasts is not None
    assert (run.forecasts[f"by_{how}"]["init_time"].values == INIT[TESTED]).all()
    np.testing.assert_allclose(forecasts(run, f"by_{how}"), (verifying() + members())[TESTED], rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.scores["rmse"].sel(model=f"by_{how}"), 0, atol=1e-9)
    assert run.scores["rmse"].sel(model="raw").values.min() > 0.3
    np.testing.assert_array_equal(run.scores["n"].sel(model="raw"), run.scores["n"].sel(model=f"by_{how}"))


def test_corrections_follow_one_another(run: ens.Run) -> None:
    """Once the drift is gone there is nothing left to inflate but for the two start months that are pooled."""
    np.testing.assert_allclose(forecasts(run, "by_both"), forecasts(run, "by_drift"), rtol=0, atol=1e-9)


def test_a_model_that_is_fitted_here_is_corrected_too(run: ens.Run) -> None:
    whole = run.study.models["damped_persistence"]
    assert isinstance(whole, Corrected)
    assert whole.how == "variance"
    assert np.isfinite(run.scores["rmse"].sel(model="damped_persistence")).all()
    assert run.scores["kind"].sel(model=["by_mean", "damped_persistence"]).values.tolist() == ["external", whole.model.kind]


def test_the_resolved_recipe_is_the_same_study(run: ens.Run, folder: Path) -> None:
    again = ens.read_recipe(folder / "out" / "recipe.yaml")
    assert again.models == run.study.models
    assert [repr(each) for each in again.models.values()] == [repr(each) for each in run.study.models.values()]
    means, drifts = (plugins.load("archive").Archive(path=str(folder / how / "nmme.nc")) for how in ("mean", "drift"))
    assert again.models["by_mean"] == Corrected(means)
    assert again.models["by_drift"] == Corrected(drifts, "drift", 0)
    assert again.models["by_both"] == Corrected(Corrected(drifts, "drift"), "variance", 2)


def test_the_data_table_says_what_was_taken_out(run: ens.Run, folder: Path) -> None:
    table = json.loads((folder / "out" / "run.json").read_text())["data_table"]
    lines = [line for line in table if line["what"] == "correct"]
    assert len(lines) == 6, "one for each correction, of which one model has two"
    (by_mean,) = [line for line in lines if "mean error" in line["done"]]
    assert by_mean["found"].startswith("learnt from 14 to 15 pairs")  # a November's forecast ends in the year after
    assert sum("in-sample" in line["found"] for line in lines) == 1


def test_a_forecast_from_now_is_corrected(run: ens.Run) -> None:
    made = run.forecast("by_drift", INIT[-1])["tas"].values
    np.testing.assert_allclose(made[0], (verifying() + members())[-1], rtol=0, atol=1e-9)


def test_without_training_data_there_is_nothing_to_learn_from(folder: Path) -> None:
    path = recipe(folder, [{"seas5": archive("mean", correct="mean")}], train=None, validate=None, combine=[])
    with pytest.raises(InputError, match=r"^models.seas5.correct: is learnt from the training period, and there is none; give `train:`"):
        ens.read_recipe(path)


def test_a_training_period_before_the_hindcast_is_refused(folder: Path) -> None:
    late = archive("mean", correct="mean")
    path = recipe(folder, [{"seas5": late}], train=["1990-01", "1990-07"], validate=None, anomalies=False, combine=[], scores=["rmse"])
    said = r"Archive \(nmme.nc: S\): correct: no forecast of it \(issued 1990-05-01 to 2008-11-01\) .* 1990-01-01 to 1990-07-01"
    with pytest.raises(InputError, match=said):
        check_against_record(ens.read_recipe(path))


@pytest.mark.parametrize(("given", "said"), [
    ("median", r"models.a.correct.how: .*'mean', 'variance' or 'drift'; found 'median'"),
    ({"how": "mean", "windows": 2}, r"models.a.correct: 'windows' is unknown; did you mean window"),
    ({"model": "lim"}, r"models.a.correct: 'model' is unknown; there are: how, window"),
    ({"window": -1}, r"models.a.correct: window: -1 months"),
    (["mean", 3], r"models.a.correct.how: .*found 3"),
])  # fmt: skip
def test_what_is_no_correction_is_refused(given: Any, said: str, folder: Path) -> None:
    with pytest.raises(InputError, match=said):
        ens.read_recipe(recipe(folder, [{"a": archive("mean", correct=given)}], combine=[]))


def test_set_changes_a_correction(folder: Path) -> None:
    study = ens.read_recipe(recipe(folder, MODELS), settings=["models.raw.correct=variance", "models.by_drift.correct.window=1"])
    assert study.models["raw"].how == "variance"
    assert study.models["by_drift"].window == 1
