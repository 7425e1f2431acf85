"""Scores of probabilities: against other packages, closed forms, and tables written out by hand."""

from __future__ import annotations

import operator
import warnings
from math import comb
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

from ensemble.score import SCORES, Region, Score, Values, tally
from ensemble.score.evaluate import Labels, evaluate, statistics_of
from ensemble.score.events import Binned, Event
from ensemble.score.extremes import FairTailCrps
from ensemble.score.ranks import GaussianIgnorance, Rank
from ensemble.sums import total
from ensemble.task import Array, Field

COORDS = {"latitude": np.array([-20.0, 0.0, 30.0]), "longitude": np.array([0.0, 90.0, 180.0, 270.0])}
FIELD = Field(COORDS, np.ones((3, 4), bool), np.ones((3, 4)) / 12, {})
REGIONS = {"all": Region(), "north": Region((-1.0, 90.0))}
STARTS, LEADS, M = 40, 2, 7
RANDOM = np.random.default_rng(3)
SIGNAL = RANDOM.standard_normal((STARTS, LEADS, 3, 4))
TRUTH = np.where(RANDOM.random(SIGNAL.shape) < 0.1, np.nan, SIGNAL + 0.8 * RANDOM.standard_normal(SIGNAL.shape))
NORMAL = np.linspace(20.0, 30.0, 12).reshape(3, 4) + np.zeros(SIGNAL.shape)
FORECAST = 0.2 + SIGNAL[:, :, None] + 0.8 * RANDOM.standard_normal((STARTS, LEADS, M, 3, 4))

HOT, COLD, WARM = Event("above", 1.0, "anomaly"), Event("below", -0.5, "anomaly"), Event("above", 26.0)
RARE = Event("above", 0.8, "quantile")
TERCILES = {k / 3: float(norm.ppf(k / 3)) * 1.28 + np.zeros(SIGNAL.shape) for k in (1, 2)}
EDGES = {0.8: np.linspace(0.5, 1.5, 12).reshape(3, 4) + np.zeros(SIGNAL.shape), **TERCILES}
OF_EVENTS = ["brier", "brier_skill", "brier_components", "reliability", "roc", "roc_area", "twcrps", "sedi"]


def made(
    scores: list[Score], forecasts: dict[str, Array], truth: Array = TRUTH, field: Field = FIELD, pieces: int = 3
) -> tuple[xr.Dataset, xr.Dataset]:
    """Tables and maps of anomalies, which are handed over as full fields in several pieces."""
    sums = []
    for index in np.array_split(np.arange(len(truth)), pieces):
        normal = NORMAL[:1] + np.zeros((len(index), *truth.shape[1:]))
        edges = {level: each[:1] + normal for level, each in EDGES.items()}
        values = [Values(each[index] + normal[:, :, None], truth[index] + normal, normal, edges) for each in forecasts.values()]
        sums.append(tally(np.datetime64("2009-01-01", "s") + index, values, field, REGIONS, statistics_of(scores)))
    members = tuple(each.shape[2] for each in forecasts.values())
    return evaluate(total(sums), scores, Labels(tuple(forecasts), ("external",) * len(forecasts), members, (1, 2), REGIONS, field))


def of(name: str, forecast: Array = FORECAST, truth: Array = TRUTH, **settings: Any) -> xr.DataArray:
    """(lead_time, ...): the table of one score over all points."""
    return made([SCORES[name](**settings)], {"model": forecast}, truth)[0][name].sel(model="model", region="all")


def cases(lead: int, forecast: Array = FORECAST, truth: Array = TRUTH) -> tuple[xr.DataArray, xr.DataArray, Array]:
    """(case, member) and (case,) of one lead, the gaps taken out, and where the cases were."""
    there = np.isfinite(truth[:, lead])
    return (
        xr.DataArray(np.moveaxis(forecast[:, lead], 1, -1)[there], dims=("case", "member")),
        xr.DataArray(truth[:, lead][there], dims="case"),
        there,
    )


def edge_of(event: Event, lead: int, there: Array) -> xr.DataArray:
    """(case,): the threshold of an event, as an anomaly."""
    whole = {"value": event.threshold - NORMAL, "anomaly": np.full(NORMAL.shape, event.threshold), "quantile": EDGES[0.8]}[event.of]
    return xr.DataArray(whole[:, lead][there], dims="case")


def events_of(event: Event, lead: int) -> tuple[xr.DataArray, xr.DataArray]:
    """Whether each member is beyond (case, member), and whether the truth is (case,)."""
    forecast, observed, there = cases(lead)
    beyond, edge = operator.gt if event.side == "above" else operator.lt, edge_of(event, lead, there)
    return beyond(forecast, edge), beyond(observed, edge)


@pytest.fixture(scope="module")
def probability() -> Any:
    return pytest.importorskip("scores.probability")


@pytest.fixture(scope="module")
def xskillscore() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("xskillscore")


@pytest.fixture(scope="module")
def scoringrules() -> Any:
    return pytest.importorskip("scoringrules")


@pytest.mark.parametrize("fair", [True, False])
@pytest.mark.parametrize("event", [HOT, COLD, WARM, RARE])
def test_the_brier_score_is_that_of_other_packages(probability: Any, xskillscore: Any, event: Event, *, fair: bool) -> None:
    table = of("brier", event=event, fair=fair)
    for lead in range(LEADS):
        said, occurred = events_of(event, lead)
        other = xskillscore.brier_score(occurred, said, dim="case", member_dim="member", fair=fair)
        np.testing.assert_allclose(table[lead], other, rtol=1e-6)
        other = probability.brier_score_for_ensemble(said.astype(float), occurred.astype(float), "member", 0.5, fair_correction=fair)
        np.testing.assert_allclose(table[lead], other.squeeze(), rtol=1e-6)


@pytest.mark.parametrize("event", [HOT, COLD, RARE])
def test_the_reliability_diagram_is_that_of_xskillscore(xskillscore: Any, event: Event) -> None:
    table = of("reliability", event=event)
    for lead in range(LEADS):
        said, occurred = events_of(event, lead)
        edges = np.arange(11) / 10 - 1e-9  # its bins hold their upper edge, ours the lower
        edges[-1] = 1.0
        other = xskillscore.reliability(occurred, said.mean("member"), dim="case", probability_bin_edges=edges)
        curve = table[lead].sel(curve="observed")
        np.testing.assert_allclose(curve, other.values, rtol=1e-6)
        np.testing.assert_allclose(table[lead].sel(curve="share"), other["samples"] / occurred.size, rtol=1e-6, atol=1e-15)


@pytest.mark.parametrize("event", [HOT, COLD, RARE])
def test_the_operating_characteristic_is_that_of_other_packages(probability: Any, xskillscore: Any, event: Event) -> None:
    table, area = of("roc", event=event), of("roc_area", event=event)
    for lead in range(LEADS):
        said, occurred = events_of(event, lead)
        p, thresholds = said.mean("member"), [0.0, *(np.arange(1, 10) / 10 - 1e-9)]
        curve = probability.roc_curve_data(p, occurred.astype(float), thresholds).sel(threshold=thresholds)
        np.testing.assert_allclose(table[lead].sel(rate="hit_rate"), curve["POD"], rtol=1e-6)
        np.testing.assert_allclose(table[lead].sel(rate="false_alarm_rate"), curve["POFD"], rtol=1e-6)
        np.testing.assert_allclose(area[lead], xskillscore.roc(occurred.astype(float), p, bin_edges="continuous", dim="case"), rtol=1e-6)


def test_the_area_is_the_chance_that_a_case_with_the_event_had_the_higher_probability() -> None:
    """Mason and Graham (2002): the Mann-Whitney statistic, ties counting half."""
    for lead, area in enumerate(of("roc_area", event=HOT).values):
        said, occurred = events_of(HOT, lead)
        p, o = said.mean("member").values, occurred.values
        apart = np.sign(p[o][:, None] - p[~o][None, :])
        assert area == pytest.approx(((apart + 1) / 2).mean(), rel=1e-12)


@pytest.mark.parametrize("fair", [True, False])
def test_ranked_probabilities_are_those_of_xskillscore(xskillscore: Any, *, fair: bool) -> None:
    table = of("rpss", fair=fair)
    for lead in range(LEADS):
        forecast, observed, _ = cases(lead)
        edges = xr.DataArray([TERCILES[k / 3].flat[0] for k in (1, 2)], dims="category_edge", coords={"category_edge": [1.0, 2.0]})
        rps = xskillscore.rps(observed, forecast, edges, dim="case", fair=fair, member_dim="member")
        category = (observed > edges[0]).astype(int) + (observed > edges[1])
        reference = np.mean([(1 / 3 - (category <= 0)) ** 2 + (2 / 3 - (category <= 1)) ** 2])
        np.testing.assert_allclose(table[lead], 1 - rps / reference, rtol=1e-6)


@pytest.mark.parametrize("event", [HOT, COLD, WARM, RARE])
def test_the_crps_of_a_tail_is_that_of_other_packages(probability: Any, scoringrules: Any, event: Event) -> None:
    for fair in (True, False):
        table = of("twcrps", event=event, fair=fair)
        for lead in range(LEADS):
            forecast, observed, there = cases(lead)
            edge, tail = edge_of(event, lead, there), {"above": "upper", "below": "lower"}[event.side]
            settings = {"tail": tail, "method": "fair" if fair else "ecdf"}
            other = probability.tail_tw_crps_for_ensemble(forecast, observed, "member", edge, **settings)
            np.testing.assert_allclose(table[lead], other, rtol=1e-6)
            chained = [np.maximum(each, edge) if event.side == "above" else np.minimum(each, edge) for each in (observed, forecast)]
            other = scoringrules.crps_ensemble(chained[0].values, chained[1].values, estimator="fair" if fair else "nrg")
            np.testing.assert_allclose(table[lead], other.mean(), rtol=1e-6)


def test_a_threshold_below_everything_leaves_the_whole_crps() -> None:
    whole = made([SCORES["crps"]()], {"model": FORECAST})[0]["crps"].sel(model="model", region="all")
    np.testing.assert_allclose(of("twcrps", event=Event("above", -99.0, "anomaly")), whole, rtol=1e-12)
    above, below = (of("twcrps", event=Event(side, 0.3, "anomaly")) for side in ("above", "below"))  # type: ignore[arg-type]  # a literal
    np.testing.assert_allclose(above + below, whole, rtol=1e-12)


def test_ignorance_is_that_of_a_normal_distribution(scoringrules: Any) -> None:
    table = of("ignorance")
    for lead in range(LEADS):
        forecast, observed, _ = cases(lead)
        mean, deviation = forecast.values.mean(1), forecast.values.std(1, ddof=1)
        np.testing.assert_allclose(table[lead], scoringrules.logs_normal(observed.values, mean, deviation).mean(), rtol=1e-6)
        np.testing.assert_allclose(table[lead], -norm.logpdf(observed, mean, deviation).mean(), rtol=1e-12)
    same = GaussianIgnorance().at(Values(np.ones((1, 1, 5)), np.ones((1, 1))))
    assert np.isnan(same).all()  # a density without width has no logarithm


def test_ranks_are_those_of_other_packages(probability: Any, xskillscore: Any) -> None:
    table = of("rank_histogram")
    np.testing.assert_allclose(table.sum("rank"), 1.0, rtol=1e-12)
    for lead in range(LEADS):
        forecast, observed, _ = cases(lead)
        counts = xskillscore.rank_histogram(observed, forecast, dim="case", member_dim="member")
        np.testing.assert_allclose(table[lead], counts / counts.sum(), rtol=1e-6)
        np.testing.assert_allclose(table[lead], probability.rank_histogram(forecast, observed, "member"), rtol=1e-6)
    deviation = of("rank_deviation")
    np.testing.assert_allclose(deviation, abs(table - 1 / (M + 1)).sum("rank"), rtol=1e-12)


def rank(members: list[float], truth: float) -> list[float]:
    at: list[float] = Rank().at(Values(np.array(members).reshape(1, 1, -1), np.array([[truth]])))[0, 0].tolist()
    return at


def test_ties_share_the_rank_equally_and_a_missing_member_widens_the_places_of_the_others() -> None:
    assert rank([1.0, 2.0, 3.0], 0.0) == [1.0, 0.0, 0.0, 0.0]
    assert rank([3.0, 1.0, 2.0], 2.5) == [0.0, 0.0, 1.0, 0.0]
    assert rank([1.0, 2.0, 2.0], 2.0) == pytest.approx([0.0, 1 / 3, 1 / 3, 1 / 3])
    assert rank([1.0, np.nan, np.nan], 0.0) == pytest.approx([0.5, 0.5, 0.0, 0.0])  # below the only member: the lower half
    assert rank([1.0, 2.0, np.nan], 1.5) == pytest.approx([0.0, 0.5, 0.5, 0.0])  # the middle third of four places


@pytest.mark.parametrize("event", [HOT, COLD, RARE])
@pytest.mark.parametrize("bins", [4, 10])
def test_the_components_add_up_to_the_brier_score(event: Event, bins: int) -> None:
    parts = of("brier_components", event=event, bins=bins)
    signs = xr.DataArray([1, -1, 1], coords={"component": ["reliability", "resolution", "uncertainty"]})
    np.testing.assert_allclose((signs * parts).sum("component"), of("brier", event=event, fair=False), rtol=1e-12)
    for lead in range(LEADS):
        said, occurred = events_of(event, lead)
        often = float(occurred.mean())
        assert float(parts[lead].sel(component="uncertainty")) == pytest.approx(often * (1 - often))
        resolution = 0.0
        for p in np.unique(said.mean("member")):
            inside = occurred.values[said.mean("member").values == p]
            resolution += len(inside) / occurred.size * (inside.mean() - often) ** 2
        if bins > M:  # a bin holds one probability, and the decomposition is that of Murphy (1973)
            assert float(parts[lead].sel(component="resolution")) == pytest.approx(resolution)


def test_bins_hold_their_lower_edge_and_the_last_holds_one() -> None:
    for m in (1, 3, 10, 20, 51):
        members = (np.arange(m) < np.arange(m + 1)[:, None]).astype(float).reshape(m + 1, 1, m)  # of k members out of m, for each k
        table = Binned(Event("above", 0.5), 10, "share").at(Values(members, np.zeros((m + 1, 1))))[:, 0]
        exact = [min(10 * k // m, 9) for k in range(m + 1)]
        assert table.argmax(1).tolist() == exact
        assert (table.sum(1) == 1).all()


def test_the_index_for_rare_events_is_made_of_the_contingency_table() -> None:
    table = of("sedi", event=RARE)
    for lead in range(LEADS):
        forecast, observed, there = cases(lead)
        edge = edge_of(RARE, lead, there)
        said, occurred = forecast.mean("member") > edge, observed > edge
        h, f = float((said & occurred).sum() / occurred.sum()), float((said & ~occurred).sum() / (~occurred).sum())
        logs = [np.log(each) for each in (f, h, 1 - f, 1 - h)]
        assert float(table[lead]) == pytest.approx((logs[0] - logs[1] - logs[2] + logs[3]) / sum(logs), rel=1e-10)


def test_scores_that_are_quotients_weigh_by_area() -> None:
    area = np.cos(np.deg2rad(COORDS["latitude"]))[:, None] + np.zeros((3, 4))
    field, scores = FIELD._replace(area=area / area.sum()), [SCORES[name](event=HOT) for name in OF_EVENTS]
    table = made(scores, {"model": FORECAST}, field=field)[0].sel(model="model", region="north").isel(lead_time=0)
    there = np.isfinite(TRUTH[:, 0]) & (COORDS["latitude"] > -1)[:, None]
    weight = np.broadcast_to(area, there.shape)[there]
    p, o = (FORECAST[:, 0] > 1).mean(1)[there], (TRUTH[:, 0] > 1)[there]
    loss = np.average((p - o) ** 2 - p * (1 - p) / (M - 1), weights=weight)
    often = np.average(o, weights=weight)
    assert float(table.brier_skill) == pytest.approx(1 - loss / (often * (1 - often)))
    assert float(table.roc.sel(rate="hit_rate", bin_of_10=0.5)) == pytest.approx((weight * o * (p >= 0.5)).sum() / (weight * o).sum())
    inside = (p >= 0.2) & (p < 0.3)
    assert float(table.reliability.sel(curve="observed", bin_of_10=0.2)) == pytest.approx(np.average(o[inside], weights=weight[inside]))


WHOLE = np.where(np.isnan(TRUTH), 0.1, TRUTH)


def test_a_perfect_forecast_has_the_best_value_of_every_score() -> None:
    table = made([SCORES[name](event=HOT) for name in OF_EVENTS], {"model": np.repeat(WHOLE[:, :, None], 4, axis=2)}, WHOLE)[0]
    for name, best in {"brier": 0.0, "brier_skill": 1.0, "roc_area": 1.0, "twcrps": 0.0}.items():
        np.testing.assert_allclose(table[name], best, atol=1e-12)
    parts = table.brier_components
    np.testing.assert_allclose(parts.sel(component="reliability"), 0.0, atol=1e-12)
    np.testing.assert_allclose(parts.sel(component="resolution"), parts.sel(component="uncertainty"), rtol=1e-12)
    assert table.sedi.isnull().all()  # by its formula it has none
    assert of("rpss", np.repeat(WHOLE[:, :, None], 4, axis=2), WHOLE).values == pytest.approx(1.0)


def test_a_forecast_that_knows_the_climate_alone_has_no_skill() -> None:
    shape = (4000, 1, 2, 3, 4)
    climate = 1.28 * np.random.default_rng(8).standard_normal((shape[0], 1, 3, 3, 4))
    truth, forecast = climate[:, :, 0], climate[:, :, 1:]
    truth = np.concatenate([truth, truth], axis=1)
    names = ["brier_skill", "rpss", "roc_area", "sedi"]
    scores = [SCORES[name](**({} if name == "rpss" else {"event": HOT})) for name in names]
    table = made(scores, {"model": np.concatenate([forecast, forecast], axis=1)}, truth)[0].sel(region="all")
    for name, none in {"brier_skill": 0.0, "rpss": 0.0, "roc_area": 0.5, "sedi": 0.0}.items():
        np.testing.assert_allclose(table[name], none, atol=0.03)
    unfair = made([SCORES["rpss"](fair=False)], {"model": np.concatenate([forecast, forecast], axis=1)}, truth)[0].sel(region="all")
    np.testing.assert_allclose(unfair.rpss, -1 / 2, atol=0.03)  # of m members, -1 / m


def test_a_useless_forecast_is_told_apart() -> None:
    wrong = np.repeat(-WHOLE[:, :, None], 4, axis=2)
    assert (of("roc_area", wrong, WHOLE, event=Event("above", 0.0, "anomaly")) < 1e-12).all()
    assert (of("brier_skill", wrong, WHOLE, event=Event("above", 0.0, "anomaly")) < -2).all()  # always sure, always wrong: 1 - 1 / 0.25
    assert (of("rpss", wrong, WHOLE) < -0.5).all()
    assert (of("sedi", np.roll(FORECAST, 7, axis=0), event=HOT).values < 0.3).all()


@pytest.mark.parametrize("m", [2, 5, 9])
def test_fair_scores_expect_the_same_of_any_number_of_members(m: int) -> None:
    """Exactly, over all ensembles that can be drawn: p = 0.3 of the event, which occurs with 0.4, has (0.3 - 0.4)^2 + 0.4 0.6."""
    brier = spread = 0.0
    event = Event("above", 0.5, "anomaly")
    for k in range(m + 1):
        chance = comb(m, k) * 0.3**k * 0.7 ** (m - k)
        members = (np.arange(m) < k).astype(float).reshape(1, 1, m)
        for occurs, often in ((1.0, 0.4), (0.0, 0.6)):
            values = Values(members, np.array([[occurs]]))
            (fair,) = SCORES["brier"](event=event).statistics
            brier += chance * often * float(fair.at(values)[0, 0])
            spread += chance * often * float(FairTailCrps(event).at(values)[0, 0])
    assert brier == pytest.approx(0.1**2 + 0.4 * 0.6)
    assert spread == pytest.approx(0.5 * (0.1**2 + 0.4 * 0.6))  # the integral of the Brier score over thresholds from 0.5 to 1


def test_members_that_are_missing_are_left_out() -> None:
    gappy, event = np.array([1.0, 2.0, 3.0, np.nan]).reshape(1, 1, 4), Event("above", 1.5, "anomaly")
    there, truth = gappy[:, :, :3], np.array([[1.8]])
    for name in ("brier", "reliability", "ignorance", "twcrps", "sedi"):
        score = SCORES[name](**({"event": event} if name in OF_EVENTS else {}))
        for each in score.statistics:
            np.testing.assert_allclose(each.at(Values(gappy, truth)), each.at(Values(there, truth)), rtol=1e-12)


def test_ensembles_of_any_size_and_a_single_forecast_stand_side_by_side() -> None:
    scores = [each() for name, each in SCORES.items() if name in (*OF_EVENTS, "rank_histogram", "rank_deviation", "ignorance", "rpss")]
    table, maps = made(scores, {"large": np.concatenate([FORECAST] * 3, axis=2), "small": FORECAST, "single": FORECAST[:, :, :1]})
    assert table.rank_histogram.sizes["rank"] == 3 * M + 1
    assert (table.rank_histogram.sel(model="small")[..., M + 1 :] == 0).all()
    assert table.rank_histogram.sel(model="single").isnull().all()
    for name in ("brier", "brier_skill", "rpss", "twcrps", "rank_deviation", "ignorance"):
        assert table[name].sel(model="single").isnull().all()
        assert table[name].sel(model=["large", "small"]).notnull().all()
    for name in ("reliability", "roc", "roc_area", "sedi", "brier_components"):
        assert table[name].sel(model="single").notnull().any()
    assert {"brier", "brier_skill", "rpss", "twcrps", "sedi", "ignorance"} == {name for name in maps if name != "n_starts"}
    assert table.brier.attrs["event"] == "above the anomaly 0"


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("brier", {"event": Event("above", 1.2, "quantile")}, "the quantile 1.2 is not between 0 and 1"),
        ("sedi", {"event": Event("above", float("nan"))}, "is not a number"),
        ("roc", {"bins": 1}, "bins: 1; give 2 or more"),
        ("rpss", {"categories": 1}, "give 2 or more, 3 for terciles"),
    ],
)
def test_settings_that_mean_nothing_are_refused(name: str, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        SCORES[name](**settings)
