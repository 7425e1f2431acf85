"""Every model gives the same bits in this process and on the workers of a cluster, state and scores alike."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import ensemble as ens
from ensemble.sums import tree_map
from ensemble.testing import basin_study

_spec = importlib.util.spec_from_file_location("quick", Path(__file__).with_name("test_kit.py"))
assert _spec is not None
assert _spec.loader is not None
_kit = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_kit)


def equal(name: str, here: Any, there: Any) -> None:
    tree_map(lambda a, b: np.testing.assert_array_equal(a, b, err_msg=name), here, there)


def test_serial_equals_dask_to_the_last_bit_for_every_model() -> None:
    study = basin_study(**{name: _kit.model(name) for name in _kit.QUICK})
    here, there = (ens.run(study, workers=workers, show=False) for workers in (0, 2))
    assert not here.failures
    assert not there.failures
    assert set(here.states) == set(_kit.QUICK) == set(there.states)
    for name, state in here.states.items():
        equal(name, state, there.states[name])
    xr.testing.assert_identical(here.scores, there.scores)
    xr.testing.assert_identical(here.maps, there.maps)
