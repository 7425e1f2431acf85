"""What the coordinates of a file are, whatever they are called.

Each coordinate makes a claim: what its CF attributes say of it (standard name, units, axis), or else what it is usually
called. Attributes are stronger than names, so that a longitude called `lat` is a longitude; of equal claims that of a
dimension is stronger than that of an auxiliary coordinate; two that remain are refused. The names are those of CF, IRI's
data library, C3S, S2S, cfgrib, WeatherBench 2, climpred, NEMO, WRF, and of R users' files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import xarray as xr
from cf_xarray.criteria import coordinate_criteria

from ensemble.errors import InputError, unknown

NAMES = {
    "time": "time t T times date dates datetime time_counter year years",
    "valid_time": "valid_time validtime verification_time",
    "init_time": "init init_time inittime reftime forecast_reference_time initialization_time initialisation_time start_date startdate "
    "start start_time sdate sdates hdate initial_time S",
    "lead_time": "lead lead_time leadtime step ftime forecast_period prediction_timedelta forecastmonth forecast_month leadtime_month "
    "lead_month forecast_hour L",
    "member": "member members member_id number realization realisation ensemble ensemble_member ens ensmem mem record M",
    "latitude": "latitude latitudes lat lats nav_lat gphit xlat geolat Y",
    "longitude": "longitude longitudes lon lons long nav_lon glamt xlong geolon X",
    "level": "level levels lev plev pressure pressure_level isobaric isobaricinhpa model_level depth deptht height altitude olevel P Z",
    "station": "station stations station_id station_name site sites",
}
ROLE = {name: role for role, names in NAMES.items() for name in names.split()}
STANDARD = {
    "time": "time",
    "forecast_reference_time": "init_time",
    "forecast_period": "lead_time",
    "realization": "member",
    "latitude": "latitude",
    "longitude": "longitude",
    "platform_id": "station",
    "platform_name": "station",
    **{name: "level" for axis in ("Z", "vertical") for name in coordinate_criteria[axis]["standard_name"]},
}
UNITS = {unit: role for role in ("latitude", "longitude") for unit in coordinate_criteria[role]["units"]}
AXIS_TYPE = {
    "Time": "time",
    "RunTime": "init_time",
    "Ensemble": "member",
    "Lat": "latitude",
    "Lon": "longitude",
    "Pressure": "level",
    "Height": "level",
    "GeoZ": "level",
}
AXIS = {"X": "longitude", "Y": "latitude", "Z": "level", "E": "member"}
DATED = ("init_time", "valid_time")
# Coordinates of a rotated or projected grid: what is called so is neither a latitude nor a longitude.
PROJECTED = {*coordinate_criteria["X"]["standard_name"], *coordinate_criteria["Y"]["standard_name"]}


class Claim(NamedTuple):
    """What one coordinate says that it is; the stronger wins."""

    role: str
    strength: int  # 4 standard name, 3 units, 2 axis, 1 its name, 0 the name of a dimension without a coordinate
    dimension: bool
    name: str


def roles(data: xr.Dataset, *, where: str) -> dict[str, str]:
    """Role -> name of the coordinate, or of the dimension that has none, that plays it.

    The roles are `time`, `valid_time`, `init_time`, `lead_time`, `member`, `latitude`, `longitude`, `level` and `station`. A file with
    variables on several grids is given as `data[[variable]]`. Two coordinates that claim one role are an error.
    """
    claims: dict[str, list[Claim]] = {}
    for claim in _claims(data, where):
        claims.setdefault(claim.role, []).append(claim)
    found = {role: _winner(role, each, data, where) for role, each in claims.items()}
    return _times_told_apart(data, _stations(data, found))


def bounds_of(data: xr.Dataset, name: str) -> str | None:
    """The variable that holds the bounds of coordinate `name`: as declared, or called like it and of the right shape."""
    if name not in data.variables:
        return None
    attrs = {**data[name].encoding, **data[name].attrs}
    declared = [str(attrs[key]) for key in ("bounds", "climatology") if key in attrs]
    alike = [form.format(name) for form in ("{}_bnds", "{}_bounds", "{}_bnd", "{}_bound", "bounds_{}", "bnds_{}", "{}bnds")]
    for other in (*declared, *alike):
        if other in data.variables and data[other].dims[:-1] == data[name].dims and data[other].shape[-1] == _vertices(data, name):
            return other
    return None


def variable_of(data: xr.Dataset, wanted: str | None, *, where: str) -> str:
    """The variable called `wanted`, or of that standard or long name; without a wish the only one that is data."""
    known = _data(data)
    if wanted is None:
        if len(known) == 1:
            return known[0]
        raise InputError(f"{where}: holds the variables {', '.join(known) or 'none'}; say which one: `variable: {(known or ['NAME'])[0]}`")
    if wanted in data.data_vars:
        return wanted
    for key in ("standard_name", "long_name"):
        match [name for name in known if str(data[name].attrs.get(key, "")).lower() == wanted.lower()]:
            case [name]:
                return name
            case [name, *others]:
                raise InputError(
                    f"{where}: {', '.join((name, *others))} all have the {key} {wanted}; name one of them: `variable: {name}`",
                )
    raise unknown(f"{where}: variable", wanted, known)


def alone(data: xr.Dataset, variable: str) -> xr.Dataset:
    """One variable with the coordinates that belong to it, also those that the file does not declare as such, and their bounds."""
    undeclared = {claim.name for claim in _claims(data, "") if claim.name in data.data_vars} - {variable}
    data = data.set_coords(sorted(undeclared))
    own = data[[variable]]
    beside = {bounds for name in own.coords if (bounds := bounds_of(data, str(name))) is not None}
    return data[[variable, *sorted(beside & set(map(str, data.data_vars)))]]


def _claims(data: xr.Dataset, where: str) -> Iterator[Claim]:
    """The claim of each coordinate, of each dimension without one, and of variables that were not declared coordinates but are."""
    for name, variable in ((str(key), each) for key, each in data.variables.items()):
        role, strength = _claim(name, variable, where)
        # A variable t is a temperature and S salinity: only what can mean nothing else makes a coordinate of a data variable.
        sure = strength == 4 or (role in ("latitude", "longitude", "valid_time") and len(name) > 1)
        if role == "level" and (variable.ndim != 1 or name not in data.coords):
            continue  # the height of a thermometer, the sea floor, a depth that is data
        if role and (name in data.coords or sure):
            yield Claim(role, strength, name in data.dims, name)
    for name in map(str, data.dims):
        if name not in data.variables and (role := _named(name)) not in ("", "latitude", "longitude"):
            yield Claim(role, 0, True, name)


def _claim(name: str, variable: xr.Variable, where: str) -> tuple[str, int]:
    """The role that one coordinate claims, "" for none, and how strong that claim is."""
    attrs = {key: str(variable.attrs.get(key, "")).strip() for key in ("standard_name", "units", "axis", "_CoordinateAxisType")}
    standard, units, named = attrs["standard_name"].lower(), attrs["units"], _named(name)
    by_units = UNITS.get(units, "")
    if by_units and standard in STANDARD and STANDARD[standard] != by_units:
        raise InputError(
            f"{where}: {name} has the standard_name {standard} and the units {units}; one of them is wrong: mend it in the file"
        )
    if standard in PROJECTED:
        return "", 0
    if standard in STANDARD:
        role = STANDARD[standard]
        # cfgrib and climpred call starts and valid times a `time`, too: here the name says more.
        return (named if role == "time" and named in DATED else role), 4
    if by_units or attrs["_CoordinateAxisType"] in AXIS_TYPE:
        return by_units or AXIS_TYPE[attrs["_CoordinateAxisType"]], 3
    if " since " in units or variable.dtype.kind == "M":
        return (named if named in DATED else "time"), 3
    axis = AXIS.get(attrs["axis"].upper(), "")
    if axis in ("level", "member") or (axis and units.startswith("degree")):
        return axis, 2
    return named, 1


def _named(name: str) -> str:
    """The role of what is called so; one letter counts as it is written, a word in any case."""
    return ROLE.get(name if len(name) == 1 else name.lower(), "")


def _winner(role: str, claims: list[Claim], data: xr.Dataset, where: str) -> str:
    """The strongest claim; of equals that of a dimension, or of what the variables name in their `coordinates`."""
    strongest = [claim for claim in claims if claim.strength == max(each.strength for each in claims)]
    listed = {word for each in data.data_vars.values() for word in str(each.encoding.get("coordinates", "")).split()}
    for narrower in (
        [c for c in strongest if c.dimension and role not in ("latitude", "longitude")],
        [c for c in strongest if c.name in listed],
    ):
        if len(strongest) > 1 and len(narrower) == 1:
            strongest = narrower
    first, *others = sorted(claim.name for claim in strongest)
    if others:
        raise InputError(f"{where}: {first} and {' and '.join(others)} both say that they are the {role}; drop or rename one of them")
    return first


def _stations(data: xr.Dataset, found: dict[str, str]) -> dict[str, str]:
    """Latitude and longitude along one dimension that is neither make a list of places, whose heights are no levels."""
    if not {"latitude", "longitude"} <= found.keys():
        return found
    latitude, longitude = data[found["latitude"]], data[found["longitude"]]
    if latitude.ndim != 1 or latitude.dims != longitude.dims or latitude.dims[0] in (latitude.name, longitude.name):
        return found
    levels = {role for role in ("level",) if role in found and data[found[role]].dims == latitude.dims}
    return {"station": str(latitude.dims[0]), **{role: name for role, name in found.items() if role not in levels}}


def _times_told_apart(data: xr.Dataset, found: dict[str, str]) -> dict[str, str]:
    """What a `time` is beside a lead: the start, unless the starts are known or the lead runs along it."""
    dims = {role: set(data[name].dims) for role, name in found.items()}
    if "lead_time" in found and not dims["lead_time"] and not float(data[found["lead_time"]].astype(float)):
        # cfgrib gives an analysis a lead of nothing
        found = {role: name for role, name in found.items() if role != "lead_time"}
    if "valid_time" in found and not {"time", "init_time", "lead_time"} & found.keys():
        return {"time" if role == "valid_time" else role: name for role, name in found.items()}
    if "time" not in found or "lead_time" not in found:
        return found
    known = dims.get("init_time", set()) | dims["lead_time"]
    if "init_time" not in found and not (dims["time"] and dims["time"] <= dims["lead_time"]):
        role = "init_time"
    elif dims["time"] and dims["time"] <= known and "valid_time" not in found:
        role = "valid_time"
    else:
        return found
    return {role if each == "time" else each: name for each, name in found.items()}


def _vertices(data: xr.Dataset, name: str) -> int:
    """How many bounds a coordinate has: two, or four where it spans two dimensions of space."""
    return 4 if data[name].ndim == 2 and _named(name) in ("latitude", "longitude") else 2


def _data(data: xr.Dataset) -> list[str]:
    """The variables that hold data: no bounds, grid mappings, areas, flags, words, nor coordinates that were not declared so."""
    aside = {str(bounds_of(data, str(name))) for name in data.variables} | {claim.name for claim in _claims(data, "")}
    for variable in data.variables.values():
        attrs = {**variable.encoding, **variable.attrs}
        for key in ("ancillary_variables", "cell_measures", "grid_mapping", "coordinates", "bounds", "climatology"):
            aside |= set(str(attrs.get(key, "")).replace(":", " ").split())
    return [str(name) for name, variable in data.data_vars.items() if name not in aside and _is_data(variable)]


def _is_data(variable: xr.DataArray) -> bool:
    """Numbers that are neither an area nor the empty carrier of a projection."""
    numbers = variable.dtype.kind in "biufc"
    return numbers and "grid_mapping_name" not in variable.attrs and variable.attrs.get("standard_name") != "cell_area"
