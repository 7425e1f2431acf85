"""Cross-validation: what the forecasts of a year need is learnt from the other years, all of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import ensemble as ens
from ensemble.combine import InverseMse, Mean
from ensemble.combine.dressing import Dressing
from ensemble.crossing import LeaveOut
from ensemble.errors import InputError
from ensemble.parts import Climatology, Corrected, Damping
from ensemble.score import SCORES
from ensemble.score.events import Event
from ensemble.score.probability import Brier
from ensemble.study import Study
from ensemble.task import Period, Times
from ensemble.testing.sea import Changed, basin_study


class Half(Damping):
    def forecast(self, *arguments: Any) -> xr.Dataset:
        return super().forecast(*arguments) * 0.5 + 0.3


def study(years: int = 1, **changes: Any) -> Study:
    made = basin_study(good=Damping(), half=Corrected(Half()))
    whole = Period(made.data.times[0], made.data.times[-1])
    rules = {"mean": Mean(), "weighed": InverseMse(shrink=0.0)}
    changes = {"combinations": rules, "anomalies": (Climatology(),), **changes}
    return replace(made, train=whole, validate=None, test=whole, leave_out=LeaveOut(years), **changes)


def test_parts_leave_out_all_that_their_forecasts_look_ahead_to() -> None:
    parts = study(2).parts
    assert np.concatenate([part.starts for part in parts]).tolist() == study().starts(study().test).tolist()
    for part in parts:
        first, last = part.starts[0], part.starts[-1]
        ahead = last.astype("datetime64[M]") + 3
        for period in part.train:
            assert period.last < first or period.first.astype("datetime64[M]") >= ahead
    assert [len(part.train) for part in parts] == [2, 2, 2, 1]  # the first start has seen a month
    kept = sum((p.last.astype("datetime64[M]") - p.first.astype("datetime64[M]")).astype(int) + 1 for p in parts[1].train)
    assert kept == 96 - (24 + 2)


@pytest.fixture(scope="module")
def run() -> ens.Run:
    return ens.run(study(), workers=0, show=False, keep_forecasts=True)


def test_forecasts_of_a_year_are_those_of_models_that_have_not_seen_it(run: ens.Run) -> None:
    assert run.forecasts is not None
    assert not run.failures
    part = run.study.parts[-1]
    (before,) = part.train
    after = (part.starts[-1].astype("datetime64[M]") + 2).astype("datetime64[s]")
    alone = replace(run.study, train=before, test=Period(part.starts[0], after), leave_out=None, combinations={})
    made = ens.run(alone, workers=0, show=False, keep_forecasts=True).forecasts
    assert made is not None
    for name in ("good", "half"):
        np.testing.assert_allclose(run.forecasts[name]["sst"].sel(init_time=part.starts), made[name]["sst"], rtol=1e-12)
    assert run.scores["model"].values.tolist() == ["good", "half", "mean", "weighed"]
    assert (run.scores["n_starts"] == len(run.study.starts(run.study.test))).all()


@dataclass(frozen=True)
class Warmer(Changed):
    """Another truth at the times of one part, and what its forecasts look ahead to."""

    last: np.datetime64

    def read(self, times: Times) -> xr.Dataset:
        data = self.source.read(times)
        return data + 5.0 * ((data["time"] >= self.first) & (data["time"] <= self.last))


@pytest.mark.parametrize("which", [0, 3, -1])
def test_nothing_that_a_forecast_rests_on_has_seen_its_year(run: ens.Run, which: int) -> None:
    part = run.study.parts[which]
    last = (part.starts[-1].astype("datetime64[M]") + 2).astype("datetime64[s]")
    second = (part.starts[0].astype("datetime64[M]") + 1).astype("datetime64[s]")  # the first start is seen by all that follow
    altered = ens.run(replace(run.study, data=Warmer(run.study.data, second, last)), workers=0, show=False, keep_forecasts=True)
    assert run.forecasts is not None
    assert altered.forecasts is not None
    for name in ("good", "half", "mean"):
        one, other = (each[name]["sst"].sel(init_time=part.starts[:2]) for each in (run.forecasts, altered.forecasts))
        xr.testing.assert_identical(one, other)
    elsewhere = np.setdiff1d(run.study.starts(run.study.test), part.starts)[-1 if which != -1 else 0]
    one, other = (each["good"]["sst"].sel(init_time=elsewhere) for each in (run.forecasts, altered.forecasts))
    assert not np.allclose(one, other, equal_nan=True), "the alteration was not learnt from by the other years"


def test_weights_and_quantiles_and_clothes_are_crossed_too() -> None:
    scores = (SCORES["rmse"](), SCORES["crps"](), Brier(Event("above", 0.667, "quantile")))
    made = ens.run(study(2, scores=scores, dress=Dressing()), workers=0, show=False)
    assert not made.failures
    for name in ("rmse", "crps", "brier"):
        assert np.isfinite(made.scores[name]).all()
    assert 0 < float(made.scores["brier"].max()) < 0.5
    learns = [cost for cost in made.costs if cost.phase == "learn"]
    assert len(learns) >= 2


def test_a_recipe_cross_validates(tmp_path: Path) -> None:
    text = (
        "data: hadisst\ntarget: sst\nleads: {from: 1, to: 2}\ntest: [2012-01, 2020-12]\ncross_validate: {leave_out: 3 years}\n"
        "models: [climatology, damped_persistence]\ncombine: [mean]\nscores: [rmse, acc]\n"
    )
    (tmp_path / "study.yaml").write_text(text)
    made = ens.run(tmp_path / "study.yaml", workers=0, show=False, out=tmp_path / "out")
    assert made.study.leave_out == LeaveOut(3)
    assert made.best() in ("damped_persistence", "mean")
    again = ens.read_recipe(tmp_path / "out" / "recipe.yaml")
    assert (again.leave_out, again.train, again.test) == (LeaveOut(3), made.study.train, made.study.test)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "left out" in page
    for wrong, said in (
        ("cross_validate={leave_out: soon}", "no number of years"),
        ("cross_validate={leave_out: 0}", "must be 1 year or more"),
        ("cross_validate={leave_out: 6}", "too few to leave 6"),
        ("train=[1991-01, 2000-12]", "leave out `train:`"),
    ):
        with pytest.raises(InputError, match=said):
            ens.read_recipe(tmp_path / "study.yaml", settings=[wrong])


class Several(Damping):
    """With members around it."""

    ensemble_size = 4

    def forecast(self, *arguments: Any) -> xr.Dataset:
        made = super().forecast(*arguments)
        return xr.concat([made + shift for shift in (-0.3, -0.1, 0.1, 0.3)], xr.Variable("member", range(4)))


class Fragile(Damping):
    def forecast(self, state: Any, initial: xr.Dataset, *rest: Any) -> xr.Dataset:
        if (initial["init_time"].values == np.datetime64("2004-05-01")).any():
            raise ValueError("no ground in sight")
        return super().forecast(state, initial, *rest)


def test_members_are_averaged_on_their_way_to_the_weights_and_a_model_that_failed_has_none() -> None:
    made = replace(study(2), models={"good": Damping(), "several": Several(), "bad": Fragile()})
    run = ens.run(made, workers=0, show=False)
    assert run.combinations["weighed"].models == ("good", "several")
    assert run.scores["model"].values.tolist() == ["good", "several", "mean", "weighed"]
    np.testing.assert_allclose(run.weights["weight"].sel(combination="weighed", model=["good", "several"]), 0.5, rtol=1e-9)
    (failure,) = run.failures
    assert (failure.model, failure.starts) == ("bad", ("2004-05-01T00:00:00",))
    assert np.isfinite(run.scores["crps"].sel(model="several")).all()
