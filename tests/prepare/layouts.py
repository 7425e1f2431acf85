"""One forecast, written to files as the centres and the tools of the field write theirs.

Each layout is a function that writes a `Forecast` into a folder and says where, and with which settings it is to be read. Read
back, all of them must be the same forecast.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import cftime  # type: ignore[import-untyped]
import numpy as np
import xarray as xr

from ensemble.task import Array, Times, shift, unit_of

SPACE = ("latitude", "longitude")
WORD = {"M": "month", "Y": "year", "D": "day", "h": "hour"}


class Forecast(NamedTuple):
    """What is in the files: `values` (init_time, lead_time, member, latitude, longitude)."""

    values: Array
    init_time: Times
    step: np.timedelta64
    latitude: Array
    longitude: Array

    @property
    def leads(self) -> Array:
        return np.arange(1, self.values.shape[1] + 1)

    @property
    def members(self) -> int:
        return int(self.values.shape[2])

    @property
    def valid(self) -> Times:
        """(init_time, lead_time): the start of each step."""
        return shift(self.init_time[:, None], self.leads - 1, self.step)


class Written(NamedTuple):
    paths: list[Path]
    settings: dict[str, Any] = {}  # noqa: RUF012  # never changed


def forecast(init_time: Any, step: np.timedelta64, leads: int = 4, members: int = 3, seed: int = 0) -> Forecast:
    """Numbers that are all different, none below zero."""
    values = np.random.default_rng(seed).random((len(init_time), leads, members, 2, 3))
    return Forecast(values, np.asarray(init_time).astype("datetime64[s]"), step, np.array([-10.0, 20.0]), np.array([0.0, 120.0, 240.0]))


def numbers(times: Times, units: str, calendar: str = "proleptic_gregorian") -> Array:
    """Dates as numbers of a calendar that has them all."""
    flat = [cftime.datetime(t.year, t.month, t.day, t.hour, calendar=calendar) for t in times.ravel().astype("datetime64[s]").tolist()]
    made: Array = np.asarray(cftime.date2num(flat, units, calendar=calendar), float).reshape(times.shape)
    return made


def dated(
    times: Times, dims: Any, calendar: str = "proleptic_gregorian", units: str = "days since 1950-01-01", **attrs: Any
) -> xr.Variable:
    return xr.Variable(dims, numbers(times, units, calendar), {"units": units, "calendar": calendar, **attrs})


def field(given: Forecast, dims: tuple[str, ...], values: Array | None = None, **attrs: Any) -> xr.Variable:
    """The values under the names `dims` of init_time, lead_time, member, latitude, longitude."""
    return xr.Variable(dims, given.values if values is None else values, {"units": "K", **attrs})


def space(given: Forecast, latitude: str = "lat", longitude: str = "lon") -> dict[str, xr.Variable]:
    north, east = {"units": "degrees_north"}, {"units": "degrees_east"}
    return {latitude: xr.Variable(latitude, given.latitude, north), longitude: xr.Variable(longitude, given.longitude, east)}


def one_file(folder: Path, name: str, data: xr.Dataset, order: tuple[str, ...] = (), **settings: Any) -> Written:
    path = folder / f"{name}.nc"
    (data.transpose(*order, ...) if order else data).to_netcdf(path)
    return Written([path], settings)


def nmme(given: Forecast, folder: Path) -> Written:
    """IRI Data Library: S L M Y X, months since 1960 in a calendar called 360; L = 0.5 is the middle of the first month."""
    months = given.init_time.astype("datetime64[M]").astype(int) + 120.0
    since = {"units": "months since 1960-01-01", "calendar": "360", "standard_name": "forecast_reference_time"}
    coords = {
        "S": ("S", months, since),
        "L": ("L", given.leads - 0.5, {"units": "months", "standard_name": "forecast_period"}),
        "M": ("M", np.arange(1.0, given.members + 1), {"units": "unitless", "standard_name": "realization"}),
        **space(given, "Y", "X"),
    }
    return one_file(folder, "nmme", xr.Dataset({"tref": field(given, ("S", "L", "M", "Y", "X"))}, coords), ("S", "M", "L"))


def c3s(given: Forecast, folder: Path) -> Written:
    """Climate Data Store, monthly means of a seasonal system: forecastMonth 1 is the month that begins at the reference time."""
    coords = {
        "forecast_reference_time": dated(given.init_time, "forecast_reference_time", units="hours since 1900-01-01"),
        "forecastMonth": ("forecastMonth", given.leads),
        "number": ("number", np.arange(given.members)),
        **space(given, *SPACE),
    }
    data = xr.Dataset({"t2m": field(given, ("forecast_reference_time", "forecastMonth", "number", *SPACE))}, coords)
    return one_file(folder, "c3s", data.isel(latitude=slice(None, None, -1)), ("number", "forecast_reference_time", "forecastMonth"))


def leadtime_month(given: Forecast, folder: Path) -> Written:
    """As the same store names it in requests; one file a start."""
    paths = []
    for i, start in enumerate(given.init_time):
        values = field(given, ("leadtime_month", "number", *SPACE), given.values[i])
        coords = {"leadtime_month": given.leads, "init_time": dated(start[None], "init_time").isel(init_time=0), **space(given, *SPACE)}
        paths += one_file(folder, f"leadtime_{i}", xr.Dataset({"t2m": values}, coords)).paths
    return Written(paths)


def cstools(given: Forecast, folder: Path) -> Written:
    """R users' files: sdate as yyyymmdd and a bare ftime, of which 1 is the first; no units anywhere."""
    dates = [int(str(t)[:10].replace("-", "")) for t in given.init_time]
    coords = {"sdate": dates, "ftime": given.leads, "lat": given.latitude, "lon": given.longitude}
    data = xr.Dataset({"tas": field(given, ("sdate", "ftime", "member", "lat", "lon"))}, coords)
    return one_file(folder, "cstools", data, ("member", "sdate"), step=WORD[unit_of(given.step)[0]])


def with_bounds(given: Forecast, folder: Path) -> Written:
    """Stamps at the end of each step, as CESM has them, and bounds that say so; a calendar without leap days."""
    ends = dated(shift(given.valid, 1, given.step), ("init", "lead"), "noleap", bounds="valid_time_bnds")
    bounds = np.stack([dated(given.valid, ("init", "lead"), "noleap").values, ends.values], -1)
    values = {"tas": field(given, ("init", "lead", "member", "lat", "lon")), "valid_time_bnds": (("init", "lead", "nbnd"), bounds)}
    coords = {"init": dated(given.init_time, "init", "noleap"), "lead": given.leads, "valid_time": ends, **space(given)}
    return one_file(folder, "bounds", xr.Dataset(values, coords))


def valid_middle(given: Forecast, folder: Path) -> Written:
    """A valid time in the middle of each step, and leads that only count."""
    middle = given.valid + (shift(given.valid, 1, given.step) - given.valid) // 2
    coords = {"init_time": dated(given.init_time, "init_time"), "lead": given.leads, **space(given)}
    coords["valid_time"] = dated(middle, ("init_time", "lead"), units="hours since 1900-01-01", standard_name="time")
    return one_file(folder, "middle", xr.Dataset({"tas": field(given, ("init_time", "lead", "member", "lat", "lon"))}, coords))


def valid_end(given: Forecast, folder: Path) -> Written:
    """cfgrib: `valid_time` is the end of the step, without bounds; only who knows can say so."""
    ends = shift(given.valid, 1, given.step)
    start = dated(given.init_time, "time", standard_name="forecast_reference_time")
    coords = {"time": start, "step": ("step", given.leads), **space(given, *SPACE)}
    coords["valid_time"] = dated(ends, ("time", "step"), standard_name="time")
    data = xr.Dataset({"tas": field(given, ("time", "step", "number", *SPACE))}, coords)
    return one_file(folder, "cfgrib", data, lead_one="at")


def one_axis(given: Forecast, folder: Path) -> Written:
    """iris, one file a start and member: a scalar forecast_reference_time, and forecast_period along the axis of valid times."""
    paths = []
    for i, start in enumerate(given.init_time):
        for member in range(given.members):
            bounds = numbers(np.stack([given.valid[i], shift(given.valid[i], 1, given.step)], -1), "hours since 1970-01-01")
            reference = float(numbers(start[None], "hours since 1970-01-01")[0])
            since = {"units": "hours since 1970-01-01", "calendar": "standard"}
            coords = {
                "time": ("time", bounds.mean(-1), {**since, "bounds": "time_bnds", "standard_name": "time", "axis": "T"}),
                "forecast_reference_time": ((), reference, {**since, "standard_name": "forecast_reference_time"}),
                "forecast_period": ("time", bounds.mean(-1) - reference, {"units": "hours", "standard_name": "forecast_period"}),
                "realization": ((), member, {"standard_name": "realization"}),
                **space(given, *SPACE),
            }
            values = field(given, ("time", *SPACE), given.values[i, :, member], cell_methods="time: mean")
            data = xr.Dataset({"air_temperature": values, "time_bnds": (("time", "bnds"), bounds)}, coords)
            paths += one_file(folder, f"iris_{i}_{member}", data).paths
    return Written(paths)


def dcpp(given: Forecast, folder: Path) -> Written:
    """CMIP6: one file a start and member, named s1960-r1i1p1f1, with nothing but an axis of valid times in it."""
    paths = []
    for i, start in enumerate(given.init_time):
        for member in range(given.members):
            bounds = numbers(np.stack([given.valid[i], shift(given.valid[i], 1, given.step)], -1), "days since 1850-01-01", "noleap")
            attrs = {"units": "days since 1850-01-01", "calendar": "noleap", "bounds": "time_bnds", "axis": "T", "standard_name": "time"}
            coords = {"time": ("time", bounds.mean(-1), attrs), **space(given)}
            values = field(given, ("time", "lat", "lon"), given.values[i, :, member], cell_methods="area: time: mean")
            year = str(start)[:4]
            label = {"sub_experiment_id": f"s{year}", "variant_label": f"r{member + 1}i1p1f1", "activity_id": "DCPP"}
            data = xr.Dataset({"tas": values, "time_bnds": (("time", "bnds"), bounds)}, coords, label)
            paths += one_file(folder, f"tas_Amon_X_dcppA-hindcast_s{year}-r{member + 1}i1p1f1_gn", data).paths
    return Written(paths)


def counted(given: Forecast, folder: Path, lead_one: str) -> Written:
    """climpred: init and lead, and what lead 1 is known to the user alone."""
    first = shift(given.init_time, 0 if lead_one == "at" else -1, given.step)
    coords = {"init": dated(first, "init"), "lead": ("lead", given.leads, {"units": f"{WORD[unit_of(given.step)[0]]}s"}), **space(given)}
    data = xr.Dataset({"SST": field(given, ("init", "lead", "member", "lat", "lon"))}, coords)
    return one_file(folder, f"counted_{lead_one}", data, ("member", "lead"), lead_one=lead_one)


def climpred_at(given: Forecast, folder: Path) -> Written:
    return counted(given, folder, "at")


def climpred_after(given: Forecast, folder: Path) -> Written:
    return counted(given, folder, "after")


def bare_years(given: Forecast, folder: Path) -> Written:
    """The files of climpred's own examples: years and leads as bare numbers."""
    years = given.init_time.astype("datetime64[Y]").astype(int) + 1970.0
    data = xr.Dataset(
        {"SST": field(given, ("init", "lead", "member", "lat", "lon"))}, {"init": years - 1, "lead": given.leads, **space(given)}
    )
    return one_file(folder, "years", data, lead_one="after")


def from_zero(given: Forecast, folder: Path) -> Written:
    """Leads that count from 0, the step that begins at the start."""
    unit = f"{WORD[unit_of(given.step)[0]]}s"
    coords = {
        "init_time": dated(given.init_time, "init_time"),
        "lead_time": ("lead_time", given.leads - 1, {"units": unit}),
        **space(given),
    }
    return one_file(folder, "zero", xr.Dataset({"tas": field(given, ("init_time", "lead_time", "member", "lat", "lon"))}, coords))


def subx(given: Forecast, folder: Path) -> Written:
    """IRI, daily: L = 0.5 days is the middle of the first day."""
    coords = {"S": dated(given.init_time, "S", units="days since 1960-01-01"), **space(given, "Y", "X")}
    coords["L"] = xr.Variable("L", given.leads - 0.5, {"units": "days", "standard_name": "forecast_period"})
    return one_file(folder, "subx", xr.Dataset({"tas": field(given, ("S", "L", "M", "Y", "X"))}, coords), ("S", "M", "L"))


def period_bounds(given: Forecast, folder: Path) -> Written:
    """forecast_period with bounds, in days."""
    length = float(given.step / np.timedelta64(1, "D"))
    bounds = np.stack([(given.leads - 1) * length, given.leads * length], -1)
    coords = {
        "forecast_reference_time": dated(given.init_time, "forecast_reference_time"),
        "forecast_period": ("forecast_period", bounds[:, 1], {"units": "days", "bounds": "forecast_period_bnds"}),
        **space(given),
    }
    values = {"tas": field(given, ("forecast_reference_time", "forecast_period", "realization", "lat", "lon"))}
    return one_file(folder, "period", xr.Dataset({**values, "forecast_period_bnds": (("forecast_period", "bnds"), bounds)}, coords))


def _since_start(given: Forecast) -> Array:
    """Accumulated since the start, beginning with nothing at step 0."""
    sums = np.cumsum(given.values, 1)
    return np.concatenate([np.zeros_like(sums[:, :1]), sums], 1)


def _hours(given: Forecast) -> tuple[Array, dict[str, str]]:
    hours = np.arange(len(given.leads) + 1) * int(given.step / np.timedelta64(1, "h"))
    return hours, {"units": "hours", "standard_name": "forecast_period"}


def s2s(given: Forecast, folder: Path) -> Written:
    """S2S reforecasts: hdate yyyymmdd, steps in hours, fields accumulated since the start."""
    dates = [int(str(t)[:10].replace("-", "")) for t in given.init_time]
    coords = {"hdate": dates, "step": ("step", *_hours(given)), "number": np.arange(given.members), **space(given, *SPACE)}
    values = field(given, ("hdate", "step", "number", *SPACE), _since_start(given), units="kg m-2", GRIB_stepType="accum")
    return one_file(folder, "s2s", xr.Dataset({"tp": values}, coords), ("number", "step"))


def s2s_years(given: Forecast, folder: Path) -> Written:
    """The same beside the date of the forecast: hdate is the year alone, and the forecast's date says the day."""
    years = given.init_time.astype("datetime64[Y]").astype(int) + 1970
    now = np.array(["2019" + str(given.init_time[0])[4:10]], "datetime64[s]")
    coords = {"S": dated(now, "S", units="days since 1960-01-01"), "hdate": years, "L": ("L", *_hours(given)), **space(given, "Y", "X")}
    values = field(given, ("hdate", "L", "M", "Y", "X"), _since_start(given), units="kg m-2", cell_methods="L: sum")
    data = xr.Dataset({"tp": values}, coords)
    return one_file(folder, "s2s_years", data.assign(tp=data["tp"].expand_dims("S")), ("hdate", "S", "M"), accumulated=True)


def _instants(given: Forecast) -> tuple[Times, Array]:
    """Issue times, and leads in hours, of values at an instant: that of the issue time itself is the last that was seen."""
    hours = int(given.step / np.timedelta64(1, "h"))
    return shift(given.init_time, -1, given.step), given.leads * hours


def weatherbench2(given: Forecast, folder: Path) -> Written:
    """WeatherBench 2: `time` is the start, `prediction_timedelta` begins at 0 with the analysis."""
    issue, hours = _instants(given)
    coords = {"time": dated(issue, "time", units="hours since 1959-01-01"), **space(given, *SPACE)}
    coords["prediction_timedelta"] = xr.Variable("prediction_timedelta", np.array([0, *hours]), {"units": "hours"})
    values = np.concatenate([np.full_like(given.values[:, :1], 99.0), given.values], 1)
    return one_file(folder, "wb2", xr.Dataset({"t": field(given, ("time", "prediction_timedelta", "number", *SPACE), values)}, coords))


def decoded(given: Forecast, folder: Path) -> Written:
    """Times as xarray itself writes them: datetime64 and timedelta64."""
    issue, hours = _instants(given)
    coords = {"init_time": issue.astype("datetime64[ns]"), "lead_time": hours.astype("timedelta64[h]").astype("timedelta64[ns]")}
    return one_file(
        folder, "decoded", xr.Dataset({"t": field(given, ("init_time", "lead_time", "member", "lat", "lon"))}, {**coords, **space(given)})
    )


def period_point(given: Forecast, folder: Path) -> Written:
    """forecast_period and forecast_reference_time, and cell_methods that say `point`."""
    issue, hours = _instants(given)
    coords = {
        "forecast_reference_time": dated(issue, "forecast_reference_time", units="hours since 1970-01-01"),
        "forecast_period": ("forecast_period", hours, {"units": "hours"}),
        **space(given),
    }
    values = field(given, ("forecast_reference_time", "forecast_period", "realization", "lat", "lon"), cell_methods="time: point")
    return one_file(folder, "point", xr.Dataset({"t": values}, coords))


Layout = Callable[[Forecast, Path], Written]
MONTHLY: tuple[Layout, ...] = (
    nmme, c3s, leadtime_month, cstools, with_bounds, valid_middle, valid_end, one_axis, climpred_at, climpred_after, from_zero,
)  # fmt: skip
YEARLY: tuple[Layout, ...] = (cstools, with_bounds, valid_middle, valid_end, one_axis, climpred_at, climpred_after, bare_years, from_zero)
DAILY: tuple[Layout, ...] = (
    cstools,
    valid_middle,
    valid_end,
    one_axis,
    climpred_at,
    climpred_after,
    from_zero,
    subx,
    period_bounds,
    s2s,
    s2s_years,
)
SUBDAILY: tuple[Layout, ...] = (weatherbench2, decoded, period_point)
