"""What a file says of time is understood exactly, in every calendar, or refused by name."""

from __future__ import annotations

import datetime
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
from ensemble.prepare.time.calendars import date_of, day_number, exists, month_length
from ensemble.prepare.time.clock import Dates, dates, ends, joined, later, serial, standard, taken, text
from ensemble.task import shift

CASES = Path(__file__).parents[2].parent / "shared" / "cases"
CALENDARS = ("standard", "proleptic_gregorian", "julian", "noleap", "all_leap", "360_day")
MONTH = np.timedelta64(1, "M")


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


def read(values: Any, notes: list[Finding] | None = None, **attrs: Any) -> Dates:
    variable = xr.DataArray(np.asarray(values), dims=("time",), name="time", attrs=attrs)
    return dates(variable, where="obs.nc", notes=[] if notes is None else notes)


def texts(found: Dates) -> list[str]:
    return [text(taken(found, [i])) for i in range(found.year.size)]


def fields(found: Dates) -> list[tuple[int, int, int, int]]:
    second = np.round(found.second)
    return [tuple(map(int, each)) for each in zip(found.year, found.month, found.day, second, strict=True)]  # type: ignore[misc]


@given(st.sampled_from(CALENDARS), st.lists(st.integers(0, 1_200_000), min_size=1, max_size=20))
@settings(deadline=None, max_examples=60)
def test_days_are_those_of_cftime_in_every_calendar(calendar: str, days: list[int]) -> None:
    theirs = cftime.num2date(days, "days since 0001-01-01", calendar)
    first = day_number(np.array(1), np.array(1), np.array(1), calendar)
    ours = date_of(first + np.array(days), calendar)
    assert [tuple(map(int, each)) for each in zip(*ours, strict=True)] == [(each.year, each.month, each.day) for each in theirs]
    assert (day_number(*ours, calendar) == first + np.array(days)).all()
    assert exists(*ours, calendar).all()
    assert month_length(ours[0], ours[1], calendar).tolist()[0] == (21 if _reform(theirs[0], calendar) else theirs[0].daysinmonth)


def _reform(date: Any, calendar: str) -> bool:
    return calendar == "standard" and (date.year, date.month) == (1582, 10)


@given(
    st.sampled_from(CALENDARS),
    st.sampled_from(["days", "hours", "minutes", "seconds", "milliseconds", "microseconds"]),
    st.integers(0, 1_100_000),
    st.integers(0, 86_399),
    st.lists(st.tuples(st.integers(0, 1_100_000), st.integers(0, 86_399)), min_size=1, max_size=20),
)
@settings(deadline=None, max_examples=100)
def test_dates_survive_being_counted_in_any_units_of_any_calendar(
    calendar: str, unit: str, first: int, clock: int, wanted: list[tuple[int, int]]
) -> None:
    since = cftime.num2date(first, "days since 0001-01-01", calendar) + datetime.timedelta(seconds=clock)
    there = [cftime.num2date(day, "days since 0001-01-01", calendar) + datetime.timedelta(seconds=second) for day, second in wanted]
    units = f"{unit} since {since.strftime('%Y-%m-%d %H:%M:%S').strip()}"
    numbers = cftime.date2num(there, units, calendar)
    found = read(numbers, units=units, calendar=calendar)
    assert fields(found) == [(each.year, each.month, each.day, second) for each, (_, second) in zip(there, wanted, strict=True)]
    assert found.calendar == calendar


@pytest.mark.parametrize(
    ("units", "calendar", "number", "right"),
    [
        ("days since 1850-1-1", "standard", 0, "1850-01-01"),
        ("day since 1850-01-01 00:00:0.0", None, 1.5, "1850-01-02 12:00"),
        ("Hours Since 1-1-1 00:00:0.0", "standard", 24 * 365, "0002-01-01"),
        ("hr since 2000-01-01T00:00:00Z", "gregorian", 36, "2000-01-02 12:00"),
        ("minutes since 2000-01-01 00:00 UTC", "proleptic_gregorian", 35, "2000-01-01 00:35"),
        ("s since 1970-01-01", "standard", 951_782_400, "2000-02-29"),
        ("nanoseconds since 1970-01-01", "proleptic_gregorian", 10**18, "2001-09-09 01:46:40"),
        ("weeks since 2001-01-01", "365_day", 52, "2001-12-31"),
        ("days since 1582-10-04", "standard", 1, "1582-10-15"),
        ("days since 1582-10-04", "proleptic_gregorian", 1, "1582-10-05"),
        ("days since 1900-02-28", "julian", 1, "1900-02-29"),
        ("days since 2001-02-28", "366_day", 1, "2001-02-29"),
        ("days since 2001-02-28", "360_day", 2, "2001-02-30"),
        ("days since 0000-01-01", "noleap", 365 * 2000, "2000-01-01"),
        ("months since 1850-01-01", "standard", 4800, "2250-01-01"),
        ("months since 1850-01-15 06:00", "noleap", -1, "1849-12-15 06:00"),
        ("months since 2001-01-01", "standard", 1.5, "2001-02-15"),
        ("months since 2001-01-01", "standard", 0.5, "2001-01-16 12:00"),
        ("years since 1850-07-01", "standard", 3, "1853-07-01"),
        ("years since 0000-01-01", "proleptic_gregorian", 1950.042, "1950-01-16 12:00"),
        ("months since 1960-01-01", "360", 264.0, "1982-01-01"),
        ("months since 1960-01-01", "360", 264.5, "1982-01-16"),
        ("months since 1960-01-01", "360_day", 264.1, "1982-01-04"),
        ("years since 1960-01-01", "360_day", 0.25, "1960-04-01"),
        ("day as %Y%m%d.%f", "standard", 20010131.25, "2001-01-31 06:00"),
        ("month as %Y%m.%f", None, 200101, "2001-01-01"),
    ],
)
def test_each_way_to_count_gives_its_date(units: str, calendar: str | None, number: float, right: str) -> None:
    attrs: dict[str, Any] = {"units": units} | ({} if calendar is None else {"calendar": calendar})
    assert texts(read([number], **attrs)) == [right]


@pytest.mark.parametrize(
    ("zone", "utc", "offset"), [("+09:00", "2000-01-31 15:00", 9), ("-6", "2000-02-01 06:00", -6), ("+0530", "2000-01-31 18:30", 5.5)]
)
def test_an_offset_from_utc_is_taken_off_and_kept_and_said(zone: str, utc: str, offset: float) -> None:
    notes: list[Finding] = []
    found = read([31.0], notes, units=f"days since 2000-01-01 00:00:00 {zone}")
    assert texts(found) == [utc]
    assert float(np.ravel(found.offset)[0]) == offset * 3600
    assert [note.what for note in notes].count("time zone") == 1


@pytest.mark.parametrize("zone", ["", "Z", " UTC", " GMT", " +00:00", " -0"])
def test_utc_by_any_name_is_nothing_to_speak_of(zone: str) -> None:
    notes: list[Finding] = []
    assert texts(read([6], notes, units=f"hours since 2000-01-01 00:00:00{zone}")) == ["2000-01-01 06:00"]
    assert [note.what for note in notes] == ["time"]


def test_the_same_date_is_the_same_however_it_is_held() -> None:
    right = ["2001-02-03", "2299-12-31"]
    held: list[Any] = [
        np.array(right, "datetime64[D]"),
        np.array(right, "datetime64[s]"),
        np.array(right),
        np.array(right).astype("S"),
        np.array(right, object),
        np.array(["20010203", "22991231"]),
        np.array([20010203, 22991231]),
        np.array([20010203.0, 22991231.0]),
        np.array([2001020300, 2299123100]),
        np.array([cftime.datetime(2001, 2, 3, calendar="standard"), cftime.datetime(2299, 12, 31, calendar="standard")]),
        np.array([datetime.datetime(2001, 2, 3), datetime.datetime(2299, 12, 31)]),
        np.array([datetime.date(2001, 2, 3), datetime.date(2299, 12, 31)]),
    ]
    for values in held:
        assert texts(read(values)) == right, values.dtype


def test_text_says_its_time_and_zone() -> None:
    found = read(["2001-02-03T04:05Z", "2001-02-03 04:05:30+01:00", "2001-02"])
    assert texts(found) == ["2001-02-03 04:05", "2001-02-03 03:05:30", "2001-02-01"]
    aware = np.array([datetime.datetime(2001, 2, 3, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))])
    assert texts(read(aware)) == ["2001-02-02 23:00"]


def test_cftime_keeps_its_calendar() -> None:
    found = read(np.array([cftime.datetime(2001, 2, 30, 12, calendar="360_day")]))
    assert texts(found) == ["2001-02-30 12:00"]
    assert found.calendar == "360_day"


@pytest.mark.parametrize(("values", "right"), [([1950, 2020], "1950-01-01"), ([1950.0], "1950-01-01"), ([195002], "1950-02-01")])
@pytest.mark.parametrize("units", ["", "1", "years"])
def test_numbers_that_are_dates_as_they_stand_are_taken_so_and_said(values: list[float], right: str, units: str) -> None:
    notes: list[Finding] = []
    assert texts(read(values, notes, units=units))[0] == right
    assert notes[0].done.startswith("read as ")


@pytest.mark.parametrize(
    ("values", "attrs", "said"),
    [
        ([1, 2, 3], {}, "obs.nc: time begins with 1, and its units '' name no reference date; set `time_units:`"),
        ([1950.5], {}, "begins with 1950.5"),
        ([200113], {}, "begins with 200113"),
        ([1950, 19501], {}, "begins with 1950"),
        ([1e20], {}, "begins with 1e"),
        ([-1950], {}, "begins with -1950"),
        ([1, 2], {"units": "months"}, "units 'months', which name no reference date; set `time_units:`"),
        ([1], {"units": "dayz since 2000-01-01"}, "'dayz' is unknown; did you mean day"),
        ([1], {"units": "days since the flood"}, "'the flood' is no date"),
        ([1], {"units": "days since 2000-02-30"}, "2000-02-30 is no date of the standard calendar"),
        ([1], {"units": "days since 2000-13-01"}, "2000-13-01 is no date"),
        ([1], {"units": "days since 1900-02-29", "calendar": "noleap"}, "1900-02-29 is no date of the noleap calendar"),
        ([1], {"units": "days since 1582-10-10"}, "1582-10-10 is no date"),
        ([1], {"units": "days since 0000-01-01"}, "no year 0; set `calendar: proleptic_gregorian`"),
        ([1], {"units": "days since 2000-01-01", "calendar": "nolep"}, "calendar: 'nolep' is unknown; did you mean noleap"),
        ([1.27], {"units": "months since 2000-01-01"}, "1.27 months after 2000-01-01 is no date of the standard calendar.*360_day"),
        ([1.5], {"units": "months since 2000-01-16"}, "1.5 months after 2000-01-16"),
        ([1], {"units": "months since 2000-01-31"}, "2000-02-31, a day that its month does not have"),
        ([1.0, np.nan], {"units": "days since 2000-01-01"}, "time is missing at 1 of 2 positions, the first is 1"),
        ([9.96921e36], {"units": "days since 2000-01-01"}, "9.96921e\\+36 days.*_FillValue"),
        (["yesterday"], {}, "'yesterday' is no date; write it as"),
        (["2001-02-29"], {}, "2001-02-29 is no date of the proleptic_gregorian calendar"),
        ([True], {"units": "days since 2000-01-01"}, "holds bool, not dates"),
        (np.array(["NaT"], "datetime64[s]"), {}, "missing at 1 of 1"),
        (np.array([None, "2000-01-01"], object), {}, "missing at 1 of 2"),
        (np.array([{}, "2000-01-01"], object), {}, "a dict, which is no date"),
    ],
)
def test_what_says_no_date_is_refused_by_name(values: Any, attrs: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as error:
        read(values, **attrs)
    assert str(error.value).startswith("obs.nc: time")
    assert "\n" not in str(error.value)


def test_dates_of_two_calendars_are_not_one_variable() -> None:
    mixed = np.array([cftime.datetime(2001, 2, 3, calendar=name) for name in ("noleap", "360_day")])
    with pytest.raises(InputError, match="calendars 360_day, noleap"):
        read(mixed)
    with pytest.raises(InputError, match="calendars 360_day and noleap"):
        joined([read(mixed[:1]), read(mixed[1:])], where="a.nc and b.nc")


def test_files_of_one_calendar_by_two_names_are_joined() -> None:
    parts = [read([0, 31], units="days since 2001-01-01", calendar=name) for name in ("gregorian", "proleptic_gregorian", "standard")]
    assert texts(joined(parts, where="f")) == ["2001-01-01", "2001-02-01"] * 3
    early = [read([0], units="days since 1500-01-01", calendar=name) for name in ("proleptic_gregorian", "standard")]
    with pytest.raises(InputError, match="calendars proleptic_gregorian and standard"):
        joined(early, where="f")


def test_settings_stand_in_for_what_a_file_does_not_say() -> None:
    bare = xr.Variable(("time",), [0, 59], {"calendar": "bad"})
    found = dates(bare, where="obs.nc", notes=[], units="days since 2001-01-01", calendar="noleap")
    assert texts(found) == ["2001-01-01", "2001-03-01"]


@given(st.integers(0, 60 * 365 * 24))
@settings(deadline=None, max_examples=50)
def test_hours_counted_in_days_of_single_precision_are_the_hours_meant(hour: int) -> None:
    units = "days since 1950-01-01"
    exact, single = (read((hour + np.arange(24)).astype(float) / 24, units=units) for _ in range(2))
    single = read(((hour + np.arange(24)) / 24).astype(np.float32), units=units)
    assert fields(single) == fields(exact)
    assert (np.diff(serial(single)) == 3600).all()


def test_single_precision_is_said_where_it_matters() -> None:
    notes: list[Finding] = []
    read(np.array([20000.0, 20031.0], np.float32), notes, units="days since 1950-01-01")
    assert len(notes) == 1
    read(np.array([20000 + 1 / 24], np.float32), notes, units="days since 1950-01-01")
    assert notes[1].found == "float32, exact to 169 s"


def test_a_thing_is_said_once() -> None:
    notes: list[Finding] = []
    for _ in range(3):
        read([1.0], notes, units="days since 2000-01-01", calendar="noleap")
    assert notes == [Finding("time", "obs.nc: time", "days since 2000-01-01, noleap")]


@pytest.mark.parametrize("own", [{}, {"units": "hours since 2000-01-01"}])
def test_bounds_are_counted_as_their_stamps_unless_they_say(own: dict[str, str]) -> None:
    stamps = xr.Variable(("time",), [31, 59], {"units": "days since 2000-01-01", "calendar": "noleap"})
    scale = 24 if own else 1
    notes: list[Finding] = []
    begin, end = ends(xr.Variable(("time", "n"), np.array([[0, 31], [31, 59]]) * scale, own), stamps, where="run.nc", notes=notes)
    assert texts(begin) == ["2000-01-01", "2000-02-01"]
    assert texts(end) == ["2000-02-01", "2000-03-01"]


def test_counting_on_broadcasts() -> None:
    starts = read([0, 31], units="days since 2001-01-01", calendar="noleap")
    lead = later(taken(starts, (slice(None), None)), np.array([[0, 1, 13]]), "months", where="f")
    assert lead.month.tolist() == [[1, 2, 2], [2, 3, 3]]
    assert lead.year.tolist() == [[2001, 2001, 2002]] * 2
    assert texts(taken(later(starts, 36, "hours", where="f"), [0])) == ["2001-01-02 12:00"]


@given(st.lists(st.integers(-60_000_000_000, 60_000_000_000), min_size=1, max_size=20))
@settings(deadline=None, max_examples=50)
def test_gregorian_dates_are_those_of_numpy_for_four_thousand_years(seconds: list[int]) -> None:
    times = np.array(seconds, "datetime64[s]")
    found = standard(read(times), where="f")
    assert found.dtype == np.dtype("datetime64[s]")
    assert (found == times).all()


@pytest.mark.parametrize("calendar", CALENDARS)
def test_a_date_is_the_same_date_in_every_calendar_that_has_it(calendar: str) -> None:
    found = read(np.array([cftime.datetime(1999, 2, 28, 6, calendar=calendar), cftime.datetime(2300, 12, 30, calendar=calendar)]))
    assert standard(found, where="f").astype(str).tolist() == ["1999-02-28T06:00:00", "2300-12-30T00:00:00"]


@pytest.mark.parametrize(("calendar", "date"), [("360_day", (2001, 2, 30)), ("all_leap", (2001, 2, 29)), ("julian", (1900, 2, 29))])
def test_a_date_that_the_gregorian_calendar_lacks_is_refused(calendar: str, date: tuple[int, int, int]) -> None:
    found = read(np.array([cftime.datetime(2000, 1, 1, calendar=calendar), cftime.datetime(*date, calendar=calendar)]))
    with pytest.raises(InputError, match=f"f.nc: {date[0]}-02-{date[2]} of the {calendar} calendar is no date of the Gregorian one"):
        standard(found, where="f.nc")


def test_empty_stamps_are_no_error_of_the_clock() -> None:
    assert standard(read(np.array([], np.int64), units="days since 2000-01-01"), where="f").size == 0


def test_case_02_all_six_hundred_months_are_dated_in_days_and_in_months(tmp_path: Path) -> None:
    right = shift(np.datetime64("2250-01-01"), np.arange(600), MONTH)
    for path in case("02").make(tmp_path).values():
        with xr.open_dataset(path, decode_times=False) as data:
            found = standard(dates(data["time"], where=path.name, notes=[]), where=path.name)
        assert (found.astype("datetime64[M]") == right.astype("datetime64[M]")).all()


@pytest.mark.parametrize("suffix", ["nc", "zarr"])
def test_dates_past_2262_are_written_and_read_back(tmp_path: Path, suffix: str) -> None:
    right = shift(np.datetime64("2250-01-01"), np.arange(600), MONTH)
    data = xr.Dataset({"tas": ("time", np.arange(600.0))}, {"time": right})
    assert data["time"].dtype == np.dtype("datetime64[s]")
    place = tmp_path / f"out.{suffix}"
    if suffix == "nc":
        data.to_netcdf(place)
    else:
        data.to_zarr(place, zarr_format=2, consolidated=True)
    with xr.open_dataset(place, engine=None if suffix == "nc" else "zarr", decode_times=False) as again:
        assert (standard(dates(again["time"], where="out", notes=[]), where="out") == right).all()
    coder = xr.coders.CFDatetimeCoder(time_unit="s")
    with xr.open_dataset(place, engine=None if suffix == "nc" else "zarr", decode_times=coder) as again:
        xr.testing.assert_identical(again.load(), data)
