"""One form for every dataset, or an error that names the variable, the value found and the cure."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ensemble.errors import InputError, unknown
from ensemble.task import Array


def canonical(data: xr.Dataset, target: str) -> xr.Dataset:
    """The variable `target` alone: (time, ...) in double precision, space ascending, each array owned and read-only."""
    if target not in data.data_vars:
        raise unknown("target", target, map(str, data.data_vars))
    variable = data[target]
    if variable.dims[:1] != ("time",):
        raise InputError(f"target: {target} has dimensions {variable.dims}; the first must be time")
    space = [str(dim) for dim in variable.dims[1:]]
    for dim in space:
        if dim not in variable.coords:
            raise InputError(f"target: {target} has no coordinate for its dimension {dim}; give it one")
    ordered = variable.sortby(space)
    coords = {dim: (dim, _own(ordered[dim].values), dict(ordered[dim].attrs)) for dim in ("time", *space)}
    return xr.Dataset({target: (variable.dims, _own(ordered.values, np.float64), dict(variable.attrs))}, coords=coords)


def _own(values: Array, dtype: type | None = None) -> Array:
    """A contiguous copy that nobody can write to: models share it."""
    owned = np.array(values, dtype=dtype or values.dtype.newbyteorder("="), order="C")
    owned.setflags(write=False)
    return owned
