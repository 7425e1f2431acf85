"""Attributes are believed before names, and two that say they are the same are refused."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from ensemble.errors import InputError
from ensemble.prepare.names import alone, bounds_of, roles, variable_of


def layout(**coords: tuple[object, object] | tuple[object, object, dict[str, object]]) -> xr.Dataset:
    """A file of one variable x over all dimensions of its coordinates."""
    data = xr.Dataset(coords=coords)
    return data.assign(x=(tuple(data.sizes), np.zeros(tuple(data.sizes.values()))))


def along(name: str, count: int = 2, **attrs: object) -> tuple[str, np.ndarray, dict[str, object]]:
    return name, np.arange(count), attrs


IRI = layout(
    S=along("S", standard_name="forecast_reference_time", units="months since 1960-01-01", calendar="360"),
    L=along("L", standard_name="forecast_period", units="months"),
    M=along("M", standard_name="realization"),
    Y=along("Y", standard_name="latitude", units="degree_north"),
    X=along("X", standard_name="longitude", units="degree_east"),
)
C3S = layout(
    number=along("number"),
    forecast_reference_time=along("forecast_reference_time", units="seconds since 1970-01-01"),
    forecastMonth=along("forecastMonth"),
    valid_time=(("forecast_reference_time", "forecastMonth"), np.zeros((2, 2)), {"units": "seconds since 1970-01-01"}),
)
S2S = layout(
    hdate=along("hdate", units="days since 2000-01-01"),
    step=along("step", units="hours"),
    number=along("number"),
    time=((), 0, {"units": "days since 2000-01-01"}),
)
WEATHERBENCH = layout(
    time=along("time", units="hours since 1970-01-01"),
    prediction_timedelta=along("prediction_timedelta", units="hours"),
    level=along("level"),
)
DCPP = layout(
    time=along("time", standard_name="time", units="days since 1850-01-01"),
    leadtime=along("time", standard_name="forecast_period", units="days"),
    reftime=((), 0, {"standard_name": "forecast_reference_time", "units": "days since 1850-01-01"}),
    realization=((), 1, {}),
)
CFGRIB = layout(
    time=along("time", standard_name="time", long_name="initial time of forecast", units="seconds since 1970-01-01"),
    step=along("step", standard_name="forecast_period", units="hours"),
    valid_time=(("time", "step"), np.zeros((2, 2)), {"standard_name": "time", "units": "seconds since 1970-01-01"}),
    number=((), 0, {"standard_name": "realization"}),
    heightAboveGround=((), 2.0, {"standard_name": "height"}),
)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (IRI, {"init_time": "S", "lead_time": "L", "member": "M", "latitude": "Y", "longitude": "X"}),
        (
            C3S,
            {"init_time": "forecast_reference_time", "lead_time": "forecastMonth", "member": "number", "valid_time": "valid_time"},
        ),
        (S2S, {"init_time": "hdate", "lead_time": "step", "member": "number", "time": "time"}),
        (WEATHERBENCH, {"init_time": "time", "lead_time": "prediction_timedelta", "level": "level"}),
        (DCPP, {"valid_time": "time", "lead_time": "leadtime", "init_time": "reftime", "member": "realization"}),
        (CFGRIB, {"init_time": "time", "lead_time": "step", "valid_time": "valid_time", "member": "number"}),
    ],
    ids=["IRI", "C3S", "S2S", "WeatherBench 2", "DCPP", "cfgrib"],
)
def test_the_layouts_of_the_centres_are_understood(data: xr.Dataset, found: dict[str, str]) -> None:
    assert roles(data, where="file.nc") == found


@pytest.mark.parametrize("init", ["init", "init_time", "reftime", "forecast_reference_time", "S", "sdate", "start_date"])
@pytest.mark.parametrize("lead", ["lead", "lead_time", "step", "L", "ftime", "forecast_period", "leadtime_month"])
@pytest.mark.parametrize("member", ["member", "number", "realization", "ensemble", "M"])
def test_forecasts_are_known_by_any_usual_name(init: str, lead: str, member: str) -> None:
    data = layout(**{init: along(init), lead: along(lead), member: along(member)})
    assert roles(data, where="file.nc") == {"init_time": init, "lead_time": lead, "member": member}


def test_dimensions_without_coordinates_are_known_by_name() -> None:
    data = xr.Dataset({"x": (("time", "ens", "lat"), np.zeros((2, 2, 2)))})
    assert roles(data, where="file.nc") == {"time": "time", "member": "ens"}  # rows without degrees are no latitude


def test_attributes_win_over_misleading_names() -> None:
    data = layout(
        lat=along("lat", standard_name="longitude", units="degrees_east"),
        lon=along("lon", units="degrees_north"),
        member=along("member", units="days since 2000-01-01"),
        time=along("time", standard_name="forecast_period"),
    )
    found = {"longitude": "lat", "latitude": "lon", "init_time": "member", "lead_time": "time"}  # the dates beside the lead are starts
    assert roles(data, where="file.nc") == found


def test_a_time_beside_a_lead_is_a_start_unless_the_lead_runs_along_it() -> None:
    assert roles(layout(time=along("time"), lead=along("lead")), where="f") == {"init_time": "time", "lead_time": "lead"}
    assert roles(layout(time=along("time"), lead=along("time")), where="f") == {"valid_time": "time", "lead_time": "lead"}


def test_an_analysis_with_a_lead_of_nothing_is_a_series() -> None:
    data = layout(time=along("time"), step=((), 0, {"units": "hours"}))
    assert roles(data, where="file.nc") == {"time": "time"}
    assert roles(layout(valid_time=along("valid_time")), where="file.nc") == {"time": "valid_time"}


def test_a_temperature_called_t_is_no_time() -> None:
    data = layout(time=along("time")).rename(x="t").assign(S=("time", np.zeros(2)))
    assert roles(data, where="file.nc") == {"time": "time"}
    with pytest.raises(InputError, match=r"file.nc: holds the variables t, S; say which one: `variable: t`"):
        variable_of(data, None, where="file.nc")


def test_of_two_times_that_of_the_dimension_counts() -> None:
    data = layout(
        time_counter=along("time_counter", standard_name="time", axis="T"),
        time_centered=along("time_counter", standard_name="time"),
        year=along("time_counter"),
    )
    assert roles(data, where="file.nc") == {"time": "time_counter"}


def test_rotated_coordinates_are_no_latitudes() -> None:
    data = layout(
        rlat=along("rlat", standard_name="grid_latitude", units="degrees", axis="Y"),
        rlon=along("rlon", standard_name="grid_longitude", units="degrees", axis="X"),
        lat=(("rlat", "rlon"), np.zeros((2, 2)), {"standard_name": "latitude"}),
        lon=(("rlat", "rlon"), np.zeros((2, 2)), {"standard_name": "longitude"}),
    )
    assert roles(data, where="file.nc") == {"latitude": "lat", "longitude": "lon"}
    assert roles(data.drop_vars(["lat", "lon"]), where="file.nc") == {}


def test_undeclared_coordinates_of_an_ocean_model_are_found() -> None:
    data = xr.Dataset(
        {
            "tos": (("time_counter", "y", "x"), np.zeros((2, 3, 4))),
            "nav_lat": (("y", "x"), np.zeros((3, 4)), {"units": "degrees_north"}),
            "nav_lon": (("y", "x"), np.zeros((3, 4)), {"units": "degrees_east"}),
        }
    )
    assert roles(data, where="file.nc") == {"time": "time_counter", "latitude": "nav_lat", "longitude": "nav_lon"}
    assert variable_of(data, None, where="file.nc") == "tos"
    assert set(alone(data, "tos").coords) == {"nav_lat", "nav_lon"}
    assert list(alone(data, "tos").data_vars) == ["tos"]


def test_two_that_claim_one_role_are_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"file.nc: lat and nav_lat both say that they are the latitude"):
        roles(layout(lat=along("lat"), nav_lat=along("y")), where="file.nc")
    with pytest.raises(InputError, match="lat and lon both say that they are the latitude"):
        roles(layout(lat=along("lat", units="degrees_north"), lon=along("lon", units="degrees_north")), where="file.nc")
    with pytest.raises(InputError, match="lat has the standard_name latitude and the units degrees_east"):
        roles(layout(lat=along("lat", standard_name="latitude", units="degrees_east")), where="file.nc")


def test_of_staggered_grids_the_variable_says_which_is_its_own() -> None:
    places = {
        "TLAT": (("y", "x"), np.zeros((2, 2)), {"units": "degrees_north"}),
        "ULAT": (("y", "x"), np.ones((2, 2)), {"units": "degrees_north"}),
    }
    data = xr.Dataset({"sst": (("y", "x"), np.zeros((2, 2)))}).assign_coords(places)
    data["sst"].encoding["coordinates"] = "TLAT"
    assert roles(data, where="file.nc") == {"latitude": "TLAT"}


def test_places_along_one_dimension_are_stations() -> None:
    data = layout(lat=along("site_number", 3), lon=along("site_number", 3), time=along("time"))
    assert roles(data, where="file.nc") == {"latitude": "lat", "longitude": "lon", "time": "time", "station": "site_number"}
    named = data.assign_coords(station_id=("site_number", ["a", "b", "c"]), altitude=("site_number", [1.0, 2, 3]))
    assert roles(named, where="file.nc") == {"latitude": "lat", "longitude": "lon", "time": "time", "station": "station_id"}


def test_bounds_are_found_as_declared_or_by_name_and_shape() -> None:
    data = layout(time=along("time", 3, bounds="averages"), lat=along("lat", 4), lon=along("lon", 5)).assign(
        averages=(("time", "nv"), np.zeros((3, 2))),
        lat_bnds=(("lat", "nv"), np.zeros((4, 2))),
        lon_bnds=(("lon", "corner"), np.zeros((5, 4))),
    )
    assert bounds_of(data, "time") == "averages"
    assert bounds_of(data, "lat") == "lat_bnds"
    assert bounds_of(data, "lon") is None  # four corners are no bounds of a line
    assert bounds_of(data, "nothing") is None
    assert variable_of(data.drop_vars("lon_bnds"), None, where="file.nc") == "x"


def test_a_variable_is_found_by_its_name_or_its_meaning() -> None:
    data = xr.Dataset(
        {
            "tos": ("time", np.zeros(2), {"standard_name": "sea_surface_temperature", "cell_measures": "area: areacello"}),
            "tas": ("time", np.zeros(2), {"long_name": "Near-Surface Air Temperature"}),
            "areacello": ((), 1.0),
            "crs": ((), 0, {"grid_mapping_name": "latitude_longitude"}),
            "note": ("time", ["a", "b"]),
        }
    )
    assert variable_of(data, "tas", where="file.nc") == "tas"
    assert variable_of(data, "sea_surface_temperature", where="file.nc") == "tos"
    assert variable_of(data, "near-surface air temperature", where="file.nc") == "tas"
    assert variable_of(data[["tos", "areacello", "crs", "note"]], None, where="file.nc") == "tos"
    with pytest.raises(InputError, match=r"file.nc: variable: 'tass' is unknown; did you mean tas"):
        variable_of(data, "tass", where="file.nc")
    with pytest.raises(InputError, match="holds the variables none"):
        variable_of(data[["crs"]], None, where="file.nc")
    twice = data.assign(sst=("time", np.ones(2), {"standard_name": "sea_surface_temperature"}))
    with pytest.raises(InputError, match="tos, sst all have the standard_name sea_surface_temperature"):
        variable_of(twice, "sea_surface_temperature", where="file.nc")


SHARED = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.mark.skipif(not SHARED.exists(), reason="the shared data are not here")
def test_the_files_of_real_people_are_understood() -> None:
    def of(name: str) -> dict[str, str]:
        with xr.open_dataset(SHARED / name, decode_times=False) as data:
            return roles(data, where=name)

    space = {"latitude": "lat", "longitude": "lon"}
    assert of("cobe_sst2/year1950.nc") == {"time": "time", **space}
    assert of("cstools_seas5_era5_tas.nc") == {"init_time": "sdate", "lead_time": "ftime", "member": "member", **space}
    assert of("decadal/CESM-DP-LE.SST.global.nc") == {"init_time": "init", "lead_time": "lead", "member": "member"}
    assert of("XRO_indices_oras5.nc") == {"time": "time"}
