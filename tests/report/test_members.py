"""Members and probabilities on the page: rank histograms, reliability, relative operating characteristics; groups, and learnt weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import ensemble as ens
from ensemble.combine import Emos, InverseMse, Mean
from ensemble.errors import InputError
from ensemble.origins import Origins
from ensemble.report.combining import pooled, shrinking
from ensemble.report.combining import tables as weight_tables
from ensemble.report.diagrams import base_rate, expected
from ensemble.report.overview import WIDE, overviews
from ensemble.report.probabilities import asked, event_of, outside, ranks
from ensemble.report.seasons import groups
from ensemble.score import SCORES
from ensemble.score.events import Event
from ensemble.score.ranks import RankHistogram
from ensemble.score.reliability import Reliability, Roc, RocArea
from tests.report.studies import Held, Page, Sea, files_alone, learnt, run_of

WARM = Event("above", 0.667, "quantile")
SCORED = (*learnt(Sea()).scores, RankHistogram(), Reliability(WARM), Roc(WARM), RocArea(WARM))


def with_members(**changes: object) -> ens.Study:
    source = Sea()
    study = learnt(source, wide=Held(source, members=40))
    combinations = {"mean": Mean(), "inverse_mse": InverseMse(shrink=0.25), "emos": Emos(members=4, shrink=1.0)}
    return replace(study, combinations=combinations, scores=SCORED, **changes)  # type: ignore[arg-type]  # fields of a study


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[ens.Run, Page, Path]:
    folder = tmp_path_factory.mktemp("members")
    return *run_of(with_members(by=("valid_season", "start_year")), folder), folder


@pytest.fixture(scope="module")
def run(made: tuple[ens.Run, Page, Path]) -> ens.Run:
    return made[0]


@pytest.fixture(scope="module")
def page(made: tuple[ens.Run, Page, Path]) -> Page:
    return made[1]


def test_every_table_of_members_has_a_figure_with_a_text_and_n(made: tuple[ens.Run, Page, Path]) -> None:
    run, page, folder = made
    assert {"rank_histogram.png", "reliability.png", "roc.png"} <= {path.name for path in (folder / "figures").iterdir()}
    for start in (
        "Rank histograms, a panel",
        "Reliability diagrams of sst above the quantile 0.667",
        "Relative operating characteristics of",
    ):
        (image,) = [image for image in page.images if (image["alt"] or "").startswith(start)]
        assert "%" in str(image["alt"]) or "at lead 1 month" in str(image["alt"])
    section = page.text.split("Members and probabilities")[1]
    assert section.count(f"n = {int(run.scores['n_starts'].max())} starts") >= 4


def test_bars_are_the_shares_of_all_leads_over_a_flat_histogram(run: ens.Run) -> None:
    panels = run.plot.ranks()
    assert [ax.get_title("left") for ax in panels] == ["wide: 40 members", "emos: 4 quantiles", "seas5: 3 members"]
    share = run.scores["rank_histogram"].sel(region="all", model="seas5").values[:, :4]
    bars, first, last, flat = (each.get_data().values for each in panels[2].patches)
    np.testing.assert_allclose(bars, share.mean(0) * 4)
    np.testing.assert_allclose([first, last], share[[0, -1]] * 4)
    np.testing.assert_allclose(flat, 1.0)
    quantiles = panels[1].patches[3].get_data().values
    np.testing.assert_allclose(quantiles, np.array([1 / 8, 1 / 4, 1 / 4, 1 / 4, 1 / 8]) * 5)


def test_many_ranks_stand_together_and_keep_their_mean(run: ens.Run) -> None:
    share = run.scores["rank_histogram"].sel(region="all", model="wide").values.mean(0)
    bars, edges, _ = run.plot.ranks()[0].patches[0].get_data()
    assert len(bars) == 21
    np.testing.assert_allclose(edges[[0, 1, -1]], [-0.5, 1.5, 40.5])
    np.testing.assert_allclose(bars[0], share[:2].mean() * 41)
    np.testing.assert_allclose(bars[-1], share[40] * 41)


@pytest.mark.parametrize(("ranks_", "draws"), [(5, True), (5, False), (2, False)])
def test_what_is_expected_of_the_ranks_adds_up_to_one(ranks_: int, draws: bool) -> None:
    found = expected(ranks_, draws)
    assert found.sum() == pytest.approx(1.0)
    rng = np.random.default_rng(1)
    truth, m = rng.uniform(size=200_000), ranks_ - 1
    members = np.sort(rng.uniform(size=(200_000, m)), axis=1) if draws else (np.arange(m) + 0.5) / m
    drawn = np.bincount((truth[:, None] > members).sum(1), minlength=ranks_) / truth.size
    np.testing.assert_allclose(found, drawn, atol=5e-3)


def test_how_often_the_truth_is_outside_is_said_beside_what_is_right(run: ens.Run, page: Page) -> None:
    share = ranks(run, "all")["seas5"]
    assert outside(share) == pytest.approx(share[:, 0].mean() + share[:, 3].mean())
    assert f"seas5 {100 * outside(share):.0f} % (right: 50 %)" in page.text
    assert f"emos {100 * outside(ranks(run, 'all')['emos']):.0f} % (right: 25 %)" in page.text
    assert "The members of emos are quantiles of a distribution and no draws" in page.text


def test_reliability_has_the_curves_the_base_rate_and_the_line_of_no_skill(run: ens.Run) -> None:
    panels = run.plot.diagram("reliability", "all")
    assert [ax.get_title("left") for ax in panels] == ["Lead 1 month", "Lead 2 months", "Lead 3 months"]
    table = run.scores["reliability"].sel(region="all", lead_time=2)
    lines = panels[1].lines
    often = float((table.sel(curve="share") * table.sel(curve="observed").fillna(0)).sum("bin_of_10").sel(model="seas5"))
    np.testing.assert_allclose(lines[1].get_ydata(), [often / 2, (1 + often) / 2])
    np.testing.assert_allclose(lines[2].get_ydata()[:2], often)
    seas5 = table.sel(model="seas5")
    some = seas5.sel(curve="share").values > 0
    np.testing.assert_allclose(lines[3].get_xydata(), seas5.sel(curve=["forecast", "observed"]).values[some])
    sizes = panels[1].collections[0].get_sizes()
    np.testing.assert_allclose((sizes - 3) / 150, seas5.sel(curve="share").values[some])


def test_the_base_rate_is_that_of_the_truth() -> None:
    curve = np.array([[0.1, 0.25, 0.4], [np.nan, np.nan, 0.0], [0.9, 0.75, 0.6]])
    assert base_rate({"a": curve}) == pytest.approx(0.25 * 0.4 + 0.75 * 0.6)


def test_curves_of_hits_go_from_corner_to_corner_and_bear_their_area(run: ens.Run) -> None:
    ax = run.plot.diagram("roc")[0]
    line = ax.lines[1].get_xydata()
    np.testing.assert_allclose(line[[0, -1]], [[1, 1], [0, 0]])
    area = run.scores["roc_area"].sel(region="all", model="seas5")
    false, hits = line[::-1].T
    assert np.trapezoid(hits, false) == pytest.approx(float(area.sel(lead_time=1)))
    labels = [text.get_text() for text in ax.figure.legends[0].get_texts()]
    assert f"seas5\narea {float(area.mean()):.2f}" in labels
    assert not any(label.startswith("persistence") for label in labels)


def test_what_the_run_has_not_is_refused_with_what_it_has(run: ens.Run, small_run: ens.Run) -> None:
    with pytest.raises(InputError, match="did you mean reliability"):
        run.plot.diagram("reliabilty")
    with pytest.raises(InputError, match="rank_histogram"):
        small_run.plot.ranks()


def test_single_values_have_no_figure_of_members_and_no_error(tmp_path: Path) -> None:
    source = Sea()
    study = learnt(source, seas5=Held(source, members=1))
    run, page = run_of(replace(study, scores=SCORED), tmp_path)
    assert "Members and probabilities" not in page.text
    assert asked(run, RankHistogram) == asked(run, Reliability) == []
    assert "a combination has none of its own" in page.text


def test_events_are_named_with_their_unit(run: ens.Run) -> None:
    assert event_of(run, "reliability") == "sst above the quantile 0.667"
    values = run.scores.assign(reliability=run.scores["reliability"].assign_attrs(event=str(Event("below", -0.5, "anomaly"))))
    assert event_of(replace(run, scores=values), "reliability") == "sst below the anomaly -0.5 K"


def test_members_of_a_distribution_are_told_apart_from_draws(run: ens.Run, page: Page) -> None:
    assert not run.scores["draws"].sel(model="emos")
    assert "those of emos (4) are equally likely values of the distribution that it gives; the other combinations have none." in pooled(run)
    (row,) = [row for rows in page.tables for row in rows if row[0] == "emos (4)" and row[1] == "spread / error"]
    scores = run.scores.sel(model="emos", region="all", lead_time=1)
    assert float(row[2]) == pytest.approx(float(scores["spread"] / scores["rmse"]), abs=6e-3)


def test_it_is_said_how_far_weights_were_shrunk_and_by_whom(run: ens.Run, page: Page) -> None:
    assert shrinking(run, "inverse_mse") == "weights drawn 25 % of the way to equal ones, as set"
    assert shrinking(run, "mean") == ""
    assert "weights drawn 25 % of the way to equal ones, as set." in page.text
    assert "emos is a regression: its weights are the shares of the models' coefficients" in page.text
    left_open = replace(run, study=replace(run.study, combinations={**run.study.combinations, "inverse_mse": InverseMse()}))
    assert shrinking(left_open, "inverse_mse").endswith(", the default")
    assert run.study.validate is not None
    origins = Origins(run.study.validate.first, run.study.validate.last, every=6)
    rolling = replace(left_open, study=replace(left_open.study, validate=origins))
    assert shrinking(rolling, "inverse_mse").endswith(", as forecasts from rolling origins chose")


def test_weights_by_region_stand_beside_one_another(run: ens.Run) -> None:
    weight = run.weights["weight"].sel(combination=["inverse_mse"])
    regional = xr.concat([weight, weight / 2], xr.Variable("region", ["all", "north"])).transpose("combination", "region", ...)
    table = weight_tables(replace(run, weights=run.weights.assign(weight_by_region=regional)))[1]
    assert table.groups == [("all points", 3), ("north", 3)]
    row = next(row for row in table.rows if row.name == "seas5")
    here = weight.sel(combination="inverse_mse", model="seas5").values
    np.testing.assert_allclose([float(cell.text) for cell in row.cells], [*here, *here / 2], atol=6e-4)


def test_groups_of_starts_have_a_table_each_with_the_best_and_n(run: ens.Run, page: Page) -> None:
    assert [each.title for each in groups(run)] == ["By season of the verifying time", "By year of the start"]
    rows, found = page.table("DJF", "MAM", "JJA", "SON"), run.grouped("valid_season")
    for row in rows[1:-1]:
        expected_ = found["rmse"].sel(model=row[0], region="all").mean("lead_time").values
        np.testing.assert_allclose([float(each) for each in row[1:]], expected_, atol=6e-4)
    best = groups(run)[0].table
    names = found["rmse"].sel(region="all").mean("lead_time").idxmin("model").values
    assert [next(row.name for row in best.rows if row.cells[i].best) for i in range(4)] == names.tolist()
    n = found["n_starts"].sel(region="all", valid_season="DJF").values
    assert rows[-1][1] in (str(n.min()), f"{n.min()} to {n.max()}")
    assert groups(replace(run, by_start=None)) == []


def test_every_score_there_is_stands_in_two_tables_that_fit_a_page() -> None:
    source = Sea()
    run = ens.run(replace(learnt(source), scores=tuple(score() for score in SCORES.values())), workers=0, show=False)
    single, probable = overviews(run, "all")
    assert max(len(single.heads), len(probable.heads)) <= WIDE
    assert {"crps", "brier", "rpss", "ignorance", "roc_area"} <= {head.split(" [")[0] for head in probable.heads}
    assert "rmse [K]" in single.heads
    assert "brier, brier_skill" in probable.caption
    assert "above the anomaly 0" in probable.caption
    (both,) = overviews(replace(run, scores=run.scores.drop_vars([head.split(" [")[0] for head in probable.heads])), "all")
    assert both.heads == single.heads


def test_files_alone_have_a_page_with_reliability(tmp_path: Path) -> None:
    study = files_alone(Sea())
    event = Event("above", 26.5)
    run, page = run_of(replace(study, scores=(*study.scores, Reliability(event), RankHistogram())), tmp_path)
    assert "Reliability diagrams of sst above 26.5" in next(str(image["alt"]) for image in page.images if "Reliab" in str(image["alt"]))
    assert len(run.plot.ranks()) == 1
