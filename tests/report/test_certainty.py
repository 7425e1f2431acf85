"""How sure a run is, on its page, in its figures and on disk; with few independent samples, with enough, and with none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

import ensemble as ens
from ensemble.combine import Mean
from ensemble.errors import InputError
from ensemble.report.certainty import certainty, leading
from ensemble.report.gains import gain, sentences
from ensemble.report.look import looks
from ensemble.report.standing import table
from tests.report.studies import Held, Page, Sea, files_alone, learnt, run_of

MODELS = ["climatology", "persistence", "damped_persistence", "lim", "eof_ridge"]
LONG = ["train=[1991-01, 2004-12]", "validate=[2005-01, 2007-12]", "test=[2008-01, 2021-12]", "leads={from: 1, to: 6}"]


@dataclass(frozen=True)
class Shown:
    run: ens.Run
    page: Page
    folder: Path


def shown(tmp_path_factory: pytest.TempPathFactory, study: ens.Study) -> Shown:
    folder = tmp_path_factory.mktemp("run")
    return Shown(*run_of(study, folder), folder)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """Eight years of starts: too few for a confidence set."""
    return shown(tmp_path_factory, ens.read_recipe("enso", only=MODELS))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """Fourteen years, enough for one."""
    return shown(tmp_path_factory, ens.read_recipe("enso", only=MODELS, settings=LONG))


def standing(page: Page) -> list[list[list[str]]]:
    """The tables of intervals and ranks, one a region."""
    return [rows for rows in page.tables if any("in the mean over all leads" in cell for cell in rows[0])]


def test_every_region_has_intervals_ranks_by_lead_and_independent_starts(few: Shown) -> None:
    tables = standing(few.page)
    assert len(tables) == few.run.scores.sizes["region"]
    sure = few.run.significance
    for rows, region in zip(tables, few.run.scores["region"].values, strict=True):
        assert rows[1] == ["model", "rmse [K]", "95 % interval", "rank", "first", *map(str, range(1, 13))]
        assert [row[0] for row in rows[2:-1]] == [str(name) for name in few.run.ranking(region=region)["model"].values]
        for row in rows[2:-1]:
            here = sure.sel(model=row[0], region=region)
            assert [float(each) for each in row[5:]] == here["rmse_rank"].values.tolist()
            assert float(row[3]) == here["rmse_mean_rank"]
            low, high = (float(each) for each in row[2].split(" to "))
            np.testing.assert_allclose([low, high], here["rmse_mean_interval"].values, atol=6e-4)
        n = sure["rmse_n_effective"].sel(region=region).median("model").values
        assert rows[-1][5:] == [f"{each:.0f}" for each in n]


def test_where_there_is_no_confidence_set_the_reason_is_given(few: Shown) -> None:
    assert "no confidence set: 7.1 independent samples (starts over the length of a block) are too few" in few.page.text
    assert "There is no confidence set: 7.1 independent samples" in few.page.text
    assert "rmse_in_set" not in few.run.significance
    assert few.run.significance.attrs["absent_confidence_sets"].startswith("7.1 independent samples")


def test_where_there_is_one_its_models_are_marked_at_each_lead_and_named(many: Shown) -> None:
    sure, page = many.run.significance, many.page
    assert sure.attrs["blocks"] >= 10
    assert "no confidence set" not in page.text
    inside = sure["rmse_mean_in_set"].sel(region="all")
    names = [str(name) for name in many.run.ranking()["model"].values if inside.sel(model=name) == 1]
    said = page.text.split("The 95 % confidence set, of models that cannot be told from the best, is ")[1].split(".")[0]
    assert said.replace(" and ", ", ").split(", ") == names
    assert many.run.best() in names
    marked = page.source.split("in the 95 % confidence set")[1].split("</table>")[0].count('class="best ')
    assert marked == int(sure["rmse_in_set"].sel(region="all").sum())


def test_the_gain_over_the_single_model_that_validation_picks_is_stated(few: Shown) -> None:
    made = few.run.gain()
    assert set(made["single"].values) <= {"lim", "eof_ridge", "damped_persistence"}
    assert not made["hindsight"].any()
    state = few.run.combinations["inverse_mse"]
    assert made["single"].values.tolist() == [state.models[int(np.sqrt(state.state).mean(1).argmin())]] * len(few.run.combinations)
    scores = few.run.scores["rmse"].mean("lead_time")
    for i, name in enumerate(made["combination"].values):
        expected = scores.sel(model=made["single"].values[i]) - scores.sel(model=name)
        np.testing.assert_allclose(made["gain"][i], expected, atol=1e-12)
    here = made.sel(region="all", combination="mean")
    verb, value = "gains" if here["gain"] >= 0 else "loses", abs(float(here["gain"]))
    assert f"the single model that the validation period would have picked, mean {verb} {value:.3f} K (95 % interval" in few.page.text
    (rows,) = [rows for rows in few.page.tables if "gain [K]" in rows[0]]
    assert rows[0] == ["model", "over", "where", "gain [K]", "95 % interval", "p"]
    assert [row[0] for row in rows[1:]] == [name for name in few.run.combinations for _ in few.run.study.regions]


def test_without_a_rule_that_knows_errors_the_best_of_the_test_is_taken_and_it_is_said(few: Shown, tmp_path: Path) -> None:
    study = replace(few.run.study, combinations={"mean": Mean(without=("climatology",))})
    run, page = run_of(study, tmp_path)
    made = run.gain()
    assert made["hindsight"].values.tolist() == [True]
    singles = run.scores["rmse"].sel(model=list(run.combinations["mean"].models), region="all").mean("lead_time")
    assert made["single"].values.tolist() == [str(singles["model"].values[int(np.argmin(singles.values))])]
    assert "the best single model of the test period itself" in page.text
    assert "picked with hindsight and so too good" in page.text
    assert "Errors in a validation period are not known" in page.text
    assert "rank_correlation" not in run.stability()


def test_how_stable_the_ranking_is_stands_on_the_page(few: Shown) -> None:
    made = few.run.stability()
    rows = few.page.table("rmse [K], validation", "rmse [K], test")
    order = made["model"].values[np.argsort(made["test"].values)]
    assert [row[0] for row in rows[1:]] == order.tolist()
    assert [row[4] for row in rows[1:]] == [str(i + 1) for i in range(len(order))]
    np.testing.assert_allclose([float(row[1]) for row in rows[1:]], made["validation"].sel(model=order), atol=6e-4)
    correlation = f"{float(made['rank_correlation']):.2f}".replace("-", "−")
    assert f"The ranking in validation and that in the test correlate by {correlation}" in few.page.text
    assert "Years that the rankings rest on: validation 12 and test 8." in few.page.text
    assert made["first"].sum() == pytest.approx(1.0)


def test_bars_are_the_intervals_of_two_that_lead(few: Shown) -> None:
    ax = few.run.plot.skill(region="nino34")
    bars = {str(each.get_label()).removesuffix(", interval"): each for each in ax.collections if "interval" in str(each.get_label())}
    names = leading(table(few.run, "rmse", "nino34"))
    assert list(bars) == names
    assert names[0] == few.run.best(region="nino34")
    assert any(few.run.scores["kind"].sel(model=name) != "combination" for name in names)
    ends = few.run.significance["rmse_interval"].sel(region="nino34")
    for name, each in bars.items():
        assert isinstance(each, LineCollection)
        drawn = np.array([segment[:, 1] for segment in each.get_segments()])
        np.testing.assert_allclose(drawn.T, ends.sel(model=name).transpose("bound", "lead_time"))
        assert to_hex(each.get_colors()[0]) == looks(few.run.study)[name].colour.lower()
    assert "bars: 95 % intervals" in " ".join(text.get_text() for text in ax.texts)
    one, other = ([segment[0, 0] for segment in each.get_segments()] for each in bars.values())
    assert (np.abs(np.array(one) - other) > 0.1).all()  # side by side


def test_a_skill_score_has_bars_against_its_reference(few: Shown) -> None:
    ax = few.run.plot.skill("msss", reference="persistence")
    (name, *_) = leading(table(few.run, "msss", reference="persistence"))
    bar = next(each for each in ax.collections if each.get_label() == f"{name}, interval")
    expected = few.run.significance["msss_interval"].sel(region="all", reference="persistence", model=name).transpose("bound", "lead_time")
    np.testing.assert_allclose(np.array([each[:, 1] for each in bar.get_segments()]).T, expected)  # type: ignore[attr-defined]


def test_significance_lies_on_disk_before_the_run_is_complete(few: Shown) -> None:
    with xr.open_dataset(few.folder / "significance.nc", decode_timedelta=False) as read:
        xr.testing.assert_equal(read.load(), few.run.significance)
        assert read["lead_time"].attrs["units"] == "months"
        assert read["rmse_interval"].attrs["units"] == few.run.scores["rmse"].attrs["units"]
    assert (few.folder / "significance.nc").stat().st_mtime_ns <= (few.folder / "run.json").stat().st_mtime_ns


def test_each_model_is_held_against_a_baseline(few: Shown) -> None:
    made = few.run.significant("climatology")
    expected = few.run.scores["rmse"] - few.run.scores["rmse"].sel(model="climatology")
    names = made["model"].values
    np.testing.assert_allclose(made["difference"].values, expected.sel(model=names).transpose(*made["difference"].dims), atol=1e-12)
    assert made["significant"].sel(model="mean", region="all").isel(lead_time=0)
    assert not made["significant"].where(made["p_value"] > 0.1, other=False).any()
    with pytest.raises(InputError, match="climatologie"):
        few.run.significant("climatologie")


def test_of_a_handful_of_starts_nothing_is_claimed(tmp_path: Path) -> None:
    run, page = run_of(learnt(Sea()), tmp_path)
    assert certainty(run) is None
    assert gain(run) is None
    assert sentences(run) == []
    assert "There are too few starts for a test of significance" in page.text
    assert "independent samples (starts over the length of a block) cannot vary" in page.text
    with xr.open_dataset(tmp_path / "significance.nc") as read:
        assert not read.data_vars
        assert "independent samples" in read.attrs["absent"]
    ax = run.plot.skill()
    assert not [each for each in ax.collections if "interval" in str(each.get_label())]


@pytest.mark.parametrize("steps", [0, 1])
def test_one_start_and_one_model_are_written_too(steps: int, tmp_path: Path) -> None:
    times = Sea().times
    study = replace(files_alone(Sea()), test=ens.Period(times[80], times[80 + steps]), lead_times=np.array([1]))
    run, _ = run_of(study, tmp_path)
    assert run.scores["n_starts"].max() == 1 + steps
    assert (tmp_path / "significance.nc").exists()
    assert "absent" in run.significance.attrs


def test_a_run_without_sums_by_start_says_so(tmp_path: Path) -> None:
    bare = replace(ens.run(learnt(Sea()), workers=0, show=False), by_start=None)
    assert "does not hold the sums" in bare.significance.attrs["absent"]
    bare.save(tmp_path)
    assert "does not hold the sums of each start" in Page(tmp_path / "report.html").text
    with pytest.raises(InputError, match="sums of each start"):
        bare.gain()


def test_models_of_hindcasts_alone_are_judged_where_there_are_years_enough(tmp_path: Path) -> None:
    source = Sea()
    models = {"seas5": Held(source), "dwd": Held(source, members=2)}
    study = replace(files_alone(source, **models), test=ens.Period(source.times[12], source.times[95]))
    run, page = run_of(study, tmp_path)
    assert certainty(run) is not None
    assert standing(page)
    assert run.gain()["hindsight"].all()
    assert "the best single model of the test period itself" in page.text
