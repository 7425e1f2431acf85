"""A model that fails at some starts: the others are scored on all, and combinations are made start by start of those that are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import ensemble as ens
from ensemble.combine import Best, Bma, Combine, Fixed, Mean, Median, Stacking
from ensemble.errors import RunError
from ensemble.parts import Damping
from ensemble.report.rescaled import rescaled
from ensemble.task import shift
from ensemble.testing.sea import basin_study


@dataclass(frozen=True)
class Fragile(Damping):
    """Damped persistence that fails at starts in some calendar months from a year on; with `fit` it cannot even be fitted."""

    months: tuple[int, ...] = ()
    since: str = "2007-07"
    fit: bool = True

    def summarise(self, state: Any, chunk: Any) -> Any:
        if not self.fit:
            raise ValueError("no root")
        return super().summarise(state, chunk)

    def forecast(self, state: Any, initial: xr.Dataset, lead_times: Any, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        issued = initial["init_time"].values.astype("datetime64[M]")
        if (np.isin(issued.astype(int) % 12 + 1, self.months) & (issued >= np.datetime64(self.since))).any():
            raise ValueError("no ground in sight")
        return super().forecast(state, initial, lead_times, forcing, seed)


class Half(Damping):
    """Damped persistence, halved, so that models differ."""

    def forecast(self, *arguments: Any) -> xr.Dataset:
        return super().forecast(*arguments) * 0.5


def run(*, rules: Mapping[str, Combine[Any, Any]], without_past: bool = False, fail_fast: bool = False, **fragile: Any) -> ens.Run:
    """Three models, of which `bad` is fragile."""
    study = basin_study(good=Damping(), half=Half(), bad=Fragile(**fragile))
    study = replace(study, combinations=dict(rules), validate=None if without_past else study.validate)
    return ens.run(study, workers=0, show=False, keep_forecasts=True, fail_fast=fail_fast)


def forecasts(of: ens.Run, name: str) -> np.ndarray[Any, Any]:
    assert of.forecasts is not None
    values: np.ndarray[Any, Any] = of.forecasts[name]["sst"].values
    return values


def test_weights_are_rescaled_where_a_model_failed() -> None:
    rules = {"fixed": Fixed(share={"good": 1, "half": 3, "bad": 4}), "mean": Mean(), "median": Median(), "only": Fixed(share={"bad": 1})}
    made, whole = run(rules=rules, months=(9, 10, 2)), run(rules=rules)
    starts = made.study.starts(made.study.test)
    fails = np.isin(starts.astype("datetime64[M]").astype(int) % 12 + 1, (9, 10, 2))
    assert 0 < fails.sum() < len(starts)
    (failure,) = made.failures
    assert (failure.model, failure.phase, failure.of) == ("bad", "hindcast", len(starts))
    assert failure.starts == tuple(str(each) for each in starts[fails])
    assert "bad" not in made.scores["model"].values
    good, half = forecasts(made, "good"), forecasts(made, "half")
    assert np.array_equal(good, forecasts(whole, "good"), equal_nan=True)
    left = {"fixed": (good + 3 * half) / 4, "mean": (good + half) / 2, "median": (good + half) / 2, "only": (good + half) / 2}
    for name, expected in left.items():
        combination = forecasts(made, name)
        np.testing.assert_allclose(combination[fails], expected[fails], rtol=1e-13)
        assert np.array_equal(combination[~fails], forecasts(whole, name)[~fails], equal_nan=True)
    assert rescaled(made)["mean"] == {"bad": f"{fails.sum()} of {len(starts)} starts"}


@pytest.mark.parametrize("rule", [Bma(members=1), Best(), Stacking(shrink=0.5)], ids=lambda rule: type(rule).__name__)
def test_a_rule_that_has_learnt_forecasts_without_one_of_its_models(rule: Combine[Any, Any]) -> None:
    made = run(rules={"rule": rule}, months=(9, 10, 2))
    assert made.combinations["rule"].models == ("good", "half", "bad")
    assert np.isfinite(made.scores["rmse"].sel(model="rule")).all()
    good, half, one = (forecasts(made, name) for name in ("good", "half", "rule"))
    low, high = np.fmin(good, half), np.fmax(good, half)
    fails = np.isin(made.study.starts(made.study.test).astype("datetime64[M]").astype(int) % 12 + 1, (9, 10, 2))
    inside = (one >= low - 1e-12) & (one <= high + 1e-12) | np.isnan(one)
    assert inside[fails].all()


def test_a_model_that_was_not_fitted_is_absent_everywhere() -> None:
    made = run(rules={"mean": Mean()}, without_past=True, fit=False)
    assert made.scores["model"].values.tolist() == ["good", "half", "mean"]
    np.testing.assert_allclose(forecasts(made, "mean"), (forecasts(made, "good") + forecasts(made, "half")) / 2, rtol=1e-13)
    assert rescaled(made) == {"mean": {"bad": "every start"}}
    assert made.forecast("mean")["sst"].notnull().any()


def test_a_combination_none_of_whose_models_is_there_is_missing() -> None:
    made = run(rules={"alone": Mean(without=("good", "half"))}, months=(9,))
    assert made.scores["model"].values.tolist() == ["good", "half"]
    assert {each.model for each in made.failures} == {"bad", "alone"}


def test_a_run_may_stop_at_the_first_failure() -> None:
    with pytest.raises(RunError, match=r"the first failure: bad in hindcast: ValueError: no ground in sight \(\d+ of \d+ starts"):
        run(rules={"mean": Mean()}, months=(9, 10, 2), fail_fast=True)


def test_the_command_line_says_how_it_was_combined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from ensemble.cli import app

    (tmp_path / "bad.py").write_text(
        "import numpy as np\nfrom dataclasses import dataclass\nfrom ensemble.parts import Damping\n\n\n@dataclass(frozen=True)\n"
        "class Bad(Damping):\n    def forecast(self, state, initial, *rest):\n"
        "        if (initial['init_time'].values >= np.datetime64('2020-01-01')).any():\n            raise ValueError('no ground')\n"
        "        return super().forecast(state, initial, *rest)\n"
    )
    (tmp_path / "study.yaml").write_text(
        "data: hadisst\ntarget: sst\ntrain: [1991-01, 2000-12]\nvalidate: [2016-01, 2017-12]\ntest: [2018-01, 2020-12]\nleads: [1]\n"
        "models: [persistence, ./bad.py]\ncombine: [mean]\nscores: [rmse]\n"
    )
    with pytest.raises(SystemExit) as exit:
        app(["run", str(tmp_path / "study.yaml"), "--workers", "0", "--out", str(tmp_path / "out")])
    said = capsys.readouterr().out
    assert exit.value.code == 3
    assert "mean: weights were rescaled start by start where a model failed: bad (12 of 36 starts)" in said
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "mean does without bad where it failed" in page


def test_no_start_is_lost_at_the_edge_of_a_piece() -> None:
    made = run(rules={"mean": Mean()}, months=(1,))
    starts = made.study.starts(made.study.test)
    assert int(made.scores["n_starts"].sel(model="mean").min()) == len(starts)
    assert (starts[1:] == shift(starts[:-1], 1, made.study.data.step)).all()


def test_a_combination_that_is_a_distribution_has_members_at_every_start() -> None:
    made = run(rules={"bma": Bma(members=7)}, months=(9, 10, 2))
    assert int(made.scores["members"].sel(model="bma")) == 7
    assert np.isfinite(made.scores["crps"].sel(model="bma")).all()
    sea = made.study.domain.fields["sst"].mask
    assert np.isfinite(forecasts(made, "bma")[..., sea]).all()
