"""An estimator of another library is a model like any other."""

from typing import Any

import numpy as np
import pytest

from ensemble import load
from ensemble.parts import Estimator, RunningNormal
from ensemble.parts.estimator import seeded
from ensemble.plugins import definition
from ensemble.task import Array
from ensemble.testing import basin_study
from ensemble.testing.models import Trial


class LeastSquares:
    """No more than is asked for: `fit` and `predict`."""

    def __init__(self, penalty: float = 0.0) -> None:
        self.penalty, self.map = penalty, np.zeros((0, 0))

    def fit(self, X: Array, y: Array) -> None:
        self.shapes = (X.shape, y.shape)
        self.map = np.linalg.solve(X.T @ X + self.penalty * np.eye(X.shape[1]), X.T @ y)

    def predict(self, X: Array) -> Array:
        return X @ self.map


def test_the_instance_is_never_changed_and_its_copy_is_the_state() -> None:
    given = LeastSquares(1.0)
    trial = Trial(basin_study(model=Estimator(given, modes=4)))
    fitted = trial.state.second.second.second["pc"].state.second.second.estimator
    assert given.map.size == 0
    assert fitted is not given
    samples = 60 - 1 - 3  # months, less the second lag and the leads
    assert fitted.shapes == ((samples, 4 * 5 + 2), (samples, 3 * 4))


def test_a_strong_penalty_leaves_the_climate_alone() -> None:
    """With all components forecast as zero, the forecast is damped persistence outside the EOFs, and the same for any estimator."""
    one = Trial(basin_study(model=Estimator(LeastSquares(1e12), modes=4))).made
    ridge = definition(load("eof_ridge"), object)
    other = Trial(basin_study(model=ridge(modes=4, penalty=1e12))).made
    np.testing.assert_allclose(one, other, rtol=1e-8)


class Chance:
    def __init__(self, random_state: int | None = None, inner: Any = None) -> None:
        self.random_state, self.inner = random_state, inner

    def get_params(self) -> dict[str, Any]:
        return {"random_state": self.random_state, "inner__random_state": None, "size": None}

    def set_params(self, **settings: Any) -> "Chance":
        self.settings = settings
        return self


def test_a_seed_that_was_left_open_is_set_and_one_that_was_given_is_kept() -> None:
    assert seeded(Chance(), 7).settings == {"random_state": 7, "inner__random_state": 7}
    assert seeded(Chance(3), 7).settings == {"inner__random_state": 7}
    plain = LeastSquares()
    assert seeded(plain, 7) is plain


def test_ridge_regression_of_scikit_learn_is_our_ridge_regression() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    ours = Trial(basin_study(model=Estimator(LeastSquares(5.0), modes=4))).made
    theirs = Trial(basin_study(model=Estimator(linear_model.Ridge(5.0, fit_intercept=False), modes=4))).made
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    assert RunningNormal(12).history == 12
