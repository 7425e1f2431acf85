"""Past forecasts made by hand, and rules that learn from them."""

from typing import Any

import numpy as np
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.combine import Combine
from ensemble.combining import side_by_side
from ensemble.execute import Executor, Serial
from ensemble.fitting import fit
from ensemble.task import Array, Domain, Field, Period


def domain_of(names: tuple[str, ...], leads: int, points: int, area: Array | None = None) -> Domain:
    """Models side by side at some points; the area of all is the same unless given."""
    area = np.full(points, 1 / points) if area is None else area
    field = Field({"point": np.arange(points)}, area > 0, area, {})
    period = Period(np.datetime64("2001-01-01", "s"), np.datetime64("2002-01-01", "s"))
    return side_by_side(Domain({"t": field}, np.timedelta64(1, "D"), np.arange(1, leads + 1), period), names)


def learnt(
    rule: Combine[Any, Any], forecast: Array, truth: Array, *, pieces: int = 1, area: Array | None = None, executor: Executor | None = None
) -> tuple[Any, Domain]:
    """The state, and its domain, from (model, init_time, lead_time, point) and (init_time, lead_time, point)."""
    domain = domain_of(names(forecast), truth.shape[1], truth.shape[2], area)
    data = xr.Dataset({"forecast": labelled(forecast), "truth": (("init_time", "lead_time", "point"), truth)})
    parts = np.array_split(np.arange(len(truth)), pieces)
    chunks = [[Chunk(data.isel(init_time=index), domain, 0, len(index), True)] for index in parts]
    return fit(rule, chunks, domain, executor or Serial(), 0), domain


def weights_of(rule: Combine[Any, Any], forecast: Array, truth: Array, *, pieces: int = 1, area: Array | None = None) -> Array:
    return rule.weights(*learnt(rule, forecast, truth, pieces=pieces, area=area))


def combined(rule: Combine[Any, Any], forecast: Array, truth: Array) -> Array:
    made: Array = rule.combine(*learnt(rule, forecast, truth), labelled(forecast)).values
    return made


def labelled(forecast: Array) -> xr.DataArray:
    return xr.DataArray(forecast, dims=("model", "init_time", "lead_time", "point"))


def names(forecast: Array) -> tuple[str, ...]:
    return tuple(f"m{i}" for i in range(len(forecast)))
