"""The cache is never wrong: whole blocks or none, found by all that they depend on."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ensemble.errors import InputError
from ensemble.prepare.files import blocks
from ensemble.prepare.files.blocks import BLOCK, cache_folder, cut, digest_of, rows, stored
from ensemble.prepare.files.opening import stamp
from ensemble.task import Times

RECORD = np.arange("2255-01", "2265-01", dtype="datetime64[M]").astype("datetime64[s]")
POINTS = 12


def original(reads: list[Times] | None = None) -> Callable[[Times], xr.Dataset]:
    def read(times: Times) -> xr.Dataset:
        if reads is not None:
            reads.append(times)
        month = (times.astype("datetime64[M]") - np.datetime64("2255-01")).astype(int)
        values = (month[:, None, None] + np.arange(12).reshape(3, 4) / 16).astype(np.float32)
        values[:, 0, 0] = np.nan
        data = xr.Dataset(
            {"sst": (("time", "latitude", "longitude"), values, {"units": "degC", "long_name": "température"})},
            {"time": ("time", times, blocks.AXIS), "latitude": [-1.0, 0, 1], "longitude": [0.1, 90, 180, 270]},
        )
        return data.assign_coords(cell_area=(("latitude", "longitude"), np.ones((3, 4))))

    return read


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 25 * POINTS * 8)
    monkeypatch.setattr(blocks, "CHUNK", 7 * POINTS * 4)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 119), max_size=30))
def test_what_is_read_through_the_cache_is_what_is_read_without(tmp_path: Path, index: list[int]) -> None:
    at = np.array(index, int)
    made = rows(tmp_path / "é ζ % #1", RECORD, POINTS, at, original())
    assert made.identical(original()(RECORD[at]))
    assert made["sst"].dtype == np.float32
    assert not made["sst"].encoding
    assert made["time"].dtype == RECORD.dtype


def test_each_block_is_read_once_and_only_if_it_is_needed(tmp_path: Path) -> None:
    reads: list[Times] = []
    edges = cut(len(RECORD), POINTS)
    assert edges.tolist() == [0, 24, 48, 72, 96, 120]
    for _ in range(2):
        rows(tmp_path, RECORD, POINTS, np.array([23, 50]), original(reads))
    assert [(times[0], len(times)) for times in reads] == [(RECORD[0], 24), (RECORD[48], 24)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00000.zarr", "00002.zarr"]


@settings(deadline=None)
@given(st.integers(1, 10**4), st.integers(1, 10**9))
def test_a_cut_holds_every_step_once_in_blocks_of_one_size(steps: int, points: int) -> None:
    edges, limit = cut(steps, points), blocks.BLOCK
    assert edges[0] == 0
    assert edges[-1] == steps
    length = np.diff(edges)
    assert length.max() - length.min() <= 1
    assert (length.max() - 1) * points * 8 <= limit or length.max() <= 1


def test_a_block_is_a_quarter_of_a_gigabyte_at_most() -> None:
    assert BLOCK <= 2**28


def test_a_reader_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> xr.Dataset:
        raise RuntimeError("the disk is on fire")

    with pytest.raises(RuntimeError, match="on fire"):
        stored(tmp_path / "a.zarr", broken)
    assert not list(tmp_path.iterdir())


def test_of_two_that_write_the_same_block_both_read_it(tmp_path: Path) -> None:
    """Another process comes first, while ours is still reading the original."""
    place = tmp_path / "a.zarr"

    def slow() -> xr.Dataset:
        stored(place, lambda: original()(RECORD[:3]))
        return original()(RECORD[:3])

    assert np.array_equal(stored(place, slow)["sst"].values, original()(RECORD[:3])["sst"].values, equal_nan=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.zarr"]


def test_threads_that_need_the_same_block_read_it_once(tmp_path: Path) -> None:
    reads: list[Times] = []
    work = [threading.Thread(target=rows, args=(tmp_path, RECORD, POINTS, np.array([3]), original(reads))) for _ in range(4)]
    for each in work:
        each.start()
    for each in work:
        each.join()
    assert len(reads) == 1


def test_a_folder_that_cannot_be_written_is_named_with_the_settings(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cache: .*file.* cannot be written to .*; set `cache:` or ENSEMBLE_CACHE"):
        stored(tmp_path / "file" / "a.zarr", lambda: original()(RECORD[:1]))


def test_the_place_is_that_of_the_setting_then_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = digest_of("settings", ["a 1 2"])
    monkeypatch.setenv("ENSEMBLE_CACHE", str(tmp_path / "env"))
    assert cache_folder(None, digest) == tmp_path / "env" / digest[:32]
    assert cache_folder(str(tmp_path / "set"), digest) == tmp_path / "set" / digest[:32]
    assert cache_folder("none", digest) is None
    monkeypatch.delenv("ENSEMBLE_CACHE")
    folder = cache_folder(None, digest)
    assert folder is not None
    assert folder.parent.name == "prepared"


def test_a_digest_depends_on_settings_files_and_code(monkeypatch: pytest.MonkeyPatch) -> None:
    same = digest_of("a", ["b", "c"], "d")
    assert digest_of("a", ["b", "c"], "d") == same
    others = [
        digest_of("x", ["b", "c"], "d"),
        digest_of("a", ["b", "x"], "d"),
        digest_of("a", ["c", "b"], "d"),
        digest_of("a", ["b", "c"], "x"),
    ]
    monkeypatch.setattr(blocks, "_version", lambda: "another")
    others.append(digest_of("a", ["b", "c"], "d"))
    assert len({same, *others}) == 6


def test_a_stamp_changes_with_a_file_and_with_a_chunk_of_a_store(tmp_path: Path) -> None:
    file, store = tmp_path / "a.nc", tmp_path / "a.zarr"
    original()(RECORD[:2]).to_netcdf(file)
    original()(RECORD[:2]).to_zarr(store, zarr_format=2, consolidated=True)
    before = stamp(str(file)), stamp(str(store))
    assert (stamp(str(file)), stamp(str(store))) == before
    os.utime(file, (1, 1))
    os.utime(store / "sst", (1, 1))
    assert stamp(str(file)) != before[0]
    assert stamp(str(store)) != before[1]
