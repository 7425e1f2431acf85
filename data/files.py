"""Any files: a path, a list, a pattern such as "obs/*.nc", a Zarr store, or the URL of one, joined in time.

    data: {files: {path: "obs/*.nc", variable: tos, units: degC}}

What the files say of their times, space, units and missing values is understood and brought to the form of the house; what is
found and done is in `notes`. What can be read in two ways is refused, with the setting that says which. Steps are prepared in
blocks, which are kept in a cache for the next time (`ensemble.prepare.files.blocks`).
"""

from __future__ import annotations

import dataclasses
import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal

import numpy as np
import xarray as xr

from ensemble import Source, Times
from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.place import Place, located
from ensemble.prepare.files.blocks import cache_folder, digest_of, pieces, rows, stored
from ensemble.prepare.files.joining import Found, as_dataset, from_dataset, read, survey
from ensemble.prepare.files.opening import listed, stamp
from ensemble.prepare.files.pieces import Wanted
from ensemble.prepare.trend import Trend, check_degree, finding, fitted

Day = str | int | datetime.date | None


@dataclasses.dataclass(frozen=True)
class Files(Source):
    """One variable of the files; each setting but `path` is for what they do not say, or not clearly."""

    path: Place | tuple[Place, ...]
    variable: str | None = None  # its name, standard name or long name
    units: str | None = None  # wanted; else those of the first file
    units_are: str | None = None  # of the numbers, where the files say none or the wrong ones
    missing_value: float | Literal["none"] | None = None  # a fill value that is not declared
    level: float | None = None
    latitude: tuple[float, float] | None = None
    longitude: tuple[float, float] | None = None  # in any convention, from west to east
    grid: float | None = None  # of 1, 1.5 or 2.5 degrees, to bring the data to
    regrid: Literal["bilinear", "nearest", "conservative"] | None = None
    first: Day = None  # as precise as it is written: 1991 is its January
    last: Day = None  # 1991 is its December
    time_step: str | None = None  # "month", "6 hours"
    time_units: str | None = None  # "days since 1850-01-01"
    calendar: str | None = None
    stamp: Literal["start", "middle", "end", "instant"] | None = None  # where in its interval a time lies
    lead_one: Literal["at", "after"] | None = None  # of truth that is laid out as forecasts are
    duplicates: Literal["refuse", "first", "last"] = "refuse"  # of the order of the files
    gaps: Literal["refuse", "missing"] = "refuse"
    detrend: int | None = None  # degree of a polynomial in time, of all steps, to take out at each point; not for forecasting
    cache: str | None = None  # a folder, or "none"; else that of the variable ENSEMBLE_CACHE, or the user's

    def __post_init__(self) -> None:
        paths = (self.path,) if isinstance(self.path, str) else self.path
        places = tuple(located(each) for each in paths)  # a worker may stand in another folder
        object.__setattr__(self, "path", places[0] if isinstance(self.path, str) else places)
        for name in ("first", "last"):
            day = getattr(self, name)
            object.__setattr__(self, name, None if day is None else str(day))
        check_degree(self.detrend)

    @property
    def step(self) -> np.timedelta64:
        return self._found.axis.step

    @property
    def times(self) -> Times:
        return self._found.axis.times

    @property
    def target(self) -> str:
        return str(self._found.like.name)

    @property
    def points(self) -> int:
        return int(self._found.like.size)

    @property
    def notes(self) -> tuple[Finding, ...]:
        found, whole = self._found, "each point of the data"
        if self.detrend is None:
            return found.notes
        return (*found.notes, finding(self.detrend, found.axis.times, what=whole, where=found.where))

    @property
    def digest(self) -> str:
        """Of the settings, the files as they are now, and the code: the same digest is the same data."""
        settings = dataclasses.replace(self, cache=None)
        return digest_of(repr(settings), map(stamp, listed(self.path, where="data")), Path(__file__).read_text(encoding="utf-8"))

    def read(self, times: Times) -> xr.Dataset:
        if self.detrend is not None:
            data = self._as_it_is.read(times)
            values = data[self.target]
            return data.assign({self.target: values.copy(data=values.values - _trend(self, self.digest).at(times))})
        digest = self.digest
        found, folder = _found(self, digest), cache_folder(self.cache, digest)
        original = partial(read, found, self._wanted)
        return original(times) if folder is None else rows(folder, found.axis.times, found.like.size, found.steps_at(times), original)

    @property
    def _found(self) -> Found:
        source = self if self.detrend is None else self._as_it_is
        return _found(source, source.digest)

    @property
    def _as_it_is(self) -> Files:
        """The same record with its trend."""
        return dataclasses.replace(self, detrend=None)

    @property
    def _wanted(self) -> Wanted:
        return Wanted(**{each.name: getattr(self, each.name) for each in dataclasses.fields(Wanted)})


@lru_cache(maxsize=16)
def _found(source: Files, digest: str) -> Found:
    """What the files hold, looked at once and then known to every process that shares the cache."""
    folder = cache_folder(source.cache, digest)

    def look() -> Found:
        return survey(listed(source.path, where="data"), source._wanted)

    try:
        return look() if folder is None else from_dataset(stored(folder / "found.zarr", lambda: as_dataset(look())).load())
    except InputError as error:  # a source has a `step` already, which is no setting
        raise InputError(str(error).replace("`step:", "`time_step:")) from error


@lru_cache(maxsize=16)
def _trend(source: Files, digest: str) -> Trend:
    """The trend of the whole record, fitted by whichever process needs it first and then known to all that share the cache."""
    record, times, step, folder = source._as_it_is, source.times, source.step, cache_folder(source.cache, digest)

    def fit() -> xr.Dataset:
        blocks = (record.read(piece)[record.target].values.astype(float) for piece in pieces(times, source._found.like.size))
        made = fitted(times, step, source.detrend or 0, blocks).coefficients
        return xr.Dataset({"coefficients": (("power", *source._found.like.dims), made)})

    made = fit() if folder is None else stored(folder / "trend.zarr", fit).load()
    return Trend(times, step, made["coefficients"].values)
