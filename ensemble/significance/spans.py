"""How many starts hang together: lead times and years, counted in starts, whatever starts there are."""

from __future__ import annotations

import numpy as np

from ensemble.errors import InputError
from ensemble.task import Array, Times

YEAR = np.timedelta64(1, "Y")
MONTHLY = 28 * 86400  # seconds; starts that lie this far apart have an annual cycle to respect


def starts_within(init_time: Times, span: np.timedelta64) -> int:
    """The most starts that one span holds, at least 1. A span is half a spacing wide of its end, since months differ in length."""
    seconds = _seconds(init_time)
    if len(seconds) < 2:
        return 1
    spacing = float(np.median(np.diff(seconds)))
    end = seconds + span.astype("timedelta64[s]").astype(int) - spacing / 2
    held = np.searchsorted(seconds, end) - np.arange(len(seconds))
    return max(1, int(held.max()))


def block_length(init_time: Times, longest: np.timedelta64) -> int:
    """Starts in a block: as many as the longest lead holds, and a year where starts are a month or more apart.

    Never fewer than the cube root of all, the rate of Hall, Horowitz and Jing (1995), doi 10.1093/biomet/82.3.561, nor more than all.
    """
    seconds = _seconds(init_time)
    monthly = len(seconds) > 1 and np.median(np.diff(seconds)) >= MONTHLY
    year = starts_within(init_time, YEAR) if monthly else 1
    least = int(np.ceil(len(seconds) ** (1 / 3) - 1e-9))
    return min(len(seconds), max(least, year, starts_within(init_time, longest)))


def steps_ahead(init_time: Times, lead_times: Array, step: np.timedelta64) -> Array:
    """(lead_time,): each lead, `lead_times` in steps of the record, in starts: h of an h-step-ahead forecast."""
    return np.array([starts_within(init_time, int(each) * step) for each in lead_times])


def _seconds(init_time: Times) -> Array:
    seconds: Array = np.asarray(init_time).astype("datetime64[s]").astype(np.int64)
    if not (np.diff(seconds) > 0).all():
        raise InputError("init_time: blocks are made of neighbours in time, and these starts do not ascend; sort them")
    return seconds
