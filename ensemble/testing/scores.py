"""What a score and a combination promise."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.combine import Combine
from ensemble.combining import side_by_side
from ensemble.execute import Serial
from ensemble.fitting import fit
from ensemble.parts import Damping
from ensemble.score import Region, Score, Values, tally
from ensemble.score.evaluate import Labels, evaluate, statistics_of
from ensemble.sums import total
from ensemble.task import Array, Domain
from ensemble.testing.models import same_bits
from ensemble.testing.sea import basin_study

REGIONS = {"all": Region(), "south": Region((-90.0, 0.0))}


def check_score(score: Score) -> None:
    """Raise AssertionError with the promise that `score` breaks."""
    hash(score)
    assert all([score.name, score.long_name]), "a score needs a name and a long_name"
    assert score.best in ("low", "high", "zero", "neither"), f"best is {score.best!r}; it must be low, high, zero or neither"
    domain, truth, models = _forecasts()
    whole = _evaluated(score, domain, truth, models, 1)
    tables_and_maps_are_labelled(score, whole, domain)
    halves_make_the_whole(whole, _evaluated(score, domain, truth, models, 2))
    a_better_forecast_scores_better(score, whole[0])
    without = np.where(np.random.default_rng(1).random(truth.shape) < 0.1, np.nan, truth)
    wild = {name: np.where(np.isnan(without)[:, :, None], 1e9, each) for name, each in models.items()}
    what_is_missing_does_not_count(_evaluated(score, domain, without, models, 1), _evaluated(score, domain, without, wild, 1))


def _forecasts() -> tuple[Domain, Array, Mapping[str, Array]]:
    """True anomalies (init_time, lead_time, ...), and forecasts (init_time, lead_time, member, ...) of which we know the order."""
    domain, random = basin_study(persistence=Damping()).domain, np.random.default_rng(0)
    mask = domain.fields["sst"].mask
    truth = np.where(mask, random.standard_normal((12, 3, 1, 1)) + random.standard_normal((12, 3, *mask.shape)), np.nan)
    noise = random.standard_normal((12, 3, 5, *mask.shape))
    return (
        domain,
        truth,
        {
            "climatology": 0.01 * noise,
            "good": truth[:, :, None] + 0.1 * noise,
            "bad": 2.0 - truth[:, :, None] + noise,
        },
    )


def _evaluated(score: Score, domain: Domain, truth: Array, models: Mapping[str, Array], pieces: int) -> tuple[xr.Dataset, xr.Dataset]:
    field, statistics = domain.fields["sst"], statistics_of([score])
    init_time = np.datetime64("2009-01", "s") + np.arange(len(truth)) * np.timedelta64(1, "D")
    sums = []
    for index in np.array_split(np.arange(len(truth)), pieces):
        edges = {level: np.full(truth[index].shape, np.nanquantile(truth, level)) for each in statistics for level in each.levels}
        values = [Values(each[index], truth[index], edges=edges) for each in models.values()]
        sums.append(tally(init_time[index], values, field, REGIONS, statistics))
    labels = Labels(tuple(models), ("external",) * len(models), (5,) * len(models), (1, 2, 3), REGIONS, field)
    return evaluate(total(sums), [score], labels)


def tables_and_maps_are_labelled(score: Score, made: tuple[xr.Dataset, xr.Dataset], domain: Domain) -> None:
    """(model, lead_time, region) in the table and (model, lead_time, ...) in the map, whatever else a score adds."""
    table, maps = made[0][score.name], made[1].get(score.name)
    wanted = {"model", "lead_time", "region"}
    assert wanted <= set(table.dims), f"the table has dimensions {table.dims}; {', '.join(sorted(wanted))} must be among them"
    assert not score.ranks or np.isfinite(table.sel(model="bad")).all(), "the score of a forecast that is finite everywhere is not"
    if maps is not None:
        wanted = {"model", "lead_time", *domain.fields["sst"].dims}
        assert wanted <= set(maps.dims), f"the map has dimensions {maps.dims}; {', '.join(sorted(wanted))} must be among them"


def halves_make_the_whole(whole: tuple[xr.Dataset, xr.Dataset], halves: tuple[xr.Dataset, xr.Dataset]) -> None:
    """Only sums cross machines: what is not linear belongs after them."""
    for one, two in zip(whole, halves, strict=True):
        for name in one.data_vars:
            close = np.allclose(one[name], two[name], rtol=1e-9, atol=1e-12, equal_nan=True)
            assert close, f"{name} of two halves together is not that of the whole; square roots and quotients go behind the sums"


def a_better_forecast_scores_better(score: Score, table: xr.Dataset) -> None:
    """As `best` says."""
    good, bad = (table[score.name].sel(model=name) for name in ("good", "bad"))
    better = {"low": good < bad, "high": good > bad, "zero": abs(good) < abs(bad)}
    assert score.best == "neither" or bool(better[score.best].all()), f"best is {score.best!r}, but a near perfect forecast scores worse"


def what_is_missing_does_not_count(plain: tuple[xr.Dataset, xr.Dataset], wild: tuple[xr.Dataset, xr.Dataset]) -> None:
    """A point without truth moves no score, and is not in the count."""
    for one, two in zip(plain, wild, strict=True):
        for name in one.data_vars:
            assert one[name].equals(two[name]), f"{name} depends on what was forecast where there is no truth"


def check_combine(rule: Combine[Any, Any]) -> None:
    """Raise AssertionError with the promise that `rule` breaks."""
    hash(rule)
    assert isinstance(rule.without, tuple), "without must be a tuple of names"
    domain, truth, models = _forecasts()
    stacked, together = np.stack([each.mean(2) for each in models.values()]), side_by_side(domain, tuple(models))
    state = _learnt(rule, together, stacked, truth, 1)
    weights = rule.weights(state, together)
    assert weights.shape == stacked.shape[:1] + stacked.shape[2:3], f"weights have shape {weights.shape}; it must be (model, lead_time)"
    assert np.allclose(weights.sum(0), 1.0), "the weights of a lead do not add up to one over the models"
    halves = rule.weights(_learnt(rule, together, stacked, truth, 2), together)
    assert np.allclose(weights, halves, rtol=1e-6, atol=1e-9), "weights learnt from two halves differ from those learnt from the whole"
    for region, each in rule.weights_by_region(state, together).items():
        assert np.allclose(each.sum(0), np.ones(weights.shape[1])), f"the weights in the region {region} do not add up to one"
    a_combination_is_a_forecast(rule, state, together, stacked)
    the_order_of_models_is_no_matter(rule, together, stacked, truth, weights)


def _learnt(rule: Combine[Any, Any], domain: Domain, stacked: Array, truth: Array, pieces: int) -> Any:
    """The rule's state, from (model, init_time, lead_time, ...)."""
    data = xr.Dataset({"forecast": _named(domain, stacked), "truth": _named(domain, stacked)[0].copy(data=truth)})
    parts = np.array_split(np.arange(len(truth)), pieces)
    chunks = [Chunk(data.isel(init_time=index), domain, 0, len(index), True) for index in parts]
    return fit(rule, [[chunk] for chunk in chunks], domain, Serial(), 0)


def _named(domain: Domain, stacked: Array) -> xr.DataArray:
    return xr.DataArray(stacked, dims=("model", "init_time", "lead_time", *domain.fields["forecast"].dims[1:]))


def a_combination_is_a_forecast(rule: Combine[Any, Any], state: Any, domain: Domain, stacked: Array) -> None:
    """Whole, the same from a state that has travelled, and of each start by itself."""
    made = rule.combine(state, domain, _named(domain, stacked)).values
    assert made.shape == stacked.shape[1:], f"the combination has shape {made.shape}; it must be {stacked.shape[1:]}"
    assert np.isfinite(made[:, :, domain.fields["forecast"].mask[0]]).all(), "the combination of finite forecasts is not finite"
    copied = pickle.loads(pickle.dumps(state))
    assert same_bits(made, rule.combine(copied, domain, _named(domain, stacked)).values), "a state that has travelled combines differently"
    some = np.array([0, len(stacked) - 1])
    without = rule.combine_some(state, domain, _named(domain, stacked[some]), some).transpose(*_named(domain, stacked).dims[1:]).values
    assert np.isfinite(without[:, :, domain.fields["forecast"].mask[0]]).all(), "the combination of two models alone is not finite"
    alone = rule.combine(state, domain, _named(domain, stacked[:, 3:5])).values
    assert np.allclose(alone, made[3:5], equal_nan=True), "the combination of a start depends on which other starts are in the call"


def the_order_of_models_is_no_matter(rule: Combine[Any, Any], domain: Domain, stacked: Array, truth: Array, weights: Array) -> None:
    """Weights go with the model, not with its place in the list."""
    names: Sequence[str] = list(domain.fields["forecast"].coords["model"])[::-1]
    field = domain.fields["forecast"]
    turned = domain._replace(fields={"forecast": field._replace(coords={**field.coords, "model": np.array(names)})})
    moved = rule.weights(_learnt(rule, turned, stacked[::-1], truth, 1), turned)
    assert np.allclose(moved[::-1], weights, rtol=1e-6, atol=1e-9), "weights depend on the order in which the models are listed"
