"""The page of studies that are not like the default one: windows, files alone, differing samples, one of everything, odd units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import ensemble as ens
from ensemble.cli.run import _show
from ensemble.errors import InputError
from ensemble.report import words
from ensemble.report.leads import Leads
from ensemble.report.maps import in_one_piece
from ensemble.report.samples import differ
from ensemble.report.standing import names_of, table
from ensemble.sample import Sample
from ensemble.score import SCORES
from ensemble.task import Window
from tests.report.studies import FOUND, FULL_FIELDS, Held, Page, Sea, files_alone, learnt, references, run_of

WINDOWS = (Window("jan", 1, 1), Window("djf", 1, 3), Window("amount", 4, 6, "sum"))


@dataclass(frozen=True)
class Shown:
    run: ens.Run
    page: Page


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """A study of the year 2307 with hindcasts, members and combinations."""
    return Shown(*run_of(learnt(Sea()), tmp_path_factory.mktemp("late")))


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    return Shown(*run_of(replace(learnt(Sea()), lead_times=np.arange(1, 7), windows=WINDOWS), tmp_path_factory.mktemp("windows")))


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """Two hindcasts, one of half the starts and without the north, each counted on its own."""
    study = files_alone(Sea(), seas5=Held(Sea()), dwd=Held(Sea(), every=2, north=20.0))
    return Shown(*run_of(replace(study, sample=Sample(mask="own")), tmp_path_factory.mktemp("own")))


def test_sample_sizes_are_no_scores(late: Shown) -> None:
    assert names_of(late.run.scores) == [name for name in SCORES if name in late.run.scores]
    assert "n_starts" not in names_of(late.run.maps)
    with pytest.raises(InputError, match="score"):
        table(late.run, "n_had")
    with pytest.raises(InputError, match="map"):
        late.run.plot.best_map("n_starts")
    heads = late.page.table("mae [K]")[0]
    assert not {"n", "n_starts", "n_had"} & set(heads)


def test_windows_are_called_by_name_with_their_range(windows: Shown) -> None:
    assert windows.page.tables[0][0] == ["model", "kind", "jan (1)", "djf (1-3)", "amount (4-6)", "mean"]
    assert [label.get_text() for label in windows.run.plot.skill().get_xticklabels()] == ["jan\n(1)", "djf\n(1-3)", "amount\n(4-6)"]
    assert [label.get_text() for label in windows.run.plot.ranking().get_xticklabels()][1:] == ["djf\n(1-3)", "amount\n(4-6)", "mean"]
    (weights,) = windows.run.plot.weights()
    assert [label.get_text() for label in weights.get_xticklabels()][1] == "djf\n(1-3)"
    assert "amount (4-6 months)" in windows.run.plot.maps()[1, 0].get_title("left")
    assert "jan (1), djf (1-3) and amount (4-6) [months] ahead" in windows.page.text
    assert "At jan (1 month) " in windows.page.text
    assert "amount: the sum of all leads from the first to the last" in windows.page.text


def test_a_window_is_drawn_at_its_place_in_the_study(windows: Shown) -> None:
    line = next(line for line in windows.run.plot.skill().lines if line.get_label() == "seas5")
    np.testing.assert_array_equal(line.get_xdata(), [0, 1, 2])
    np.testing.assert_array_equal(line.get_ydata(), windows.run.scores["rmse"].sel(model="seas5", region="all", lead_time=[1, 3, 6]))


def test_the_name_of_the_axis_has_room_below_the_names_of_windows(windows: Shown) -> None:
    for axes in (windows.run.plot.skill(), windows.run.plot.weights()[0], windows.run.plot.ranking()):
        axes.figure.canvas.draw()
        assert axes.xaxis.label.get_window_extent().y0 >= 0


def test_leads_are_said_in_words(late: Shown) -> None:
    leads = Leads.of(late.run)
    assert (leads.all, leads.over, leads.heads) == ("1 to 3 months", "over all leads", ["1", "2", "3", "mean"])
    assert leads.few([0, 2]).all == "1 and 3 months"
    assert leads.few([1]).all == "2 months"
    assert leads.few([1]).heads == ["2"]


def test_many_leads_have_as_many_ticks_as_there_is_room_for(late: Shown) -> None:
    names = tuple(map(str, range(1, 91)))
    ax = late.run.plot.skill()
    Leads(np.arange(1.0, 91), names, names, names, "days").on(ax)
    labels = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert len(labels) > 5
    ax.set_xlim(1, 90)
    assert all(one.x1 < other.x0 for one, other in pairwise(labels))


def test_a_study_of_files_says_what_there_is_not(own: Shown) -> None:
    assert "Training none: nothing was learnt, and scores are of full fields" in own.page.text
    assert "Validation none: no combination has learnt its weights" in own.page.text
    assert "The study has no training period: nothing was learnt" in own.page.text
    assert "There is no acc, index_correlation or msss" in own.page.text
    assert "against climatology" not in own.page.text
    (weights,) = own.run.plot.weights()
    assert any("the study has no validation period" in text.get_text() for text in weights.texts)


def test_a_skill_score_without_its_reference_is_refused_in_words(tmp_path: Path) -> None:
    study = replace(files_alone(Sea()), scores=(SCORES["msss"](), *FULL_FIELDS))
    run, page = run_of(study, tmp_path)
    assert "There is no acc, index_correlation or msss" in page.text
    with pytest.raises(InputError, match="made against a reference"):
        run.plot.skill("msss")


def test_what_was_counted_is_said_beside_the_ranking_and_in_provenance(late: Shown, own: Shown) -> None:
    for shown, said in (
        (late, "Every model is counted on the starts and points that the truth and all models have."),
        (own, "Each model is counted on its own"),
    ):
        assert shown.page.text.count(said) >= 2
        ranking, _, rest = shown.page.source.partition("<figure")
        assert said in ranking
        assert said in rest.split('id="provenance"')[1]


def test_differing_samples_have_a_table_a_remark_and_a_column(own: Shown, late: Shown) -> None:
    assert differ(own.run)
    assert not differ(late.run)
    n, starts = own.run.scores["n"].sel(region="all", lead_time=1), own.run.scores["n_starts"].sel(region="all", lead_time=1)
    rows = {row[0]: row for row in own.page.table("n counted")[1:]}
    for name, members, held in (("seas5", "3", "16"), ("dwd", "3", "8"), ("mean", "1", "–")):
        counted = str(int(n.sel(model=name)))
        assert rows[name][2:] == [members, str(int(starts.sel(model=name))), counted, counted, held]
    assert "Models are counted on different samples" in own.page.text
    assert "Rankings then compare different samples" in own.page.text
    ranking = own.page.tables[0]
    assert ranking[0][-1] == "n"
    assert {row[0]: row[-1] for row in ranking[1:-1]} == {"seas5": "16", "dwd": "8", "mean": "8"}
    assert ranking[-1][2:] == ["8 to 16"] * 4 + [""]
    assert not [rows for rows in late.page.tables if "n counted" in rows[0]]
    assert "different samples" not in late.page.text


def test_what_a_model_has_and_others_lack_is_shown_though_all_are_counted_alike(tmp_path: Path) -> None:
    _, page = run_of(files_alone(Sea(), seas5=Held(Sea()), dwd=Held(Sea(), every=2, north=20.0)), tmp_path)
    rows = {row[0]: row[3:] for row in page.table("n counted")[1:]}
    points, fewer = 42, 36  # the six boxes of the north are lacking, of 8 less 2 of land
    assert rows["seas5"] == ["8", str(8 * fewer), str(8 * points), "16"]
    assert rows["dwd"] == ["8", str(8 * fewer), str(8 * fewer), "8"]
    assert "different samples" not in page.text


def test_short_leads_may_have_more_starts(tmp_path: Path) -> None:
    run, page = run_of(replace(files_alone(Sea()), sample=Sample(align="pairs")), tmp_path)
    n = run.scores["n_starts"].sel(region="all", model="seas5").values
    assert "short leads may have more starts" in page.text
    assert page.tables[0][-1][2:] == [*map(str, n), words.counts(n)]


def test_findings_are_a_table_and_there_is_none_without(late: Shown, tmp_path: Path) -> None:
    rows = late.page.table("what", "where", "found", "done")
    assert rows[1:] == [list(FOUND[0]), [*FOUND[1][:3], "nothing"]]
    assert "Members: climatology 1, persistence 1, damped_persistence 1, seas5 3, mean 1, inverse_mse 1." in late.page.text
    _, without = run_of(replace(learnt(Sea()), models=references(), combinations={}), tmp_path)
    assert 'id="data"' not in without.source


def test_a_combination_says_what_it_pools(late: Shown) -> None:
    said = "are made of the models' means: members of each model are averaged first (seas5 3 members)"
    assert f"mean and inverse_mse {said}" in late.page.text
    assert said in late.page.source.replace("&#39;", "'").split('id="provenance"')[1]


def test_the_long_name_stands_once_as_it_is_and_dates_go_beyond_2262(late: Shown) -> None:
    assert late.page.text.count("température <de> surface") == 1
    assert "sst, température <de> surface [degC], 1 to 3 months ahead, verified July 2307 to December 2308" in late.page.text
    assert any("July 2307 to December 2308" in text.get_text() for text in late.run.plot.skill().texts)


def test_every_score_stands_beside_its_unit(late: Shown) -> None:
    assert {"rmse [K]", "mae [K]", "bias [K]", "centred_rmse [K]", "crps [K]", "spread [K]"} <= set(late.page.table("mae [K]")[0])
    kinds = [row[1] for rows in late.page.tables for row in rows if row[0] == "seas5 (3)"]
    assert kinds == ["rmse [K]", "spread [K]", "crps [K]", "spread / error"]


def test_the_very_small_has_powers_of_ten_in_tables_and_figures(tmp_path: Path) -> None:
    run, page = run_of(learnt(Sea(units="kg m-2 s-1", scale=1e-9)), tmp_path)
    assert "[kg m-2 s-1]" in page.text  # of the variable, as it is
    best = float(run.ranking().values[0])
    assert f"{best * 1e10:.2f}×10⁻¹⁰ kg m⁻² s⁻¹" in page.text.replace("\N{NO-BREAK SPACE}", " ")
    assert "rmse [kg m⁻² s⁻¹] by lead time" in page.text
    ax = run.plot.skill()
    assert ax.get_ylabel() == "rmse [10⁻¹⁰ kg m⁻² s⁻¹]"
    ax.figure.canvas.draw()
    assert not ax.yaxis.get_offset_text().get_text()


@pytest.mark.parametrize(
    ("unit", "said"), [("degC2", "K²"), ("K", "K"), ("1", ""), ("m s-1", "m s⁻¹"), ("1e-3 m", "1e-3 m"), ("mm/day", "mm/day")]
)
def test_units_are_written_as_people_do(unit: str, said: str) -> None:
    assert words.unit({"units": unit}) == said


ONE = {
    "a lead": (None, {"lead_times": np.array([2])}),
    "a grid point": ({"latitude": [0], "longitude": [0]}, {}),
    "a row of a grid": ({"latitude": [0]}, {}),
    "a series": ({"latitude": 0, "longitude": 0}, {}),
    "everything": ({"latitude": 0, "longitude": 0}, {"lead_times": np.array([1]), "test": ens.Period(*[Sea().times[80]] * 2)}),
}


@pytest.mark.parametrize("what", ONE)
def test_one_of_a_kind_has_a_page(what: str, tmp_path: Path) -> None:
    only, changes = ONE[what]
    run, page = run_of(replace(files_alone(Sea(only=only)), **changes), tmp_path)
    one_lead = "lead_times" in changes
    assert not page.unclosed
    assert page.tables[0][0] == ["model", "kind", *map(str, run.study.lead_times), *([] if one_lead else ["mean"])]
    assert "seas5, the only model, has RMSE" in page.text
    assert ("over all leads" in page.text) != one_lead
    assert (tmp_path / "figures" / "maps.png").exists() == (only is None)
    place = {"a grid point": "the one point", "a series": "the one series", "everything": "the one series"}.get(what, "all points")
    assert f"rmse [K] by lead time [months], {place}" in page.text
    assert not [text for text in ("1 starts", "1 points", "1 months", "nan") if f" {text}" in page.text]
    ranking = run.plot.ranking()
    assert len(ranking.get_xticklabels()) == run.scores.sizes["lead_time"] + (not one_lead)


def test_the_terminal_shows_names_units_and_sample_sizes(own: Shown, windows: Shown, capsys: pytest.CaptureFixture[str]) -> None:
    _show(windows.run)
    shown = capsys.readouterr().out
    assert "root mean squared error [K], all points, 13 starts" in shown
    assert "djf (1-3)" in shown
    _show(own.run)
    shown = capsys.readouterr().out
    assert "8 to 16 starts" in shown
    assert "The ranking compares different samples." in shown


def test_a_region_over_greenwich_is_drawnin_one_piece() -> None:
    east = np.array([0.0, 1.0, 2.0, 358.0, 359.0])
    drawn = in_one_piece(xr.DataArray(east, {"longitude": east}, ("longitude",)))
    assert drawn["longitude"].values.tolist() == [-2.0, -1.0, 0.0, 1.0, 2.0]
    assert drawn.values.tolist() == [358.0, 359.0, 0.0, 1.0, 2.0]
    globe = xr.DataArray(np.arange(4), {"longitude": np.arange(0.0, 360.0, 90.0)}, ("longitude",))
    assert in_one_piece(globe).identical(globe)
