"""Scores are what their formulas say, written out again by hand."""

import numpy as np
import pytest
import xarray as xr

from ensemble.parts import Damping
from ensemble.score import SCORES, Region, Values, tally
from ensemble.score.evaluate import Labels, evaluate, statistics_of
from ensemble.score.statistics import FairCrps
from ensemble.score.tally import Tally
from ensemble.sums import total
from ensemble.task import Array, Field
from ensemble.testing import basin_study

FIELD = basin_study(model=Damping()).domain.fields["sst"]
REGIONS = {"all": Region(), "north": Region((0.0, 90.0)), "box": Region((-20.0, 10.0), (80.0, 200.0))}
ALL = [score() for score in SCORES.values() if not any(each.levels for each in score().statistics)]  # quantiles: test_quantiles.py
STARTS, LEADS = 9, 2
RANDOM = np.random.default_rng(0)
TRUTH = np.where(FIELD.mask, RANDOM.standard_normal((STARTS, LEADS, 6, 8)), np.nan)
FORECAST = 0.5 * TRUTH[:, :, None] + RANDOM.standard_normal((STARTS, LEADS, 4, 6, 8)) + 0.2


def tallied(forecasts: list[Array], truth: Array = TRUTH, index: slice = slice(None)) -> Tally:
    init_time = np.datetime64("2009-01", "s") + np.arange(STARTS) * np.timedelta64(1, "D")
    values = [Values(each[index], truth[index]) for each in forecasts]
    return tally(init_time[index], values, FIELD, REGIONS, statistics_of(ALL))


def scored(
    forecasts: list[Array], truth: Array = TRUTH, names: tuple[str, ...] = ("climatology", "model")
) -> tuple[xr.Dataset, xr.Dataset]:
    members = tuple(each.shape[2] for each in forecasts)
    labels = Labels(names[-len(forecasts) :], ("external",) * len(forecasts), members, (1, 2), REGIONS, FIELD)
    return evaluate(tallied(forecasts, truth), ALL, labels)


TABLE, MAPS = scored([0.0 * FORECAST[:, :, :1] + 0.1, FORECAST])
MEAN = FORECAST.mean(2)


def by_hand(values: Array, region: str = "all") -> Array:
    """(start, lead, ...) -> (lead,): the mean over starts and the area of a region, point by point."""
    inside, result = REGIONS[region].mask(FIELD), np.zeros(LEADS)
    for lead in range(LEADS):
        top = bottom = 0.0
        for start in range(STARTS):
            for i, j in np.argwhere(inside):
                cosine = np.cos(np.deg2rad(FIELD.coords["latitude"][i]))
                top += cosine * values[start, lead, i, j]
                bottom += cosine
        result[lead] = top / bottom
    return result


@pytest.mark.parametrize("region", REGIONS)
def test_errors_are_weighted_means_over_starts_and_area(region: str) -> None:
    table = TABLE.sel(model="model", region=region)
    np.testing.assert_allclose(table.rmse, np.sqrt(by_hand((MEAN - TRUTH) ** 2, region)), rtol=1e-12)
    np.testing.assert_allclose(table.mae, by_hand(np.abs(MEAN - TRUTH), region), rtol=1e-12)
    np.testing.assert_allclose(table.bias, by_hand(MEAN - TRUTH, region), rtol=1e-12)
    np.testing.assert_allclose(table.spread, np.sqrt(by_hand(FORECAST.var(2, ddof=1), region)), rtol=1e-12)


def test_a_constant_error_has_every_error_score_in_closed_form() -> None:
    table, maps = scored([TRUTH[:, :, None] - 0.75])
    for name in ("rmse", "mae"):
        np.testing.assert_allclose(table[name], 0.75, rtol=1e-12)
        np.testing.assert_allclose(maps[name].values[..., FIELD.mask], 0.75, rtol=1e-12)
    np.testing.assert_allclose(table.bias, -0.75, rtol=1e-12)
    np.testing.assert_allclose(table.centred_rmse, 0.0, atol=1e-7)
    np.testing.assert_allclose(table.acc, 1.0, rtol=1e-9)
    np.testing.assert_allclose(table.index_correlation, 1.0, rtol=1e-9)


def test_the_centred_error_is_without_the_mean_error_of_each_point() -> None:
    error = MEAN - TRUTH
    np.testing.assert_allclose(
        TABLE.centred_rmse.sel(model="model", region="all"), np.sqrt(by_hand((error - error.mean(0)) ** 2)), rtol=1e-12
    )


def test_the_skill_score_compares_with_each_reference_that_was_run() -> None:
    skill = TABLE.msss.sel(reference="climatology", region="all")
    expected = 1 - by_hand((MEAN - TRUTH) ** 2) / by_hand((0.1 - TRUTH) ** 2)
    np.testing.assert_allclose(skill.sel(model="model"), expected, rtol=1e-12)
    np.testing.assert_allclose(skill.sel(model="climatology"), 0.0, atol=1e-15)
    assert TABLE.msss["reference"].values.tolist() == ["climatology"]


def correlation(x: Array, y: Array, weight: Array) -> float:
    x, y = x - np.average(x, weights=weight), y - np.average(y, weights=weight)
    return float((weight * x * y).sum() / np.sqrt((weight * x**2).sum() * (weight * y**2).sum()))


def test_anomaly_correlation_is_in_space_for_each_start() -> None:
    inside = REGIONS["box"].mask(FIELD)
    weight = FIELD.area[inside]
    expected = [[correlation(MEAN[n, k][inside], TRUTH[n, k][inside], weight) for k in range(LEADS)] for n in range(STARTS)]
    np.testing.assert_allclose(TABLE.acc.sel(model="model", region="box"), np.mean(expected, axis=0), rtol=1e-9)
    assert TABLE.acc.sel(model="climatology").isnull().all()  # a forecast that is the same everywhere has none


def test_index_correlation_is_in_time_of_the_mean_of_the_region() -> None:
    inside = REGIONS["box"].mask(FIELD)
    index = [np.average(each[:, :, inside], axis=2, weights=FIELD.area[inside]) for each in (MEAN, TRUTH)]
    expected = [np.corrcoef(index[0][:, k], index[1][:, k])[0, 1] for k in range(LEADS)]
    np.testing.assert_allclose(TABLE.index_correlation.sel(model="model", region="box"), expected, rtol=1e-9)
    assert TABLE.index_correlation.sel(model="climatology").isnull().all()


def crps(members: list[float], truth: float) -> float:
    values = Values(np.array(members).reshape(1, 1, -1), np.array([[truth]]))
    return float(FairCrps().at(values)[0, 0])


def test_the_crps_of_1_2_3_at_1_5_is_five_sixths_less_four_sixths() -> None:
    assert crps([1.0, 2.0, 3.0], 1.5) == pytest.approx(5 / 6 - 4 / 6)
    assert crps([3.0, 1.0, 2.0], 1.5) == pytest.approx(5 / 6 - 4 / 6)


def test_the_fair_crps_is_the_double_sum() -> None:
    expected = np.abs(FORECAST - TRUTH[:, :, None]).mean(2)
    m = FORECAST.shape[2]
    for i in range(m):
        for j in range(m):
            expected = expected - np.abs(FORECAST[:, :, i] - FORECAST[:, :, j]) / (2 * m * (m - 1))
    np.testing.assert_allclose(FairCrps().at(Values(FORECAST, TRUTH)), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(TABLE.crps.sel(model="model", region="all"), by_hand(expected), rtol=1e-10)
    assert TABLE.crps.sel(model="climatology").isnull().all()  # no members


def test_the_fair_crps_of_normal_members_is_that_of_the_normal_distribution() -> None:
    """Of N(0, 1) at 0 and at 1: .2336949773 and .6024413576, whatever the number of members (that is what fair means)."""
    for m in (2, 10):
        members = np.random.default_rng(m).standard_normal((200_000, 1, m))
        for truth, exact in ((0.0, 0.2336949773), (1.0, 0.6024413576)):
            found = FairCrps().at(Values(members, np.full((200_000, 1), truth))).mean()
            assert found == pytest.approx(exact, abs=0.005)


def test_two_halves_together_are_the_whole() -> None:
    whole, halves = tallied([FORECAST]), total([tallied([FORECAST], index=slice(0, 4)), tallied([FORECAST], index=slice(4, None))])
    assert np.array_equal(whole.init_time, halves.init_time)
    for name in whole.by_start:
        np.testing.assert_allclose(halves.by_start[name], whole.by_start[name], rtol=1e-13, atol=1e-15)
    for name in whole.at_points:
        np.testing.assert_allclose(halves.at_points[name], whole.at_points[name], rtol=1e-13, atol=1e-13)
    for field in ("weight", "count", "starts"):
        np.testing.assert_allclose(getattr(halves, field), getattr(whole, field), rtol=1e-14)


def test_a_point_that_is_missing_in_one_model_or_the_truth_counts_for_none() -> None:
    truth, other = TRUTH.copy(), FORECAST.copy()
    i, j = np.argwhere(FIELD.mask)[5]
    truth[2, 0, i, j] = np.nan
    other[7, 1, 0, i, j] = np.nan
    table, maps = scored([FORECAST, other], truth)
    points = int(FIELD.mask.sum())
    assert table.n.sel(region="all").values.tolist() == [[STARTS * points - 1] * 2] * 2
    assert (maps.n_starts[..., i, j] == STARTS - 1).all()
    kept = np.isfinite(truth) & np.isfinite(other.mean(2))
    weight = np.broadcast_to(FIELD.area, truth.shape) * kept
    error = np.where(kept, (MEAN - truth) ** 2, 0.0)
    expected = np.sqrt((weight * error).sum((0, 2, 3)) / weight.sum((0, 2, 3)))
    np.testing.assert_allclose(table.rmse[0].sel(region="all"), expected, rtol=1e-12)
    np.testing.assert_allclose(table.rmse[1].sel(region="all"), expected, rtol=1e-12)


def test_what_is_counted_is_said() -> None:
    points = {name: int(region.mask(FIELD).sum()) for name, region in REGIONS.items()}
    for name, number in points.items():
        assert (TABLE.n.sel(region=name) == STARTS * number).all()
        assert (TABLE.n_starts.sel(region=name) == STARTS).all()
    nothing, _ = scored([FORECAST], np.full_like(TRUTH, np.nan))
    assert (nothing.n == 0).all()
    assert nothing.rmse.isnull().all()  # NaN, loud, and no warning of a division


def test_scores_have_units_and_say_which_value_is_best() -> None:
    assert TABLE.rmse.attrs["units"] == "degC"
    assert TABLE.acc.attrs["units"] == "1"
    assert {score.name: TABLE[score.name].attrs["best"] for score in ALL} == {score.name: score.best for score in ALL}


GLOBE = Field({"latitude": np.array([-10.0, 10.0]), "longitude": np.arange(0.0, 360.0, 30.0)}, np.ones((2, 12), bool), np.ones((2, 12)), {})
WEST = Field({**GLOBE.coords, "longitude": np.arange(-180.0, 180.0, 30.0)}, GLOBE.mask, GLOBE.area, {})


@pytest.mark.parametrize("field", [GLOBE, WEST])
@pytest.mark.parametrize("longitude", [(-60.0, 30.0), (300.0, 30.0), (300.0, 390.0)])
def test_a_region_may_cross_greenwich_and_be_given_either_way_round(field: Field, longitude: tuple[float, float]) -> None:
    inside = Region((0.0, 20.0), longitude).mask(field)
    assert not inside[0].any()
    assert sorted(field.coords["longitude"][inside[1]] % 360) == [0.0, 30.0, 300.0, 330.0]


@pytest.mark.parametrize("longitude", [(0.0, 360.0), (-180.0, 180.0)])
def test_a_region_all_the_way_round_is_the_globe(longitude: tuple[float, float]) -> None:
    assert Region(longitude=longitude).mask(GLOBE).all()


def test_a_region_holds_only_points_with_data_and_its_bounds() -> None:
    field = GLOBE._replace(mask=GLOBE.mask & (GLOBE.coords["longitude"] != 60.0))
    inside = Region((10.0, 10.0), (30.0, 90.0)).mask(field)
    assert np.argwhere(inside).tolist() == [[1, 1], [1, 3]]
    assert (
        Region((5.0, 6.0)).mask(GLOBE._replace(coords={"x": np.arange(2), "y": np.arange(12)})).all()
    )  # a field without a grid is taken whole


def test_the_correlation_at_points_is_that_of_each_point_and_its_table_the_area_mean() -> None:
    expected = np.full((LEADS, *FIELD.mask.shape), np.nan)
    for lead in range(LEADS):
        for i, j in np.argwhere(FIELD.mask):
            expected[lead, i, j] = np.corrcoef(MEAN[:, lead, i, j], TRUTH[:, lead, i, j])[0, 1]
    np.testing.assert_allclose(MAPS.correlation.sel(model="model"), expected, rtol=1e-9)
    at_starts = np.broadcast_to(expected, (STARTS, *expected.shape))
    np.testing.assert_allclose(TABLE.correlation.sel(model="model", region="box"), by_hand(at_starts, "box"), rtol=1e-9)
    assert TABLE.correlation.sel(model="climatology").isnull().all()  # it does not vary


def test_the_deviation_ratio_is_that_of_all_starts_and_points() -> None:
    def variance(values: Array) -> Array:
        return by_hand(values**2) - by_hand(values) ** 2

    expected = np.sqrt(variance(MEAN) / variance(TRUTH))
    np.testing.assert_allclose(TABLE.deviation_ratio.sel(model="model", region="all"), expected, rtol=1e-9)
    assert (TABLE.deviation_ratio.sel(model="climatology") < 1e-7).all()  # it does not vary


def test_the_spread_of_a_reliable_ensemble_is_its_error() -> None:
    m, many = 4, 40
    shape = (many, LEADS, m + 1, *FIELD.mask.shape)
    drawn = np.random.default_rng(5).standard_normal(shape)  # the truth is one more member
    init_time = np.datetime64("2009-01", "s") + np.arange(many) * np.timedelta64(1, "D")
    sums = tally(init_time, [Values(drawn[:, :, 1:], drawn[:, :, 0])], FIELD, REGIONS, statistics_of(ALL))
    table, _ = evaluate(sums, ALL, Labels(("model",), ("external",), (m,), (1, 2), REGIONS, FIELD))
    np.testing.assert_allclose(table.spread_error_ratio.sel(region="all"), 1.0, atol=0.03)
    error, spread = TABLE.rmse.sel(model="model"), TABLE.spread.sel(model="model")
    np.testing.assert_allclose(TABLE.spread_error_ratio.sel(model="model"), np.sqrt(5 / 4) * spread / error, rtol=1e-12)
    assert TABLE.spread_error_ratio.sel(model="climatology").isnull().all()


def test_anomaly_correlation_may_be_left_uncentred() -> None:
    raw = SCORES["acc"](centred=False, name="raw")  # type: ignore[call-arg]  # of the registry only the class is known
    sums = tally(np.arange(STARTS).astype("datetime64[s]"), [Values(FORECAST, TRUTH)], FIELD, REGIONS, raw.statistics)
    table, _ = evaluate(sums, [raw], Labels(("model",), ("external",), (4,), (1, 2), REGIONS, FIELD))
    area = FIELD.area[FIELD.mask]
    f, t = MEAN[..., FIELD.mask], TRUTH[..., FIELD.mask]
    by_start = (f * t) @ area / np.sqrt(((f**2) @ area) * ((t**2) @ area))
    np.testing.assert_allclose(table["raw"].sel(model="model", region="all"), by_start.mean(0), rtol=1e-12)
