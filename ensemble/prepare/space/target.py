"""Bringing a field to the points of a record: as they are, in another order, cut out of more, or regridded where that is asked for.

The points of a record are the coordinates of its dimensions of space, and latitude and longitude beside them where these are no
dimensions: of stations, and of curvilinear grids, two of which may well have the same shape and nothing else in common.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.prepare.space.circle import CLOSE, SPACE, index
from ensemble.prepare.space.match import aligned
from ensemble.prepare.space.regrid import at_stations, regridded
from ensemble.task import Array

Points = Mapping[str, Array]
DIMS = ("station", "y", "x", *SPACE)  # of space, as `grid.spatial` calls them


def points_like(like: xr.DataArray, leading: int) -> dict[str, Array]:
    """The coordinates of all dimensions behind the first `leading`, and latitude and longitude that are none of them."""
    dims = [str(dim) for dim in like.dims[leading:]]
    return {name: like[name].values for name in dict.fromkeys((*dims, *SPACE)) if name in dims or name in like.coords}


def brought(
    field: xr.DataArray, points: Points, leading: int, how: str | None, *, weights: str | None, where: str, notes: list[Finding]
) -> xr.DataArray:
    """`field`, whose space stands behind its first `leading` dimensions, at `points`; InputError where it is elsewhere and `how` is None.

    `how` is bilinear, nearest or conservative; to stations, and to a single place that has no dimension, one of the first two.
    """
    _nothing_else(field, leading, where)
    if how is None and weights is None:
        squeezed = [dim for dim in field.dims[leading:] if dim not in points and field.sizes[dim] == 1]
        field = field.squeeze(squeezed, drop=True)
        if not _along(points) and (spare := [str(dim) for dim in field.dims[leading:]]):
            cure = "write `regrid: nearest` or `regrid: bilinear`" if _are_places(points) else "bring it to one value a time, as they are"
            raise InputError(f"{where}: {field.name} has {' and '.join(spare)}, and the data are of one place; {cure}")
        return _as_it_is(field, _along(points), where)
    field = field.squeeze([dim for dim in field.dims[leading:] if dim not in DIMS], drop=True)
    shape = " x ".join(str(each) for each in field.shape[leading:])
    if weights is None and _are_places(points):
        notes.append(Finding("grid", where, shape, f"taken at {np.size(points['latitude'])} stations, {how}"))
        return _at_places(field, points, str(how), where)
    notes.append(Finding("grid", where, shape, f"regridded, by the weights of {weights}" if weights else f"regridded, {how}"))
    return regridded(field, _along(points), how or "", weights=weights, where=where)


def part_at(field: xr.DataArray, points: Points) -> xr.DataArray:
    """The part of `field` at those `points` that it contains; all of it where it does not, for the error to come."""
    picked = {}
    for dim, wanted in points.items():
        if dim not in SPACE or dim not in field.dims or np.ndim(wanted) != 1 or "station" in points:
            continue
        apart = np.abs(field[dim].values[:, None] - np.asarray(wanted, float)[None, :])
        apart = np.minimum(apart, np.abs(360 - apart)) if dim == "longitude" else apart
        if (apart.min(0) > CLOSE).any():
            return field
        picked[dim] = apart.argmin(0)
    return field.isel({dim: index(np.sort(each)) for dim, each in picked.items()})


def _nothing_else(field: xr.DataArray, leading: int, where: str) -> None:
    """InputError where it has values along what is neither time, member nor space."""
    for dim in field.dims[leading:]:
        if dim not in DIMS and field.sizes[dim] > 1:
            raise InputError(
                f"{where}: {field.name} has {field.sizes[dim]} values along {dim}, which is neither time, member, latitude nor longitude "
                "by its name or attributes; say in the file what it is, or keep one of them"
            )


def _are_places(points: Points) -> bool:
    """Whether they are stations, or one place that is no dimension."""
    return set(SPACE) <= set(points) and ("station" in points or not any(np.ndim(points[dim]) for dim in SPACE))


def _along(points: Points) -> dict[str, Array]:
    """Without what a field as a whole is called by: the place of a single point, of an index."""
    return {name: each for name, each in points.items() if np.ndim(each)}


def _at_places(field: xr.DataArray, points: Points, how: str, where: str) -> xr.DataArray:
    """(..., station), or without it where there is one place and no such dimension."""
    latitude, longitude = (np.atleast_1d(points[dim]) for dim in SPACE)
    made = at_stations(field, latitude, longitude, how, where=where)
    return made.assign_coords(station=points["station"]) if "station" in points else made.isel(station=0, drop=True)


def _as_it_is(field: xr.DataArray, points: Points, where: str) -> xr.DataArray:
    """The same points as the record's. Those with a latitude and longitude each are known by these, whatever they are numbered."""
    labels = [name for name in ("station", "y", "x") if name in points and name in field.dims]
    if not labels or not set(SPACE) <= set(points) or not set(SPACE) <= set(field.coords):
        if "station" in points and set(SPACE) <= set(field.dims):
            raise InputError(f"{where}: is on a grid, and the data are at stations; write `regrid: nearest` or `regrid: bilinear`")
        return aligned(field, points, where=where)
    if labels == ["station"]:
        field = _in_order(field, points)
    same = [name for name in labels if field.sizes[name] == len(points[name])]
    return aligned(field.assign_coords({name: points[name] for name in same}), points, where=where)


def _in_order(field: xr.DataArray, points: Points) -> xr.DataArray:
    """Stations in the order of the record, by where they are; as they are where one is not to be found, for the error to come."""
    theirs, ours = (np.stack([np.asarray(each[dim], float) for dim in SPACE]) for each in (field, points))
    apart = np.abs(theirs[:, :, None] - ours[:, None, :])
    apart[1] = np.minimum(apart[1], np.abs(360 - apart[1]))
    near = apart.max(0)
    found = near.argmin(0)
    if (near.min(0) > CLOSE).any() or len(set(found.tolist())) < len(found):
        return field
    return field.isel(station=index(found) if len(found) > 1 else found)
