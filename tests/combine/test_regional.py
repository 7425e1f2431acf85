"""Weights by region: a rule learns in each region by itself, and is used there."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import yaml

import ensemble as ens
from ensemble.chunk import Chunk
from ensemble.combine import Best, Bma, ClimWip, Combine, Emos, InverseMse, Mean, Median, Regional, Stacking
from ensemble.combining import side_by_side
from ensemble.errors import InputError
from ensemble.execute import Serial
from ensemble.fitting import fit
from ensemble.origins import Origins
from ensemble.parts import Damping
from ensemble.recipe import read_recipe, written
from ensemble.score import Mask, Region
from ensemble.score.region import Cells
from ensemble.task import Array, Domain, Field, Period, moment
from ensemble.testing import basin_study, check_combine
from ensemble.testing.models import same_bits
from tests.combine.past import domain_of, labelled, weights_of

REGIONS = {"all": Region(), "south": Region((-90.0, 0.0)), "west": Region((-90.0, 90.0), (0.0, 90.0))}  # they overlap

STARTS, LEADS, LATITUDE, LONGITUDE = 12, 2, np.linspace(-25.0, 25.0, 6), np.arange(0.0, 360.0, 45.0)
RANDOM = np.random.default_rng(11)
SHAPE = (len(LATITUDE), len(LONGITUDE))
LAND = RANDOM.random(SHAPE) < 0.15
SOUTH, WEST = (np.broadcast_to(each, SHAPE) & ~LAND for each in ((LATITUDE <= 0)[:, None], (LONGITUDE <= 90)[None, :]))
OWNER = np.where(SOUTH, 1, np.where(WEST, 2, 0))  # of overlapping regions the first in the order of the study
TRUTH = np.where(LAND, np.nan, RANDOM.standard_normal((STARTS, LEADS, *SHAPE)))
SIZE = np.where(np.arange(SHAPE[0])[:, None] < 3, np.array([0.4, 1.2, 0.9])[:, None, None], np.array([1.6, 0.5, 0.9])[:, None, None])
FORECAST = TRUTH + SIZE[:, None, None] * RANDOM.standard_normal((3, STARTS, LEADS, *SHAPE))


def domain(area: Array | None = None) -> Domain:
    """Three models side by side on a small globe with land."""
    area = np.where(LAND, 0, np.cos(np.deg2rad(LATITUDE))[:, None]) if area is None else area
    field = Field({"latitude": LATITUDE, "longitude": LONGITUDE}, ~LAND, area / area.sum(), {})
    period = Period(np.datetime64("2001-01-01", "s"), np.datetime64("2002-01-01", "s"))
    return side_by_side(Domain({"t": field}, np.timedelta64(1, "M"), np.arange(1, LEADS + 1), period), ("m0", "m1", "m2"))


def stacked(forecast: Array) -> xr.DataArray:
    return xr.DataArray(forecast, dims=("model", "init_time", "lead_time", "latitude", "longitude"))


def chunk(starts: Any = slice(None)) -> Chunk:
    data = xr.Dataset({"forecast": stacked(FORECAST[:, starts]), "truth": stacked(FORECAST[:, starts])[0].copy(data=TRUTH[starts])})
    return Chunk(data, domain(), 0, data.sizes["init_time"], True)


def learnt(rule: Combine[Any, Any], pieces: int = 2) -> Any:
    parts = [[chunk(index)] for index in np.array_split(np.arange(STARTS), pieces)]
    return fit(rule, parts, domain(), Serial(), 0)


def placed(rule: Combine[Any, Any], *of: str) -> Regional:
    return Regional(rule, of).placed(REGIONS, where="combine.it")


def alone(rule: Combine[Any, Any], inside: Array) -> Array:
    """The weights that a rule learns from some points, which are all that there is."""
    area = np.broadcast_to(np.cos(np.deg2rad(LATITUDE))[:, None], SHAPE)[inside]
    return weights_of(rule, FORECAST[..., inside], TRUTH[..., inside], pieces=2, area=area / area.sum())


RULES: list[Combine[Any, Any]] = [InverseMse(), Best(), Stacking(shrink=0.1), ClimWip(), Stacking(families={"two": ("m0", "m2")})]
RULES += [Bma(members=5), Bma(shrink=0.2, regress=True, members=4), Emos(members=5)]
BY_RULE = pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)


@pytest.mark.parametrize("rule", [Mean(), Median(), InverseMse(), Stacking(shrink=0.2), Bma(members=3), Emos(members=3)], ids=repr)
def test_rules_by_region_keep_their_promises(rule: Combine[Any, Any]) -> None:
    check_combine(Regional(rule))
    check_combine(placed(rule))
    check_combine(placed(rule, "west"))


@BY_RULE
def test_weights_of_a_region_are_those_learnt_from_its_points_alone(rule: Combine[Any, Any]) -> None:
    regional = placed(rule)
    state = learnt(regional)
    found = regional.weights_by_region(state, domain())
    assert list(found) == ["south", "west"]
    for name, inside in (("south", SOUTH), ("west", WEST)):
        assert found[name] == pytest.approx(alone(rule, inside), rel=1e-6, abs=1e-9)
    assert same_bits(regional.weights(state, domain()), rule.weights(learnt(rule), domain()))
    assert np.abs(found["south"] - found["west"]).max() > 0.01


def test_inverse_errors_of_a_region_are_the_formula() -> None:
    area = np.where(SOUTH, np.cos(np.deg2rad(LATITUDE))[:, None], 0)
    mse = np.nansum((FORECAST - TRUTH) ** 2 * area / area.sum(), axis=(-2, -1)).mean(1)
    found = placed(InverseMse()).weights_by_region(learnt(placed(InverseMse())), domain())
    assert found["south"] == pytest.approx((1 / mse) / (1 / mse).sum(0), rel=1e-12)


@BY_RULE
def test_each_point_has_the_forecast_of_its_region(rule: Combine[Any, Any]) -> None:
    """Single values and members, at all starts and at those where a model failed."""
    regional, left = placed(rule), np.array([0, 2])
    state = learnt(regional)
    made = {
        "combine": regional.combine(state, domain(), stacked(FORECAST)),
        "sample": regional.sample(state, domain(), stacked(FORECAST)),
        "combine_some": regional.combine_some(state, domain(), stacked(FORECAST[left]), left),
        "sample_some": regional.sample_some(state, domain(), stacked(FORECAST[left]), left),
    }
    for part, inside in zip(state, (OWNER == 0, OWNER == 1, OWNER == 2), strict=True):
        at = domain(), stacked(FORECAST)
        some = domain(), stacked(FORECAST[left]), left
        expected = {
            "combine": rule.combine(part.state, *at),
            "sample": rule.sample(part.state, *at),
            "combine_some": rule.combine_some(part.state, *some),
            "sample_some": rule.sample_some(part.state, *some),
        }
        for how, values in made.items():
            assert values.dims == expected[how].transpose("init_time", "lead_time", ..., "latitude", "longitude").dims
            wanted = expected[how].transpose(*values.dims).values
            np.testing.assert_allclose(values.values[..., inside], wanted[..., inside], rtol=1e-12, equal_nan=True)


def test_the_weighted_mean_is_that_of_the_weights_that_are_told() -> None:
    regional = placed(Stacking(shrink=0.0))
    state = learnt(regional)
    told = [regional.weights(state, domain()), *regional.weights_by_region(state, domain()).values()]
    expected = np.where(LAND, np.nan, 0.0) + np.zeros(TRUTH.shape)
    for row, column in zip(*np.nonzero(~LAND), strict=True):
        expected[..., row, column] = np.einsum("ml,mil->il", told[OWNER[row, column]], FORECAST[..., row, column])
    np.testing.assert_allclose(regional.combine(state, domain(), stacked(FORECAST)).values, expected, rtol=1e-12)


def test_regions_come_in_the_order_of_the_study_and_only_those_asked_for() -> None:
    assert [part.name for part in placed(Best(), "west", "south").parts] == ["all", "south", "west"]
    assert [part.name for part in placed(Best(), "west").parts] == ["all", "west"]
    assert (placed(Best(), "west").owner(domain()) == WEST).all()


def test_a_region_without_points_of_its_own_changes_nothing() -> None:
    twice = {"all": Region(), "first": Region((-90.0, 0.0)), "again": Region((-90.0, 0.0))}
    one, two = (Regional(InverseMse(), of).placed(twice, where="") for of in (("first",), ("first", "again")))
    made = [rule.combine(learnt(rule), domain(), stacked(FORECAST)).values for rule in (one, two)]
    assert same_bits(*made)


def test_a_region_with_all_points_is_learnt_as_a_whole() -> None:
    globe = Regional(Stacking()).placed({"all": Region(), "globe": Region((-80.0, 80.0))}, where="")
    state = learnt(globe)
    assert same_bits(globe.weights_by_region(state, domain())["globe"], Stacking().weights(learnt(Stacking()), domain()))
    made = globe.combine(state, domain(), stacked(FORECAST)).values
    np.testing.assert_allclose(made, Stacking().combine(state[0].state, domain(), stacked(FORECAST)).values, rtol=1e-14)


def test_a_field_without_a_grid_is_taken_whole() -> None:
    """And one whose points have places is not."""
    bare = domain_of(("m0", "m1", "m2"), LEADS, 4)
    assert (placed(Best()).owner(bare) == 1).all()
    at = bare.fields["forecast"]
    there = {"latitude": (("point",), np.array([-5.0, 5.0, 5.0, -5.0])), "longitude": (("point",), np.array([200.0, 200.0, 20.0, 20.0]))}
    known = bare._replace(fields={"forecast": at._replace(places=there)})
    assert placed(Best()).owner(known).tolist() == [1, 0, 2, 1]
    some = Domain({"t": Field({"point": np.arange(4)}, np.ones(4, bool), np.full(4, 0.25), {}, there)}, *bare[1:])
    assert placed(Best()).owner(side_by_side(some, ("m0",))).tolist() == [1, 0, 2, 1]


def test_a_mask_is_a_region_too() -> None:
    marked = (np.arange(48).reshape(SHAPE) % 5 == 0) & ~LAND
    regions = {"all": Region(), "marked": Region(within=Mask("basins.nc", cells=Cells.of(marked)))}
    regional = Regional(InverseMse()).placed(regions, where="")
    assert (regional.owner(domain()) == marked).all()
    found = regional.weights_by_region(learnt(regional), domain())
    assert found["marked"] == pytest.approx(alone(InverseMse(), marked), rel=1e-9)


def test_shrinkage_is_chosen_in_each_region() -> None:
    cuts = [np.arange(0, 4), np.arange(4, 8), np.arange(8, 12)]
    tuned = placed(Stacking()).tuned([[chunk(cut)] for cut in cuts], domain())
    for part, inside in zip(tuned.parts, (~LAND, SOUTH, WEST), strict=True):
        area = np.broadcast_to(np.cos(np.deg2rad(LATITUDE))[:, None], SHAPE)[inside]
        one = domain_of(("m0", "m1", "m2"), LEADS, int(inside.sum()), area / area.sum())
        data = [xr.Dataset({"forecast": labelled(FORECAST[..., inside])[:, cut], "truth": labelled(TRUTH[None, ..., inside])[0, cut]})
                for cut in cuts]  # fmt: skip
        expected = Stacking().tuned([[Chunk(each, one, 0, 4, True)] for each in data], one)
        assert part.rule == expected
    assert len({part.rule.share for part in tuned.parts}) > 1
    assert tuned.rule == Stacking()
    assert hash(tuned) != hash(placed(Stacking()))


def test_rounds_end_in_each_region_by_themselves() -> None:
    """One that has found its weights takes no further part, and is not moved by the others' rounds."""
    rule = Bma(members=1)
    state = learnt(placed(rule))
    rounds = [each.state.rounds for each in state]
    assert len(set(rounds)) > 1
    assert all(each.finished for each in state)


def test_the_state_travels() -> None:
    rule = placed(Emos(members=4))
    state = learnt(rule)
    one, two = (r.sample(s, domain(), stacked(FORECAST)) for r, s in ((rule, state), pickle.loads(pickle.dumps((rule, state)))))
    assert same_bits(one.values, two.values)


def test_what_the_rule_says_of_itself_holds_for_its_regions() -> None:
    rule = placed(Stacking(without=("m2",), families={"a": ("m0", "m1")}))
    assert (rule.without, set(rule.named)) == (("m2",), {"m0", "m1", "m2"})
    few = rule.among(["m0"])
    assert (few.without, few.rule, few.parts[2].rule) == ((), Stacking(families={"a": ("m0",)}), few.rule)
    assert placed(Bma()).distribution
    assert not placed(Bma(members=1)).distribution
    regional, plain = placed(InverseMse()), InverseMse()
    known, expected = regional.errors(learnt(regional)), plain.errors(learnt(plain))
    assert known is not None
    assert same_bits(known, expected)
    left = np.array([1, 2])
    assert same_bits(regional.weights_left(learnt(regional), domain(), left), plain.weights_left(learnt(plain), domain(), left))


def test_an_error_says_in_which_region() -> None:
    truth = chunk().data["truth"].copy(data=np.where(SOUTH, np.nan, TRUTH))
    holed = replace(chunk(), data=chunk().data.assign(truth=truth))
    with pytest.raises(ValueError, match="in the region south, stacking: at lead 1 of the 2 leads there is no point"):
        fit(placed(Stacking()), [[holed]], domain(), Serial(), 0)


def test_regions_that_the_study_lacks_are_refused() -> None:
    with pytest.raises(InputError, match=r"combine.it.by_region: 'wets' is unknown; did you mean west\?"):
        placed(Best(), "wets")
    with pytest.raises(InputError, match="has no region but all; give it some"):
        Regional(Best()).placed({"all": Region()}, where="combine.best")
    study = basin_study(one=Damping())
    with pytest.raises(InputError, match=r"combine\.best\.by_region: the study has no region but all"):
        replace(study, combinations={"best": Regional(Best())})


class Half(Damping):
    """Damped persistence, halved, so that models differ."""

    def forecast(self, *arguments: Any) -> Any:
        return super().forecast(*arguments) * 0.5


def test_a_run_has_weights_by_region_on_disk(tmp_path: Path) -> None:
    """Rolling origins, a plain rule beside the others, windows of leads, and a rule of one region alone."""
    first, step = np.datetime64("2001-01-01", "s"), np.timedelta64(1, "M")
    origins = Origins(moment(first, 36, step), moment(first, 77, step), every=15)
    rules = {"plain": InverseMse(), "inverse": Regional(InverseMse()), "stacking": Regional(Stacking(), ("west",)), "mean": Mean()}
    study = replace(basin_study(one=Damping(), half=Half()), regions=REGIONS, validate=origins, combinations=rules)
    run = ens.run(study, workers=0, show=False, keep_forecasts=True, out=tmp_path / "run")
    with xr.open_dataset(tmp_path / "run" / "weights.nc") as weights:
        by_region = weights["weight_by_region"].load()
        plain = weights["weight"].load()
    assert by_region.dims == ("combination", "region", "model", "lead_time")
    assert by_region["region"].values.tolist() == ["south", "west"]
    assert np.isnan(by_region.sel(combination=["plain", "mean"])).all()
    assert np.isnan(by_region.sel(combination="stacking", region="south")).all()
    own = [by_region.sel(combination="inverse"), by_region.sel(combination="stacking", region="west")]
    for each in own:
        np.testing.assert_allclose(each.sum("model"), 1.0, rtol=1e-12)
    weighted = run.combinations["inverse"]
    for i, name in enumerate(("south", "west"), start=1):
        mse = weighted.state[i].state
        shares = weighted.rule.parts[i].rule.share
        expected = (1 - shares) * (1 / mse) / (1 / mse).sum(0) + shares / 2
        np.testing.assert_allclose(own[0].sel(region=name, model=list(weighted.models)), expected, rtol=1e-12)
    assert run.forecasts is not None
    one, half, made = (run.forecasts[name]["sst"] for name in ("one", "half", "inverse"))
    south, west = (REGIONS[name].mask(study.domain.fields["sst"]) for name in ("south", "west"))
    for inside, weight in ((south, own[0].sel(region="south")), (west & ~south, own[0].sel(region="west")),
                           (~south & ~west, plain.sel(combination="inverse"))):  # fmt: skip
        a, b = (weight.sel(model=name).values[:, None] for name in ("one", "half"))
        np.testing.assert_allclose(made.values[..., inside], one.values[..., inside] * a + half.values[..., inside] * b, rtol=1e-12)
    again = run.forecast("inverse", "2008-05")["sst"].values[0, :, 0]
    kept = made.sel(init_time="2008-05-01").values.squeeze()
    np.testing.assert_allclose(again, kept, rtol=1e-12, equal_nan=True)
    assert (tmp_path / "run" / "report.html").exists()


RECIPE: dict[str, Any] = {
    "data": "hadisst", "target": "sst", "train": ["1991-01", "2000-12"], "validate": ["2012-01", "2013-12"], "test": ["2014-01", "2015-12"],
    "leads": [1], "regions": {"nino34": {"named": "nino34"}, "south": {"latitude": [-30, 0]}}, "models": ["climatology", "persistence"],
}  # fmt: skip


def test_a_recipe_asks_for_weights_by_region_and_is_written_back_out(tmp_path: Path) -> None:
    rules = [
        {"stacking": {"by_region": True, "shrink": 0.5}},
        {"some": {"rule": "best", "by_region": ["nino34"]}},
        {"mean": {"by_region": False}},
    ]
    (tmp_path / "a.yaml").write_text(yaml.safe_dump({**RECIPE, "combine": rules}))
    study = read_recipe(tmp_path / "a.yaml")
    assert {name: [part.name for part in getattr(rule, "parts", ())] for name, rule in study.combinations.items()} == {
        "stacking": ["all", "nino34", "south"], "some": ["all", "nino34"], "mean": [],
    }  # fmt: skip
    assert study.combinations["stacking"].rule == Stacking(shrink=0.5)  # type: ignore[attr-defined]
    (tmp_path / "b.yaml").write_text(written(study))
    assert read_recipe(tmp_path / "b.yaml").combinations == study.combinations
    run = ens.run(study, workers=0, show=False, out=tmp_path / "run")
    with xr.open_dataset(tmp_path / "run" / "weights.nc") as weights:
        found = weights["weight_by_region"].sel(combination="stacking").load()
    expected = run.combinations["stacking"].rule.parts[1].rule.weights(run.combinations["stacking"].state[1].state, _beside(run))
    np.testing.assert_array_equal(found.sel(region="nino34", model=list(run.combinations["stacking"].models)), expected)
    assert (found.sel(region="nino34") != found.sel(region="south")).any()


def _beside(run: ens.Run) -> Domain:
    return side_by_side(run.study.domain, run.combinations["stacking"].models)


@pytest.mark.parametrize("given", ["nino34", [], 3])
def test_a_recipe_that_asks_in_another_way_is_told_how(tmp_path: Path, given: Any) -> None:
    (tmp_path / "a.yaml").write_text(yaml.safe_dump({**RECIPE, "combine": [{"best": {"by_region": given}}]}))
    with pytest.raises(InputError, match=r"combine.best.by_region: is true, or a list of regions, as in `by_region: \[nino34\]`; found"):
        read_recipe(tmp_path / "a.yaml")
