"""The cache of prepared data: a record in blocks, each a Zarr store that is written once and read from then on.

A record is found under the digest of all that it is made of: the settings, the names, sizes and times of change of the files, and
the text of the code that prepares them. So nothing in the cache is ever wrong or written again; it may be deleted at any time.
Whoever needs a block first writes it, under a temporary name that is then renamed; of two workers that do so at once, one throws its
copy away. The cut is that of `survey`, so that workers that look at a record block by block write no block twice.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import uuid
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path

import numcodecs  # type: ignore[import-untyped]
import numpy as np
import xarray as xr
from platformdirs import user_cache_dir

from ensemble.errors import InputError
from ensemble.prepare.files.opening import READING
from ensemble.task import Array, Times

BLOCK = 2**26  # bytes of a block in double precision: what a worker has in memory of it, several times
CHUNK = 2**22  # bytes of a chunk of it: the least that is read for one step
LZ4 = numcodecs.Blosc("lz4", 5, numcodecs.Blosc.SHUFFLE)  # packs at 600 MB/s and unpacks at twice that, on one core
FOLDER = "ENSEMBLE_CACHE"  # the variable of the environment
AXIS = {"standard_name": "time", "axis": "T"}
SECONDS = {"units": "seconds since 1970-01-01", "calendar": "proleptic_gregorian", **AXIS}


def cache_folder(setting: str | None, digest: str) -> Path | None:
    """Where the blocks of a record are: in the folder of the setting, of the environment, or the user's; None where it says "none"."""
    chosen = setting or os.environ.get(FOLDER) or os.path.join(user_cache_dir("ensemble"), "prepared")
    return None if chosen == "none" else Path(os.path.abspath(os.path.expanduser(chosen)), digest[:32])


def digest_of(settings: str, stamps: Iterable[str], code: str = "") -> str:
    """SHA-256 of all that a prepared record depends on; `code` is the text of what prepares it beside this package."""
    return hashlib.sha256("\n".join([settings, *stamps, _version(), code]).encode()).hexdigest()


def cut(steps: int, points: int) -> Array:
    """(block + 1,): the steps at which the blocks of a record begin, and its end."""
    count = max(1, min(steps, -(-steps * points * 8 // BLOCK)))
    length = np.full(count, steps // count)
    length[: steps % count] += 1
    return np.concatenate([[0], np.cumsum(length)])


def pieces(times: Times, points: int) -> list[Times]:
    """The times of a record of so many values a step, block by block."""
    return np.split(times, cut(len(times), points)[1:-1])


def rows(folder: Path, record: Times, points: int, index: Array, read: Callable[[Times], xr.Dataset]) -> xr.Dataset:
    """The steps `index` of `record`, variables (time, ...), from the blocks under `folder`; `read` makes one that is not there yet."""
    edges = cut(len(record), points)
    block = np.searchsorted(edges, index, side="right") - 1
    made: dict[str, Array] = {}
    piece = xr.Dataset()
    for number in np.unique(block) if len(index) else [0]:
        first, after = int(edges[number]), int(edges[number + 1])
        whole = stored(folder / f"{number:05d}.zarr", partial(read, record[first:after]))
        here = np.flatnonzero(block == number)
        piece = whole.isel(time=_slice(index[here] - first)).load().drop_encoding()
        for name, each in piece.data_vars.items():
            made.setdefault(str(name), np.empty((len(index), *each.shape[1:]), each.dtype))[here] = each.values
    variables = {name: (piece[name].dims, values, piece[name].attrs) for name, values in made.items()}
    return xr.Dataset(variables, {"time": ("time", record[index], AXIS), **piece.drop_vars("time").coords})


def stored(place: Path, make: Callable[[], xr.Dataset]) -> xr.Dataset:
    """The dataset at `place`, not yet read; made and written there if it is not. Raises InputError where one may not write."""
    if not place.is_dir():
        with READING:
            if not place.is_dir():  # another thread may have come first
                _write(place, make())
    return xr.open_dataset(place, engine="zarr", consolidated=True, chunks=None, decode_times=False, cache=False)


def _write(place: Path, data: xr.Dataset) -> None:
    temporary = place.with_name(f".{place.name}.{uuid.uuid4().hex}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        _plain(data).to_zarr(temporary, zarr_format=2, consolidated=True, encoding=_encoding(data))
        os.rename(temporary, place)
    except OSError as error:
        if not place.is_dir():  # else another process has come first
            raise InputError(
                f"cache: {place.parent} cannot be written to ({error.strerror}); set `cache:` or {FOLDER} to a folder that can, or to none"
            ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _plain(data: xr.Dataset) -> xr.Dataset:
    """`data` with its time as whole seconds, which hold any date, and without what it remembers of the files it came from."""
    bare = data.drop_encoding()
    if "time" not in bare.coords:
        return bare
    seconds = bare["time"].values.astype("datetime64[s]").astype(np.int64)
    return bare.assign_coords(time=("time", seconds, SECONDS))


def _encoding(data: xr.Dataset) -> dict[str, dict[str, object]]:
    """Chunks along the first dimension."""
    chunks = {}
    for name, each in data.data_vars.items():
        if each.ndim and each.size:
            step = max(each.nbytes // each.shape[0], 1)
            chunks[str(name)] = (max(1, min(each.shape[0], CHUNK // step)), *each.shape[1:])
    return {name: {"chunks": each, "compressors": (LZ4,)} for name, each in chunks.items()}


def _slice(index: Array) -> Array | slice:
    """`index` as a slice where it is one."""
    if len(index) and np.array_equal(index, np.arange(index[0], index[0] + len(index))):
        return slice(int(index[0]), int(index[-1]) + 1)
    return index


@cache
def _version() -> str:
    """Changes with the code that prepares."""
    texts = (path.read_bytes() for path in sorted(Path(__file__).parents[1].rglob("*.py")))
    return hashlib.sha256(b"\n".join(texts)).hexdigest()
