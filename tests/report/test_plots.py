"""Every figure: what its axes show, that a model looks the same in all, and that no name covers another."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import ensemble as ens
from ensemble.errors import InputError
from ensemble.report.look import apart, looks


def models(run: ens.Run) -> list[str]:
    return [str(name) for name in run.scores["model"].values]


def test_skill_draws_every_model_against_every_lead(small_run: ens.Run) -> None:
    ax = small_run.plot.skill()
    lines = {line.get_label(): line for line in ax.lines}
    assert set(lines) == set(models(small_run))
    for name, line in lines.items():
        np.testing.assert_array_equal(line.get_xdata(), small_run.scores["lead_time"])
        np.testing.assert_array_equal(line.get_ydata(), small_run.scores["rmse"].sel(model=name, region="all"))
    assert ax.get_xlabel() == "Lead time [months]"
    assert ax.get_ylabel() == "rmse [K]"


def test_every_line_is_named_and_no_name_covers_another(small_run: ens.Run) -> None:
    ax = small_run.plot.skill(region="nino34")
    renderer = ax.figure.canvas.get_renderer()  # type: ignore[attr-defined]
    boxes = {text.get_text(): text.get_window_extent(renderer) for text in ax.texts if text.get_text() in models(small_run)}
    assert set(boxes) == set(models(small_run))
    ordered = sorted(boxes.values(), key=lambda box: box.y0)
    assert all(below.y1 < above.y1 and below.y0 + 8 < above.y0 for below, above in pairwise(ordered))
    assert max(box.x1 for box in ordered) < ax.figure.bbox.x1


def test_a_score_is_drawn_for_the_models_it_is_defined_for(small_run: ens.Run) -> None:
    assert {line.get_label() for line in small_run.plot.skill("acc").lines} == set(models(small_run)) - {"climatology"}
    assert {line.get_label() for line in small_run.plot.skill("crps").lines} == {"mlp"}
    assert small_run.plot.skill("crps").get_ylabel() == "crps [K]"


def test_a_skill_score_is_drawn_against_the_reference_asked_for(small_run: ens.Run) -> None:
    ax = small_run.plot.skill("msss", reference="persistence")
    line = next(line for line in ax.lines if line.get_label() == "persistence")
    np.testing.assert_allclose(line.get_ydata(), 0.0)
    assert "against persistence" in ax.get_title("left")


def test_references_are_dashed_combinations_bold_and_colours_the_same_everywhere(small_run: ens.Run) -> None:
    styles = looks(small_run.study)
    skill = {line.get_label(): line for line in small_run.plot.skill().lines}
    cost = {line.get_label(): line for line in small_run.plot.cost().lines}
    for name, kind in zip(models(small_run), small_run.scores["kind"].values, strict=True):
        assert to_hex(skill[name].get_color()) == to_hex(cost[name].get_color()) == styles[name].colour.lower()
        assert (skill[name].get_linestyle() != "-") == (kind == "reference" or name == "inverse_mse")
        assert (styles[name].weight == "bold") == (kind == "combination")
    assert len({styles[name].colour for name in styles}) == len(styles)


def test_a_model_that_fails_leaves_the_colours_of_the_others(small_run: ens.Run) -> None:
    without = replace(small_run.study, models={name: model for name, model in small_run.study.models.items() if name != "broken"})
    assert "broken" not in models(small_run)
    assert looks(without) == {name: look for name, look in looks(small_run.study).items() if name != "broken"}


def test_bias_and_the_rest_of_the_error_stand_apart(small_run: ens.Run) -> None:
    left, right = small_run.plot.bias("nino34")
    assert (left.get_ylabel(), right.get_ylabel()) == ("bias [K]", "centred_rmse [K]")
    assert "nino34" in left.get_title("left")
    assert len(right.lines) == len(models(small_run))


def test_ranking_is_sorted_by_the_mean_and_frames_the_best_of_each_lead(small_run: ens.Run) -> None:
    ax = small_run.plot.ranking()
    assert [label.get_text() for label in ax.get_yticklabels()] == [str(each) for each in small_run.ranking()["model"].values]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "3", "4", "5", "6", "mean"]
    leads = small_run.scores.sizes["lead_time"]
    values = {text.get_text() for text in ax.texts}
    assert len(ax.patches) == leads + 1
    assert f"{float(small_run.ranking()[0]):.3f}" in values


def test_a_ranking_frames_nothing_where_no_value_is_better(small_run: ens.Run) -> None:
    assert not small_run.plot.ranking("spread").patches


def test_maps_show_the_best_model_and_its_score_at_a_few_leads(small_run: ens.Run) -> None:
    panels = small_run.plot.maps()
    assert panels.shape == (3, 2)  # leads 1, 3 and 6, which is the last
    best = small_run.maps["rmse"].sel(lead_time=3).min("model")
    drawn = panels[1, 1].collections[0].get_array()
    np.testing.assert_array_equal(drawn.filled(np.nan).reshape(best.shape), best.values)
    assert drawn.mask.sum() == (~small_run.study.domain.fields["sst"].mask).sum()
    assert "lead 3 months" in panels[1, 0].get_title("left")


def test_best_map_gives_each_point_to_the_model_with_the_lowest_score(small_run: ens.Run) -> None:
    drawn = small_run.plot.best_map(lead_time=1).collections[0].get_array().filled()
    values = small_run.maps["rmse"].sel(lead_time=1)
    sea = values.notnull().all("model").values
    np.testing.assert_array_equal(drawn.reshape(sea.shape)[sea], values.fillna(9).argmin("model").values[sea])
    assert (drawn.reshape(sea.shape)[~sea] == -1).all()


def test_maps_are_refused_where_the_data_have_no_latitude_and_longitude(small_run: ens.Run) -> None:
    field = small_run.study.domain.fields["sst"]
    study = replace(small_run.study)
    study.__dict__["domain"] = small_run.study.domain._replace(fields={"sst": field._replace(coords={"x": np.arange(2.0)})})
    with pytest.raises(InputError, match="latitude and longitude"):
        replace(small_run, study=study).plot.maps()


def test_cost_has_seconds_on_a_log_axis_and_the_mean_score(small_run: ens.Run) -> None:
    ax = small_run.plot.cost()
    assert ax.get_xscale() == "log"
    assert "[s]" in ax.get_xlabel()
    assert "rmse [K]" in ax.get_ylabel()
    (y,) = next(line for line in ax.lines if line.get_label() == "mlp").get_ydata()
    assert y == pytest.approx(float(small_run.scores["rmse"].sel(model="mlp", region="all").mean()))


def test_a_combination_costs_what_its_models_cost(small_run: ens.Run) -> None:
    points = {line.get_label(): np.ravel(line.get_xdata())[0] for line in small_run.plot.cost().lines}
    assert points["mean"] > points["mlp"] + points["lim"]


def test_weights_are_bars_that_add_up_to_one(small_run: ens.Run) -> None:
    (ax,) = small_run.plot.weights()
    assert "inverse_mse" in ax.get_title("left")
    tops = {bar.get_x(): 0.0 for bar in ax.patches}
    for bar in ax.patches:
        tops[bar.get_x()] += bar.get_height()
    np.testing.assert_allclose(list(tops.values()), 1.0)


def test_a_figure_is_drawn_into_the_axes_that_are_given(small_run: ens.Run) -> None:
    axes = Figure(figsize=(9, 8)).subplots(2, 2)
    assert small_run.plot.skill(ax=axes[0, 0]) is axes[0, 0]
    assert small_run.plot.cost(ax=axes[0, 1]) is axes[0, 1]
    assert list(small_run.plot.bias(ax=axes[1])) == list(axes[1])


def test_an_unknown_score_or_region_is_named_with_the_nearest(small_run: ens.Run) -> None:
    with pytest.raises(InputError, match="did you mean rmse"):
        small_run.plot.skill("rmsee")
    with pytest.raises(InputError, match="did you mean nino34"):
        small_run.plot.bias("nino3")
    with pytest.raises(InputError, match="did you mean climatology"):
        small_run.plot.skill("msss", reference="climatolgy")


def test_sample_sizes_stand_in_every_figure(small_run: ens.Run) -> None:
    plot = small_run.plot
    for axes in (plot.skill(), plot.bias(), plot.ranking(), plot.best_map(), plot.maps(), plot.cost()):
        figure = np.ravel(axes)[0].figure
        texts = [text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))]
        assert any("n = 55 starts" in text for text in texts)


@pytest.mark.parametrize("wanted", [[0.5] * 4, [0.0, 0.0, 1.0, 1.0], [0.9, 0.1, 0.12, 0.11], [0.3]])
def test_positions_keep_their_order_and_distance_and_stay_inside(wanted: list[float]) -> None:
    placed = apart(np.array(wanted), 0.1)
    assert (np.diff(np.sort(placed)) >= 0.1 - 1e-12).all()
    assert ((placed >= 0) & (placed <= 1)).all()
    assert (np.argsort(placed, kind="stable") == np.argsort(wanted, kind="stable")).all()


def test_differences_from_a_baseline_are_drawn_with_a_dot_where_they_are_no_chance(small_run: ens.Run) -> None:
    assert small_run.blocks is not None
    often = small_run.blocks._make(xr.concat([each] * 5, "block") for each in small_run.blocks)  # as if there were many years
    run = replace(small_run, blocks=often)
    panels = run.plot.significance("lim", "climatology")
    assert len(panels) == 3
    made = run.significant_maps("climatology").sel(model="lim")
    leads = made["lead_time"].values[[0, 2, 5]]
    for ax, lead in zip(panels, leads, strict=True):
        here = made.sel(lead_time=lead)
        dots = next(each for each in ax.collections if hasattr(each, "get_offsets") and not hasattr(each, "get_coordinates"))
        assert len(dots.get_offsets()) == int(here["significant"].sum())
        mesh = next(each for each in ax.collections if hasattr(each, "get_coordinates"))
        mse = small_run.maps["rmse"].sel(model="climatology", lead_time=lead) ** 2
        percent = (100 * here["difference"] / mse).sortby(["latitude", "longitude"]).transpose("latitude", "longitude").values
        np.testing.assert_allclose(np.ma.filled(mesh.get_array(), np.nan).reshape(percent.shape), percent, rtol=1e-6)
        assert "significantly better on" in ax.get_title("left")
    assert int(made["significant"].sum()) > 0, "a test of dots needs some"
    assert "lim against climatology" in {text.get_text() for text in panels[0].figure.texts}


def test_a_baseline_is_not_held_against_itself(small_run: ens.Run) -> None:
    with pytest.raises(InputError, match="lim cannot be held against lim; take one of"):
        small_run.plot.significance("lim", "lim")
    with pytest.raises(InputError, match="no maps by blocks"):
        replace(small_run, blocks=None).plot.significance("lim")
