"""A small run with a model that fails, made once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot

import ensemble as ens


@dataclass(frozen=True)
class Broken(ens.Untrained, ens.Model[None, Any]):
    """Fails when it is to forecast."""

    kind = "physics"

    def forecast(self, state: None, initial: xr.Dataset, lead_times: ens.Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        del state, initial, lead_times, forcing, seed
        raise ValueError("it blew up at step <17>")


@dataclass(frozen=True)
class Slow(ens.Untrained, ens.Model[None, Any]):
    """Forecasts anomalies of one degree everywhere: worse than damped persistence at lead 1."""

    kind = "physics"

    def forecast(self, state: None, initial: xr.Dataset, lead_times: ens.Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        del state, forcing, seed
        name = next(iter(initial.data_vars))
        last = initial[name].isel(lag=-1, drop=True)
        return (xr.zeros_like(last) + 1.0).expand_dims(lead_time=np.asarray(lead_times), axis=1).to_dataset(name=name)


@pytest.fixture(scope="session")
def small_run() -> ens.Run:
    study = ens.read_recipe("enso_small", settings=["models.mlp.rounds=3"])
    return ens.run(replace(study, models={**study.models, "slow": Slow(), "broken": Broken()}), workers=0, show=False)


@pytest.fixture(autouse=True)
def no_figure_is_left() -> Iterator[None]:
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")
