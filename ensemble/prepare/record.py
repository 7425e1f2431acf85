"""The record as chunks, read on the worker that needs it and kept there for the next model."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache

import numpy as np
import psutil
import xarray as xr
import zict
from distributed import get_worker

from ensemble.chunk import Chunk
from ensemble.prepare.canonical import canonical
from ensemble.task import Domain, Period, Source, Times, moment, steps_between

SHARE = 1 / 16  # of its memory that a process keeps records in; more of them are read again


@cache
def _kept() -> zict.LRU[Hashable, xr.Dataset]:
    return zict.LRU(SHARE * _memory(), {}, weight=lambda _, data: data.nbytes)


def _memory() -> float:
    """What this process may use [bytes]: as much as the cluster lets a worker have, or the machine."""
    try:
        return float(get_worker().memory_manager.memory_limit or psutil.virtual_memory().total)
    except ValueError:
        return float(psutil.virtual_memory().total)


def record(source: Source, names: tuple[str, ...], first: np.datetime64, last: np.datetime64) -> xr.Dataset:
    """The canonical record of variables from `first` to `last`, read once per process for all models, while there is room."""
    kept, key = _kept(), (source, source.digest, names, first, last)
    try:
        return kept[key]
    except KeyError:
        data = canonical(source.read(Period(first, last).times(source.step)), *names)
        if data.nbytes <= kept.n:
            kept[key] = data
        return data


def chunk_of(source: Source, domain: Domain, period: Period, shards: int, index: int, history: int) -> Chunk:
    """Chunk `index` of `period` cut into `shards`, with `history` - 1 steps before it and its longest lead after it.

    The overlap never leaves the period: nothing outside the training data is learnt from.
    """
    steps = steps_between(period.first, period.last, source.step) + 1
    start, stop = (steps * i // shards for i in (index, index + 1))
    before, after = max(start - max(history, 1) + 1, 0), min(stop + int(max(domain.lead_times)), steps)
    first, last = (moment(period.first, each, source.step) for each in (before, after - 1))
    return Chunk(record(source, tuple(domain.fields), first, last), domain, start - before, stop - before, first=before == 0)


def span(source: Source, init_time: Times, history: int, lead: int) -> tuple[np.datetime64, np.datetime64]:
    """The first and last step that forecasts issued at `init_time` look at, or are held against."""
    return moment(init_time[0], -history, source.step), moment(init_time[-1], lead - 1, source.step)
