"""Rolling origins: models are fitted anew at each on what came before, and combinations learn from all that was then forecast."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ensemble as ens
from ensemble.combine import Best, InverseMse, Mean, Stacking
from ensemble.errors import InputError
from ensemble.hindcast import problem_of, verifying
from ensemble.origins import Origins
from ensemble.parts import Climatology, Damping
from ensemble.planning import plan
from ensemble.study import Study
from ensemble.task import Period, Times, moment, shift
from ensemble.testing import check_combine
from ensemble.testing.sea import Changed, basin_study

FIRST, STEP = np.datetime64("2001-01-01", "s"), np.timedelta64(1, "M")
ORIGINS = Origins(moment(FIRST, 36, STEP), moment(FIRST, 77, STEP), every=15)


class Half(Damping):
    def forecast(self, *arguments: Any) -> Any:
        return super().forecast(*arguments) * 0.5


class Slow(Damping):
    effort = 3.0


def study(**models: Any) -> Study:
    rules = {"mean": Mean(), "inverse_mse": InverseMse(), "stacking": Stacking(shrink=0.2), "best": Best()}
    made = basin_study(**(models or {"good": Damping(), "half": Half()}))
    return replace(made, validate=ORIGINS, combinations=rules)


def test_each_fold_has_seen_what_came_before_it_and_no_more() -> None:
    folds = study().folds
    assert [str(fold.train[0].last)[:7] for fold in folds] == ["2003-12", "2005-03", "2006-06"]
    assert [(str(fold.starts[0])[:7], str(fold.starts[-1])[:7]) for fold in folds] == [
        ("2004-01", "2005-03"), ("2005-04", "2006-06"), ("2006-07", "2007-04"),
    ]  # fmt: skip
    assert np.concatenate([fold.starts for fold in folds]).tolist() == study().starts(ORIGINS).tolist()
    assert all(fold.train[0].last < fold.starts[0] for fold in folds)


def test_weights_are_learnt_from_forecasts_of_models_fitted_at_each_origin() -> None:
    whole, squared, mass = study(), np.zeros((2, 3)), 0
    run = ens.run(whole, workers=0, show=False)
    area = whole.domain.fields["sst"].area
    for fold in whole.folds:
        last = moment(fold.starts[-1], 2, STEP)
        alone = replace(whole, train=fold.train[0], validate=None, test=Period(fold.starts[0], last), combinations={})
        made = ens.run(alone, workers=0, show=False, keep_forecasts=True).forecasts
        assert made is not None
        truth = verifying(problem_of(alone), fold.starts)
        for i, name in enumerate(("good", "half")):
            squared[i] += (np.nan_to_num(made[name]["sst"].values - truth) ** 2 * area).sum((0, 2, 3))
        mass += len(fold.starts)
    expected = (1 / squared) / (1 / squared).sum(0)
    chosen = run.combinations["inverse_mse"].rule.share
    np.testing.assert_allclose(run.weights["weight"].sel(combination="inverse_mse"), (1 - chosen) * expected + chosen / 2, rtol=1e-10)
    once = ens.run(replace(whole, validate=Period(moment(FIRST, 60, STEP), ORIGINS.last)), workers=0, show=False)
    assert not np.allclose(once.weights["weight"].sel(combination="best"), run.weights["weight"].sel(combination="stacking"))


def test_states_are_those_of_the_training_period_all_the_same() -> None:
    rolling, once = (ens.run(each, workers=0, show=False) for each in (study(), replace(study(), validate=None)))
    np.testing.assert_array_equal(rolling.scores["rmse"].sel(model="good"), once.scores["rmse"].sel(model="good"))


def test_a_costly_model_is_fitted_anew_less_often() -> None:
    todo = plan(study(quick=Damping(), slow=Slow()))
    anew = [unit.model for unit in todo.past if unit.phase == "refit"]
    assert (anew.count("quick"), anew.count("slow")) == (3, 2)
    used = [unit.arguments[2] for unit in todo.past if unit.model == "slow" and unit.phase == "hindcast"]
    assert used[0] is used[1]
    assert used[1] is not used[2]


@dataclass(frozen=True)
class Shuffled(Changed):
    """A record whose values from `first` on are in another order."""

    def read(self, times: Times) -> Any:
        late = self.times[self.times >= self.first]
        order = dict(zip(late.tolist(), np.random.default_rng(1).permutation(late).tolist(), strict=True))
        taken = np.array([order.get(time, time) for time in times.tolist()], dtype=times.dtype)
        return self.source.read(taken).assign_coords(time=times)


@pytest.mark.parametrize("rolling", [True, False])
def test_the_truth_of_the_test_period_changes_nothing_that_is_learnt(rolling: bool) -> None:
    one = study() if rolling else replace(study(), validate=Period(moment(FIRST, 60, STEP), ORIGINS.last))
    runs = [ens.run(each, workers=0, show=False) for each in (one, replace(one, data=Shuffled(one.data, one.test.first)))]
    assert runs[0].weights.identical(runs[1].weights)
    assert pickle.dumps(runs[0].states) == pickle.dumps(runs[1].states)
    assert not np.allclose(runs[0].scores["rmse"], runs[1].scores["rmse"])


def test_shrinkage_is_what_would_have_done_best_on_the_origins_before() -> None:
    run = ens.run(replace(study(), combinations={"stacking": Stacking(), "inverse_mse": InverseMse()}), workers=0, show=False)
    for name in run.combinations:
        share = run.combinations[name].rule.share
        assert share in np.arange(21) / 20
        assert run.study.combinations[name].shrink is None
    fixed = ens.run(replace(study(), validate=Period(moment(FIRST, 60, STEP), ORIGINS.last), combinations={"stacking": Stacking()}),
                    workers=0, show=False)  # fmt: skip
    assert fixed.combinations["stacking"].rule.share == 0.75
    check_combine(Stacking())


def test_a_recipe_names_its_origins(tmp_path: Path) -> None:
    settings = ["validate={from: 2006-01, to: 2013-12, every: 36}"]
    read = ens.read_recipe("enso_small", settings=settings)
    assert isinstance(read.validate, Origins)
    assert (read.validate.every, read.validate.costly, len(read.folds)) == (36, 2, 3)
    from ensemble.recipe import written

    (tmp_path / "again.yaml").write_text(written(read))
    assert ens.read_recipe(tmp_path / "again.yaml").validate == read.validate
    with pytest.raises(InputError, match="validate: every 0"):
        ens.read_recipe("enso_small", settings=["validate={from: 2006-01, to: 2013-12, every: 0}"])
    early = Origins(moment(FIRST, 8, STEP), ORIGINS.last)
    with pytest.raises(InputError, match=r"before the first origin, 2001-09-01.*for a climatology, a year, .*begin later"):
        replace(study(), anomalies=(Climatology(),), validate=early)
    with pytest.raises(InputError, match="there is no training period"):
        replace(study(), anomalies=(), train=None)
    with pytest.raises(InputError, match="leak into"):
        ens.read_recipe("enso_small", settings=["validate={from: 2006-01, to: 2017-12, every: 36}"])


def test_starts_between_origins_are_forecast_once() -> None:
    starts = shift(FIRST, np.arange(40, 60), STEP)
    from ensemble.origins import folds

    made = folds(ORIGINS, starts, Period(FIRST, ORIGINS.last), STEP)
    assert np.concatenate([fold.starts for fold in made]).tolist() == starts.tolist()
