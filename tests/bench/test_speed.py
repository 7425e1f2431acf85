"""Speed and memory, as ratios measured side by side in one run; `make bench` prints them and asserts nothing of the machine."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest
from distributed import Client, LocalCluster

import ensemble as ens
from ensemble.cluster import connected
from ensemble.execute import OnDask, Unit
from ensemble.execute.threads import environment
from ensemble.progress import Lines

pytestmark = pytest.mark.bench


def seconds(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


@contextmanager
def memory() -> Iterator[list[float]]:
    """The most that this process and its children hold at once [GiB], shared pages counted once (proportional set size)."""
    most, stop = [0.0], threading.Event()

    def watch() -> None:
        me = psutil.Process()
        while not stop.wait(0.25):
            held = 0
            for process in [me, *me.children(recursive=True)]:
                try:
                    held += process.memory_full_info().pss
                except psutil.Error:
                    continue
            most[0] = max(most[0], held / 2**30)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield most
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("compiled", ["nothing compiled before", "compiled by an earlier run"])
def test_two_workers_against_one(compiled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, inner = {}, {}
    if compiled != "nothing compiled before":
        ens.run("enso", workers=2, show=False)
    for workers in (1, 2):
        for name, took in (("whole", whole), ("inner", inner)):
            if compiled == "nothing compiled before":
                monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / f"{name}{workers}"))
            if name == "whole":
                took[workers] = seconds(lambda: ens.run("enso", workers=workers, out=tmp_path / str(workers), show=False))  # noqa: B023
                print(f"\n{compiled}, {workers} workers: {took[workers]:.1f} s")
            else:
                with connected(cluster={"local": {"workers": workers}}) as client:
                    client.wait_for_workers(workers)
                    took[workers] = seconds(lambda: ens.run("enso", client=client, show=False))
    ratios = f"{inner[1] / inner[2]:.2f} over fit, forecast and score ({inner[1]:.1f} s / {inner[2]:.1f} s)"
    print(f"two workers against one, {compiled}: {ratios}; {whole[1] / whole[2]:.2f} over the whole run")


def test_the_memory_of_the_default_run(tmp_path: Path) -> None:
    with memory() as most:
        ens.run("enso", workers=2, out=tmp_path / "run", show=False)
    print(f"\nthe default run on two workers: at most {most[0]:.2f} GiB over all processes")


def wait(i: int) -> int:
    time.sleep(0.05)
    return i


def test_the_dispatcher_against_client_map() -> None:
    with LocalCluster(n_workers=2, threads_per_worker=1, env=environment(), dashboard_address=None) as cluster, Client(cluster) as client:
        client.gather(client.map(wait, range(8), pure=False))
        ratios = []
        for repeat in range(5):
            mapped = seconds(lambda: client.gather(client.map(wait, range(200), pure=False)))
            units = [Unit("bench", "wait", wait, (i,), guess=0.05) for i in range(200)]
            ours = seconds(lambda: OnDask(client, f"{repeat:08x}").run(units, Lines([])))  # noqa: B023
            ratios.append(ours / mapped)
    print(f"\n200 units of 50 ms: dispatcher over client.map {np.median(ratios):.3f} (five rounds: {np.round(ratios, 3)})")


def test_the_import() -> None:
    def took(code: str) -> float:
        return min(seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True)) for _ in range(7))

    ours, xarray, bare = took("import ensemble"), took("import xarray"), took("pass")
    print(f"\nimport ensemble {ours / xarray:.2f} of import xarray ({ours:.2f} s, {xarray:.2f} s; an empty process {bare:.2f} s)")
