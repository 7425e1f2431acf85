"""Quantiles of the climatology, and a whole run that asks for every score that is made of members and events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import yaml

import ensemble as ens
from ensemble.chunk import Chunk
from ensemble.errors import InputError
from ensemble.execute import Done, Serial
from ensemble.fitting import fit
from ensemble.hindcast import forecast, problem_of
from ensemble.model import Model, Untrained
from ensemble.parts import Quantiles
from ensemble.parts.quantiles import quantiles
from ensemble.prepare import chunk_of
from ensemble.recipe import read_recipe
from ensemble.recipe.write import written
from ensemble.score import SCORES
from ensemble.score.evaluate import statistics_of
from ensemble.score.events import Event
from ensemble.study import Study
from ensemble.task import Array, Times, Window, month, shift
from ensemble.testing import basin_study
from ensemble.units import Scoring, column

TABLES = ["rank_histogram", "brier_components", "reliability", "roc"]


@dataclass(frozen=True)
class Drawn(Untrained, Model[None, Any]):
    """Members about the last value seen."""

    members: int = 6

    def forecast(self, state: None, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        del state, forcing
        last = initial["sst"].isel(lag=-1, drop=True).expand_dims(lead_time=lead_times, axis=1)
        noise = [
            [np.random.default_rng([seed, int(start.astype(int)), m]).standard_normal() for m in range(self.members)]
            for start in last["init_time"].values
        ]
        spread = xr.DataArray(0.5 * np.array(noise), dims=("init_time", "member"), coords={"init_time": last["init_time"]})
        made = last + spread
        return made.transpose("init_time", "lead_time", "member", ...).drop_vars("time", errors="ignore").to_dataset(name="sst")


def chunks(study: Study, shards: int) -> list[Chunk]:
    assert study.train is not None
    return [chunk_of(study.data, study.domain, study.train, shards, i, 1) for i in range(shards)]


def learnt(learner: Quantiles, study: Study, shards: int = 1) -> Array:
    return fit(learner, [[chunk] for chunk in chunks(study, shards)], study.domain, Serial(), 0)


STUDY = basin_study(drawn=Drawn())
WINDOWS = (Window("early", 1, 2), Window("late", 2, 3, "sum"))


def truth(times: Times) -> Array:
    values: Array = STUDY.data.read(times)["sst"].values
    return values


def test_quantiles_are_those_of_numpy_with_gaps_and_without() -> None:
    values = np.random.default_rng(0).standard_normal((17, 3, 5))
    values[np.random.default_rng(1).random(values.shape) < 0.3] = np.nan
    values[:, 0, 0] = np.nan
    values[1:, 0, 1] = np.nan
    levels = (0.1, 1 / 3, 0.5, 0.99)
    made = quantiles(values, levels)
    for i, j in np.ndindex(3, 5):
        there = values[:, i, j][np.isfinite(values[:, i, j])]
        expected = np.quantile(there, levels, method="weibull") if there.size else np.full(4, np.nan)
        np.testing.assert_allclose(made[:, i, j], expected, rtol=1e-12)


def test_the_next_value_lies_below_a_quantile_as_often_as_it_says() -> None:
    drawn = np.random.default_rng(2).random((11, 20000))  # ten to learn from, one more
    for level, edge in zip((0.2, 1 / 3, 0.9), quantiles(drawn[:10], (0.2, 1 / 3, 0.9)), strict=True):
        assert (drawn[10] < edge).mean() == pytest.approx(level, abs=0.015)


def test_edges_are_of_the_month_that_is_verified_in_the_training_period_alone() -> None:
    learner, study = Quantiles((1 / 3, 0.8)), STUDY
    starts = study.starts(study.test)
    edges = learner.edges(learnt(learner, study), study.domain, starts)
    assert study.train is not None
    times = study.train.times(study.data.step)
    for n, k in np.ndindex(3, 3):
        same = truth(times[month(times) == month(shift(starts[n], study.lead_times[k] - 1, study.data.step))])
        assert len(same) == 5
        np.testing.assert_allclose(edges[0.8][n, k], np.quantile(same, 0.8, axis=0, method="weibull"), rtol=1e-12)


def test_edges_of_windows_are_those_of_means_and_sums() -> None:
    learner, study = Quantiles((0.5,), WINDOWS), STUDY
    starts = study.starts(study.test)
    edges = learner.edges(learnt(learner, study), study.domain, starts)[0.5]
    assert study.train is not None
    times = study.train.times(study.data.step)
    for w, window in enumerate(WINDOWS):
        begins = shift(starts[4], window.first - 1, study.data.step)
        first = [i for i in range(len(times) - 1) if month(times[i]) == month(begins)]
        same = np.stack([getattr(truth(times[i : i + 2]), window.how)(0) for i in first])
        np.testing.assert_allclose(edges[4, w], np.quantile(same, 0.5, axis=0, method="weibull"), rtol=1e-12)


@pytest.mark.parametrize("windows", [(), WINDOWS])
def test_any_number_of_shards_learns_the_same_bits(windows: tuple[Window, ...]) -> None:
    learner = Quantiles((0.25, 0.75), windows)
    whole, parts = learnt(learner, STUDY), learnt(learner, STUDY, 7)
    assert whole.shape == (max(1, len(windows)), 2, 12, 6, 8)
    np.testing.assert_array_equal(whole, parts)


def test_a_level_is_between_0_and_1() -> None:
    with pytest.raises(ValueError, match=r"found 1\.5"):
        Quantiles((0.5, 1.5))


@pytest.mark.parametrize("windows", [(), WINDOWS])
def test_a_run_counts_what_lies_beyond_the_edges(windows: tuple[Window, ...]) -> None:
    """How often the truth lies above a quantile, from the run's own table and by hand."""
    scores = (SCORES["reliability"](event=Event("above", 0.6, "quantile")), SCORES["rpss"](), SCORES["rmse"]())
    study = replace(STUDY, scores=scores, windows=windows, shards=3)
    run = ens.run(study, workers=0, show=False)
    learner = Quantiles((0.6,), windows)
    starts = study.starts(study.test)
    edge = learner.edges(learnt(learner, study), study.domain, starts)[0.6]
    verifying = truth(shift(starts[:, None], study.lead_times - 1, study.data.step).ravel()).reshape(len(starts), 3, 6, 8)
    parts = [getattr(verifying[:, each.first - 1 : each.last], each.how)(1) for each in windows]
    observed = np.stack(parts, axis=1) if windows else verifying
    field = study.domain.fields["sst"]
    expected = ((observed > edge) * field.area).sum((2, 3)).mean(0)
    table = run.scores["reliability"].sel(model="drawn", region="all")
    made = (table.sel(curve="observed") * table.sel(curve="share")).sum("bin_of_10")
    np.testing.assert_allclose(made, expected, rtol=1e-10)
    assert run.ranking("rpss").size == 1
    with pytest.raises(InputError, match="ranks nobody"):
        run.ranking("reliability")


def test_what_cannot_be_made_is_refused_with_the_cure() -> None:
    tercile = (SCORES["rpss"](),)
    with pytest.raises(InputError, match=r"no training period to learn them from; give `train:`"):
        replace(STUDY, scores=tercile, train=None, anomalies=())
    with pytest.raises(InputError, match=r"the quantile 0\.9 lies beyond the 5 values .* take one from 0\.17 to 0\.83"):
        replace(STUDY, scores=(SCORES["brier"](event=Event("above", 0.9, "quantile")),))
    with pytest.raises(InputError, match="reliability is a table; ask for one that ranks models"):
        replace(STUDY, scores=(SCORES["reliability"](),))
    with pytest.raises(InputError, match="two are called brier; name one"):
        replace(STUDY, scores=(SCORES["brier"](), SCORES["brier"](fair=False)))
    replace(STUDY, scores=(SCORES["brier"](event=Event("above", 20.0)),), train=None, anomalies=(), models={"damped": Drawn()})


RECIPE = """
scores:
  - rmse
  - crps
  - rank_histogram
  - rank_deviation
  - ignorance
  - rpss
  - brier: {event: [above, 0.8, quantile]}
  - brier_cold: {rule: brier, event: [below, -0.5, anomaly], fair: false}
  - brier_skill: {event: [above, 0.8, quantile]}
  - brier_components: {event: [above, 28]}
  - reliability: {event: [above, 0.8, quantile], bins: 5}
  - roc: {event: [above, 0.8, quantile]}
  - roc_area
  - twcrps: {event: [above, 0.9, quantile]}
  - sedi: {event: {side: above, threshold: 0.3, of: anomaly}}
"""


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    small = yaml.safe_load((Path(ens.__file__).parent / "recipes" / "enso_small.yaml").read_text(encoding="utf-8"))
    path = tmp_path_factory.mktemp("recipe") / "all.yaml"
    path.write_text(yaml.safe_dump({**small, **yaml.safe_load(RECIPE)}), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> ens.Run:
    study = read_recipe(recipe).only(["climatology", "damped_persistence", "lim"]).beside(drawn=Drawn())
    return ens.run(study, workers=0, show=False, out=tmp_path_factory.mktemp("run"))


def test_a_recipe_names_events_and_is_written_back(recipe: Path, tmp_path: Path) -> None:
    study = read_recipe(recipe)
    (tmp_path / "again.yaml").write_text(written(study), encoding="utf-8")
    assert read_recipe(tmp_path / "again.yaml").scores == study.scores
    cold = next(each for each in study.scores if each.name == "brier_cold")
    assert cold == SCORES["brier"](event=Event("below", -0.5, "anomaly"), fair=False, name="brier_cold")


def test_all_scores_of_a_run_are_read_back_as_they_were_made(run: ens.Run) -> None:
    assert run.folder is not None
    with xr.open_dataset(run.folder / "scores.nc", decode_timedelta=False) as back:
        for name in ["rmse", "rpss", "brier", "brier_cold", "brier_skill", "roc_area", "twcrps", "sedi", *TABLES]:
            np.testing.assert_array_equal(back[name].values, run.scores[name].values)
        assert set(back["reliability"].dims) == {"model", "lead_time", "region", "bin_of_5", "curve"}
        assert back["brier"].attrs["event"] == "above the quantile 0.8"
        assert back["twcrps"].attrs["units"] == "degC"
        of_members = back.sel(model="drawn")
        for name in ["crps", "rank_histogram", "ignorance", "rpss", "brier", "brier_skill", "roc_area", "twcrps", "sedi"]:
            assert of_members[name].notnull().all(), name
        np.testing.assert_allclose(of_members["rank_histogram"].sum("rank"), 1.0, rtol=1e-12)
        parts = of_members["brier_components"].sel(component="uncertainty", region="nino34")
        assert ((parts > 0) & (parts <= 0.25)).all()
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    assert "twcrps" in page
    assert "reliability diagram" not in page


def test_a_run_ranks_by_skill_and_knows_how_sure_it_is(run: ens.Run) -> None:
    index = run.scores["sedi"].sel(region="nino34", model=["damped_persistence", "climatology"]).isel(lead_time=0)
    assert float(index[0]) > 0.3  # of forecasts that warn, when they are right more often than not
    assert np.isnan(index[1])  # of one that never does
    assert run.ranking("sedi", region="nino34", lead_time=1)["model"].values[0] != "climatology"
    for name in ("roc_area", "brier_cold", "sedi"):
        judged = run.judged(name)
        value, interval = judged["value"].sel(region="nino34"), judged["interval"].sel(region="nino34")
        known = interval.notnull().all("bound") & value.notnull()
        assert known.any()
        assert (interval.sel(bound="low") <= value + 1e-12).where(known, True).all()
        assert (value <= interval.sel(bound="high") + 1e-12).where(known, True).all()


def test_a_point_without_a_quantile_does_not_count() -> None:
    learner, starts = Quantiles((1 / 3, 2 / 3)), STUDY.starts(STUDY.test)
    state = learnt(learner, STUDY)
    state[0, 1, :, 0, 0] = np.nan
    problem, statistics = problem_of(STUDY, len(starts)), statistics_of([SCORES["rpss"](), SCORES["rmse"]()])
    made = {"drawn": Done(forecast(problem, Drawn(), Done(None, ()), starts), ())}
    verifies = STUDY.verifies(STUDY.test)
    how = Scoring(problem, STUDY.regions, statistics, verifies, learner, None, keep=False, compiled=False)
    summed = column(how, starts, None, Done(state, ()), {}, made, {}).tally
    assert (summed.count == STUDY.domain.fields["sst"].mask.sum() - 1).all()
    assert all(np.isfinite(each).all() for each in summed.by_start.values())
