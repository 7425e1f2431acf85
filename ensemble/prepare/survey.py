"""One pass over a record before anything is planned: which points carry data, and the digest of what was read.

The pass is a map and a sum over blocks of the record, so that a long one is looked at by the workers, a block in memory at a time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from ensemble.errors import InputError
from ensemble.prepare.canonical import canonical
from ensemble.prepare.files.blocks import pieces
from ensemble.task import Array, Domain, Field, Period, Source, Times


@dataclass(frozen=True)
class Seen:
    """What a block of the record, or several, has shown of one variable."""

    always: Array  # (...): points with data at every step
    ever: Array  # (...): points with data at some step
    coords: Mapping[str, Array]
    places: Mapping[str, tuple[tuple[str, ...], Array]]  # latitude and longitude that are no dimensions
    attrs: Mapping[str, Any]
    area: Array | None  # (...) [m2], where the data bring it

    def __add__(self, other: Seen) -> Seen:
        return replace(self, always=self.always & other.always, ever=self.ever | other.ever)


@dataclass(frozen=True)
class Survey:
    """What a block of the record, or several, has shown, variable by variable."""

    fields: Mapping[str, Seen]
    digests: tuple[str, ...]  # SHA-256 of each block

    def __add__(self, other: Survey) -> Survey:
        return Survey({name: each + other.fields[name] for name, each in self.fields.items()}, self.digests + other.digests)


def cut(source: Source, names: tuple[str, ...]) -> list[Times]:
    """The times of the record cut into pieces of bounded size; the cut depends on the record alone."""
    points = source.points or sum(each.size for each in canonical(source.read(source.times[:1]), *names).values())
    return pieces(source.times, points)


def survey(source: Source, names: tuple[str, ...], times: Times) -> Survey:
    """What the record shows at `times`."""
    data = canonical(source.read(times), *names)
    digest = hashlib.sha256(np.ascontiguousarray(data["time"].values.astype("datetime64[s]")).tobytes())
    for name in names:
        digest.update(np.ascontiguousarray(data[name].values).tobytes())
    return Survey({name: _seen(data[name]) for name in names}, (digest.hexdigest(),))


def _seen(field: xr.DataArray) -> Seen:
    present = np.isfinite(field.values)
    coords = {str(dim): field[dim].values for dim in field.dims[1:]}
    others = [name for name in ("latitude", "longitude") if name in field.coords and name not in coords]
    places = {name: (tuple(map(str, field[name].dims)), field[name].values) for name in others}
    attrs = {str(key): value for key, value in field.attrs.items()}
    area = field["cell_area"].values if "cell_area" in field.coords else None
    return Seen(present.all(0), present.any(0), coords, places, attrs, area)


def domain_of(seen: Survey, step: np.timedelta64, lead_times: Array, period: Period, missing: str) -> Domain:
    """Where the variables live, the target first; points missing for part of the time are refused, unless to be kept (`missing`)."""
    for name, each in seen.fields.items():
        sometimes = each.ever & ~each.always
        if sometimes.any() and missing == "refuse":
            raise InputError(
                f"data: {name} is missing at {sometimes.sum()} points for part of the time; fill or mask them for all of it, or write "
                "`sample: {missing: keep}` to hand the gaps to the models and leave them out of the scores"
            )
        if not each.ever.any():
            raise InputError(f"data: {name} holds no finite value")
    fields = {name: Field(each.coords, each.ever, _area(each), each.attrs, each.places) for name, each in seen.fields.items()}
    return Domain(fields, step, lead_times, period, next(iter(fields)))


def _area(seen: Seen) -> Array:
    """Cell areas, or else the cosine of latitude where there is one, over the points with data; they add up to one."""
    weight = np.ones(seen.ever.shape) if seen.area is None else seen.area.astype(float)
    for axis, (dim, values) in enumerate(seen.coords.items()):
        if seen.area is None and dim.startswith("latitude"):  # that of a predictor on another grid is called after it
            weight = weight * np.cos(np.deg2rad(values.astype(float))).reshape([-1 if i == axis else 1 for i in range(weight.ndim)])
    weight = np.where(seen.ever, weight, 0.0)
    area: Array = weight / weight.sum()
    return area
