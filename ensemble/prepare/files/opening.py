"""Opening what people bring: a file, a list, a pattern, a Zarr store, a URL; and how one knows that it has changed.

NetCDF and HDF5 are not safe in threads, and two large reads at once are two large pieces of memory, so a process has one reader at
a time. Nothing stays open. Times are left as they are written, for `clock` to understand; fill values and packing are undone.
"""

from __future__ import annotations

import glob
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import xarray as xr

from ensemble.errors import InputError

READING = threading.RLock()  # one for the process, whoever reads
_METADATA = (".zmetadata", "zarr.json", ".zgroup", ".zarray", ".zattrs")
_CHANGES = ("ETag", "etag", "mtime", "LastModified", "last_modified", "created", "size")  # what file systems tell of a change


def is_url(path: str) -> bool:
    """Whether `fsspec` is to find it: `s3://bucket/store.zarr`."""
    return "://" in path


def listed(path: str | tuple[str, ...], *, where: str) -> tuple[str, ...]:
    """Every file or store of a path, a pattern or a list of them: patterns in alphabetical order, a list in its own.

    A name that exists is no pattern, whatever letters are in it. Raises InputError where nothing is found.
    """
    paths = (path,) if isinstance(path, str) else path
    found = tuple(each for one in paths for each in _expanded(one, where))
    twice = {each for each in found if found.count(each) > 1} if len(set(found)) < len(found) else set()
    if twice or not found:
        raise InputError(f"{where}: {min(twice)} is listed twice; name it once" if twice else f"{where}: no files are given; write `path:`")
    return found


@contextmanager
def opened(path: str) -> Iterator[xr.Dataset]:
    """A file or store, its arrays not yet read; no other thread of this process reads meanwhile. InputError if it cannot be opened."""
    with READING:
        try:
            data = _open(path)
        except (OSError, ValueError, KeyError) as error:
            said = " ".join(str(error).split())[:160]
            raise InputError(f"{short(path)}: cannot be opened as NetCDF or Zarr ({said}); mend it, or leave it out of `path:`") from error
        with data:
            yield data


def short(path: str) -> str:
    """What a message calls a file."""
    return path.rstrip("/").rsplit("/", 1)[-1]


def stamp(path: str) -> str:
    """A line that changes when the file does: its name, size and time of change; of a store, those of its metadata and folders."""
    if is_url(path):
        return _stamp_of_url(path)
    status = os.stat(path)
    lines = [f"{path} {status.st_size} {status.st_mtime_ns}"]
    for folder, folders, files in os.walk(path):  # nothing, for a file
        folders.sort()
        told = [os.path.join(folder, name) for name in sorted(files) if name in _METADATA]
        changed = [os.stat(each).st_mtime_ns for each in (folder, *told)]  # a chunk that is replaced changes its folder
        lines.append(f"{os.path.relpath(folder, path)} {len(files)} {changed}")
    return "\n".join(lines)


def is_store(path: str) -> bool:
    """Whether it is a Zarr store and no file."""
    if is_url(path):
        return path.rstrip("/").endswith(".zarr") or any(_exists(path, name) for name in ("zarr.json", ".zmetadata", ".zgroup"))
    return any(os.path.isfile(os.path.join(path, name)) for name in _METADATA)


def _expanded(path: str, where: str) -> list[str]:
    if is_url(path):
        if not any(letter in path for letter in "*?["):
            return [path]
        system, inside = _system(path)
        found = [str(system.unstrip_protocol(each)) for each in sorted(system.glob(inside))]
    else:
        found = [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))
    if not found:
        raise InputError(f"{where}: no file is called or fits {path}; mend `path:`")
    for each in found:
        if not is_url(each) and os.path.isdir(each) and not is_store(each):
            raise InputError(f"{where}: {each} is a folder and no Zarr store; write which of its files, as in {each}/*.nc")
    return found


def _open(path: str) -> xr.Dataset:
    plain: dict[str, Any] = {"decode_times": False, "decode_timedelta": False, "cache": False, "chunks": None}
    if is_store(path):
        return xr.open_dataset(path, engine="zarr", consolidated=_consolidated(path), **plain)
    if is_url(path):  # NetCDF can only be read from a disk
        import fsspec  # type: ignore[import-untyped]

        path = fsspec.open_local(f"simplecache::{path}")
    engine = "netcdf4" if Path(path).suffix in (".nc", ".nc4", ".cdf", ".netcdf") else None  # to ask all engines costs as much as to open
    return xr.open_dataset(path, engine=engine, **plain)


def _consolidated(store: str) -> bool:
    """Whether the metadata of a store are gathered in one place: asked, because xarray warns where they are not."""
    if _exists(store, ".zmetadata"):
        return True
    return _exists(store, "zarr.json") and bool(json.loads(_read(store, "zarr.json")).get("consolidated_metadata"))


def _exists(store: str, name: str) -> bool:
    if is_url(store):
        system, inside = _system(store)
        return bool(system.exists(f"{inside}/{name}"))
    return os.path.isfile(os.path.join(store, name))


def _read(store: str, name: str) -> str:
    if is_url(store):
        system, inside = _system(store)
        return str(system.cat_file(f"{inside}/{name}").decode())
    return Path(store, name).read_text(encoding="utf-8")


def _stamp_of_url(path: str) -> str:
    system, inside = _system(path)
    store = next((f"{inside}/{name}" for name in _METADATA if _exists(path, name)), inside) if is_store(path) else inside
    told = system.info(store)
    return f"{path} {[(key, str(told[key])) for key in _CHANGES if key in told]}"


def _system(url: str) -> tuple[Any, str]:
    """The file system of a URL and the path in it."""
    from fsspec.core import url_to_fs  # type: ignore[import-untyped]

    system, inside = url_to_fs(url)
    return system, str(inside).rstrip("/")
