"""One record, written to files in the many manners of the field, and what its scores are by hand.

A `World` is a truth and a forecast of it; a `Manner` is a way to write either down. However both are written, the scores are those
of the world.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import cftime  # type: ignore[import-untyped]
import numpy as np
import pytest
import xarray as xr

from ensemble.scoring import Scored, score_files
from ensemble.task import Array

STAMPS = ("first", "middle", "last", "after")
CALENDARS = ("standard", "proleptic_gregorian", "noleap", "all_leap", "360_day", "julian")
FEW = "scores=[rmse, bias, mae, spread]"  # those that are looked at: a third less time
GRAIN = 64  # values are whole numbers of 1/64, which single precision and packed integers hold


class World(NamedTuple):
    """(time, latitude, longitude) of a truth and of a forecast of it [K], a step a month from January of `year`."""

    truth: Array
    model: Array
    latitude: Array
    longitude: Array  # ascending from 0
    year: int = 2001

    @property
    def weight(self) -> Array:
        """Of each value: the cosine of latitude, adding up to one."""
        cosine = np.broadcast_to(np.cos(np.deg2rad(self.latitude))[None, :, None], self.truth.shape)
        return cosine / cosine.sum()

    @property
    def scores(self) -> dict[str, float]:
        error, weight = self.model - self.truth, self.weight
        return {
            "bias": float((weight * error).sum()),
            "rmse": float(np.sqrt((weight * error**2).sum())),
            "mae": float((weight * np.abs(error)).sum()),
        }

    def months(self) -> list[tuple[int, int]]:
        """(year, month) of each step."""
        return [(self.year + i // 12, i % 12 + 1) for i in range(len(self.truth))]


def world(steps: int = 14, seed: int = 0, year: int = 2001) -> World:
    rng = np.random.default_rng(seed)
    latitude, longitude = np.array([-60.0, -20.0, 20.0, 60.0]), np.arange(0.0, 360.0, 60.0)
    truth, error = (np.round(rng.normal(size=(steps, 4, 6)) * GRAIN) / GRAIN for _ in range(2))
    return World(280 + truth, 280.5 + truth + error, latitude, longitude, year)


@dataclass(frozen=True)
class Manner:
    """How a record is written down; the usual one."""

    calendar: str = "standard"
    units: str = "days since 1850-01-01"
    stamp: str = "middle"
    bounds: bool = False
    west: float = 0.0  # where longitudes begin
    wrap: bool = False  # whether the first meridian comes again at the end
    north_first: bool = False
    order: tuple[str, str, str] = ("time", "lat", "lon")
    names: tuple[str, str, str] = ("time", "lat", "lon")
    dtype: str = "f8"
    single: bool = False  # whether coordinates are in single precision
    kelvin: bool = True

    @property
    def settings(self) -> dict[str, str]:
        """What its reader has to be told: nothing but that a stamp on the edge of two months means the one before."""
        return {"stamp": "end"} if self.stamp == "after" and not self.bounds else {}

    @property
    def exact(self) -> bool:
        return self.dtype == "f8"


PLAIN = Manner()


def written(values: Array, of: World, how: Manner, name: str = "tas") -> xr.Dataset:
    """The record as a dataset, ready for `to_netcdf`; coordinates say what they are by their units alone."""
    begins = (how.west - of.longitude[0]) % 360
    first = int(np.searchsorted(of.longitude, begins))
    turn = np.roll(np.arange(len(of.longitude)), -first)
    turn = np.append(turn, turn[0]) if how.wrap else turn
    longitude = of.longitude[turn] - of.longitude[turn[0]]
    longitude = np.where(longitude < 0, longitude + 360, longitude) + how.west
    if how.wrap:
        longitude[-1] = how.west + 360
    rows = slice(None, None, -1) if how.north_first else slice(None)
    precision = np.float32 if how.single else np.float64
    time, lat, lon = how.names
    numbers = values[:, rows][..., turn] - (0.0 if how.kelvin else 273.15)
    data = xr.Dataset(
        {name: (how.names, numbers, {"units": "K" if how.kelvin else "degC"})},
        {
            time: stamps(of, how),
            lat: (lat, of.latitude[rows].astype(precision), {"units": "degrees_north"}),
            lon: (lon, longitude.astype(precision), {"units": "degrees_east"}),
        },
    )
    if how.bounds:
        data[time].attrs["bounds"] = f"{time}_bnds"
        data[f"{time}_bnds"] = ((time, "bnds"), np.stack([counted(edges(of, after), how) for after in (0, 1)], -1))
    if how.dtype == "f4":
        data[name] = data[name].astype(np.float32)
    if how.dtype == "i2":
        offset = 280.0 if how.kelvin else 280.0 - 273.15
        data[name].encoding = {"dtype": "i2", "scale_factor": 1 / GRAIN, "add_offset": offset, "_FillValue": -32768}
    order = dict(zip(("time", "lat", "lon"), how.names, strict=True))
    return data.assign({name: data[name].transpose(*(order[each] for each in how.order))})


def edges(of: World, after: int) -> list[tuple[int, int, int]]:
    """The first of each month, or of the one after it."""
    return [((12 * y + m - 1 + after) // 12, (m - 1 + after) % 12 + 1, 1) for y, m in of.months()]


def stamps(of: World, how: Manner) -> xr.Variable:
    last = {"360_day": 30}.get(how.calendar, 28)
    days = {"first": edges(of, 0), "after": edges(of, 1)}
    days |= {name: [(y, m, day) for y, m in of.months()] for name, day in (("middle", 15), ("last", last))}
    attrs = {"units": how.units, "calendar": how.calendar}
    return xr.Variable(how.names[0], counted(days[how.stamp], how), attrs)


def counted(days: list[tuple[int, int, int]], how: Manner) -> Array:
    if how.units.startswith("months since"):
        origin = [int(each) for each in how.units.removeprefix("months since ").split("-")]
        return np.array([12 * (y - origin[0]) + m - origin[1] + (0.5 if d == 15 else 0.0) for y, m, d in days])
    dates = [cftime.datetime(*each, calendar=how.calendar) for each in days]
    return np.asarray(cftime.date2num(dates, how.units, calendar=how.calendar), float)


def score(
    folder: Path, truth: xr.Dataset, settings: Mapping[str, Any] | None = None, more: tuple[str, ...] = (), **models: xr.Dataset
) -> Scored:
    """`models` against `truth`, all of them files in `folder`; `settings` are of the truth, `more` as of `--set`."""
    files = {name: filed(folder, name, data) for name, data in {"obs": truth, **models}.items()}
    given = (FEW, *(f"data.files.{name}={value}" for name, value in (settings or {}).items()))
    place = files.pop("obs")
    return score_files(files, {"obs": place}, settings=(*given, *more), show=False)


def filed(folder: Path, name: str, data: xr.Dataset) -> str:
    path = folder / f"{name}.nc"
    path.unlink(missing_ok=True)
    data.to_netcdf(path)
    return str(path)


def compared(folder: Path, of: World, truth: Manner = PLAIN, model: Manner = PLAIN, *more: str) -> Scored:
    """The two of a world, each written in its manner."""
    told = tuple(f"models.model.{name}={value}" for name, value in model.settings.items())
    data, forecast = written(of.truth, of, truth), written(of.model, of, model)
    return score(folder, data, truth.settings, (*told, *more), model=forecast)


def agree(found: Scored, of: World, rel: float = 1e-9, model: str = "model") -> None:
    for name, right in of.scores.items():
        assert value(found, name, model) == pytest.approx(right, rel=rel, abs=rel), name
    assert count(found, "n", model) == of.truth.size


def one(found: Scored, name: str, region: str = "all") -> xr.DataArray:
    """(model,) of a score at the only lead."""
    return found.scores[name].isel(truth=0).sel(region=region).isel(lead_time=0)


def value(found: Scored, name: str, model: str = "model", region: str = "all") -> float:
    return float(one(found, name, region).sel(model=model))


def count(found: Scored, name: str = "n", model: str = "model", region: str = "all") -> int:
    return int(one(found, name, region).sel(model=model))


def but(how: Manner, **changes: Any) -> Manner:
    return replace(how, **changes)
