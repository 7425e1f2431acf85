"""Every file of models/ keeps every promise. A new file needs one line here: settings that make it quick."""

from typing import Any

import pytest

from ensemble import Model, load
from ensemble.parts import Estimator
from ensemble.plugins import definition, names
from ensemble.testing import check_model

READERS = ["archive"]  # forecast nothing themselves, and keep other promises: tests/models/test_archive.py

QUICK: dict[str, dict[str, Any]] = {
    "climatology": {},
    "climatology_running": {},
    "constructed_analogs": {"modes": 5},
    "convnet": {"epochs": 2, "seeds": 1, "width": 4, "dilations": (1,)},
    "damped_persistence": {},
    "eof_ridge": {"modes": 5},
    "hybrid_mixed_layer": {"modes": 4, "width": 4, "seeds": 1, "rounds": 2, "guesses": 1, "substeps": 1},
    "lim": {"modes": 5},
    "mixed_layer": {"fields": "latitude", "rounds": 2, "guesses": 1, "substeps": 1},
    "mlp": {"rounds": 15, "seeds": 2, "width": 8},
    "persistence": {},
    "stochastic_mixed_layer": {"members": 3, "modes": 4, "substeps": 1},
}


def model(name: str) -> Model[Any, Any]:
    assert name in QUICK, f"models/{name}.py has no line in QUICK of tests/models/test_kit.py; add one with settings that make it quick"
    made: Model[Any, Any] = definition(load(name), Model)(**QUICK[name])
    return made


@pytest.mark.parametrize("name", [name for name in names() if name not in READERS])
def test_a_model_keeps_its_promises(name: str) -> None:
    check_model(model(name), others=[model("lim")], shards=(3,))


def test_the_table_names_files_that_exist() -> None:
    assert sorted([*QUICK, *READERS]) == names(), "QUICK of tests/models/test_kit.py and the files of models/ differ"


@pytest.mark.parametrize("name", names())
def test_defaults_can_be_built_and_say_what_kind_they_are(name: str) -> None:
    made = definition(load(name), Model)()
    assert made.history >= (name not in READERS)
    assert made.kind in ("reference", "physics", "dynamical", "statistical", "neural", "hybrid", "external")


def test_an_estimator_of_scikit_learn_keeps_its_promises() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    check_model(Estimator(linear_model.Ridge(alpha=10.0), modes=5), plain_state=False)


def test_an_estimator_that_draws_takes_its_seed_from_the_study() -> None:
    forest = pytest.importorskip("sklearn.ensemble").RandomForestRegressor(n_estimators=3)
    check_model(Estimator(forest, modes=5), plain_state=False, tolerance=float("inf"))  # splits that tie turn on the last digit
