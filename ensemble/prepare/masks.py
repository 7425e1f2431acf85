"""Masks that people bring: which cells of the data a file marks, by ones, by shares of a cell, or by labels."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ensemble.errors import InputError
from ensemble.prepare.files.opening import listed, opened, short
from ensemble.prepare.names import alone, roles, variable_of
from ensemble.prepare.space.grid import spatial
from ensemble.prepare.space.target import Points, brought, part_at
from ensemble.task import Array

FEW = 8  # labels that a message names


def marked(
    path: str, points: Points, *, variable: str | None = None, value: float | None = None, regrid: str | None = None, where: str
) -> Array:
    """(...) of the data, whose `points` are as of `target.points_like`: where more than half of a cell is marked.

    The file holds zeros and ones, or shares between them; with `value`, labels, of which the cells of that one are marked. Where it
    holds nothing, or ends, no cell is. Its grid is that of the data, in any order and with any beginning of longitudes, or holds it;
    with `regrid` another one. Raises InputError, which begins with `where`, for anything else.
    """
    files = listed(path, where=where)
    if len(files) > 1:
        raise InputError(f"{where}: {len(files)} files fit {path}; a mask is one file")
    where = f"{where}: {short(files[0])}"
    with opened(files[0]) as data:
        name = variable_of(data, variable, where=where)
        own = alone(data, name)
        field = spatial(own[name], roles(own, where=where), where=where, notes=[]).load()
    share = _shares(field, value, where)
    share = part_at(share, points) if regrid is None else share
    there = brought(share, points, 0, regrid, weights=None, where=where, notes=[])
    inside: Array = there.transpose(*(dim for dim in points if dim in there.dims)).values > 0.5  # nothing is no more than half
    return inside


def _shares(field: xr.DataArray, value: float | None, where: str) -> xr.DataArray:
    """How much of each cell is marked, from 0 to 1."""
    values = field.fillna(0.0).astype(float) if value is None else (field == value).astype(float)
    if value is not None and not values.any():
        raise InputError(f"{where}: {field.name} is nowhere {value:g}; it holds {_held(field.values)}; mend `value:`")
    if values.min() < 0 or values.max() > 1:
        cure = f"to take a label, write which: `value: {float(values.max()):g}`"
        raise InputError(f"{where}: {field.name} holds {_held(field.values)}, and a mask goes from 0 to 1; {cure}")
    return values


def _held(values: Array) -> str:
    """The labels that there are, or how far they go where they are many."""
    labels = np.unique(values[~np.isnan(values.astype(float))])
    if labels.size > FEW:
        return f"{labels[0]:g} to {labels[-1]:g}"
    return ", ".join(f"{each:g}" for each in labels) or "nothing"
