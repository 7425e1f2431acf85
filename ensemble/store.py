"""What a run leaves on disk. Each file is written whole or not at all: under a temporary name, then renamed.

A fitted state is `<model>.npz`, its arrays, and `<model>.json`, the tree they hang on. Named tuples are written with the
place of their class, and read back only where that class has been loaded already: reading a state runs no code. The one
exception are estimators of other libraries, which are pickled beside it, and read only by who says that he trusts them.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import xarray as xr

from ensemble.errors import InputError
from ensemble.task import Array, Domain, Window, unit_of


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary place that becomes `path`, a file or a folder, once the block has ended without error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        if path.is_dir():
            shutil.rmtree(path)
        os.replace(temporary, path)
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary)
        else:
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """A text file."""
    with whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_netcdf(path: Path, data: xr.Dataset) -> None:
    """A NetCDF-4 file."""
    with whole(path) as temporary:
        data.to_netcdf(temporary, engine="netcdf4")


def write_zarr(path: Path, data: xr.DataTree) -> None:
    """A Zarr store with a group per node."""
    with whole(path) as temporary:
        data.to_zarr(temporary, zarr_format=2, consolidated=True)  # format 2: what every reader of Zarr reads


def write_state(folder: Path, name: str, state: Any) -> None:
    """The state of a learner."""
    arrays: dict[str, Array] = {}
    foreign: list[Any] = []
    tree = _encoded(state, arrays, foreign)
    if foreign:
        with whole(folder / f"{name}.pickle") as temporary:
            temporary.write_bytes(cloudpickle.dumps(foreign))
    with whole(folder / f"{name}.npz") as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # the stub mixes up names and options
    write_text(folder / f"{name}.json", json.dumps(tree, indent=1))


def read_state(folder: Path, name: str, *, trusted: bool = False) -> Any:
    """The state that `write_state` wrote; the classes of its named tuples must have been loaded, as a recipe loads them.

    Raises InputError where it holds pickled estimators, unless it is `trusted`.
    """
    tree = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    pickled = folder / f"{name}.pickle"
    if pickled.exists() and not trusted:
        raise InputError(f"state: {pickled} holds pickled objects, and reading them may run code; say trusted=True if you know whose it is")
    foreign = cloudpickle.loads(pickled.read_bytes()) if pickled.exists() else []
    with np.load(folder / f"{name}.npz", allow_pickle=False) as arrays:
        return _decoded(tree, arrays, foreign)


def _encoded(tree: Any, arrays: dict[str, Array], foreign: list[Any]) -> Any:
    """`tree` as JSON can hold it; arrays and foreign objects are put aside, and their number stands for them."""
    if isinstance(tree, dict):
        return {"dict": [[key, _encoded(value, arrays, foreign)] for key, value in tree.items()]}
    if isinstance(tree, (list, tuple)):
        fields = [_encoded(value, arrays, foreign) for value in tree]
        if hasattr(tree, "_fields"):
            return {"named": f"{type(tree).__module__}:{type(tree).__qualname__}", "items": fields}
        return {type(tree).__name__: fields}
    if isinstance(tree, (np.ndarray, np.generic)):
        arrays[str(len(arrays))] = np.asarray(tree)
        return {"array": len(arrays) - 1}
    if tree is None or isinstance(tree, (bool, int, float, str)):
        return {"value": tree}
    foreign.append(tree)
    return {"foreign": len(foreign) - 1}


def _decoded(tree: Any, arrays: Any, foreign: list[Any]) -> Any:
    (kind, content), *_ = tree.items()
    if kind == "dict":
        return {key: _decoded(value, arrays, foreign) for key, value in content}
    if kind == "named":
        module, _, qualname = content.partition(":")
        items = [_decoded(value, arrays, foreign) for value in tree["items"]]
        return _class(module, qualname)(*items)
    if kind in ("list", "tuple"):
        return {"list": list, "tuple": tuple}[kind](_decoded(value, arrays, foreign) for value in content)
    if kind == "foreign":
        return foreign[content]
    return arrays[str(content)] if kind == "array" else content


def _class(module: str, qualname: str) -> Any:
    found = getattr(sys.modules.get(module), qualname, None)
    if found is None:
        raise InputError(
            f"state: {module}:{qualname} has not been loaded; load the recipe of the run first (its model file may have changed)"
        )
    return found


def labelled(data: xr.Dataset, step: np.timedelta64) -> xr.Dataset:
    """`data` with lead times as other tools read them, and CF names on its axes.

    A lead is a `timedelta64` where a step has a fixed length, and a whole number with `units` where it has not.
    """
    unit, count = unit_of(step)
    leads = data["lead_time"].values
    attrs = {"standard_name": "forecast_period", "long_name": "lead time; 1 is the first step after the issue time", "axis": "T"}
    if unit in "YM":
        values, attrs = leads * count, {**attrs, "units": {"Y": "years", "M": "months"}[unit]}
    else:
        values = (leads * step).astype("timedelta64[s]")
    data = data.assign_coords(lead_time=("lead_time", values, attrs))
    for name, cf in _CF.items():
        if name in data.coords:
            data[name].attrs = {**cf, **data[name].attrs}
    return data.assign_attrs(Conventions="CF-1.11")


def verifiable(forecast: xr.Dataset, domain: Domain, windows: Sequence[Window] = ()) -> xr.Dataset:
    """`forecast` with `valid_time` (init_time, lead_time) and its bounds, which alignment goes by, beside it."""
    init_time, leads = forecast["init_time"].values, forecast["lead_time"].values
    first = np.array([each.first for each in windows]) if windows else leads
    bounds = np.stack([domain.valid_time(init_time, first), domain.valid_time(init_time, leads + 1)], axis=-1)
    dims = ("init_time", "lead_time")
    return forecast.assign_coords(valid_time=(dims, bounds[..., 0]), valid_time_bounds=((*dims, "bounds"), bounds))


_CF = {
    "init_time": {"standard_name": "forecast_reference_time", "long_name": "issue time: the first instant not seen"},
    "valid_time": {"standard_name": "time", "long_name": "start of the verifying interval", "bounds": "valid_time_bounds"},
    "latitude": {"standard_name": "latitude", "units": "degrees_north", "axis": "Y"},
    "longitude": {"standard_name": "longitude", "units": "degrees_east", "axis": "X"},
    "member": {"standard_name": "realization", "units": "1"},
    "model": {"long_name": "model or combination of models"},
    "region": {"standard_name": "region"},
}
