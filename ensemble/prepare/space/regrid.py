"""From one grid to another: every way is a sparse matrix of weights (target cell, source cell), applied to what is there.

    bilinear, nearest    at points: those of a grid, or stations
    conservative         overlaps of latitude bands (in the sine) times overlaps of meridian bands
    a file               of weights between any two grids, written by ESMF or CDO

                                         weights . (field, 0 where it is missing)
                              field'  =  ----------------------------------------
                                         weights . (1, 0 where it is missing)

A target cell with less than half of its weight on values is missing. The globe is closed: it does not matter where longitudes
begin, and beyond the last row lies a pole, the mean of that row. Outside the cells of a regional grid all is missing.

The weights are made in `weights.py` and not by `xarray-regrid`, against which the tests hold them: it gives the parts of a cell
one area per degree of latitude, so that its conservative way moves the mean of a 10 degree field by 0.2 %; ours keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from scipy import sparse

from ensemble.errors import InputError, unknown
from ensemble.prepare.space.circle import SPACE, span
from ensemble.prepare.space.grid import ATTRS
from ensemble.prepare.space.weightfile import weights_of_file
from ensemble.prepare.space.weights import at_points, between_grids
from ensemble.task import Array

WAYS = ("bilinear", "nearest", "conservative")
BLOCK = 1 << 22  # values in work at a time: 32 MB
HALF = 0.5 - 1e-9  # halfway between two cells of which one is missing, the other one counts


def regridded(field: xr.DataArray, grid: Mapping[str, Array], how: str, *, weights: str | None = None, where: str) -> xr.DataArray:
    """`field` (..., latitude, longitude), as `grid.spatial` gives it, on the points of `grid`, in the order of these.

    `how` is bilinear, nearest or conservative. With `weights`, the path of a file of weights, that file decides, and both grids may
    be curvilinear: (y, x) with `latitude` and `longitude` of two dimensions. The field is read and worked in blocks.
    """
    source, target = points_of(field), {dim: np.asarray(values) for dim, values in grid.items()}
    if weights is not None:
        matrix = weights_of_file(weights, source, target, where=where)
    elif how not in WAYS:
        raise unknown(f"{where}: regrid", how, WAYS)
    else:
        for each, dims in ((source, field.dims[-2:]), (target, tuple(target))):
            _regular(each, set(map(str, dims)), where, cells=how == "conservative")
        matrix = between_grids(*(tuple(map(float, each[dim])) for each in (source, target) for dim in SPACE), how)
    _meets(matrix, source, target, where)
    dims = ("y", "x") if "y" in target else SPACE
    coords = {dim: (dims if values.ndim == 2 else (dim,), values, ATTRS.get(dim, {})) for dim, values in target.items()}
    return _applied(matrix, field, {dim: len(target[dim]) for dim in dims}, coords).transpose(..., *(dim for dim in grid if dim in dims))


def at_stations(field: xr.DataArray, latitude: Array, longitude: Array, how: str, *, where: str) -> xr.DataArray:
    """`field` (..., latitude, longitude) at places -> (..., station): `nearest`, the cell a place lies in, or `bilinear`."""
    if how not in WAYS[:2]:
        raise unknown(f"{where}: stations", how, WAYS[:2])
    source, places = points_of(field), {"latitude": np.asarray(latitude, float), "longitude": np.asarray(longitude, float)}
    _regular(source, set(map(str, field.dims[-2:])), where)
    matrix = at_points(source["latitude"], source["longitude"], places["latitude"], places["longitude"], how)
    _meets(matrix, source, places, where)
    coords = {dim: (("station",), values, ATTRS[dim]) for dim, values in places.items()}
    return _applied(matrix, field, {"station": len(places["latitude"])}, coords)


def common_grid(degrees: float) -> dict[str, Array]:
    """The grid of a whole number of cells of `degrees` around the globe, with rows on the poles and on the equator.

    That of the WMO's exchanges of 2.5 (73 x 144) and 1.5 degrees (121 x 240, also WeatherBench 2's) and of NMME's 1 degree (181 x 360).
    """
    rows = round(90 / degrees) if degrees > 0 else 0
    if not rows or abs(rows * degrees - 90) > 1e-9:
        raise InputError(f"grid: {degrees:g} degrees do not divide 90; a common grid has 1, 1.5 or 2.5")
    return {"latitude": np.arange(-rows, rows + 1) * 90 / rows, "longitude": np.arange(4 * rows) * 90 / rows}


def points_of(field: xr.DataArray) -> dict[str, Array]:
    """The coordinates of a field's last two dimensions, and of two dimensions where it has such."""
    names = dict.fromkeys((*map(str, field.dims[-2:]), *SPACE))
    return {name: field[name].values for name in names if name in field.coords}


def _regular(points: Mapping[str, Array], dims: set[str], where: str, *, cells: bool = False) -> None:
    """Refuse what is not latitude by longitude, and where cells are needed what has none."""
    if dims != set(SPACE):
        cure = "make weights by ESMF_RegridWeightGen or `cdo genbil` and name their file"
        raise InputError(f"{where}: a grid of ({', '.join(sorted(dims))}) is not one of latitude and longitude; {cure}")
    for dim in SPACE:
        if cells and len(points[dim]) < 2:
            raise InputError(f"{where}: a single {dim} has no cell that conservative regridding could measure; write `regrid: bilinear`")


def _meets(matrix: sparse.csr_array, source: Mapping[str, Array], target: Mapping[str, Array], where: str) -> None:
    if not matrix.nnz:
        have, want = (", ".join(f"{dim} {span(each[dim])}" for dim in SPACE if dim in each) for each in (source, target))
        raise InputError(f"{where}: holds {have}, nothing of what is wanted: {want}")


def _applied(matrix: sparse.csr_array, field: xr.DataArray, sizes: Mapping[str, int], coords: Mapping[str, Any]) -> xr.DataArray:
    """`field` (..., source) -> (..., target), with its name, attributes and other coordinates; single precision stays single."""
    leading = field.dims[:-2]
    out = np.empty((*field.shape[:-2], *sizes.values()), np.float32 if field.dtype == np.float32 else np.float64)
    _fill(out.reshape(*field.shape[:-2], -1), field, matrix)
    kept = {name: each for name, each in field.coords.items() if set(each.dims) <= set(leading) and name not in coords}
    return xr.DataArray(out, dims=(*leading, *sizes), coords={**kept, **coords}, name=field.name, attrs=field.attrs)


def _fill(out: Array, field: xr.DataArray, matrix: sparse.csr_array) -> None:
    """The product, written into `out` (..., target); what is larger than a block is halved."""
    axis = next((i for i, size in enumerate(field.shape[:-2]) if size > 1), None)
    if field.size <= BLOCK or axis is None:
        values = np.asarray(field.values, float).reshape(-1, matrix.shape[1])
        out[...] = _product(matrix, values).reshape(out.shape)
        return
    for part in (slice(field.shape[axis] // 2), slice(field.shape[axis] // 2, None)):
        _fill(out[(slice(None),) * axis + (part,)], field.isel({field.dims[axis]: part}), matrix)


def _product(matrix: sparse.csr_array, values: Array) -> Array:
    """(fields, source) -> (fields, target): the weighted mean of what is there; missing where that is less than half."""
    there = ~np.isnan(values)
    alike = bool((there == there[:1]).all())
    weight = (matrix @ (there[:1] if alike else there).T.astype(float)).T
    total = (matrix @ np.where(there, values, 0.0).T).T
    return np.where(weight >= HALF, total / np.where(weight >= HALF, weight, 1.0), np.nan)
