"""Times of every kind: doubled, unsorted, lacking, irregular, of another clock, and forecasts that may be a lead early or late."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ensemble.errors import InputError
from ensemble.scoring import Scored, score_files
from ensemble.task import Array, Times, shift
from tests.front.manner import FEW, PLAIN, agree, but, count, score, value, world, written
from tests.prepare.layouts import DAILY, MONTHLY, SUBDAILY, YEARLY, Forecast, climpred_after, climpred_at, forecast, numbers

MONTH, YEAR, DAY, SIX = np.timedelta64(1, "M"), np.timedelta64(1, "Y"), np.timedelta64(1, "D"), np.timedelta64(6, "h")
few = settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@few
@given(seed=st.integers(0, 2**16))
def test_any_order_in_time_is_the_same_record(seed: int, tmp_path: Path) -> None:
    of, rng = world(), np.random.default_rng(seed)
    truth, model = written(of.truth, of, PLAIN), written(of.model, of, PLAIN)
    agree(score(tmp_path, truth.isel(time=rng.permutation(14)), model=model.isel(time=rng.permutation(14))), of)


@pytest.mark.parametrize("which", ["obs", "model"])
def test_equal_copies_of_a_time_count_once_and_different_ones_are_refused(which: str, tmp_path: Path) -> None:
    of = world()
    files = {"obs": written(of.truth, of, PLAIN), "model": written(of.model, of, PLAIN)}
    twice = np.sort(np.append(np.arange(14), [3, 3, 9]))
    files[which] = files[which].isel(time=twice)
    agree(score(tmp_path, files["obs"], model=files["model"]), of)
    files[which]["tas"][{"time": 4}] += 1.0
    with pytest.raises(InputError, match=rf"^{which}\.nc: it holds 2001-04-01 .* different values; set `duplicates: first` or `last`"):
        score(tmp_path, files["obs"], model=files["model"])
    told = {"obs": "data.files", "model": "models.model"}[which]
    agree(score(tmp_path, files["obs"], model=files["model"], more=(f"{told}.duplicates=first",)), of)


@pytest.mark.parametrize("which", ["obs", "model"])
def test_a_gap_is_an_error_and_where_it_is_allowed_it_is_counted(which: str, tmp_path: Path) -> None:
    of = world()
    files = {"obs": written(of.truth, of, PLAIN), "model": written(of.model, of, PLAIN)}
    files[which] = files[which].drop_isel(time=[5, 6])
    with pytest.raises(InputError, match=rf"^{which}\.nc: after 2001-05-01 comes 2001-08-01, .*set `gaps: missing` .*2 in all"):
        score(tmp_path, files["obs"], model=files["model"])
    told = {"obs": "data.files", "model": "models.model"}[which]
    more = (f"{told}.gaps=missing", "sample.missing=keep")
    found = score(tmp_path, files["obs"], model=files["model"], more=more)
    kept = [i for i in range(14) if i not in (5, 6)]
    agree(found, of._replace(truth=of.truth[kept], model=of.model[kept]))
    assert count(found, "n_starts") == 12


@pytest.mark.parametrize("which", ["obs", "model"])
def test_irregular_times_are_named(which: str, tmp_path: Path) -> None:
    times = shift(np.datetime64("2001-01-01", "s"), np.arange(20), SIX)
    files = {"obs": record(np.zeros(20), times), "model": record(np.zeros(20), times)}
    files[which]["time"] = files[which]["time"].copy(data=files[which]["time"].values + (np.arange(20) == 7))
    said = rf"^{which}\.nc: steps of 6 hours are irregular: after 2001-01-02 12:00 comes 2001-01-02 19:00; .*`(time_)?step:`"
    with pytest.raises(InputError, match=said):
        score(tmp_path, files["obs"], model=files["model"])


@pytest.mark.parametrize(("offset", "hours"), [("+02:00", 2.0), ("-5:30", -5.5), ("+0900", 9.0), ("Z", 0.0)])
def test_clocks_ahead_of_utc(offset: str, hours: float, tmp_path: Path) -> None:
    """The same instants counted from a midnight somewhere else."""
    times = shift(np.datetime64("2001-01-01", "s"), np.arange(20), SIX)
    rng = np.random.default_rng(1)
    truth, model = rng.normal(size=(2, 20))
    there = record(model, times)
    there["time"] = ("time", numbers(times, "hours since 1990-01-01") + hours, {"units": f"hours since 1990-01-01 00:00 {offset}"})
    found = score(tmp_path, record(truth, times), model=there)
    assert value(found, "rmse") == pytest.approx(np.sqrt(np.mean((model - truth) ** 2)))
    assert count(found, "n") == 20


def record(values: Array, times: Times, units: str = "K", **attrs: Any) -> xr.Dataset:
    coords = {"time": ("time", numbers(times, "hours since 1990-01-01"), {"units": "hours since 1990-01-01"})}
    return xr.Dataset({"tas": ("time", values, {"units": units, **attrs})}, coords)


def of_leads(written_: Forecast, seed: int, units: str) -> tuple[xr.Dataset, Array]:
    """A truth that reaches every valid time, and the root mean squared error of the mean of the members at each lead."""
    valid = written_.valid
    first, last = valid.min(), valid.max()
    count = int(np.unique(np.concatenate([valid.ravel(), [first, last]])).size)
    times = shift(first, np.arange(2000), written_.step)
    times = times[times <= last]
    assert len(times) >= count
    rng = np.random.default_rng(seed)
    values = rng.random((len(times), 2, 3))
    weight = np.cos(np.deg2rad(written_.latitude))[:, None] * np.ones((2, 3))
    error = written_.values.mean(2) - values[np.searchsorted(times, valid)]
    rmse = np.sqrt((error**2 * weight / weight.sum()).sum((-1, -2)).mean(0))
    coords: dict[str, Any] = {
        "time": ("time", numbers(times, "hours since 1900-01-01"), {"units": "hours since 1900-01-01"}),
        "lat": ("lat", written_.latitude, {"units": "degrees_north"}),
        "lon": ("lon", written_.longitude, {"units": "degrees_east"}),
    }
    return xr.Dataset({"tas": (("time", "lat", "lon"), values, {"units": units})}, coords), rmse


STARTS = {
    "month": (shift(np.datetime64("1999-11-01", "s"), 12 * np.arange(3), MONTH), MONTH, MONTHLY),
    "year": (shift(np.datetime64("1999-01-01", "s"), np.arange(3), YEAR), YEAR, YEARLY),
    "day": (np.array(["2001-01-04", "2002-01-04"], "datetime64[s]"), DAY, DAILY),
    "hours": (np.array(["2001-01-04T06", "2001-01-05T06"], "datetime64[s]"), SIX, SUBDAILY),
}
LAYOUTS = [(name, each) for name, (*_, layouts) in STARTS.items() for each in layouts]


@pytest.mark.parametrize(("steps", "layout"), LAYOUTS, ids=[f"{name}-{each.__name__}" for name, each in LAYOUTS])
def test_one_forecast_in_any_layout_has_the_same_score_at_the_same_lead(steps: str, layout: Any, tmp_path: Path) -> None:
    starts, step, _ = STARTS[steps]
    of = forecast(starts, step, leads=3, members=2)
    files = layout(of, tmp_path)
    truth, rmse = of_leads(of, 5, "kg m-2" if layout.__name__.startswith("s2s") else "K")
    truth.to_netcdf(tmp_path / "truth.nc")
    found = scored(files.paths, tmp_path / "truth.nc", files.settings)
    np.testing.assert_allclose(found.scores["rmse"].sel(model="model").squeeze(), rmse, rtol=1e-9)
    assert (found.scores["n_starts"] == len(starts)).all()


def scored(paths: list[Path], truth: Path, told: dict[str, Any]) -> Scored:
    place = str(paths[0]) if len(paths) == 1 else [str(each) for each in paths]
    settings_ = [FEW] + [f"models.model.{name}={value_}" for name, value_ in told.items()] + [f"models.model.path={place}"]
    return score_files({"model": str(paths[0])}, {"obs": str(truth)}, settings=settings_, show=False)


@pytest.mark.parametrize("layout", [climpred_at, climpred_after])
def test_a_lead_that_may_be_one_or_the_next_is_refused(layout: Any, tmp_path: Path) -> None:
    of = forecast(STARTS["month"][0], MONTH, leads=3, members=2)
    files = layout(of, tmp_path)
    of_leads(of, 5, "K")[0].to_netcdf(tmp_path / "truth.nc")
    with pytest.raises(InputError, match=r"^counted_\w+\.nc: lead 1 may be the month .*`lead_one: at` .*`lead_one: after`"):
        scored(files.paths, tmp_path / "truth.nc", {})


def test_a_lead_and_a_valid_time_that_disagree_are_refused(tmp_path: Path) -> None:
    of = forecast(STARTS["month"][0], MONTH, leads=3, members=2)
    coords = {
        "init_time": ("init_time", numbers(of.init_time, "days since 1950-01-01"), {"units": "days since 1950-01-01"}),
        "forecastMonth": of.leads,
        "valid_time": (("init_time", "forecastMonth"), numbers(of.valid, "days since 1950-01-01") + 45, {"units": "days since 1950-01-01"}),
    }
    data = xr.Dataset({"tas": (("init_time", "forecastMonth", "number", "y", "x"), of.values, {"units": "K"})}, coords)
    data.to_netcdf(tmp_path / "off.nc")
    of_leads(of, 5, "K")[0].to_netcdf(tmp_path / "truth.nc")
    said = r"^off\.nc: from 1999-11-01 forecastMonth 1 is the step of 1999-11-01, and its valid time 1999-12-16 is not"
    with pytest.raises(InputError, match=said):
        scored([tmp_path / "off.nc"], tmp_path / "truth.nc", {})


def test_steps_that_differ_are_refused(tmp_path: Path) -> None:
    of, times = world(3), shift(np.datetime64("2001-01-01", "s"), np.arange(90), DAY)
    with pytest.raises(InputError, match=r"model\.nc: .*steps of 1 day, the data of 1 month; .*`step:`"):
        score(tmp_path, written(of.truth, of, PLAIN), model=record(np.zeros(90), times))


def test_a_day_that_a_calendar_has_not_is_a_gap_and_no_shift(tmp_path: Path) -> None:
    """Daily data of a model without leap years: after 28 February 2004 comes 1 March, on both sides of it day by day."""
    times = shift(np.datetime64("2004-02-25", "s"), np.arange(10), DAY)
    rng = np.random.default_rng(3)
    truth, model = rng.normal(size=(2, 10))
    kept = np.arange(10) != 4
    there = record(model[kept], times[kept])
    there["time"] = ("time", 52 * 365 + 55 + np.arange(9.0), {"units": "days since 1952-01-01", "calendar": "noleap"})
    assert str(times[4])[:10] == "2004-02-29"
    found = score(tmp_path, record(truth, times), model=there, more=("sample.missing=keep",))
    assert value(found, "rmse") == pytest.approx(np.sqrt(np.mean((model - truth)[kept] ** 2)))
    assert count(found, "n_starts") == 9


def test_days_of_a_year_of_360_have_no_dates(tmp_path: Path) -> None:
    times = shift(np.datetime64("2001-01-01", "s"), np.arange(60), DAY)
    model = record(np.zeros(60), times)
    model["time"] = ("time", np.arange(60.0), {"units": "days since 2001-01-01", "calendar": "360_day"})
    with pytest.raises(InputError, match=r"^model\.nc: .*2001-02-29.*360_day"):
        score(tmp_path, record(np.zeros(60), times), model=model)


UNCLEAR = [("fortnights since 2001-01-01", "fortnight"), ("days since the flood", "the flood"), ("days", "set `time_units:`")]


@pytest.mark.parametrize(("units", "cure"), UNCLEAR)
def test_times_that_cannot_be_understood_are_named(units: str, cure: str, tmp_path: Path) -> None:
    of = world(3)
    model = written(of.model, of, PLAIN)
    model["time"].attrs = {"units": units}
    with pytest.raises(InputError, match=rf"^model\.nc: .*{cure}"):
        score(tmp_path, written(of.truth, of, PLAIN), model=model)


@pytest.mark.parametrize("which", ["obs", "model"])
def test_units_and_calendars_of_time_that_are_not_written_can_be_told(which: str, tmp_path: Path) -> None:
    of = world()
    files = {"obs": written(of.truth, of, PLAIN), "model": written(of.model, of, PLAIN)}
    files[which]["time"] = ("time", 30.0 * np.arange(14) + 20)
    told = {"obs": "data.files", "model": "models.model"}[which]
    more = (f"{told}.time_units=days since 2001-01-01", f"{told}.calendar=360_day")
    agree(score(tmp_path, files["obs"], model=files["model"], more=more), of)


def test_a_single_time_has_the_step_of_the_truth(tmp_path: Path) -> None:
    of = world()
    alone = written(of.model, of, PLAIN).isel(time=[6])
    found = score(tmp_path, written(of.truth, of, PLAIN), model=alone)
    agree(found, of._replace(truth=of.truth[[6]], model=of.model[[6]]))
    (run,) = found.runs.values()
    assert any((each.what, each.done) == ("step", "1 month, as of the truth") for each in run.notes)


def test_leads_that_do_not_say_their_step_have_that_of_the_truth(tmp_path: Path) -> None:
    of = forecast(STARTS["month"][0], MONTH, leads=3, members=2)
    files = next(each for each in MONTHLY if each.__name__ == "cstools")(of, tmp_path)
    assert files.settings == {"step": "month"}
    truth, rmse = of_leads(of, 5, "K")
    truth.to_netcdf(tmp_path / "truth.nc")
    found = scored(files.paths, tmp_path / "truth.nc", {})
    np.testing.assert_allclose(found.scores["rmse"].sel(model="model").squeeze(), rmse, rtol=1e-9)


def test_a_file_that_is_written_anew_is_read_anew(tmp_path: Path) -> None:
    of, late = world(), but(PLAIN, stamp="last")
    for more in (0.0, 2.0):
        found = score(tmp_path, written(of.truth, of, PLAIN), model=written(of.model + more, of, late))
        assert value(found, "bias") == pytest.approx(of.scores["bias"] + more)
    shorter = written(of.model[:5], of._replace(truth=of.truth[:5]), PLAIN)
    assert count(score(tmp_path, written(of.truth, of, PLAIN), model=shorter), "n_starts") == 5
