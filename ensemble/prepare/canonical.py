"""One form for every dataset, or an error that names the variable, the value found and the cure."""

from __future__ import annotations

from difflib import get_close_matches

import numpy as np
import xarray as xr

from ensemble.task import Array


def canonical(data: xr.Dataset, target: str) -> xr.Dataset:
    """The variable `target` alone: (time, ...) in double precision, space ascending, each array owned and read-only."""
    if target not in data.data_vars:
        near = get_close_matches(target, map(str, data.data_vars))
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"target: the data hold no variable {target!r}, only {', '.join(map(str, data.data_vars))}{hint}")
    variable = data[target]
    if variable.dims[:1] != ("time",):
        raise ValueError(f"target: {target} has dimensions {variable.dims}; the first must be time")
    space = [str(dim) for dim in variable.dims[1:]]
    for dim in space:
        if dim not in variable.coords:
            raise ValueError(f"target: {target} has no coordinate for its dimension {dim}; give it one")
    ordered = variable.sortby(space)
    coords = {dim: (dim, _own(ordered[dim].values), dict(ordered[dim].attrs)) for dim in ("time", *space)}
    return xr.Dataset({target: (variable.dims, _own(ordered.values, np.float64), dict(variable.attrs))}, coords=coords)


def _own(values: Array, dtype: type | None = None) -> Array:
    """A contiguous copy that nobody can write to: models share it."""
    owned = np.array(values, dtype=dtype or values.dtype.newbyteorder("="), order="C")
    owned.setflags(write=False)
    return owned
