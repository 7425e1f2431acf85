"""The same bits in one process, on one, two and four workers, and under a scheduler in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from distributed import Client

import ensemble as ens
from ensemble.sums import tree_map

QUICK = ["models.mlp.rounds=5"]


def same_bits(here: ens.Run, there: ens.Run) -> None:
    xr.testing.assert_identical(here.scores, there.scores)
    xr.testing.assert_identical(here.maps, there.maps)
    xr.testing.assert_identical(here.weights, there.weights)
    assert here.states.keys() == there.states.keys()
    for name, state in here.states.items():
        tree_map(lambda a, b: np.testing.assert_array_equal(a, b, err_msg=name), state, there.states[name])  # noqa: B023


@contextmanager
def process(*words: str) -> Iterator[None]:
    """`dask WORDS` as a process of its own, meanwhile."""
    running = subprocess.Popen([sys.executable, "-m", "dask", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        running.terminate()
        running.wait(30)


@contextmanager
def scheduler(folder: Path) -> Iterator[str]:
    """The address of a scheduler in a process of its own, with one worker in another."""
    file = folder / "scheduler.json"
    with process("scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard", "--no-jupyter", "--scheduler-file", str(file)):
        while not file.exists():
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        with worker(address):
            yield address


def worker(address: str) -> AbstractContextManager[None]:
    """A worker without a nanny, whose libraries nobody has held to one thread before it joins."""
    return process("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard")


@pytest.fixture(scope="module")
def serial() -> ens.Run:
    return ens.run("enso_small", workers=0, settings=QUICK, keep_forecasts=True, show=False)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_number_of_workers_changes_no_bit(serial: ens.Run, workers: int) -> None:
    there = ens.run("enso_small", workers=workers, settings=QUICK, keep_forecasts=True, show=False)
    assert there.workers == workers
    same_bits(serial, there)
    assert serial.forecasts is not None
    assert there.forecasts is not None
    for name in serial.forecasts.children:
        xr.testing.assert_identical(serial.forecasts[name].to_dataset(), there.forecasts[name].to_dataset())


@dataclass(frozen=True)
class Halved(ens.Untrained, ens.Model[None, Any]):
    """A model that no file defines; its module is not on the workers, so it travels by value."""

    def forecast(self, state: None, initial: xr.Dataset, lead_times: ens.Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        now = initial.isel(lag=-1, drop=True).drop_vars("time")
        return (0.5 * now).expand_dims(lead_time=lead_times, axis=1).copy()


def test_a_scheduler_in_its_own_process_serves_two_runs_at_once_and_a_late_worker(serial: ens.Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    text = Path(ens.load("persistence").__file__ or "").read_text()
    studies = []
    for share in ("1.0", "0.5"):  # two versions of one file, on one scheduler, at the same time
        file.write_text(text.replace("axis=1).copy()", f"axis=1) * {share}"))
        mine = ens.load(str(file)).Persistence()
        studies.append(ens.read_recipe("enso_small", settings=QUICK, only=["climatology", "persistence"]).beside(mine=mine))
    with scheduler(tmp_path) as address, ThreadPoolExecutor(2) as pool:
        pending = [pool.submit(ens.run, study, scheduler=address, show=False) for study in studies]
        with worker(address):
            first, second = (each.result(120) for each in pending)
            same_bits(serial, ens.run("enso_small", scheduler=address, settings=QUICK, show=False))
    same = first.scores["rmse"].sel(model=["persistence", "mine"], region="all")
    np.testing.assert_array_equal(same[0], same[1])
    assert (second.scores["rmse"].sel(model="mine", region="all", lead_time=6) < same[0].sel(lead_time=6)).all()


def test_a_client_that_is_handed_in_stays_open_and_models_of_main_travel() -> None:
    study = ens.read_recipe("enso_small", only=["climatology", "persistence"]).beside(halved=Halved())
    Halved.__module__ = "__main__"  # as if it stood in a notebook's cell
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        run = ens.run(study, client=client, show=False)
        assert client.submit(int, "7").result() == 7
    assert run.scores["rmse"].sel(model="halved", region="all").notnull().all()


@dataclass(frozen=True)
class Broken(ens.Untrained, ens.Model[None, Any]):
    """Fails in its forecast."""

    def forecast(self, *_: Any) -> xr.Dataset:
        raise RuntimeError("the ocean ran dry")


def test_a_model_that_fails_leaves_the_others_alone() -> None:
    study = ens.read_recipe("enso_small", only=["climatology", "persistence", "damped_persistence"]).beside(broken=Broken())
    run = ens.run(study, workers=1, show=False)
    assert {"climatology", "persistence", "damped_persistence"} <= set(run.scores["model"].values)
    assert "broken" not in run.scores["model"].values
    assert any(each.model == "broken" and "ocean ran dry" in each.reason for each in run.failures)
