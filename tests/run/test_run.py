"""What a run promises: names on the dashboard, honest forecasts, estimators as models, questions answered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from distributed import Client, LocalCluster
from sklearn.linear_model import Ridge

import ensemble as ens
from ensemble.errors import InputError

ONLY = ["climatology", "persistence", "damped_persistence", "lim"]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def run(client: Client) -> ens.Run:
    study = ens.read_recipe("enso_small", only=ONLY).beside(ridge=Ridge(alpha=100.0))
    run = ens.run(study, client=client, show=False)
    assert not run.failures
    return run


def test_an_estimator_is_a_model_as_it_is(run: ens.Run) -> None:
    rmse = run.scores["rmse"].sel(region="all").mean("lead_time")
    assert rmse.sel(model="ridge") < rmse.sel(model="climatology")


def test_neither_a_model_nor_an_estimator_is_refused() -> None:
    with pytest.raises(InputError, match="neither a Model nor an estimator"):
        ens.read_recipe("enso_small").beside(seven=7)


def test_tasks_are_named_after_models_and_phases(run: ens.Run, client: Client) -> None:
    prefixes = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes))
    assert {f"{model}-{phase}" for model in ONLY for phase in ("fit", "hindcast")} <= set(prefixes)
    assert {"mean-learn", "scores-score"} <= set(prefixes)


def test_the_best_model_is_the_first_of_the_ranking(run: ens.Run) -> None:
    for score, best in (("rmse", "min"), ("acc", "max")):
        values = run.scores[score].sel(region="nino34", lead_time=3).dropna("model")
        assert run.best(score, region="nino34", lead_time=3) == values["model"].values[getattr(values.values, f"arg{best}")()]
    ranked = run.ranking("bias")
    assert (np.diff(np.abs(ranked.values)) >= 0).all()
    with pytest.raises(InputError, match="did you mean rmse"):
        run.best("rmsd")
    with pytest.raises(InputError, match="did you mean nino34"):
        run.best(region="nino3")


def test_the_equal_mean_is_the_mean(client: Client) -> None:
    study = ens.read_recipe("enso_small", only=["damped_persistence", "lim"])
    run = ens.run(study, client=client, keep_forecasts=True, show=False)
    assert run.forecasts is not None
    assert not run.failures
    members = [run.forecasts[name]["sst"] for name in study.models]
    np.testing.assert_allclose(run.forecasts["mean"]["sst"], (members[0] + members[1]) / 2, rtol=1e-12)
    weight = run.weights["weight"]
    np.testing.assert_allclose(weight.sum("model"), 1.0)


def test_scores_of_kept_forecasts_come_out_again_by_hand(client: Client) -> None:
    study = ens.read_recipe("enso_small", only=["lim"], settings=["combine=[]"])
    run = ens.run(study, client=client, keep_forecasts=True, show=False)
    assert run.forecasts is not None
    made = run.forecasts["lim"]["sst"]
    truth = study.data.read(study.data.times)["sst"].sel(time=made["valid_time"])
    weight = np.cos(np.deg2rad(made["latitude"]))
    error = (made - truth.drop_vars("time")).weighted(weight)
    by_hand = np.sqrt(((made - truth.drop_vars("time")) ** 2).weighted(weight).mean(["init_time", "latitude", "longitude"]))
    np.testing.assert_allclose(run.scores["rmse"].sel(model="lim", region="all"), by_hand, rtol=1e-10)
    bias = error.mean(["init_time", "latitude", "longitude"])
    np.testing.assert_allclose(run.scores["bias"].sel(model="lim", region="all"), bias, rtol=1e-9, atol=1e-12)
    assert (run.scores["n"].sel(region="all") == 55 * 513).all()


def test_a_forecast_from_now_needs_no_truth(run: ens.Run) -> None:
    ahead = run.forecast("lim")
    assert ahead["init_time"].values[0] == np.datetime64("2022-01-01")
    assert ahead["valid_time"].values[0, -1] == np.datetime64("2022-06-01")
    assert np.isfinite(ahead["sst"].values).any()
    with pytest.raises(InputError, match="looks at"):
        run.forecast("lim", "1991-03")
    with pytest.raises(InputError, match="did you mean"):
        run.forecast("limm")


def test_a_combination_forecasts_what_its_models_do(run: ens.Run) -> None:
    mean = run.forecast("mean")["sst"].isel(member=0)
    members = [run.forecast(name)["sst"].isel(member=0) for name in run.combinations["mean"].models]
    np.testing.assert_allclose(mean, sum(members) / len(members), rtol=1e-12)


class Altered(ens.Source):
    """HadISST, warmed by a hundred degrees from some time on."""

    def __init__(self, source: ens.Source, since: np.datetime64) -> None:
        self.source, self.since = source, since

    @property
    def step(self) -> np.timedelta64:
        return self.source.step

    @property
    def times(self) -> ens.Times:
        return self.source.times

    def read(self, times: ens.Times) -> xr.Dataset:
        data = self.source.read(times)
        return data.assign(sst=data["sst"] + 100.0 * (data["time"] >= self.since))


def test_what_is_no_dataclass_is_saved_all_the_same(tmp_path: Path) -> None:
    study = ens.read_recipe("enso_small", only=["persistence"], settings=["combine=[]"])
    altered = replace(study, data=Altered(study.data, np.datetime64("2021-12-01", "s")))
    ens.run(altered, workers=0, show=False, out=tmp_path / "out")
    assert (tmp_path / "out" / "run.json").exists()


def test_changing_the_truth_after_t_changes_no_forecast_issued_at_t() -> None:
    since = np.datetime64("2019-03-01", "s")
    study = ens.read_recipe("enso_small", settings=["models.mlp.rounds=3"])
    runs = []
    for data in (study.data, Altered(study.data, since)):
        made = ens.run(replace(study, data=data), workers=0, keep_forecasts=True, show=False).forecasts
        assert made is not None
        runs.append(made)
    for name in runs[0].children:
        one, other = (each[name].to_dataset().sel(init_time=slice(None, since)) for each in runs)
        xr.testing.assert_identical(one, other)
    after = [each["persistence"]["sst"].sel(init_time="2019-04-01").max() for each in runs]
    assert after[1] > after[0] + 90, "the alteration was not seen at all"


def test_a_rule_may_stand_twice_under_names_of_its_own(tmp_path: Path) -> None:
    settings = ["combine=[stacking, {light: {rule: stacking, shrink: 0.1}}, median, best]"]
    run = ens.run("enso_small", only=["lim", "damped_persistence"], settings=settings, workers=0, show=False, out=tmp_path / "out")
    assert {"stacking", "light", "median", "best"} <= set(run.scores["model"].values.tolist())
    again = ens.read_recipe(tmp_path / "out" / "recipe.yaml")
    assert again.combinations == run.study.combinations
