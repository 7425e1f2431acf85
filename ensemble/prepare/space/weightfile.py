"""Weights made elsewhere: files of ESMF (`S`, `row`, `col`) and of CDO and SCRIP (`remap_matrix`, `src_address`, `dst_address`).

Such a file numbers the cells of two grids in the order in which its maker read them, say from north to south and from -180. It
also says where each cell lies, so the weights are renumbered to the order of ours, or refused where the grids are not the same.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from scipy import sparse

from ensemble.errors import InputError
from ensemble.prepare.space.circle import CLOSE, SPACE, apart, eastward, span
from ensemble.task import Array

# what ESMF calls it -> what SCRIP and CDO call it
SCRIP = {
    "S": "remap_matrix",
    "row": "dst_address",
    "col": "src_address",
    "xc_a": "src_grid_center_lon",
    "yc_a": "src_grid_center_lat",
    "xc_b": "dst_grid_center_lon",
    "yc_b": "dst_grid_center_lat",
    "src_grid_dims": "src_grid_dims",
    "dst_grid_dims": "dst_grid_dims",
}
SIDES = {"source": ("yc_a", "xc_a", "src_grid_dims"), "target": ("yc_b", "xc_b", "dst_grid_dims")}


def weights_of_file(path: str, source: Mapping[str, Array], target: Mapping[str, Array], *, where: str) -> sparse.csr_array:
    """(target, source) cells in the order of `source` and `target`, coordinates of one dimension each, or of two for curvilinear grids."""
    with xr.open_dataset(path, decode_times=False) as file:
        names = SCRIP if "remap_matrix" in file else {name: name for name in SCRIP}
        if absent := [each for each in names.values() if each not in file.variables]:
            raise InputError(
                f"{path}: lacks {', '.join(absent)}; weights are read as ESMF_RegridWeightGen and cdo write them, with both grids"
            )
        found = {name: file[each].load() for name, each in names.items()}
    weight = found["S"].values.reshape(found["row"].size, -1)
    if weight.shape[1] > 1:
        raise InputError(
            f"{path}: has {weight.shape[1]} weights a link, of a way that needs gradients; use bilinear or first-order conservative ones"
        )
    cells = {side: _renumbered(side, found, each, path, where) for side, each in (("source", source), ("target", target))}
    row, col = (cells[side][found[name].values.astype(int) - 1] for side, name in (("target", "row"), ("source", "col")))
    shape = tuple(int(each.max()) + 1 for each in (cells["target"], cells["source"]))
    return sparse.csr_array(sparse.coo_array((weight[:, 0].astype(float), (row, col)), shape=shape))


def _renumbered(side: str, file: Mapping[str, xr.DataArray], points: Mapping[str, Array], path: str, where: str) -> Array:
    """The number in our order of each cell of one side of the file."""
    latitude, longitude = (_degrees(file[name]) for name in SIDES[side][:2])
    shape = tuple(int(each) for each in file[SIDES[side][2]].values[::-1])
    if len(shape) != 2 or not set(SPACE) <= points.keys():
        raise InputError(
            f"{path}: its {side} grid has {len(shape)} dimension(s), {where} ({', '.join(points)}); both need latitude and longitude"
        )
    latitude, longitude = latitude.reshape(shape), eastward(longitude).reshape(shape)
    ours = np.asarray(points["latitude"], float), eastward(points["longitude"])
    if ours[0].ndim == 2:
        numbers = np.arange(shape[0])[:, None] * ours[0].shape[1] + np.arange(shape[1]) % ours[0].shape[1]
    else:
        rows, columns = _places(latitude[:, 0], ours[0]), _places(longitude[0], ours[1])
        numbers = rows[:, None] * len(ours[1]) + columns
        ours = tuple(np.meshgrid(*ours, indexing="ij"))
    same = numbers.max() < ours[0].size and _close(latitude, ours[0].ravel()[numbers]) and _close(longitude, ours[1].ravel()[numbers])
    if not same or np.unique(numbers).size != ours[0].size:
        theirs = f"latitude {span(latitude)}, longitude {span(longitude)}, {shape[0]} x {shape[1]}"
        raise InputError(f"{path}: its {side} grid ({theirs}) is not that of {where}; make the weights for these two grids")
    return np.asarray(numbers.ravel())


def _places(theirs: Array, ours: Array) -> Array:
    """For each of their values the place of the nearest of ours."""
    return np.asarray(apart(theirs[:, None], ours).argmin(1))


def _close(a: Array, b: Array) -> bool:
    difference = apart(a, b)
    return bool(((difference <= CLOSE) | np.isnan(difference)).all())


def _degrees(values: xr.DataArray) -> Array:
    """As they are, or from radians."""
    radians = str(values.attrs.get("units", "")).lower().startswith("rad")
    return np.asarray(np.rad2deg(values.values) if radians else values.values, float)
