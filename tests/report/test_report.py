"""The page: self-contained, complete, and honest about what is missing."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot

import ensemble as ens
from ensemble.plugins import definition
from ensemble.report import write_report
from ensemble.report.remarks import answer, cautions, failures, first_lead, undefined
from tests.report.studies import Page


@pytest.fixture(scope="module")
def folder(small_run: ens.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(small_run, tmp_path_factory.mktemp("report")).parent


@pytest.fixture(scope="module")
def page(folder: Path) -> Page:
    return Page(folder / "report.html")


def test_the_page_loads_nothing_from_anywhere(page: Page) -> None:
    assert page.loads
    assert all(each.startswith("data:image/png;base64,") for each in page.loads)
    assert not re.findall(r"@import|url\(|\b(?:src|href)=[\"'](?!data:|#)", page.source)


def test_the_page_is_whole_and_small(page: Page, folder: Path) -> None:
    assert not page.unclosed
    assert (folder / "report.html").stat().st_size < 2e6


def test_every_image_has_a_text_and_lies_beside_the_page(page: Page, folder: Path) -> None:
    assert all(len(image["alt"] or "") > 40 for image in page.images)
    written = {path.name for path in (folder / "figures").iterdir()}
    assert len(page.images) == len(written)
    assert {"rmse_all.png", "rmse_nino34.png", "bias_all.png", "maps.png", "cost.png", "weights.png"} <= written


def test_the_first_sentence_answers(page: Page, small_run: ens.Run) -> None:
    best = small_run.best()
    a, b = (float(small_run.ranking().sel(model=name)) for name in (best, "climatology"))
    expected = f"The combination {best} predicts best over all leads: RMSE {a:.3f} K, against {b:.3f} K for climatology, n = 55 starts."
    assert answer(small_run) == expected
    assert expected in page.text


def test_every_model_stands_in_every_ranking_with_every_lead_and_n(page: Page, small_run: ens.Run) -> None:
    rankings = [rows for rows in page.tables if rows[-1][0] == "n"]
    assert len(rankings) == small_run.scores.sizes["region"]
    for rows, region in zip(rankings, small_run.scores["region"].values, strict=True):
        assert rows[0] == ["model", "kind", "1", "2", "3", "4", "5", "6", "mean"]
        order = [str(name) for name in small_run.ranking(region=region)["model"].values]
        assert [row[0] for row in rows[1:-1]] == order
        for row in rows[1:-1]:
            values = small_run.scores["rmse"].sel(model=row[0], region=region).values
            assert row[1] == str(small_run.scores["kind"].sel(model=row[0]).values)
            np.testing.assert_allclose([float(each) for each in row[2:]], [*values, values.mean()], atol=6e-4)
        assert rows[-1][2:] == ["55"] * 7


def test_the_best_of_each_lead_is_marked(page: Page) -> None:
    ranking = page.source.split("<tbody>")[1].split("</tbody>")[0]
    assert ranking.count('class="best ') == 7


def test_rows_say_what_kind_they_are(page: Page) -> None:
    assert re.search(r'<tr class="reference"><th scope="row"><span [^>]*></span>climatology</th>', page.source)
    assert re.search(r'<tr class="combination"><th scope="row"><span [^>]*></span>mean</th>', page.source)


def test_the_note_of_the_recipe_stands_before_the_first_table(page: Page, small_run: ens.Run) -> None:
    assert small_run.study.note
    assert page.source.index(small_run.study.note) < page.source.index("<table>")


def test_a_failed_model_is_named_with_its_reason(page: Page, small_run: ens.Run) -> None:
    assert "broken failed while forecasting" in page.text
    assert "ValueError: it blew up at step <17>" in page.text
    assert "Traceback (most recent call last)" in page.text
    assert [each.head for each in failures(small_run)] == ["broken failed while forecasting"]


def test_a_combination_that_could_not_be_made_is_named(small_run: ens.Run) -> None:
    without = replace(small_run, scores=small_run.scores.drop_sel(model="mean"))
    assert [each.head for each in failures(without)] == ["broken failed while forecasting", "mean has no scores"]


def test_a_model_that_loses_to_damped_persistence_at_once_is_remarked_on(page: Page, small_run: ens.Run) -> None:
    rmse = small_run.scores["rmse"].sel(region="all", lead_time=1)
    behind = float(rmse.sel(model="slow") - rmse.sel(model="damped_persistence"))
    expected = f"slow: {behind:.3f} K worse than damped persistence at lead 1 month"
    assert expected in [each.head for each in first_lead(small_run)]
    assert expected in page.text
    assert not any("climatology" in each.head for each in first_lead(small_run))


def test_undefined_scores_are_explained(page: Page, small_run: ens.Run) -> None:
    heads = {each.head.split(" undefined")[0]: each.text for each in undefined(small_run)}
    assert set(heads) == {"acc is", "index_correlation is", "crps and spread are"}
    assert "climatology" in heads["acc is"]
    assert "does not vary in space" in page.text


def test_few_years_are_warned_of(page: Page, small_run: ens.Run) -> None:
    assert cautions(small_run)[0].head == "The validation period has few independent years: 3"
    assert "few independent years" in page.text


def test_costs_name_every_model_and_its_memory(page: Page, small_run: ens.Run) -> None:
    (rows,) = [rows for rows in page.tables if "peak memory [MB]" in rows[0]]
    assert {row[0] for row in rows[1:]} == {*map(str, small_run.scores["model"].values), "broken"}
    mlp = next(row for row in rows if row[0] == "mlp")
    assert float(mlp[2]) > 0
    assert int("".join(mlp[-1].split())) > 50  # thousands stand apart


def test_skill_scores_stand_against_every_reference(page: Page, small_run: ens.Run) -> None:
    for reference in small_run.scores["reference"].values:
        assert f"against {reference}" in page.text


def test_spread_is_held_against_the_error(page: Page, small_run: ens.Run) -> None:
    (row,) = [row for rows in page.tables for row in rows if len(row) > 1 and row[1] == "spread / error"]
    scores = small_run.scores.sel(model="mlp", region="all", lead_time=1)
    expected = np.sqrt(3 / 2) * float(scores["spread"]) / float(scores["rmse"])  # two members
    assert (row[0], float(row[2])) == ("mlp (2)", pytest.approx(expected, abs=6e-3))


def test_provenance_tells_how_to_repeat_it(page: Page, small_run: ens.Run) -> None:
    about = small_run.described()
    for each in (about["data"]["sha256"], about["versions"]["numpy"], "ensemble run recipe.yaml", "January 2009 to December 2011"):
        assert each in page.text
    assert "Licence: HadISST is (c) British Crown copyright" in page.text


def test_writing_leaves_no_figure_open_and_the_same_page_twice(small_run: ens.Run, folder: Path, tmp_path: Path) -> None:
    write_report(small_run, tmp_path)
    assert not pyplot.get_fignums()
    assert (tmp_path / "report.html").read_bytes() == (folder / "report.html").read_bytes()


@dataclass(frozen=True)
class Walk(ens.Source):
    """Five sites without a grid, daily, in metres."""

    @property
    def step(self) -> np.timedelta64:
        return np.timedelta64(1, "D")

    @property
    def times(self) -> ens.Times:
        return np.arange("2000-01-01", "2003-01-01", dtype="datetime64[D]").astype("datetime64[s]")

    def read(self, times: ens.Times) -> xr.Dataset:
        steps = np.random.default_rng(0).standard_normal((len(self.times), 5))
        values = np.stack([steps[max(0, i - 9) : i + 1].sum(0) for i in range(len(steps))])
        return xr.Dataset({"z": (("time", "site"), values, {"units": "m"})}, {"time": self.times, "site": list("abcde")}).sel(time=times)


@pytest.mark.parametrize("leads", [1, 5])
def test_data_without_a_grid_have_a_page_without_maps(leads: int, tmp_path: Path) -> None:
    names = ("climatology", "persistence", "damped_persistence")
    models = {name: definition(ens.load(name), ens.Model)() for name in names}
    days = [np.datetime64(day, "s") for day in ("2000-01-05", "2001-06-30", "2001-07-01", "2002-03-31", "2002-04-01", "2002-12-31")]
    periods = [ens.Period(first, last) for first, last in zip(days[::2], days[1::2], strict=True)]
    ens.run(ens.Study(Walk(), "z", *periods, models, np.arange(1, leads + 1)), workers=0, show=False, out=tmp_path)
    page = Page(tmp_path / "report.html")
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"rmse_all.png", "bias_all.png", "cost.png"}
    assert page.tables[0][0] == ["model", "kind", *map(str, range(1, leads + 1)), *(["mean"] if leads > 1 else [])]
    assert "by lead time [days]" in page.text
    assert " m, against " in page.text


def test_a_run_of_references_alone_has_a_page(tmp_path: Path) -> None:
    study = ens.read_recipe("enso_small", only=["climatology", "persistence"])
    run = ens.run(replace(study, combinations={}, scores=study.scores[:1]), workers=0, show=False, out=tmp_path)
    page = Page(tmp_path / "report.html")
    assert answer(run) in page.text
    assert "No model failed." in page.text
    assert "Weights" not in page.text
