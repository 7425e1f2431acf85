"""Models of one family share a weight."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import yaml

import ensemble as ens
from ensemble.chunk import Chunk
from ensemble.combine import Best, ClimWip, Combine, InverseMse, Mean, Stacking, Weighing
from ensemble.combine.families import Sharing
from ensemble.combine.weighing import SHARES
from ensemble.errors import InputError
from ensemble.parts import Damping
from ensemble.recipe import read_recipe, written
from ensemble.task import Array, Domain
from ensemble.testing import basin_study, check_combine
from ensemble.testing.models import same_bits
from tests.combine.past import combined, domain_of, labelled, learnt, names, weights_of

STARTS, LEADS, POINTS = 11, 2, 15
RANDOM = np.random.default_rng(7)
TRUTH = RANDOM.standard_normal((STARTS, LEADS, POINTS))
NOISE = RANDOM.standard_normal((5, STARTS, LEADS, POINTS)) + 0.5 * RANDOM.standard_normal((STARTS, LEADS, POINTS))
FORECAST = TRUTH + np.array([0.5, 0.9, 0.7, 1.2, 0.8])[:, None, None, None] * NOISE
GAPS = RANDOM.random(FORECAST.shape) < 0.03

FAMILIES = {"gcm": ("m3", "m1", "m0"), "not_here": ("m8", "m9")}  # m2 and m4 are families of their own
MEMBERS = [[0, 1, 3], [2], [4]]
SIZES = np.array([3, 3, 1, 3, 1])[:, None]
OF = [0, 0, 1, 0, 2]  # the family of each model
MEANS = np.stack([FORECAST[each].mean(0) for each in MEMBERS])

KINDS: list[type[Weighing]] = [InverseMse, Best, Stacking, ClimWip]
RULES: list[Sharing[Any, Any]] = [Mean(families=FAMILIES)]
RULES += [kind(families=FAMILIES, shrink=shrink, by_lead=by_lead) for kind in KINDS for shrink, by_lead in ((0.0, True), (0.4, False))]
BY_RULE = pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{type(rule).__name__}-{getattr(rule, 'shrink', '')}")


@pytest.mark.parametrize("kind", [Mean, *KINDS])
def test_rules_with_families_keep_their_promises(kind: type[Combine[Any, Any]]) -> None:
    check_combine(kind(families={"twins": ("bad", "good"), "alone": ("climatology",)}))  # type: ignore[call-arg]


@BY_RULE
@pytest.mark.parametrize("gaps", [False, True])
def test_weights_are_those_of_the_means_of_families_shared_among_their_members(rule: Sharing[Any, Any], gaps: bool) -> None:
    """As the same rule without families would weigh forecasts that have been averaged beforehand."""
    forecast = np.where(GAPS, np.nan, FORECAST) if gaps else FORECAST
    means = np.stack([forecast[each].mean(0) for each in MEMBERS])
    alone = weights_of(replace(rule, families={}), means, TRUTH)
    assert weights_of(rule, forecast, TRUTH, pieces=3) == pytest.approx(alone[OF] / SIZES, rel=1e-9, abs=1e-12)


@BY_RULE
def test_the_forecast_is_that_of_the_families(rule: Sharing[Any, Any]) -> None:
    assert combined(rule, FORECAST, TRUTH) == pytest.approx(combined(replace(rule, families={}), MEANS, TRUTH), rel=1e-9)


def test_inverse_errors_of_families_are_the_formula() -> None:
    mse = ((MEANS - TRUTH) ** 2).mean((1, 3))
    expected = ((1 / mse) / (1 / mse).sum(0))[OF] / SIZES
    assert weights_of(InverseMse(families=FAMILIES), FORECAST, TRUTH) == pytest.approx(expected, rel=1e-12)


def test_the_mean_counts_families_and_not_models() -> None:
    assert combined(Mean(families=FAMILIES), FORECAST, TRUTH) == pytest.approx(MEANS.mean(0), rel=1e-13)
    every = {"one": ("m0", "m1", "m2", "m3", "m4")}
    assert combined(Mean(families=every), FORECAST, TRUTH) == pytest.approx(FORECAST.mean(0), rel=1e-13)


@pytest.mark.parametrize("kind", [Mean, *KINDS])
def test_families_of_one_change_no_bit(kind: type[Combine[Any, Any]]) -> None:
    """But those of a rule that would else keep squares alone: these come from sums in another order."""
    single = {f"family_{i}": (f"m{i}",) for i in range(5)}
    one, other = weights_of(kind(families=single), FORECAST, TRUTH), weights_of(kind(), FORECAST, TRUTH)  # type: ignore[call-arg]
    if kind is InverseMse:
        assert one == pytest.approx(other, rel=1e-13)
    else:
        assert same_bits(one, other)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_shrink_towards_those_of_equal_families(kind: type[Weighing]) -> None:
    equal = (np.full((3, LEADS), 1 / 3))[OF] / SIZES
    none, half, whole = (weights_of(kind(families=FAMILIES, shrink=each), FORECAST, TRUTH) for each in (0.0, 0.5, 1.0))
    assert whole == pytest.approx(equal, abs=1e-12)
    assert half == pytest.approx((none + equal) / 2, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_shrinkage_that_origins_choose_is_that_of_averaged_forecasts(kind: type[Weighing]) -> None:
    """Errors of every share by hand: weights of the folds before, squared errors of the next, weighted mean by weighted mean."""
    domain = domain_of(names(FORECAST), LEADS, POINTS)
    folds = [[chunk(FORECAST[:, cut], TRUTH[cut], domain)] for cut in (slice(0, 4), slice(4, 7), slice(7, 11))]
    tuned = kind(families=FAMILIES, shrink=None).tuned(folds, domain)
    loss = np.zeros(len(SHARES))
    for before, after in ((slice(0, 4), slice(4, 7)), (slice(0, 7), slice(7, 11))):
        for i, share in enumerate(SHARES):
            weights = weights_of(kind(shrink=float(share)), MEANS[:, before], TRUTH[before])
            one = (weights[:, None, :, None] * MEANS[:, after]).sum(0)
            loss[i] += ((one - TRUTH[after]) ** 2).mean(-1).sum()
    assert tuned.shrink == pytest.approx(SHARES[loss.argmin()])
    assert tuned.families == FAMILIES


def chunk(forecast: Array, truth: Array, domain: Domain) -> Chunk:
    data = xr.Dataset({"forecast": labelled(forecast), "truth": (("init_time", "lead_time", "point"), truth)})
    return Chunk(data, domain, 0, len(truth), True)


@BY_RULE
def test_the_weight_of_a_family_stays_with_its_members_that_are_left(rule: Sharing[Any, Any]) -> None:
    state, domain = learnt(rule, FORECAST, TRUTH)
    whole = rule.weights(state, domain)
    left = rule.weights_left(state, domain, np.array([0, 3, 4]))  # m1 and m2 failed, the one of the family, the other by itself
    family, alone = whole[[0, 1, 3]].sum(0), whole[4]
    expected = np.stack([family / 2, family / 2, alone])
    there = expected.sum(0) > 0
    assert left[:, there] == pytest.approx((expected / np.where(there, expected.sum(0), 1))[:, there], rel=1e-12)
    assert left.sum(0) == pytest.approx(1.0, abs=1e-12)
    made = rule.combine_some(state, domain, labelled(FORECAST[[0, 3, 4]]), np.array([0, 3, 4]))
    assert made.values == pytest.approx((left[:, None, :, None] * FORECAST[[0, 3, 4]]).sum(0), rel=1e-12)


def test_the_families_that_are_left_count_the_same_where_none_has_a_weight() -> None:
    forecast = FORECAST.copy()
    forecast[2] = TRUTH + 0.01  # has all of it
    state, domain = learnt(Best(families=FAMILIES), forecast, TRUTH)
    left = Best(families=FAMILIES).weights_left(state, domain, np.array([0, 1, 4]))
    assert left == pytest.approx(np.array([0.25, 0.25, 0.5])[:, None] * np.ones(LEADS))


def test_errors_are_those_of_models_and_not_of_families() -> None:
    mse = ((FORECAST - TRUTH) ** 2).mean((1, 3))
    for kind in KINDS:
        rule = kind(families=FAMILIES)
        assert rule.errors(learnt(rule, FORECAST, TRUTH)[0]) == pytest.approx(mse, rel=1e-12)
        assert kind().errors(learnt(kind(), FORECAST, TRUTH)[0]) == pytest.approx(mse, rel=1e-12)
    assert Mean().errors(None) is None


def test_models_whose_errors_cancel_are_refused() -> None:
    forecast = np.stack([TRUTH + 1, TRUTH - 1, FORECAST[0]])
    with pytest.raises(ValueError, match="the mean of a family has no error at all"):
        weights_of(InverseMse(families={"both": ("m0", "m1")}), np.round(forecast), np.round(TRUTH))


def test_families_that_make_no_sense_are_refused_at_the_door() -> None:
    with pytest.raises(ValueError, match="m1 is in a and in b; name each model once"):
        Mean(families={"a": ("m0", "m1"), "b": ("m1",)})
    with pytest.raises(ValueError, match=r"gcm is 'lim'; list its models, as in `families: \{gcm: \[model_a, model_b\]\}`"):
        Stacking(families={"gcm": "lim"})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match=r"gcm is \(\)"):
        InverseMse(families={"gcm": ()})


def test_a_study_of_fewer_models_has_smaller_families() -> None:
    rule = Stacking(families={"a": ("m0", "m1"), "b": ("m2",)}, without=("m3",))
    left = rule.among(["m1", "m4"])
    assert (left.families, left.without) == ({"a": ("m1",)}, ())
    assert set(rule.named) == {"m0", "m1", "m2", "m3"}
    hash(rule)


def test_a_family_may_have_the_name_of_another_model() -> None:
    assert weights_of(Mean(families={"m2": ("m0", "m1")}), FORECAST[:3], TRUTH)[:, 0] == pytest.approx([0.25, 0.25, 0.5])


class Half(Damping):
    """Damped persistence, halved, so that models differ."""

    def forecast(self, *arguments: Any) -> Any:
        return super().forecast(*arguments) * 0.5


class Twice(Damping):
    """Of twice the size."""

    def forecast(self, *arguments: Any) -> Any:
        return super().forecast(*arguments) * 2.0


def test_a_run_has_the_weights_of_families() -> None:
    families = {"damped": ("one", "half")}
    rules: dict[str, Any] = {"mean": Mean(families=families), "inverse": InverseMse(families=families, shrink=0.0), "plain": InverseMse()}
    study = replace(basin_study(one=Damping(), half=Half(), twice=Twice()), combinations=rules)
    run = ens.run(study, workers=0, show=False, keep_forecasts=True)
    weight = run.weights["weight"].sel(model=["one", "half", "twice"])
    assert weight.sel(combination="mean").values == pytest.approx(np.array([0.25, 0.25, 0.5])[:, None] * np.ones(3))
    inverse = weight.sel(combination="inverse").values
    assert same_bits(inverse[0], inverse[1])
    assert run.forecasts is not None
    one, half, twice, mean = (run.forecasts[name]["sst"].values for name in ("one", "half", "twice", "mean"))
    np.testing.assert_allclose(mean, one / 4 + half / 4 + twice / 2, rtol=1e-12)


RECIPE: dict[str, Any] = {
    "data": "hadisst", "target": "sst", "train": ["1991-01", "2000-12"], "validate": ["2012-01", "2013-12"], "test": ["2014-01", "2015-12"],
    "leads": [1], "models": ["climatology", "persistence", {"damped": {"model": "persistence"}}],
}  # fmt: skip


def test_a_recipe_names_families_and_is_written_back_out(tmp_path: Path) -> None:
    rule = {"stacking": {"families": {"same": ["persistence", "damped"]}}}
    (tmp_path / "a.yaml").write_text(yaml.safe_dump({**RECIPE, "combine": [rule]}))
    study = read_recipe(tmp_path / "a.yaml")
    assert study.combinations["stacking"] == Stacking(families={"same": ("persistence", "damped")})
    (tmp_path / "b.yaml").write_text(written(study))
    assert read_recipe(tmp_path / "b.yaml").combinations == study.combinations
    wrong = {"mean": {"families": {"same": ["persistence", "dammed"]}}}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({**RECIPE, "combine": [wrong]}))
    with pytest.raises(InputError, match=r"combine.mean: 'dammed' is unknown; did you mean damped\?"):
        read_recipe(tmp_path / "c.yaml")
