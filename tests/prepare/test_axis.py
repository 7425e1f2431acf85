"""Stamps in any order and of any convention become steps one after the other, or the first bad date is named."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import cftime  # type: ignore[import-untyped]
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.prepare.time.axis import Axis, axis_of, interval_start, step_named, step_of
from ensemble.prepare.time.clock import Dates, dates, ends, later, taken
from ensemble.task import shift

CASES = Path(__file__).parents[2].parent / "shared" / "cases"
CALENDARS = ("standard", "proleptic_gregorian", "julian", "noleap", "all_leap", "360_day")
DAY, MONTH, YEAR = np.timedelta64(1, "D"), np.timedelta64(1, "M"), np.timedelta64(1, "Y")


def case(name: str) -> Any:
    if not CASES.is_dir():
        pytest.skip("the cases of ../shared are not here")
    (path,) = CASES.glob(f"{name}_*.py")
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stamps(values: Any, units: str = "days since 2001-01-01", calendar: str = "standard") -> Dates:
    return dates(xr.Variable(("time",), np.asarray(values), {"units": units, "calendar": calendar}), where="a.nc", notes=[])


def of(text: str, calendar: str = "standard") -> Dates:
    """Dates from a line of text."""
    return dates(xr.Variable(("time",), np.array(text.split()), {"calendar": calendar}), where="a.nc", notes=[])


def axis(found: Dates, bounds: tuple[Dates, Dates] | None = None, notes: list[Finding] | None = None, **given: Any) -> Axis:
    never: Callable[[int, int], bool] = lambda i, j: False  # noqa: E731
    return axis_of(found, bounds, where="a.nc", notes=[] if notes is None else notes, **{"same": never, **given})


def months(first: str, count: int) -> np.ndarray[Any, Any]:
    return shift(np.datetime64(first), np.arange(count), MONTH)


def monthly(count: int, calendar: str = "standard", lag: int = 0) -> Dates:
    """The first of each month, `lag` months after January 2001."""
    return later(stamps([0], calendar=calendar), np.arange(lag, lag + count), "months", where="a.nc")


STEPS = {"1 month": (MONTH, "month"), "3 months": (np.timedelta64(3, "M"), "3 months"), "1 year": (YEAR, "year")}


@given(st.data())
@settings(deadline=None, max_examples=120)
def test_months_and_years_are_recovered_from_any_calendar_order_doubling_and_gaps(data: st.DataObject) -> None:
    calendar = data.draw(st.sampled_from(CALENDARS))
    step, name = STEPS[data.draw(st.sampled_from(sorted(STEPS)))]
    per = int(step.astype("timedelta64[M]").astype(int))
    count = data.draw(st.integers(3, 40))
    kept = [0, *sorted(data.draw(st.sets(st.integers(1, count - 2), max_size=count))), count - 1]
    doubled = data.draw(st.lists(st.sampled_from(kept), max_size=4))
    order = data.draw(st.permutations(kept + doubled))
    begin, end = (later(stamps([0], calendar=calendar), (np.array(order) + ahead) * per, "months", where="a.nc") for ahead in (0, 1))
    held, bounds = data.draw(st.sampled_from([(begin, (begin, end)), (end, (begin, end)), (begin, None)]))
    found = axis(held, bounds, same=lambda i, j: order[i] == order[j], gaps="missing", step=name if bounds is None else None)
    assert (found.times == shift(np.datetime64("2001-01-01"), np.arange(count), step)).all()
    assert found.step == step
    assert found.times.dtype == np.dtype("datetime64[s]")
    for slot, position in enumerate(found.index):
        assert (position == -1) == (slot not in kept)
        assert position == -1 or order[position] == slot


@given(st.data())
@settings(deadline=None, max_examples=120)
def test_fixed_steps_are_recovered_from_any_order_doubling_and_gaps(data: st.DataObject) -> None:
    seconds = data.draw(st.sampled_from([60, 1800, 3600, 10800, 21600, 86400, 5 * 86400, 7 * 86400]))
    phase = data.draw(st.integers(0, 86399)) if seconds % 86400 else 0
    count = data.draw(st.integers(4, 60))
    kept = [0, 1, *sorted(data.draw(st.sets(st.integers(2, count - 2), max_size=count))), count - 1]
    order = data.draw(st.permutations(kept + data.draw(st.lists(st.sampled_from(kept), max_size=4))))
    begin = stamps(np.array(order) * seconds + phase, "seconds since 2003-12-25")
    end = later(begin, seconds, "seconds", where="a.nc")
    middle = later(begin, seconds // 2, "seconds", where="a.nc")
    held, bounds, stamp = data.draw(
        st.sampled_from(
            [
                *((each, (begin, end), None) for each in (begin, middle, end)),
                *((each, None, stamp) for each, stamp in ((begin, "start"), (middle, "middle"), (end, "end"), (begin, None))),
            ]
        )
    )
    word = {60: "minute", 1800: "30 minutes", 5 * 86400: "5 days", 7 * 86400: "week", 86400: "day"}.get(seconds, f"{seconds // 3600} hours")
    found = axis(held, bounds, same=lambda i, j: order[i] == order[j], gaps="missing", stamp=stamp, step=word)
    first = np.datetime64("2003-12-25", "s") + np.timedelta64(phase, "s")
    assert (found.times == first + np.arange(count) * np.timedelta64(seconds, "s")).all()
    assert found.step == np.timedelta64(seconds, "s")
    assert (shift(found.times[0], np.arange(count), found.step) == found.times).all()
    assert [order[position] for position in found.index if position >= 0] == kept
    assert found.instant == (bounds is None and stamp is None and seconds % 86400 != 0)


@pytest.mark.parametrize("calendar", CALENDARS)
@pytest.mark.parametrize("days", [0.0, 13.5, 14.0, 15.0, 26.9])
def test_a_stamp_anywhere_in_its_month_is_that_month(calendar: str, days: float) -> None:
    found = axis(later(monthly(24, calendar), days, "days", where="a.nc"))
    assert (found.times == months("2001-01-01", 24)).all()
    assert found.step == MONTH
    assert found.calendar == calendar
    assert not found.instant


@pytest.mark.parametrize("calendar", CALENDARS)
@pytest.mark.parametrize("before", [1, 3600, 43200, 86400])
def test_the_last_day_of_a_month_is_that_month_whatever_its_number(calendar: str, before: int) -> None:
    last = later(monthly(36, calendar, lag=1), -before, "seconds", where="a.nc")
    assert (axis(last).times == months("2001-01-01", 36)).all()


def test_a_stamp_on_a_bound_is_what_its_bounds_or_else_its_setting_say() -> None:
    notes: list[Finding] = []
    begin, end = monthly(24), monthly(24, lag=1)
    assert axis(end, notes=notes).times[0] == np.datetime64("2001-02-01")
    assert "`stamp: end` if they are the end" in notes[-1].done
    assert axis(end, (begin, end)).times[0] == np.datetime64("2001-01-01")
    assert axis(end, stamp="end").times[0] == np.datetime64("2001-01-01")
    assert axis(end, (begin, end), notes, stamp="start").times[0] == np.datetime64("2001-02-01")
    assert notes[-1].done == "taken as the start"


@pytest.mark.parametrize(
    ("text", "stamp", "first", "step"),
    [
        ("2001-01-16 2001-02-15 2001-03-16", "middle", "2001-01", MONTH),
        ("2001-01-31 2001-02-28 2001-03-31", "end", "2001-01", MONTH),
        ("2001-12-31 2002-12-31 2003-12-31", None, "2001-01", YEAR),
        ("2001-07-02 2002-07-02 2003-07-02", None, "2001-01", YEAR),
        ("2001-06-30 2002-07-01 2003-06-30", None, "2001-01", YEAR),
        ("2002-01-01 2003-01-01 2004-01-01", "end", "2001-01", YEAR),
        ("2001-11-01 2002-11-01 2003-11-01", "end", "2000-11", np.timedelta64(12, "M")),
        ("2001-12-01 2002-03-01 2002-06-01", None, "2001-12", np.timedelta64(3, "M")),
        ("2001-01-16 2001-04-16 2001-07-16", "middle", "2000-12", np.timedelta64(3, "M")),
        ("2001-03-01 2001-06-01 2001-09-01", "end", "2000-12", np.timedelta64(3, "M")),
        ("2001-01-01 2001-01-06 2001-01-11", None, "2001-01-01", np.timedelta64(5, "D")),
        ("2001-01-03 2001-01-08 2001-01-13", "middle", "2001-01-01", np.timedelta64(5, "D")),
        ("2001-01-06 2001-01-11 2001-01-16", "end", "2001-01-01", np.timedelta64(5, "D")),
        ("2001-01-02 2001-01-03 2001-01-04", "end", "2001-01-01", DAY),
        ("2001-01-01T12 2001-01-02T12 2001-01-03T12", None, "2001-01-01", DAY),
        ("2001-01-01T06 2001-01-01T12 2001-01-01T18", "end", "2001-01-01T00", np.timedelta64(6, "h")),
        ("2001-01-01T03 2001-01-01T09 2001-01-01T15", "middle", "2001-01-01T00", np.timedelta64(6, "h")),
        ("2001-01-01T00:35 2001-01-01T06:35 2001-01-01T12:35", None, "2001-01-01T00:35", np.timedelta64(360, "m")),
    ],
)
def test_each_stamp_gives_the_beginning_of_its_interval(text: str, stamp: str | None, first: str, step: np.timedelta64) -> None:
    found = axis(of(text), stamp=stamp)
    assert found.times[0] == np.datetime64(first)
    assert (found.times == shift(np.datetime64(first, "s"), np.arange(3), step)).all()
    assert (found.step, np.datetime_data(found.step)[0]) == (step, np.datetime_data(step)[0])


@pytest.mark.parametrize(
    ("begin", "end", "held", "first", "step"),
    [
        ("2001-01-01 2001-02-01", "2001-01-31 2001-02-28", "2001-01-16 2001-02-15", "2001-01", MONTH),  # the last day left out
        ("2001-01-01T12 2001-02-01T12", "2001-01-31T12 2001-02-28T12", "2001-01-31T12 2001-02-28T12", "2001-01", MONTH),
        ("2001-01-01", "2001-02-01", "2001-02-01", "2001-01", MONTH),  # one time is enough
        ("2000-12-01 2001-03-01", "2001-03-01 2001-06-01", "2001-01-16 2001-04-16", "2000-12", np.timedelta64(3, "M")),
        ("2000-11-01 2001-11-01", "2001-11-01 2002-11-01", "2001-05-01 2002-05-01", "2000-11", np.timedelta64(12, "M")),
        ("2001-01-01 2002-01-01", "2002-01-01 2003-01-01", "2001-07-02 2002-07-02", "2001-01", YEAR),
        ("2001-01-01T00 2001-01-02T00", "2001-01-01T18 2001-01-02T18", "2001-01-01T18 2001-01-02T18", "2001-01-01", DAY),
        ("2001-01-01T06 2001-01-02T06", "2001-01-02T06 2001-01-03T06", "2001-01-02T06 2001-01-03T06", "2001-01-01", DAY),
        ("2001-01-01 2001-01-02", "2001-01-01T23:59:59 2001-01-02T23:59:59", "2001-01-01T12 2001-01-02T12", "2001-01-01", DAY),
        (
            "2001-01-01T00 2001-01-01T06",
            "2001-01-01T06 2001-01-01T12",
            "2001-01-01T06 2001-01-01T12",
            "2001-01-01T00",
            np.timedelta64(6, "h"),
        ),
    ],
)
def test_bounds_give_the_interval_and_its_length(begin: str, end: str, held: str, first: str, step: np.timedelta64) -> None:
    found = axis(of(held), (of(begin), of(end)))
    assert found.times[0] == np.datetime64(first)
    assert (found.step, np.datetime_data(found.step)[0]) == (step, np.datetime_data(step)[0])
    assert not found.instant


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2001-01-01/2001-01-01/2001-01-01 2001-02-01/2001-03-01/2001-02-01", "2001-01-01 to 2001-01-01 enclose no time"),
        ("2001-02-01/2001-01-01/2001-01-16 2001-03-01/2001-02-01/2001-02-16", "2001-02-01 to 2001-01-01 enclose no time"),
        ("2001-01-01/2001-02-01/2001-02-16 2001-02-01/2001-03-01/2001-03-16", "do not enclose their stamp 2001-02-16"),
        ("2001-01-01/2001-02-01/2001-01-16 2001-02-01/2001-04-01/2001-02-15", "2001-02-01 to 2001-04-01 are not of 1 month"),
        ("2001-01-16/2001-02-15/2001-02-01 2001-02-16/2001-03-16/2001-03-01", "2001-01-16 to 2001-02-15 enclose no whole months"),
        ("2001-01-01/2001-04-01/2001-02-15 2001-02-01/2001-05-01/2001-03-15", "3 months overlap: after 2001-01-01 comes 2001-02-01"),
        ("2001-01-01/2001-01-02/2001-01-02 2001-01-01/2001-01-03/2001-01-03", "2001-01-01 to 2001-01-03 are not of 1 day"),
    ],
)
def test_bounds_that_cannot_be_are_named(text: str, said: str) -> None:
    begin, end, held = (of(" ".join(each.split("/")[part] for each in text.split())) for part in range(3))
    with pytest.raises(InputError, match=f"a.nc: .*{said}"):
        axis(held, (begin, end))


def test_bounds_of_instants_are_none() -> None:
    held = of("2001-01-01T06 2001-01-01T12")
    assert axis(held, (held, held)).instant


@pytest.mark.parametrize(
    ("text", "given", "said"),
    [
        ("2001-01-16", {}, "2001-01-16 is the only time.*set `step:`, such as `month`"),
        ("2001-01-01 2001-01-02 2001-01-03 2001-01-03T12 2001-01-04 2001-01-05", {}, "2001-01-03 more than once, with different values"),
        (
            "2001-01-01T00 2001-01-01T01 2001-01-01T02 2001-01-01T03:10",
            {},
            "1 hour are irregular: after 2001-01-01 02:00 comes 2001-01-01 03:10",
        ),
        ("2001-01-03 2001-02-20 2001-03-05 2001-04-28", {}, "13 days are irregular: after 2001-01-03 comes 2001-02-20"),
        ("2001-01-16 2001-02-16", {"stamp": "start"}, "2001-01-16 is not the start of an interval of 1 month; set `stamp: middle`"),
        ("2001-01-01 2001-02-01", {"stamp": "midle"}, "stamp: 'midle' is unknown; did you mean middle"),
        ("2001-01-16 2001-04-16 2001-07-16", {}, "2001-01-16 has no bounds and does not tell where it lies"),
        ("2001-01-01T12 2001-01-06T12 2001-01-11T12", {}, "interval of 5 days; set `stamp: start` or `stamp: middle`"),
        ("2001-01-01T00 2001-01-01T06", {"methods": "time: mean"}, "of 6 hours; set `stamp: start` or `stamp: middle` or `stamp: end`"),
        ("2001-01-01 2001-02-01 2001-04-01", {}, "after 2001-02-01 comes 2001-04-01.*1 month; set `gaps: missing` if .* 1 in all"),
        ("2001-01-01 2001-02-01", {"gaps": "fill"}, "gaps: 'fill' is unknown"),
        ("2001-01-01 2001-02-01", {"duplicates": "frist"}, "duplicates: 'frist' is unknown; did you mean first"),
        ("2001-01-01 2001-02-01", {"step": "fortnight"}, "'fortnight' is unknown"),
        ("2001-01-01 2001-02-01", {"step": "0 days"}, "'0 days' is none; write `month`, `6 hours`"),
        ("", {}, "there is no time in it"),
    ],
)
def test_what_is_ambiguous_or_irregular_is_refused_with_its_first_date(text: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as error:
        axis(of(text), **given)
    assert "\n" not in str(error.value)


def test_one_time_with_its_step_given_is_an_axis() -> None:
    found = axis(of("2001-01-16"), step="month")
    assert found.times.tolist() == months("2001-01-01", 1).tolist()
    assert found.step == MONTH


@pytest.mark.parametrize(
    ("methods", "instant"),
    [("", True), ("time: point", True), ("area: mean time: point", True), ("time: mean area: point", None), ("time: lat: lon: mean", None)],
)
def test_values_within_a_day_are_instants_unless_they_say_that_they_are_means(methods: str, instant: bool | None) -> None:
    six = of("2001-01-01T00 2001-01-01T06")
    if instant is None:
        assert not axis(six, methods=methods, stamp="end").instant
        with pytest.raises(InputError, match="set `stamp: start`"):
            axis(six, methods=methods)
    else:
        assert axis(six, methods=methods).instant


def test_snapshots_of_months_are_instants_too() -> None:
    assert axis(monthly(3), methods="time: point").instant
    assert axis(monthly(3), stamp="instant").instant


@pytest.mark.parametrize("keep", ["first", "last"])
def test_copies_that_differ_are_refused_or_the_one_asked_for_is_kept(keep: str) -> None:
    doubled = of("2001-01-02 2001-01-01 2001-01-02 2001-01-03 2001-01-02")
    with pytest.raises(InputError, match="2001-01-02 more than once, with different values; set `duplicates: first` or `last`"):
        axis(doubled)
    notes: list[Finding] = []
    assert axis(doubled, notes=notes, duplicates=keep).index.tolist() == [1, 0 if keep == "first" else 4, 3]
    assert {note.what: note.done for note in notes}["duplicates"] == f"the {keep} is kept"
    assert axis(doubled, notes=notes, same=lambda i, j: True).index.tolist() == [1, 0, 3]
    assert notes[-1].done == "merged"
    assert {note.what: note.done for note in notes}["time order"] == "sorted"


def test_a_year_without_leap_day_has_a_step_without_data_there() -> None:
    notes: list[Finding] = []
    found = axis(stamps(np.arange(3 * 365), calendar="noleap", units="days since 2003-01-01"), notes=notes)
    assert len(found.times) == 3 * 365 + 1
    assert found.times[found.index == -1].astype("datetime64[D]").astype(str).tolist() == ["2004-02-29"]
    assert [note.what for note in notes][-1] == "calendar"
    six = axis(stamps(np.arange(0, 365, 0.25), calendar="noleap", units="days since 2004-01-01"))
    assert (six.index == -1).sum() == 4


def test_a_gap_in_a_calendar_without_leap_days_is_a_gap_all_the_same() -> None:
    days = np.delete(np.arange(365), 200)
    with pytest.raises(InputError, match="after 2004-07-19 comes 2004-07-21"):
        axis(stamps(days, calendar="noleap", units="days since 2004-01-01"))


def test_leap_days_of_common_years_are_left_out() -> None:
    notes: list[Finding] = []
    found = axis(stamps(np.arange(2 * 366), calendar="all_leap", units="days since 2003-01-01"), notes=notes)
    assert len(found.times) == 365 + 366
    assert found.index.tolist() == [day for day in range(2 * 366) if day != 59]
    assert "left out" in [note.done for note in notes]


def test_days_of_a_year_of_360_are_refused_where_they_are_no_dates() -> None:
    with pytest.raises(InputError, match=r"2001-02-29 of the 360_day calendar is no date.*monthly means"):
        axis(stamps(np.arange(360), calendar="360_day"))
    found = axis(stamps(np.arange(120, 240), calendar="360_day"))  # May to August
    assert found.times[found.index == -1].astype("datetime64[D]").astype(str).tolist() == ["2001-05-31", "2001-07-31"]


def test_pentads_without_leap_days_do_not_fit_a_leap_year() -> None:
    with pytest.raises(InputError, match="5 days of the noleap calendar"):
        axis(stamps(np.arange(0, 365, 5), calendar="noleap", units="days since 2004-01-01"))


def test_days_of_the_julian_calendar_go_by_their_date() -> None:
    assert axis(stamps(np.arange(400), calendar="julian")).times[0] == np.datetime64("2001-01-01")


@pytest.mark.parametrize(("zone", "utc"), [("+09:00", "2000-12-31T15"), ("-08:00", "2001-01-01T08")])
def test_days_and_months_are_those_of_the_files_clock_and_hours_are_utc(zone: str, utc: str) -> None:
    units = f"hours since 2001-01-01 00:00:00 {zone}"
    assert axis(stamps(np.arange(0, 240, 24), units)).times[0] == np.datetime64("2001-01-01")
    assert axis(stamps(np.array([0, 31, 59, 90]) * 24, units)).times.tolist() == months("2001-01-01", 4).tolist()
    assert axis(stamps(np.arange(0, 240, 6), units)).times[0] == np.datetime64(utc)
    begin, end = (stamps(np.array(each) * 24, units) for each in ([0, 31], [31, 59]))
    assert axis(end, (begin, end)).times.tolist() == months("2001-01-01", 2).tolist()


def test_valid_times_of_any_shape_have_beginnings() -> None:
    starts = taken(monthly(4), (slice(None), None))
    begin, end = (later(starts, np.arange(6) + ahead, "months", where="a.nc") for ahead in (0, 1))
    assert step_of(end, (begin, end), where="a.nc") == MONTH
    found = interval_start(end, (begin, end), MONTH, where="a.nc", notes=[])
    assert (found == shift(months("2001-01-01", 4)[:, None], np.arange(6), MONTH)).all()


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("month", MONTH),
        ("3 months", np.timedelta64(3, "M")),
        ("season", np.timedelta64(3, "M")),
        ("year", YEAR),
        ("10 years", np.timedelta64(10, "Y")),
        ("day", DAY),
        ("week", np.timedelta64(7, "D")),
        ("6 hours", np.timedelta64(6, "h")),
        ("24 hours", DAY),
        ("30 min", np.timedelta64(30, "m")),
    ],
)
def test_a_step_is_named_in_words(name: str, step: np.timedelta64) -> None:
    found = step_named(name, where="recipe")
    assert (found, np.datetime_data(found)[0]) == (step, np.datetime_data(step)[0])


def read(path: Path, name: str, **given: Any) -> tuple[Axis, list[Finding]]:
    """The axis of the first variable that lies along the time of a file."""
    notes: list[Finding] = []
    engine = "zarr" if path.suffix == ".zarr" else None
    with xr.open_dataset(path, engine=engine, decode_times=False) as data:
        time = data["time"]
        bounds = ends(data[time.attrs["bounds"]], time, where=path.name, notes=notes) if "bounds" in time.attrs else None
        values = data[name].values
        found = axis_of(
            dates(time, where=path.name, notes=notes),
            bounds,
            where=path.name,
            notes=notes,
            same=lambda i, j: bool(np.array_equal(values[i], values[j])),
            methods=data[name].attrs.get("cell_methods", ""),
            **given,
        )
    return found, notes


def test_case_01_three_calendars_have_the_same_twenty_four_months(tmp_path: Path) -> None:
    module = case("01")
    found = [read(path, "tas")[0] for path in module.make(tmp_path).values()]
    assert [each.calendar for each in found] == ["standard", "360_day", "noleap"]
    for each in found:
        assert each.times.tolist() == months("2003-01-01", module.EXPECT["n_times"]).tolist()
        assert each.index.tolist() == list(range(24))


def test_case_02_six_hundred_months_to_the_year_2299(tmp_path: Path) -> None:
    expect = case("02").EXPECT
    for path in case("02").make(tmp_path).values():
        times = read(path, "tas")[0].times.astype("datetime64[M]").astype(str)
        assert (len(times), times[0], times[-1]) == (expect["n_times"], expect["first_month"], expect["last_month"])
        assert sum(each.startswith("2263") for each in times) == expect["n_months_in_2263"]


def test_case_12_a_run_stamped_at_the_end_is_dated_by_its_bounds(tmp_path: Path) -> None:
    files = case("12").make(tmp_path)
    for role in ("obs", "model_run"):
        assert read(files[role], "tas")[0].times.tolist() == months("2001-01-01", 24).tolist()
    with xr.open_dataset(files["hindcast"], decode_times=False) as data:
        valid = data["valid_time"]
        bounds = ends(data["valid_time_bnds"], valid, where="hindcast.nc", notes=[])
        begin = interval_start(dates(valid, where="h", notes=[]), bounds, MONTH, where="hindcast.nc", notes=[])
    assert begin[0].astype("datetime64[M]").astype(str).tolist() == case("12").EXPECT["target_months_of_first_start"]


def test_case_14_doubled_and_unsorted_hours_are_named_and_cured(tmp_path: Path) -> None:
    module = case("14")
    files = module.make(tmp_path)
    with pytest.raises(InputError, match=r"dataset\.nc: it holds 2010-02-01 18:00 more than once, with different values"):
        read(files["dataset"], "t2m")
    hours, values = module._raw()
    for keep, right in (("first", 0.0), ("last", 5.0)):
        found, notes = read(files["dataset"], "t2m", duplicates=keep)
        assert len(found.times) == module.EXPECT["n_distinct"]
        assert (found.times == np.datetime64("2010-02-01") + np.arange(25) * np.timedelta64(1, "h")).all()
        assert hours[found.index].tolist() == list(range(25))
        assert values[found.index][18] == pytest.approx(module._truth(18) + right)
        assert [note.found for note in notes if note.done == "merged"] == ["2010-02-01 12:00 more than once, with equal values"]
    starts, _ = read(files["starts"], "t2m")
    assert starts.times.astype("datetime64[m]").astype(str).tolist() == module.EXPECT["starts_read_back"]
    assert (shift(starts.times[0], np.arange(8), starts.step) == starts.times).all()


@pytest.mark.parametrize(
    ("name", "count", "first", "step"),
    [
        ("XRO_indices_oras5.nc", 552, "1979-01-01", MONTH),
        ("cobe_sst2/year2000.nc", 12, "2000-01-01", MONTH),
        ("decadal/ERSSTv4.global.mean.nc", 61, "1955-01-01", YEAR),
        ("ncep_slp_natl_daily_2001_2010.nc", 3652, "2001-01-01", DAY),
    ],
)
def test_real_files_have_their_axis(name: str, count: int, first: str, step: np.timedelta64) -> None:
    path = CASES.parent / "data" / name
    if not path.exists():
        pytest.skip("the data of ../shared are not here")
    with xr.open_dataset(path, decode_times=False) as data:
        found = axis(dates(data["time"], where=path.name, notes=[]))
    assert (len(found.times), found.times[0], found.step) == (count, np.datetime64(first), step)
    assert found.index.tolist() == list(range(count))


def test_dates_of_cftime_make_an_axis() -> None:
    held = np.array([cftime.datetime(2001, month, 30 if month != 2 else 28, calendar="noleap") for month in range(1, 13)])
    assert axis(dates(xr.Variable(("time",), held), where="a.nc", notes=[])).times.tolist() == months("2001-01-01", 12).tolist()
