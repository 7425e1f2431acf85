"""Parts of the field that scores are made for: boxes, and the cells that a file marks.

A mask is read when the study is made, on the grid of its data. What travels to the workers are its bits, packed: a few kilobytes for
a million cells.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from ensemble.errors import InputError
from ensemble.place import located
from ensemble.prepare.canonical import canonical
from ensemble.prepare.files.opening import short
from ensemble.prepare.masks import marked
from ensemble.prepare.space.target import Points, points_like
from ensemble.task import Array, Field, Source


class Cells(NamedTuple):
    """A boolean array that can be hashed and travels light."""

    shape: tuple[int, ...]
    packed: bytes

    @classmethod
    def of(cls, inside: Array) -> Cells:
        return cls(inside.shape, zlib.compress(np.packbits(inside).tobytes()))

    def unpacked(self) -> Array:
        bits = np.frombuffer(zlib.decompress(self.packed), np.uint8)
        return np.unpackbits(bits, count=math.prod(self.shape)).astype(bool).reshape(self.shape)


@dataclass(frozen=True)
class Mask:
    """The cells that a file marks; of shares from 0 to 1 more than half counts. With `value`, the file holds labels."""

    path: str
    variable: str | None = None  # its name, standard name or long name
    value: float | None = None
    regrid: Literal["bilinear", "nearest", "conservative"] | None = None  # where its grid is not that of the data
    cells: Cells | None = field(default=None, repr=False)  # once it is read

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", located(self.path))

    def read(self, points: Points, *, where: str) -> Mask:
        """With its cells on the grid of the data. Raises InputError, which begins with `where`."""
        inside = marked(self.path, points, variable=self.variable, value=self.value, regrid=self.regrid, where=where)
        return replace(self, cells=Cells.of(inside))

    def at(self, field: Field) -> Array:
        """Which points of the field it marks."""
        if self.cells is None or self.cells.shape != field.mask.shape:
            state = "has not been read" if self.cells is None else f"was read for data of {self.cells.shape}, not {field.mask.shape}"
            raise InputError(f"regions: the mask {self.path} {state}; make a study of it and of its data")
        return self.cells.unpacked()

    def __str__(self) -> str:
        of = self.variable or "its mask"
        return f"{short(self.path)} where {of} is {'more than half' if self.value is None else format(self.value, 'g')}"


@dataclass(frozen=True)
class Region:
    """A box by `latitude` and `longitude` [degrees], bounds inside; longitudes may be given either way round.

    With a mask, the cells that it marks `within` the box.
    """

    latitude: tuple[float, float] = (-90.0, 90.0)
    longitude: tuple[float, float] = (0.0, 360.0)
    within: Mask | None = None

    def mask(self, field: Field) -> Array:
        """Which points of a grid lie in the region and carry data; a field without a grid is taken whole."""
        mask, latitude, longitude = field.mask.copy(), field.where("latitude"), field.where("longitude")
        if latitude is not None:
            mask &= (latitude >= self.latitude[0]) & (latitude <= self.latitude[1])
        if longitude is not None and self.longitude[1] - self.longitude[0] < 360:
            west, width = self.longitude[0], (self.longitude[1] - self.longitude[0]) % 360
            mask &= (longitude - west) % 360 <= width
        return mask if self.within is None else mask & self.within.at(field)

    def __str__(self) -> str:
        box = f"latitude {self.latitude[0]:g} to {self.latitude[1]:g}, longitude {self.longitude[0]:g} to {self.longitude[1]:g}"
        return box if self.within is None else f"{self.within}" + ("" if replace(self, within=None) == Region() else f", in {box},")


def placed(regions: Mapping[str, Region], data: Source, target: str) -> dict[str, Region]:
    """The regions, their masks read on the grid of the data; where there is a mask, one step of these is read."""
    if not any(each.within for each in regions.values()):
        return dict(regions)
    points = points_like(canonical(data.read(data.times[:1]), target)[target], leading=1)
    made = {name: each.within and each.within.read(points, where=f"regions.{name}") for name, each in regions.items()}
    return {name: replace(each, within=made[name]) for name, each in regions.items()}
