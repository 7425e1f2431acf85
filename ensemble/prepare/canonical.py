"""One form for every dataset, or an error that names the variable, the value found and the cure."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ensemble.errors import InputError, unknown
from ensemble.task import Array

BESIDE = ("latitude", "longitude", "cell_area")  # what a field may carry beside the coordinates of its dimensions


def canonical(data: xr.Dataset, *names: str) -> xr.Dataset:
    """The variables `names` alone: (time, ...) in double precision, space ascending, each array owned and read-only."""
    made = [_one(data, name) for name in names]
    return made[0] if len(made) == 1 else xr.merge(made, join="exact", compat="equals", combine_attrs="drop")


def _one(data: xr.Dataset, name: str) -> xr.Dataset:
    if name not in data.data_vars:
        raise unknown("target", name, map(str, data.data_vars))
    variable = data[name]
    if variable.dims[:1] != ("time",):
        raise InputError(f"target: {name} has dimensions {variable.dims}; the first must be time")
    space = [str(dim) for dim in variable.dims[1:]]
    ordered = variable.sortby([dim for dim in space if dim in variable.coords])
    coords = {dim: (dim, _own(ordered[dim].values), dict(ordered[dim].attrs)) for dim in ("time", *space)}
    beside = {name: ordered[name] for name in BESIDE if name in ordered.coords and name not in coords}
    coords |= {name: (each.dims, _own(each.values), dict(each.attrs)) for name, each in beside.items()}  # type: ignore[misc]
    return xr.Dataset({name: (variable.dims, _own(ordered.values, np.float64), dict(variable.attrs))}, coords=coords)


def _own(values: Array, dtype: type | None = None) -> Array:
    """A contiguous copy that nobody can write to: models share it."""
    owned = np.array(values, dtype=dtype or values.dtype.newbyteorder("="), order="C")
    owned.setflags(write=False)
    return owned
