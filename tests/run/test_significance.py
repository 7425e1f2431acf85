"""How sure a run is of its ranking, through the run itself and on its page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ensemble as ens
from ensemble.errors import InputError
from ensemble.significance import Bootstrap

MODELS = ["climatology", "persistence", "damped_persistence", "lim", "eof_ridge"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ens.Run:
    return ens.run("enso", only=MODELS, workers=0, show=False, out=tmp_path_factory.mktemp("run"))


def test_an_interval_holds_the_score_and_narrows_with_less_confidence(run: ens.Run) -> None:
    wide, narrow = run.judged("rmse"), run.judged("rmse", Bootstrap(level=0.5))
    value = run.scores["rmse"].values
    np.testing.assert_allclose(wide["value"].transpose("model", "lead_time", "region").values, value, rtol=1e-12)
    low, high = (wide["interval"].sel(bound=bound).transpose("model", "lead_time", "region").values for bound in ("low", "high"))
    assert (low <= value).all()
    assert (value <= high).all()
    width = (narrow["interval"].sel(bound="high") - narrow["interval"].sel(bound="low")).transpose("model", "lead_time", "region")
    assert (width.values < high - low).all()


def test_blocks_are_as_long_as_the_longest_lead_and_a_year(run: ens.Run) -> None:
    made = run.judged("rmse")
    assert made.attrs["blocks"] == pytest.approx(85 / 12)
    assert "too few for a confidence set" in made.attrs["refused"]


def test_the_same_seed_gives_the_same_interval_and_another_one_another(run: ens.Run) -> None:
    one, same, other = (run.judged("rmse", Bootstrap(seed=seed))["interval"] for seed in (0, 0, 1))
    assert one.identical(same)
    assert not one.identical(other)


def test_climatology_is_told_from_models_and_good_models_are_not_told_apart(run: ens.Run) -> None:
    rank = run.judged("rmse", over_leads=True)["rank"].sel(region="all")
    assert rank.sel(model=["eof_ridge", "mean"]).values.tolist() == [1.0, 1.0]
    assert float(rank.sel(model="climatology")) > float(rank.sel(model=["lim", "damped_persistence"]).max())


def test_two_models_are_compared_on_the_same_starts(run: ens.Run) -> None:
    made = run.compare("lim", "climatology")
    expected = run.scores["rmse"].sel(model="lim") - run.scores["rmse"].sel(model="climatology")
    np.testing.assert_allclose(made["difference"].transpose("lead_time", "region").values, expected.values, atol=1e-12)
    assert (made["bootstrap_p"].sel(region="all").isel(lead_time=0) < 0.05).all()
    with pytest.raises(InputError, match="limm"):
        run.compare("limm", "climatology")


def test_the_page_says_how_many_independent_samples_decide(run: ens.Run) -> None:
    assert run.folder is not None
    page = Path(run.folder, "report.html").read_text(encoding="utf-8")
    assert "7 independent samples decide the ranking" in page
    assert "95 % interval" in page
    assert "rank: 1 and how many models are significantly better" in page
