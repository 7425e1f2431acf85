"""Space as the house knows it: latitude from south to north, longitude from 0 to 360 eastward, last among the dimensions.

A file may count longitude from -180, -300 or 0, hold the meridian where it closes the circle twice, run from north to south,
keep its coordinates in two dimensions, in radians or in single precision. `spatial` reads the coordinates alone and reorders
views, so that it serves open files. A curvilinear or rotated grid stays as it is, with `latitude` and `longitude` (y, x): it can
be scored against the same grid, and brought to another one by a weight file.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.prepare.space.circle import CLOSE, SPACE, eastward, index, rounded, span
from ensemble.prepare.space.match import aligned, mismatch, same_grid
from ensemble.task import Array

__all__ = ["aligned", "cell_area", "mismatch", "same_grid", "spatial", "within"]

ATTRS = {
    "latitude": {"standard_name": "latitude", "units": "degrees_north"},
    "longitude": {"standard_name": "longitude", "units": "degrees_east"},
}


def spatial(field: xr.DataArray, roles: Mapping[str, str], *, where: str, notes: list[Finding]) -> xr.DataArray:
    """`field` with its space last and in order: (..., latitude, longitude), (..., y, x) or (..., station); nothing is loaded.

    `roles` as of `names.roles`. Raises InputError for coordinates that cannot be degrees and for a closing meridian whose two
    copies differ.
    """
    names = {role: roles[role] for role in SPACE if role in roles}
    values = {role: _degrees(field, name, role, where, notes) for role, name in names.items()}
    along = {role: each for role, each in values.items() if each.ndim}
    field = field.assign_coords({role: _wrapped(role, each) for role, each in values.items() if not each.ndim})
    if not names:
        _say_what_is_left(field, roles, where, notes)
        return field
    if max((each.ndim for each in along.values()), default=0) == 2:
        return _two_dimensional(field, names, along, where, notes)
    if len(along) == 2 and along["latitude"].dims == along["longitude"].dims:
        return _places(field, names, along, roles, where, notes)
    return _rectilinear(field, names, along, where, notes)


def within(
    coords: Mapping[str, Array], latitude: tuple[float, float] | None, longitude: tuple[float, float] | None, *, where: str
) -> dict[str, Array]:
    """Where the points of a box lie along each dimension, ends included; the longitudes may be given in any convention.

    A box that holds no point is an error that names it and the range of the file.
    """
    inside = {}
    if latitude is not None:
        south, north = min(latitude), max(latitude)
        inside["latitude"] = (coords["latitude"] >= south - CLOSE) & (coords["latitude"] <= north + CLOSE)
    if longitude is not None and longitude[1] - longitude[0] < 360:
        west, width = longitude[0] - CLOSE, (longitude[1] - longitude[0]) % 360 + 2 * CLOSE
        inside["longitude"] = (coords["longitude"] - west) % 360 <= width
    for dim, each in inside.items():
        if not each.any():
            box = latitude if dim == "latitude" else longitude
            raise InputError(f"{where}: no {dim} lies in the region {list(box or ())}; the file holds {span(coords[dim])}")
    return {dim: np.flatnonzero(each) for dim, each in inside.items()}


def cell_area(data: xr.Dataset, variable: str, roles: Mapping[str, str], *, where: str, notes: list[Finding]) -> xr.DataArray | None:
    """The areas of the cells, in the order of `spatial`: the file's own, or those that the points of a curvilinear grid span.

    None where there is neither; a regular grid then goes by the cosine of latitude.
    """
    attrs = {**data[variable].encoding, **data[variable].attrs}
    words = str(attrs.get("cell_measures", "")).replace(":", " ").split()
    named = [words[i + 1] for i, word in enumerate(words[:-1]) if word == "area"]
    standard = [str(name) for name, each in data.variables.items() if each.attrs.get("standard_name") == "cell_area"]
    coordinates = data.set_coords([name for name in roles.values() if name in data.variables])
    for name in (*named, *standard):
        if name in data.variables and set(data[name].dims) <= set(data[variable].dims):
            notes.append(Finding("area", where, f"cell areas {name}", "taken as weights"))
            return spatial(coordinates[name], roles, where=where, notes=[]).fillna(0.0)  # no cell, no weight
    if not set(SPACE) <= roles.keys() or data[roles["latitude"]].ndim < 2:
        return None
    space = data[roles["latitude"]].dims
    shape = xr.zeros_like(coordinates[roles["latitude"]].reset_coords(drop=True).transpose(*space))
    points = spatial(shape.assign_coords({roles[role]: data[roles[role]] for role in SPACE}), roles, where=where, notes=[])
    if points["latitude"].ndim < 2:
        return None
    notes.append(Finding("area", where, "no cell areas of a curvilinear grid", "taken from the distances of its points"))
    return points.copy(data=_spanned(points["latitude"].values, points["longitude"].values)).rename("cell_area")


def _degrees(field: xr.DataArray, name: str, role: str, where: str, notes: list[Finding]) -> xr.DataArray:
    """One coordinate in degrees, double precision, of two dimensions at most."""
    if name not in field.coords:
        raise InputError(f"{where}: the {role} {name} is not a coordinate of {field.name}; name it in its attribute `coordinates`")
    found = field[name].variable
    if found.dtype.kind not in "iuf" or (found.ndim < 2 and not np.isfinite(found.values).all()):
        raise InputError(f"{where}: the {role} {name} does not hold numbers everywhere; mend it in the file")
    values = xr.DataArray(found.values.astype(float), dims=found.dims)
    if str(found.attrs.get("units", "")).lower().startswith("rad"):
        values = values * (180.0 / np.pi)
    while values.ndim > 2:
        if not _constant(values, values.dims[0]):
            raise InputError(f"{where}: the {role} {name} changes along {values.dims[0]}; bring the data to a grid that does not move")
        values = values[0]
    limit, largest = (90.0, 720.0)[role == "longitude"], float(np.nanmax(np.abs(values.values), initial=0.0))
    if largest > limit + 1e-3:
        raise InputError(f"{where}: the {role} {name} holds {largest:g}, beyond {limit:g} degrees; mend its name, units or values")
    if not role.startswith(name.lower()[:3]) and name.lower() in ("latitude", "longitude", "lat", "lon"):
        notes.append(Finding("names", where, f"{name} is a {role} by its attributes", "taken as such"))
    return values.clip(-limit, limit)


def _wrapped(role: str, values: xr.DataArray) -> xr.DataArray:
    """Coordinates of places that keep their order: decimals, and longitudes from 0 to 360."""
    plain = rounded(values.values)
    return values.copy(data=eastward(plain) if role == "longitude" else plain).assign_attrs(ATTRS[role])


def _say_what_is_left(field: xr.DataArray, roles: Mapping[str, str], where: str, notes: list[Finding]) -> None:
    """A note about dimensions of space that no coordinate tells the place of."""
    known = {str(dim) for name in roles.values() for dim in (field[name].dims if name in field.coords else (name,))}
    if spare := [str(dim) for dim in field.dims if dim not in known and field.sizes[dim] > 1]:
        notes.append(Finding("space", where, f"{', '.join(spare)} without latitude and longitude", "points of equal weight"))


def _places(
    field: xr.DataArray,
    names: Mapping[str, str],
    values: Mapping[str, xr.DataArray],
    roles: Mapping[str, str],
    where: str,
    notes: list[Finding],
) -> xr.DataArray:
    """Stations: (..., station), labelled as they are where those labels are unique, else by number."""
    (dim,) = map(str, values["latitude"].dims)
    labels = field[roles["station"]].values if roles.get("station") in field.coords else np.arange(field.sizes[dim])
    if labels.shape != (field.sizes[dim],) or len(np.unique(labels)) < len(labels):
        labels = np.arange(field.sizes[dim])
    coords = {role: ("station", _wrapped(role, each).values) for role, each in values.items()}
    return _last(_placed(field, names, {dim: "station"}, {"station": ("station", labels), **coords}), where, notes)


def _rectilinear(
    field: xr.DataArray, names: Mapping[str, str], values: Mapping[str, xr.DataArray], where: str, notes: list[Finding]
) -> xr.DataArray:
    """The usual grid: each coordinate along a dimension of its own."""
    coords = {role: (role, each.values) for role, each in values.items()}
    field = _placed(field, names, {str(each.dims[0]): role for role, each in values.items()}, coords)
    for role, each in values.items():
        field = _ascending(field, role, rounded(each.values), where, notes)
    return _last(field, where, notes)


def _two_dimensional(
    field: xr.DataArray, names: Mapping[str, str], values: Mapping[str, xr.DataArray], where: str, notes: list[Finding]
) -> xr.DataArray:
    """Coordinates (y, x): a regular grid written out in full, or one that is curvilinear indeed."""
    latitude, longitude = xr.broadcast(values["latitude"], values["longitude"])
    for y, x in (latitude.dims, latitude.dims[::-1]):
        if _constant(latitude, x) and _constant(longitude, y):
            notes.append(Finding("grid", where, "regular, with coordinates in two dimensions", "taken as one dimension each"))
            return _rectilinear(field, names, {"latitude": latitude.isel({x: 0}), "longitude": longitude.isel({y: 0})}, where, notes)
    y, x = map(str, latitude.dims)
    longitude = longitude.copy(data=eastward(longitude.values))
    columns = _columns(latitude, longitude, x)
    plain = {new: field[old].values if _own(field, old) else np.arange(latitude.sizes[old]) for old, new in ((y, "y"), (x, "x"))}
    coords: dict[str, tuple[Any, Array]] = {new: ((new,), each) for new, each in plain.items()}
    coords |= {role: (("y", "x"), each.values) for role, each in (("latitude", latitude), ("longitude", longitude))}
    repeated = latitude.sizes[x] - columns
    done = f"kept without its last {repeated} columns, which repeat the first" if repeated else "kept"
    notes.append(Finding("grid", where, f"curvilinear, {latitude.sizes[y]} x {latitude.sizes[x]}", done))
    return _last(_placed(field, names, {y: "y", x: "x"}, coords).isel(x=slice(columns)), where, notes)


def _constant(values: xr.DataArray, dim: Hashable) -> bool:
    return float(np.ptp(values.values, values.get_axis_num(dim)).max()) < CLOSE


def _own(field: xr.DataArray, dim: str) -> bool:
    return dim in field.coords and field[dim].dims == (dim,) and field[dim].dtype.kind in "iuf"


def _columns(latitude: xr.DataArray, longitude: xr.DataArray, x: str) -> int:
    """How many columns there are before the first one comes again, as those of ocean grids that overlap themselves do."""
    axis = latitude.get_axis_num(x)
    apart = [np.abs(each.values - each.isel({x: [0]}).values) for each in (latitude, longitude)]
    again = np.flatnonzero(((apart[0] < CLOSE) & (apart[1] < CLOSE)).all(1 - axis))
    return int(again[1]) if len(again) > 1 else latitude.sizes[x]


def _placed(
    field: xr.DataArray, names: Mapping[str, str], dims: Mapping[str, str], coords: Mapping[str, tuple[Any, Array]]
) -> xr.DataArray:
    """`field` with its dimensions of space renamed by `dims`, and `coords` in the place of what it had."""
    stale = {*names.values(), *dims, *dims.values(), *SPACE} - {role for role in SPACE if role in field.coords and not field[role].ndim}
    bare = field.drop_vars(stale, errors="ignore").rename(dims)
    return bare.assign_coords({name: (along, values, ATTRS.get(name, {})) for name, (along, values) in coords.items()})


def _last(field: xr.DataArray, where: str, notes: list[Finding]) -> xr.DataArray:
    """The dimensions of space behind all others, in their order."""
    space = [dim for dim in ("station", "y", "x", *SPACE) if dim in field.dims]
    ordered = field.transpose(..., *space)
    if ordered.dims != field.dims:
        notes.append(Finding("dimensions", where, ", ".join(map(str, field.dims)), ", ".join(map(str, ordered.dims))))
    return ordered


def _ascending(field: xr.DataArray, dim: str, values: Array, where: str, notes: list[Finding]) -> xr.DataArray:
    """`field` in ascending order of one coordinate; a meridian that comes twice is merged."""
    canonical = eastward(values) if dim == "longitude" else values
    points, order, inverse = np.unique(canonical, return_index=True, return_inverse=True)
    double = np.flatnonzero(order[inverse] != np.arange(len(values)))
    if len(double) and dim == "latitude":
        raise InputError(f"{where}: the latitude {values[double[0]]:g} comes twice; keep one row of it")
    for column in double:
        if not _agree(field, int(order[inverse][column]), int(column)):
            one = f"{values[order[inverse][column]]:g} and {values[column]:g}"
            raise InputError(f"{where}: the longitudes {one} are one meridian with different values; cut one of them off")
    if len(double):
        notes.append(Finding("longitude", where, f"{len(double)} meridian(s) twice: {span(values)}", "merged, their values agree"))
    if not np.array_equal(points, values):
        notes.append(Finding(dim, where, span(values), span(points)))
    return field.isel({dim: index(order)}).assign_coords({dim: (dim, points, ATTRS[dim])})


def _agree(field: xr.DataArray, one: int, other: int) -> bool:
    """Whether two columns hold the same, at the first, middle and last place along every dimension that is not space."""
    looked = field.isel({dim: sorted({0, size // 2, size - 1}) for dim, size in field.sizes.items() if dim not in SPACE and size})
    a, b = (np.asarray(looked.isel(longitude=column).values, float) for column in (one, other))
    return bool(np.allclose(a, b, rtol=1e-6, atol=1e-6 * float(np.nanmax(np.abs(a), initial=0.0)), equal_nan=True))


def _spanned(latitude: Array, longitude: Array) -> Array:
    """Areas on the unit sphere of the cells around points (y, x): the parallelogram of the half distances to their neighbours."""
    north, east = np.deg2rad(latitude), np.deg2rad(longitude)
    points = np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)], -1)
    area: Array = np.linalg.norm(np.cross(np.gradient(points, axis=0), np.gradient(points, axis=1)), axis=-1)
    return area
