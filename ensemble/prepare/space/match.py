"""Whether two grids are the same points, and if not, in what they differ."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from ensemble.errors import InputError
from ensemble.prepare.space.circle import CLOSE, SPACE, apart, eastward, index, span
from ensemble.task import Array


def same_grid(a: Mapping[str, Array], b: Mapping[str, Array]) -> bool:
    """Whether two sets of coordinates are the same points, up to a thousandth of a cell or the rounding of single precision.

    Axes may run either way and longitudes begin anywhere; stations, curvilinear and other points have to come in one order.
    """
    return set(a) == set(b) and not _differing(a, b)


def aligned(field: xr.DataArray, coords: Mapping[str, Array], *, where: str) -> xr.DataArray:
    """`field` at the very coordinates of `coords`, in their order; InputError where the grids differ."""
    found = {dim: field[dim].values for dim in coords if dim in field.coords}
    if not same_grid(found, coords):
        raise mismatch(found, coords, where=where)
    for dim in (each for each in _axes(coords) if each in field.dims):
        ours, theirs = _along_one_line(dim, np.asarray(coords[dim]), found[dim])
        order = np.empty(len(ours), int)
        order[np.argsort(ours)] = np.argsort(theirs)
        field = field.isel({dim: index(order)})
    return field.assign_coords({dim: (field[dim].dims, np.asarray(each), field[dim].attrs) for dim, each in coords.items()})


def mismatch(a: Mapping[str, Array], b: Mapping[str, Array], *, where: str) -> InputError:
    """The error for a grid `a` that should be the grid `b`: what differs, and the cure."""
    if set(a) != set(b):
        return InputError(
            f"{where}: its space is ({', '.join(a)}), that of the data ({', '.join(b)}); bring it there, e.g. `regrid: bilinear`"
        )
    differ = [_difference(dim, np.asarray(a[dim]), np.asarray(b[dim])) for dim in _differing(a, b)]
    return InputError(f"{where}: its grid is not that of the data: {'; '.join(differ)}; write `regrid: bilinear`, nearest or conservative")


def _axes(coords: Mapping[str, Array]) -> list[str]:
    """Which of them are axes of a grid, and not the places of stations or of curvilinear points."""
    return [dim for dim in SPACE if dim in coords and np.ndim(coords[dim]) == 1 and "station" not in coords]


def _differing(a: Mapping[str, Array], b: Mapping[str, Array]) -> list[str]:
    """The dimensions in which the grid `a` is not `b`."""
    axes = _axes(b)
    return [dim for dim in b if not _close(dim, np.asarray(a[dim]), np.asarray(b[dim]), axis=dim in axes)]


def _close(dim: str, a: Array, b: Array, *, axis: bool) -> bool:
    if a.shape != b.shape or a.dtype.kind not in "iuf" or b.dtype.kind not in "iuf":
        return bool(np.array_equal(a, b))
    if dim not in SPACE:
        return bool(np.allclose(a, b, rtol=1e-6, atol=0))
    if not axis:
        return bool(((apart(a, b) <= CLOSE) | (np.isnan(a) & np.isnan(b))).all())
    b, a = map(np.sort, _along_one_line(dim, b, a))
    return bool((np.abs(a - b) <= max(CLOSE, _cell(b) / 1000)).all())


def _along_one_line(dim: str, ours: Array, theirs: Array) -> tuple[Array, Array]:
    """Two axes as ascending numbers: the circle of longitudes is cut where ours has no point, half a cell before its first."""
    if dim != "longitude":
        return np.asarray(ours, float), np.asarray(theirs, float)
    cut = float(ours[0]) - _cell(np.sort(eastward(ours))) / 2
    return (np.asarray(ours, float) - cut) % 360, (np.asarray(theirs, float) - cut) % 360


def _cell(ascending: Array) -> float:
    return float(np.median(np.diff(ascending))) if ascending.size > 1 else 1.0


def _difference(dim: str, a: Array, b: Array) -> str:
    """How one coordinate differs from what it should be."""
    if dim not in SPACE or min(a.size, b.size) < 2 or max(a.ndim, b.ndim) > 1:
        return f"{dim} has {a.size} values ({span(a)}), wanted are {b.size} ({span(b)})"
    a, b = (np.sort(eastward(each) if dim == "longitude" else np.asarray(each, float)) for each in (a, b))
    if abs(_cell(a) / _cell(b) - 1) > 0.01:
        return f"{dim} is every {_cell(a):.4g} degrees ({span(a)}), wanted is every {_cell(b):.4g} ({span(b)})"
    cells = (a[0] - b[0]) / _cell(b)
    part = abs(cells - round(cells))
    if part > 0.01:
        share = "half a cell" if abs(part - 0.5) < 0.01 else f"{part:.2g} of a cell"
        return f"{dim} is shifted by {share} ({span(a)} where {span(b)} is wanted)"
    if a.size == b.size and round(cells) == 0:
        return f"{dim} is off by up to {float(apart(a, b).max()):.2g} degrees ({span(a)} where {span(b)} is wanted)"
    return f"{dim} covers {span(a)} with {a.size} values, wanted is {span(b)} with {b.size}"
