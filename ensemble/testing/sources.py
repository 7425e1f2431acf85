"""What a source of data promises."""

from __future__ import annotations

import pickle

import numpy as np

from ensemble.prepare import canonical
from ensemble.task import Source, shift

SMALL = 100_000  # bytes


def check_source(source: Source) -> None:
    """Raise AssertionError with the promise that `source` breaks; reads the whole record twice."""
    time_goes_on_without_a_gap(source)
    a_piece_is_what_the_whole_has_there(source)
    every_variable_is_described(source)
    a_description_travels(source)


def time_goes_on_without_a_gap(source: Source) -> None:
    """Steps are equal, in their own unit, and named by the beginning of their interval."""
    times = source.times
    assert times.dtype == np.dtype("datetime64[s]"), f"times are {times.dtype}; they must be datetime64[s]"
    expected = shift(times[0], np.arange(len(times)), source.step)
    assert (times == expected).all(), f"the time after {times[times == expected][-1]} is not one step of {source.step} later"


def a_piece_is_what_the_whole_has_there(source: Source) -> None:
    """Chunks are read on their own, and read again."""
    times = source.times
    whole = source.read(times)
    assert np.array_equal(whole["time"].values, times), "read(times) returns other times than it was asked for"
    for index in (slice(0, 1), slice(len(times) // 3, len(times) // 2), slice(-2, None)):
        piece = source.read(times[index])
        assert piece.identical(whole.isel(time=index)), f"read({times[index][0]} to {times[index][-1]}) differs from the whole record there"
    assert source.read(times).identical(whole), "the same times read twice are not the same data"


def every_variable_is_described(source: Source) -> None:
    """In the form that `prepare` asks for, with units."""
    data = source.read(source.times[:2])
    assert data.data_vars, "the source holds no variable"
    for name in map(str, data.data_vars):
        try:
            canonical(data, name)
        except ValueError as error:
            raise AssertionError(str(error)) from error
        assert data[name].attrs.get("units"), f"{name} has no units; set its attribute `units`"
        assert np.isfinite(data[name].values).any(), f"{name} holds no finite value"


def a_description_travels(source: Source) -> None:
    """The data are read where they are needed; the source itself is small, hashable, and the same one when it arrives."""
    source.read(source.times[:1])
    text = pickle.dumps(source)
    assert len(text) < SMALL, f"the source pickles to {len(text)} bytes after reading; leave the data behind in __getstate__"
    copied = pickle.loads(text)
    assert copied == source, "a source that was pickled and read again is not equal to itself; write @dataclass(frozen=True)"
    assert hash(copied) == hash(source), "a source that was pickled and read again has another hash"
    assert copied.read(source.times[:2]).identical(source.read(source.times[:2])), "a source reads other data once it has travelled"
