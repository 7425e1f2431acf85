"""Scores of groups of starts are the scores of those starts, by numpy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from ensemble.errors import InputError
from ensemble.grouping import grouped, middles
from ensemble.parts import Damping
from ensemble.score import SCORES, Means
from ensemble.score.groups import GROUPINGS, groups
from ensemble.study import Study
from ensemble.task import Array, Period, Times, Window, shift
from ensemble.testing import basin_study
from tests.significance.series import means as sums_of

MONTH, DAY = np.timedelta64(1, "M"), np.timedelta64(1, "D")
STARTS = shift(np.datetime64("2001-11-01"), np.arange(26), MONTH)  # November 2001 to December 2003
SHAPE = (2, len(STARTS), 3, 2)  # model, start, lead, region
RANDOM = np.random.default_rng(11)
F, T = RANDOM.standard_normal((2, *SHAPE, 5))  # five points each
T = np.broadcast_to(T[:1], T.shape)
COUNT = np.full(SHAPE, 5)
COUNT[:, 4] = 0  # a start that nothing counts of
COUNT[:, :, 2, 1] = np.where(np.arange(26) % 12 == 1, 0, 5)  # a region without its December starts at the last lead
SEASON = {12: "DJF", 1: "DJF", 2: "DJF", 3: "MAM", 4: "MAM", 5: "MAM", 6: "JJA", 7: "JJA", 8: "JJA", 9: "SON", 10: "SON", 11: "SON"}
STUDY = basin_study(model=Damping())
NAMES = ["rmse", "mae", "bias", "centred_rmse", "acc", "index_correlation", "msss"]


def sums() -> Means:
    values = {"SquaredError": (F - T) ** 2, "AbsoluteError": abs(F - T), "Error": F - T}
    values |= {"Forecast": F, "Truth": T, "SquaredForecast": F**2, "SquaredTruth": T**2, "Product": F * T}
    made = {name: each.mean(-1) * COUNT for name, each in values.items()}
    found = sums_of(COUNT.astype(float), STARTS, **made)
    return replace(found, sums=found.sums.assign(n=(found.weight.dims, COUNT)).assign_coords(model=["climatology", "damping"]))


LIKE = xr.Dataset({name: xr.DataArray(0.0, attrs={"units": "K"}) for name in [*NAMES, "n", "n_starts"]})


def study(**changes: object) -> Study:
    return replace(STUDY, scores=tuple(SCORES[name]() for name in NAMES), **changes)  # type: ignore[arg-type]


def table(by: str) -> xr.Dataset:
    return grouped(study(), sums(), by, LIKE)


def months(valid: bool) -> Array:
    """(start, lead) as year, month of the start or of what verifies, counted by hand."""
    first = 2001 * 12 + 10 + np.arange(26)[:, None] + (np.arange(3) if valid else np.zeros(3, int))
    return np.stack([first // 12, first % 12 + 1], -1)


def label(by: str, year: int, month: int) -> object:
    return {"month": month, "season": SEASON[month], "year": year}[by.split("_")[1]]


@pytest.mark.parametrize("by", GROUPINGS)
def test_each_score_of_a_group_is_that_of_its_starts(by: str) -> None:
    found, when = table(by), months(by.startswith("valid"))
    of = np.array([[label(by, *when[start, lead]) for lead in range(3)] for start in range(26)], dtype=object)
    assert set(found[by].values.tolist()) == set(of.ravel().tolist())
    for group in found[by].values.tolist():
        for lead in range(3):
            for region in range(2):
                here = found.sel({by: group}).isel(lead_time=lead, region=region)
                some = np.flatnonzero((of[:, lead] == group) & (COUNT[0, :, lead, region] > 0))
                assert (here["n_starts"] == len(some)).all()
                assert (here["n"] == 5 * len(some)).all()
                check(here, F[:, some, lead, region], T[:, some, lead, region])


def check(here: xr.Dataset, f: Array, t: Array) -> None:
    """(model,) of every score against forecasts and truths (model, start, point)."""
    if not f.shape[1]:
        assert all(here[name].isnull().all() for name in ("rmse", "mae", "bias", "acc", "index_correlation", "msss"))
        return
    mse = ((f - t) ** 2).mean((1, 2))
    np.testing.assert_allclose(here["rmse"], np.sqrt(mse), rtol=1e-12)
    np.testing.assert_allclose(here["mae"], abs(f - t).mean((1, 2)), rtol=1e-12)
    np.testing.assert_allclose(here["bias"], (f - t).mean((1, 2)), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(here["msss"].sel(reference="climatology"), 1 - mse / mse[0], rtol=1e-9, atol=1e-12)
    each = [[np.corrcoef(a, b)[0, 1] for a, b in zip(f[m], t[m], strict=True)] for m in range(2)]
    np.testing.assert_allclose(here["acc"], np.mean(each, axis=1), rtol=1e-9, atol=1e-12)
    if f.shape[1] > 1:
        index = [np.corrcoef(f[m].mean(1), t[m].mean(1))[0, 1] for m in range(2)]
        np.testing.assert_allclose(here["index_correlation"], index, rtol=1e-9, atol=1e-12)
    else:
        assert here["index_correlation"].isnull().all()


def test_groups_are_labelled_in_their_order_and_say_what_they_are() -> None:
    assert table("valid_season")["valid_season"].values.tolist() == ["DJF", "MAM", "JJA", "SON"]
    assert table("start_month")["start_month"].values.tolist() == list(range(1, 13))
    found = table("start_year")
    assert found["start_year"].values.tolist() == [2001, 2002, 2003]
    assert found["start_year"].attrs["long_name"] == "year of the start"
    assert found["rmse"].dims == ("start_year", "model", "lead_time", "region")
    assert found["rmse"].attrs == {"units": "K"}
    assert found.attrs["Conventions"] == "CF-1.11"
    assert "init_time" not in found.coords


def test_a_score_that_needs_each_point_is_left_out_and_named() -> None:
    found = table("start_season")
    assert found.attrs["left_out"] == "centred_rmse"
    assert set(found.data_vars) == {*NAMES, "n", "n_starts"} - {"centred_rmse"}


def test_a_group_without_a_start_that_counts_does_not_appear() -> None:
    data = sums()
    number = GROUPINGS["start_month"].of(STARTS, middles(study(), STARTS))
    none = replace(data, weight=data.weight.where((number != 3).all("lead_time"), 0.0))
    assert set(groups(none, number)) == set(range(1, 13)) - {3}


def test_groups_add_up_to_the_whole() -> None:
    data, rmse = sums(), table("valid_month")
    parts = (rmse["rmse"] ** 2 * rmse["n"]).sum("valid_month") / rmse["n"].sum("valid_month")
    whole = data.sums["SquaredError"].sum("init_time") / data.weight.sum("init_time")
    np.testing.assert_allclose(parts, whole, rtol=1e-12)
    assert int(rmse["n"].sum()) == COUNT.sum()


def test_what_one_group_lacks_does_not_make_another_undefined() -> None:
    """A sum that is undefined, as of a forecast with too few members, is that of its own starts."""
    data = sums()
    broken = data.sums.assign(SquaredError=data.sums["SquaredError"].where(data.sums["init_time"] != STARTS[0]))
    found = grouped(study(), replace(data, sums=broken), "start_year", LIKE)["rmse"]
    assert found.sel(start_year=2001).isnull().all()
    assert found.sel(start_year=[2002, 2003]).notnull().all()


def test_a_window_belongs_to_the_season_of_its_middle() -> None:
    windows = (Window("first", 1, 3), Window("second", 2, 5))
    found = middles(study(lead_times=np.arange(1, 6), windows=windows), STARTS[1:2])  # December 2001: to February, and January to April
    assert found.astype("datetime64[M]").astype(str).tolist() == [["2002-01", "2002-03"]]
    of = GROUPINGS["valid_season"].of(STARTS[1:2], found)
    assert of.values.tolist() == [[0, 1]]


def daily(starts: Times) -> Array:
    made = GROUPINGS["valid_month"].of(starts, middles(replace(STUDY, data=Daily(), **PERIODS), starts))  # type: ignore[arg-type]
    return np.asarray(made.values)


PERIODS = {
    "train": None,
    "validate": None,
    "anomalies": (),
    "test": Period(np.datetime64("2001-01-10", "s"), np.datetime64("2001-12-30", "s")),
    "lead_times": np.array([1, 2, 14]),
}


class Daily(type(STUDY.data)):  # type: ignore[misc]
    """A record of days."""

    @property
    def step(self) -> np.timedelta64:
        return DAY

    @property
    def times(self) -> Times:
        return shift(np.datetime64("2001-01-01"), np.arange(400), DAY)


def test_days_belong_to_the_month_of_their_date() -> None:
    starts = np.array(["2001-01-31", "2001-02-17"], "datetime64[s]")
    assert daily(starts).tolist() == [[1, 2, 2], [2, 2, 3]]


def test_an_unknown_grouping_is_told_the_near_ones() -> None:
    with pytest.raises(InputError, match=r"^by: 'season' is unknown; did you mean .*valid_season"):
        table("season")
    with pytest.raises(InputError, match=r"^by: 'start_moth' is unknown; did you mean start_month"):
        study(by=("start_moth",))
