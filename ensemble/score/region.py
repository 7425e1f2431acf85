"""Parts of the field that scores are made for."""

from __future__ import annotations

from dataclasses import dataclass

from ensemble.task import Array, Field


@dataclass(frozen=True)
class Region:
    """A box by `latitude` and `longitude` [degrees], bounds inside; longitudes may be given either way round."""

    latitude: tuple[float, float] = (-90.0, 90.0)
    longitude: tuple[float, float] = (0.0, 360.0)

    def mask(self, field: Field) -> Array:
        """Which points of a grid lie in the box and carry data; a field without a grid is taken whole."""
        mask, latitude, longitude = field.mask.copy(), field.where("latitude"), field.where("longitude")
        if latitude is not None:
            mask &= (latitude >= self.latitude[0]) & (latitude <= self.latitude[1])
        if longitude is not None and self.longitude[1] - self.longitude[0] < 360:
            west, width = self.longitude[0], (self.longitude[1] - self.longitude[0]) % 360
            mask &= (longitude - west) % 360 <= width
        return mask
