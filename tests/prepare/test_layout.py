"""The same forecast, in whatever layout it was written, has the same starts, leads and values."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.prepare.files.opening import opened
from ensemble.prepare.forecasts.inventory import Reading, hindcast_of
from ensemble.prepare.forecasts.layout import forecast_roles
from ensemble.prepare.forecasts.table import Hindcast, read
from ensemble.prepare.names import variable_of
from ensemble.prepare.space.grid import spatial
from ensemble.task import Times, shift
from tests.prepare.layouts import DAILY, MONTHLY, SUBDAILY, YEARLY, Forecast, Layout, Written, dcpp, forecast

MONTH, YEAR, DAY, SIX = np.timedelta64(1, "M"), np.timedelta64(1, "Y"), np.timedelta64(1, "D"), np.timedelta64(6, "h")


def hindcast(written: Written, notes: list[Finding] | None = None) -> Hindcast:
    with ExitStack() as stack:
        files = [stack.enter_context(opened(str(path))) for path in written.paths]
        return hindcast_of(
            files, where=[p.name for p in written.paths], notes=[] if notes is None else notes, reading=Reading(**written.settings)
        )


def values(written: Written, held: Hindcast, rows: Any = None, columns: Any = None) -> xr.DataArray:
    @contextmanager
    def at(number: int) -> Any:
        with opened(str(written.paths[number])) as data:
            name = variable_of(data, written.settings.get("variable"), where="")
            yield spatial(data[name], forecast_roles(data, where=""), where="", notes=[])

    rows = np.arange(len(held.init_time)) if rows is None else rows
    return read(held, at, rows, np.arange(len(held.lead_time)) if columns is None else columns)


def check(layout: Layout, written: Forecast, folder: Path) -> None:
    made = layout(written, folder)
    held = hindcast(made)
    assert held.init_time.tolist() == written.init_time.tolist(), layout.__name__
    assert held.lead_time.tolist() == written.leads.tolist()
    assert held.step == written.step
    found = values(made, held)
    assert found.dims == ("init_time", "lead_time", "member", "latitude", "longitude")
    np.testing.assert_allclose(found.values, written.values, rtol=1e-12, atol=1e-12, err_msg=layout.__name__)


def novembers(count: int = 3) -> Times:
    return shift(np.datetime64("1999-11-01", "s"), 12 * np.arange(count), MONTH)


@pytest.mark.parametrize("layout", [*MONTHLY, dcpp], ids=lambda each: each.__name__)
def test_a_monthly_forecast_is_the_same_in_every_layout(layout: Layout, tmp_path: Path) -> None:
    check(layout, forecast(novembers(), MONTH, leads=5), tmp_path)


@pytest.mark.parametrize("layout", [*YEARLY, dcpp], ids=lambda each: each.__name__)
def test_a_yearly_forecast_is_the_same_in_every_layout(layout: Layout, tmp_path: Path) -> None:
    check(layout, forecast(np.array(["1961-01-01", "1962-01-01", "1966-01-01"], "datetime64[s]"), YEAR), tmp_path)


@pytest.mark.parametrize("layout", DAILY, ids=lambda each: each.__name__)
def test_a_daily_forecast_is_the_same_in_every_layout(layout: Layout, tmp_path: Path) -> None:
    check(layout, forecast(np.array(["2001-02-26", "2002-02-26", "2004-02-26"], "datetime64[s]"), DAY, leads=6), tmp_path)


@pytest.mark.parametrize("layout", SUBDAILY, ids=lambda each: each.__name__)
def test_a_forecast_of_instants_is_the_same_in_every_layout(layout: Layout, tmp_path: Path) -> None:
    check(layout, forecast(np.array(["2020-02-28T06", "2020-02-28T18", "2020-12-31T18"], "datetime64[s]"), SIX, leads=6), tmp_path)


@settings(deadline=None, max_examples=25)
@given(
    layout=st.sampled_from(MONTHLY), start=st.integers(-1200, 1200), every=st.integers(1, 14), count=st.integers(1, 4),
    leads=st.integers(2, 14), members=st.integers(1, 3),
)  # fmt: skip
def test_whatever_the_starts_leads_and_members_of_a_monthly_forecast(
    layout: Layout, start: int, every: int, count: int, leads: int, members: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    starts = shift(np.datetime64("2000-01-01", "s"), start + every * np.arange(count), MONTH)
    check(layout, forecast(starts, MONTH, leads, members), tmp_path_factory.mktemp("any"))


@settings(deadline=None, max_examples=15)
@given(layout=st.sampled_from(DAILY[:-1]), start=st.integers(-20000, 20000), every=st.integers(1, 400), leads=st.integers(2, 40))
def test_whatever_the_starts_and_leads_of_a_daily_forecast(
    layout: Layout, start: int, every: int, leads: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    starts = shift(np.datetime64("2000-01-01", "s"), start + every * np.arange(2), DAY)
    check(layout, forecast(starts, DAY, leads, 2), tmp_path_factory.mktemp("any"))


@pytest.mark.parametrize("layout", [MONTHLY[0], dcpp, MONTHLY[7]], ids=lambda each: each.__name__)
def test_some_starts_and_leads_are_read_alone(layout: Layout, tmp_path: Path) -> None:
    written = forecast(novembers(4), MONTH, leads=6)
    made = layout(written, tmp_path)
    some = values(made, hindcast(made), np.array([3, 1]), np.array([5, 0, 2]))
    np.testing.assert_array_equal(some.values, written.values[[3, 1]][:, [5, 0, 2]])
    assert some["lead_time"].values.tolist() == [6, 1, 3]


def test_an_accumulation_is_read_at_some_leads_alone(tmp_path: Path) -> None:
    written = forecast(np.array(["2001-01-04"], "datetime64[s]"), DAY, leads=6)
    made = DAILY[-2](written, tmp_path)
    np.testing.assert_allclose(values(made, hindcast(made), columns=np.array([4, 0])).values, written.values[:, [4, 0]], rtol=1e-12)


def test_a_lead_counted_from_within_a_year_means_the_same_to_all(tmp_path: Path) -> None:
    start = ("init", [304, 669], {"units": "days since 1960-01-01", "calendar": "noleap"})
    coords = {"init": start, "lead": ("lead", [1, 2, 3], {"units": "years"})}
    xr.Dataset({"tas": (("init", "lead"), np.zeros((2, 3)))}, coords).to_netcdf(tmp_path / "november.nc")
    for answer in ({}, {"lead_one": "at"}, {"lead_one": "after"}):
        held = hindcast(Written([tmp_path / "november.nc"], answer))
        assert ([str(t)[:10] for t in held.init_time], held.lead_time.tolist()) == (["1961-01-01", "1962-01-01"], [1, 2, 3])


# What is ambiguous, or contradicts itself, is refused.


def plain(folder: Path, leads: Any, units: str = "", name: str = "lead", values: Any = None, **coords: Any) -> Written:
    """Monthly, from 1 January 2001 and 1 January 2002."""
    attrs = {"units": units} if units else {}
    start = ("init", [0, 365], {"units": "days since 2001-01-01"})
    data = np.zeros((2, len(leads))) if values is None else np.asarray(values)
    made = xr.Dataset({"tas": (("init", name), data, {"units": "K"})}, {"init": start, name: (name, leads, attrs), **coords})
    path = folder / "plain.nc"
    made.to_netcdf(path)
    return Written([path])


def test_a_bare_lead_is_refused_with_the_setting_that_says_what_it_is(tmp_path: Path) -> None:
    made = plain(tmp_path, [1, 2, 3], "months")
    with pytest.raises(
        InputError, match=r"plain.nc: lead 1 may be the month that begins .* 2001-01-01 .*`lead_one: at`.*`lead_one: after`"
    ):
        hindcast(made)
    at, after = (hindcast(made._replace(settings={"lead_one": each})) for each in ("at", "after"))
    assert at.lead_time.tolist() == after.lead_time.tolist() == [1, 2, 3]
    assert str(at.init_time[0])[:10] == "2001-01-01"
    assert str(after.init_time[0])[:10] == "2001-02-01"


def test_a_lead_without_a_unit_asks_for_the_step(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="write `step: month`"):
        hindcast(plain(tmp_path, [1, 2, 3]))


def test_valid_times_on_the_edge_of_a_month_are_refused_without_bounds(tmp_path: Path) -> None:
    ends = (("init", "lead"), [[31, 59], [396, 424]], {"units": "days since 2001-01-01"})
    made = plain(tmp_path, [1, 2], valid_time=ends)
    with pytest.raises(InputError, match=r"stamped 2001-02-01 without bounds, may be"):
        hindcast(made)
    held = hindcast(made._replace(settings={"lead_one": "at"}))
    assert (str(held.init_time[0])[:10], held.lead_time.tolist()) == ("2001-01-01", [1, 2])


def test_a_valid_time_at_the_end_does_not_move_a_lead_that_says_what_it_is(tmp_path: Path) -> None:
    ends = (("init", "forecastMonth"), [[31, 59], [396, 424]], {"units": "days since 2001-01-01"})
    notes: list[Finding] = []
    held = hindcast(plain(tmp_path, [1, 2], name="forecastMonth", valid_time=ends), notes)
    assert (str(held.init_time[0])[:10], held.lead_time.tolist()) == ("2001-01-01", [1, 2])
    assert any(each.what == "valid_time" and "forecastMonth" in each.done for each in notes)


def test_a_lead_and_a_valid_time_that_mean_different_months_are_refused(tmp_path: Path) -> None:
    late = (("init", "forecastMonth"), [[75, 105], [440, 470]], {"units": "days since 2001-01-01"})
    with pytest.raises(InputError, match=r"forecastMonth 1 is the step of 2001-01-01, and its valid time 2001-03-17 is not"):
        hindcast(plain(tmp_path, [1, 2], name="forecastMonth", valid_time=late))


def test_leads_that_are_no_whole_steps_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"0\.25 steps of 1 month"):
        hindcast(plain(tmp_path, [0.25, 1.25], "months"))


def test_stamps_half_on_the_edge_are_refused(tmp_path: Path) -> None:
    mixed = (("init", "lead"), [[31, 75], [396, 440]], {"units": "days since 2001-01-01"})
    with pytest.raises(InputError, match="add their bounds"):
        hindcast(plain(tmp_path, [1, 2], valid_time=mixed)._replace(settings={"step": "month"}))


def test_starts_without_leads_or_valid_times_are_refused(tmp_path: Path) -> None:
    made = xr.Dataset({"tas": (("init",), [1.0, 2.0])}, {"init": ("init", [0, 365], {"units": "days since 2001-01-01"})})
    made.to_netcdf(tmp_path / "starts.nc")
    with pytest.raises(InputError, match="neither leads nor valid times"):
        hindcast(Written([tmp_path / "starts.nc"]))


def test_an_accumulation_that_falls_is_none(tmp_path: Path) -> None:
    made = plain(tmp_path, [24, 48, 72], "hours", values=[[1.0, 3.0, 2.0]] * 2)._replace(settings={"accumulated": True})
    held = hindcast(made)
    with pytest.raises(InputError, match=r"tas falls by 1 along the lead.*`accumulated: false`"):
        values(made, held)


def test_an_accumulation_may_fall_by_its_rounding_and_a_flux_by_itself(tmp_path: Path) -> None:
    made = plain(tmp_path, [24, 48, 72], "hours", values=[[1.0, 3.0, 2.9999]] * 2)._replace(settings={"accumulated": True})
    assert values(made, hindcast(made)).values[0].ravel().tolist() == [1.0, 2.0, 0.0]
    made = plain(tmp_path, [24, 48, 72], "hours", values=[[-1.0, -3.0, -2.0]] * 2)._replace(settings={"accumulated": True})
    assert values(made, hindcast(made)).values[0].ravel().tolist() == [-1.0, -2.0, 1.0]


def test_an_accumulation_lacks_what_was_before_a_gap(tmp_path: Path) -> None:
    made = plain(tmp_path, [24, 72, 96], "hours", values=[[1.0, 3.0, 4.0]] * 2)._replace(settings={"accumulated": True, "step": "day"})
    held = hindcast(made)
    assert values(made, held, columns=np.array([0, 2])).values[0].ravel().tolist() == [1.0, 1.0]
    with pytest.raises(InputError, match="lead 3 is accumulated since the start, and lead 2 to take off it is not there"):
        values(made, held)


# Starts that are not on the first of their step, and members that are not all of one kind.


def test_a_forecast_issued_in_the_course_of_a_month_is_one_of_the_next(tmp_path: Path) -> None:
    coords = {"forecast_reference_time": ("forecast_reference_time", [24], {"units": "days since 2001-10-01"}), "forecastMonth": [1, 2]}
    xr.Dataset({"t": (("forecast_reference_time", "forecastMonth"), [[1.0, 2.0]])}, coords).to_netcdf(tmp_path / "lagged.nc")
    notes: list[Finding] = []
    held = hindcast(Written([tmp_path / "lagged.nc"]), notes)
    assert (str(held.init_time[0])[:10], held.lead_time.tolist()) == ("2001-11-01", [1, 2])
    assert any("2001-10-25" in each.found and "2001-11-01" in each.done for each in notes)


def test_a_month_that_had_begun_when_the_forecast_was_issued_is_left_out(tmp_path: Path) -> None:
    middle = (("init", "lead"), [[15, 45], [380, 410]], {"units": "days since 2001-01-01"})
    made = plain(tmp_path, [0, 1], valid_time=middle, values=[[1.0, 2.0], [3.0, 4.0]])
    with xr.open_dataset(made.paths[0], decode_times=False) as data:
        late = data.load().assign_coords(init=("init", [9, 374], {"units": "days since 2001-01-01"}))
    late.to_netcdf(made.paths[0])
    notes: list[Finding] = []
    held = hindcast(made, notes)
    assert (str(held.init_time[0])[:10], held.lead_time.tolist()) == ("2001-02-01", [1])
    assert values(made, held).values.ravel().tolist() == [2.0, 4.0]
    assert any("had begun" in each.found for each in notes)


def test_members_that_began_one_after_the_other_are_issued_with_the_last(tmp_path: Path) -> None:
    days = ("realization", [-2.0, -1.0, 0.0], {"units": "days since 2001-01-01", "standard_name": "forecast_reference_time"})
    time = ("time", [15.0, 45.0], {"units": "days since 2001-01-01", "standard_name": "time"})
    coords = {"reftime": days, "time": time, "realization": [0, 1, 2]}
    xr.Dataset({"tas": (("realization", "time"), np.arange(6.0).reshape(3, 2))}, coords).to_netcdf(tmp_path / "lagged.nc")
    made = Written([tmp_path / "lagged.nc"])
    held = hindcast(made)
    assert (str(held.init_time[0])[:10], held.lead_time.tolist(), held.member) == ("2001-01-01", [1, 2], (0, 1, 2))
    assert values(made, held).values[0, :, :].T.ravel().tolist() == list(range(6))


def test_members_of_dcpp_that_began_in_different_months_are_one_forecast(tmp_path: Path) -> None:
    paths = []
    for member, first in enumerate((304, 335)):
        name = f"tas_Amon_X_dcppA-hindcast_s1960-r{member + 1}i1p1f1_gn.nc"
        time = ("time", [first + 15.0, first + 45.0, first + 76.0][: 3 - member], {"units": "days since 1960-01-01", "calendar": "noleap"})
        xr.Dataset({"tas": ("time", np.arange(member, 3.0))}, {"time": time}).to_netcdf(tmp_path / name)
        paths.append(tmp_path / name)
    notes: list[Finding] = []
    held = hindcast(Written(paths), notes)
    assert (str(held.init_time[0])[:10], held.lead_time.tolist(), held.member) == ("1960-12-01", [1, 2], ("r1i1p1f1", "r2i1p1f1"))
    assert values(Written(paths), held).values.tolist() == [[[1.0, 1.0], [2.0, 2.0]]]
    assert any("s1960" in each.found for each in notes)


def test_members_of_many_files_are_counted_and_not_spelt(tmp_path: Path) -> None:
    held = hindcast(Written(sorted(dcpp(forecast(novembers(1), MONTH, 2, 11), tmp_path).paths)))
    assert held.member == tuple(f"r{i}i1p1f1" for i in range(1, 12))


def test_a_file_of_dcpp_that_begins_in_another_year_is_refused(tmp_path: Path) -> None:
    time = ("time", [15, 45], {"units": "days since 1975-01-01"})
    path = tmp_path / "tas_Amon_X_dcppA-hindcast_s1960-r1i1p1f1_gn.nc"
    xr.Dataset({"tas": ("time", [1.0, 2.0])}, {"time": time}).to_netcdf(path)
    with pytest.raises(InputError, match="s1960 begins on 1975-01-01"):
        hindcast(Written([path]))


def sizes(folder: Path, *members: int) -> Written:
    """One file a start, each with its own number of members."""
    paths = []
    for i, count in enumerate(members):
        given = forecast(novembers(len(members))[i : i + 1], MONTH, 2, count, seed=i)
        paths += [MONTHLY[2](given, folder).paths[0].rename(folder / f"start_{i}.nc")]
    return Written(paths)


def test_starts_with_different_members_are_refused_unless_told(tmp_path: Path) -> None:
    made = sizes(tmp_path, 2, 4, 3)
    with pytest.raises(InputError, match=r"1999-11-01 has 2 members, that of 2000-11-01 has 4; write `members: common` for the 2"):
        hindcast(made)
    for choice, members in (("common", (0, 1)), (1, (0,)), ((1,), (1,))):
        held = hindcast(made._replace(settings={"members": choice}))
        assert held.member == members
        found = values(made, held)
        assert np.isfinite(found.values).all()
        np.testing.assert_array_equal(found.values[1], forecast(novembers(1), MONTH, 2, 4, seed=1).values[0][:, list(members)])
    with pytest.raises(InputError, match="fewer than `members: 3`"):
        hindcast(made._replace(settings={"members": 3}))
    with pytest.raises(InputError, match="not every start has the members 2; those that all have are 0, 1"):
        hindcast(made._replace(settings={"members": (0, 2)}))


def test_a_forecast_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    one, two = (MONTHLY[0](forecast(novembers(1), MONTH, seed=seed), tmp_path / f"{seed}") for seed in made_folders(tmp_path, 2))
    with pytest.raises(InputError, match=r"the forecast of 1999-11-01T00:00 is in nmme.nc already"):
        hindcast(Written([*one.paths, *two.paths]))
    held = hindcast(Written([*one.paths], {}))
    assert held.member == (1, 2, 3)


def made_folders(folder: Path, count: int) -> range:
    for i in range(count):
        (folder / f"{i}").mkdir()
    return range(count)


def test_files_that_hold_a_member_each_are_told_so(tmp_path: Path) -> None:
    files = [MONTHLY[1](forecast(novembers(2), MONTH, members=1, seed=i), tmp_path / f"{i}").paths[0] for i in made_folders(tmp_path, 3)]
    with pytest.raises(InputError, match="`members: files`"):
        hindcast(Written(files))
    held = hindcast(Written(files, {"members": "files"}))
    assert held.member == (0, 1, 2)
    found = values(Written(files), held)
    np.testing.assert_array_equal(found.values[:, :, [2]], forecast(novembers(2), MONTH, members=1, seed=2).values)


# A simulation is a forecast of one step from every step.


def test_a_simulation_is_a_forecast_of_one_step(tmp_path: Path) -> None:
    ends = ("time", [31.0, 59.0, 90.0], {"units": "days since 2001-01-01", "calendar": "noleap", "bounds": "time_bnds"})
    bounds = (("time", "nv"), [[0.0, 31.0], [31.0, 59.0], [59.0, 90.0]])
    xr.Dataset({"tas": (("time",), [1.0, 2.0, 3.0]), "time_bnds": bounds}, {"time": ends}).to_netcdf(tmp_path / "run.nc")
    made = Written([tmp_path / "run.nc"], {"variable": "tas"})
    held = hindcast(made)
    assert [str(t)[:7] for t in held.init_time] == ["2001-01", "2001-02", "2001-03"]
    assert held.lead_time.tolist() == [1]
    assert values(made, held).values.ravel().tolist() == [1.0, 2.0, 3.0]


def test_a_simulation_in_pieces_and_members_is_put_together(tmp_path: Path) -> None:
    paths = []
    for member in (1, 2):
        for year in (2, 1):
            time = ("time", np.arange(12) * 30 + 15, {"units": f"days since 200{year}-01-01", "calendar": "360_day"})
            paths.append(tmp_path / f"tas_Amon_X_historical_r{member}i1p1f1_gn_200{year}.nc")
            data = xr.Dataset({"tas": ("time", 100.0 * member + 12 * year + np.arange(12))}, {"time": time})
            data.to_netcdf(paths[-1])
    held = hindcast(Written(paths))
    assert held.member == ("r1i1p1f1", "r2i1p1f1")
    assert held.init_time.tolist() == shift(np.datetime64("2001-01-01"), np.arange(24), MONTH).tolist()
    np.testing.assert_array_equal(values(Written(paths), held).values[:, 0], np.arange(12.0, 36.0)[:, None] + [100.0, 200.0])


def test_the_same_step_of_one_simulation_in_two_files_is_refused_unless_it_is_the_same(tmp_path: Path) -> None:
    for name, last in (("a", 3.0), ("b", 4.0)):
        time = ("time", [15, 45, 75], {"units": "days since 2001-01-01"})
        xr.Dataset({"tas": ("time", [1.0, 2.0, last])}, {"time": time}).to_netcdf(tmp_path / f"{name}.nc")
    made = Written([tmp_path / "a.nc", tmp_path / "b.nc"])
    with pytest.raises(InputError, match="`duplicates: first`"):
        hindcast(made)
    held = hindcast(made._replace(settings={"duplicates": "last"}))
    assert values(made, held).values.ravel().tolist() == [1.0, 2.0, 4.0]
