"""Files in bulk: preparing them beside xarray's own way, and scoring a long record in a small memory; both print what they found."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import psutil
import pytest
import xarray as xr
from distributed import Client

import ensemble as ens
from ensemble.cluster import connected
from ensemble.execute import OnDask, Unit
from ensemble.prepare import cut, survey
from ensemble.progress import Lines

DATA = Path(__file__).parents[3] / "shared" / "data" / "cobe_sst2"
MONTHS = "datetime64[M]"
pytestmark = [pytest.mark.bench, pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data, the real data, is absent")]


def seconds(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def repeated(folder: Path, times: int) -> Path:
    """The 60 years so many times, one after the other; a pattern that finds them."""
    folder.mkdir()
    for path in sorted(DATA.glob("*.nc")):
        for again in range(times):
            year = int(path.stem[4:]) + 60 * again
            shutil.copy(path, folder / f"year{year}.nc")
            with netCDF4.Dataset(folder / f"year{year}.nc", "r+") as data:
                days = np.arange(f"{year}-01", f"{year + 1}-01", dtype=MONTHS).astype("datetime64[D]")
                data["time"][:] = (days - np.datetime64("1891-01-01")).astype(int)
    return folder / "*.nc"


def recipe(files: Path, last: int) -> Path:
    path = files.parent.with_suffix(".yaml")
    path.write_text(
        f"data: {{files: {{path: '{files}'}}}}\ntrain: [1950, 1955]\ntest: [1956, {last}]\nleads: [1, 2, 3]\n"
        "models: [persistence, climatology]\nscores: [rmse, bias]\n"
    )
    return path


@contextmanager
def peak(client: Client) -> Iterator[list[float]]:
    """The most that the only worker holds above what it held before [MiB]."""
    (pid,) = client.run(os.getpid).values()
    process, most, stop = psutil.Process(pid), [0.0], threading.Event()
    before = process.memory_info().rss

    def watch() -> None:
        while not stop.wait(0.02):
            most[0] = max(most[0], (process.memory_info().rss - before) / 2**20)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield most
    finally:
        stop.set()
        thread.join()
    assert list(client.run(os.getpid).values()) == [pid], "the worker was killed and started again"


def test_a_long_record_is_scored_in_a_small_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most: dict[int, float] = {}
    for times in (1, 4):
        monkeypatch.setenv("ENSEMBLE_CACHE", str(tmp_path / f"cache{times}"))
        files = repeated(tmp_path / f"times{times}", times)
        with connected(cluster={"local": {"workers": 1, "memory_limit": "1GiB"}}) as client:
            client.wait_for_workers(1)
            small = ["data.files.latitude=[-10, 10]", "data.files.longitude=[0, 20]", "data.files.last=1960"]
            ens.run(recipe(files, 1960), client=client, settings=small, show=False)  # whatever is imported and compiled
            with peak(client) as held:
                began = time.perf_counter()
                run = ens.run(recipe(files, 1949 + 60 * times), client=client, show=False)
        assert not run.failures
        assert (run.scores["n_starts"] == 12 * (60 * times - 6) - 2).all()
        most[times] = held[0]
        print(f"\n{60 * times} years of the globe at one degree, one worker of 1 GiB: {held[0]:.0f} MiB above its base, ", end="")
        print(f"{time.perf_counter() - began:.0f} s")
    assert most[4] < 1.25 * most[1]


def prepared(client: Client, source: Any) -> None:
    """As a run looks at its record: block by block where the workers are, each block written to the cache."""
    names = (source.target,)
    units = [Unit("data", "survey", survey, (source, names, piece), guess=0.5, keep=True) for piece in cut(source, names)]
    assert len(OnDask(client, "bench").run(units, Lines([]))) == len(units)


def by_xarray(client: Client, store: Path) -> None:
    with xr.open_mfdataset(sorted(map(str, DATA.glob("*.nc"))), chunks={}) as data:
        client.compute(data.to_zarr(store, compute=False, zarr_format=2, consolidated=True), sync=True)


def test_preparing_sixty_files_against_open_mfdataset_and_to_zarr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = ens.load("files", "data").Files
    ratios = []
    for repeat in range(3):
        took = {}
        for way in ("ours", "xarray"):
            monkeypatch.setenv("ENSEMBLE_CACHE", str(tmp_path / f"cache{repeat}"))
            with connected(cluster={"local": {"workers": 2}}) as client:
                client.wait_for_workers(2)
                source = files(path=str(DATA / "*.nc"), cache=str(tmp_path / f"{way}{repeat}"))
                if way == "ours":
                    took[way] = seconds(lambda: prepared(client, source))  # noqa: B023
                else:
                    took[way] = seconds(lambda: by_xarray(client, tmp_path / f"plain{repeat}.zarr"))  # noqa: B023
        ratios.append(took["ours"] / took["xarray"])
        print(f"\n60 files: prepared in {took['ours']:.2f} s, open_mfdataset and to_zarr {took['xarray']:.2f} s")
    print(f"preparing over xarray's own way: {np.median(ratios):.2f} (three rounds: {np.round(ratios, 2)}); at most 1.5 is wanted")
    assert np.median(ratios) <= 1.5
