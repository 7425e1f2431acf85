"""Any estimator with `fit(X, y)` and `predict(X)`, as scikit-learn has them, as a model.

It regresses the principal components of every lead on those of the past (`predictors`), and damped persistence forecasts what
is outside them. `Estimator(RandomForestRegressor(n_estimators=200))` in a study's `models` is all it takes; one that predicts a single
number goes into scikit-learn's `MultiOutputRegressor` first. Nothing is imported here: the instance comes from the caller,
is copied before each fit and never changed itself. It wants all rows at once, so its fit is not a sum.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.model import Composed, FitOnce, Model
from ensemble.parts.damping import Damping, lead_index
from ensemble.parts.eof import Eof
from ensemble.parts.normal import Trailing
from ensemble.parts.predictors import predictors
from ensemble.parts.scaled import Scaled
from ensemble.parts.season import seasonal
from ensemble.parts.then import Then, beside
from ensemble.task import Array


class Regressor(Protocol):
    """What is asked of an estimator; X is (sample, feature), y (sample, lead_time x mode)."""

    def fit(self, X: Array, y: Array) -> Any: ...

    def predict(self, X: Array) -> Array: ...


class Fitted(NamedTuple):
    """A copy of the estimator after its fit, and the leads that it predicts."""

    lead_times: Array
    estimator: Regressor


@dataclass(frozen=True)
class Regression(FitOnce):
    """The regression of principal components by an estimator."""

    estimator: Regressor
    lags: int

    @property
    def history(self) -> int:
        return self.lags

    def fit(self, chunks: tuple[Chunk, ...], seed: int) -> Fitted:
        pairs = [chunk.pairs(self.history) for chunk in chunks]
        x = np.concatenate([_features(each.initial) for each in pairs])
        y = np.concatenate([each.targets["pc"].values.reshape(each.targets.sizes["init_time"], -1) for each in pairs])
        estimator = seeded(deepcopy(self.estimator), seed)
        estimator.fit(x, y)
        return Fitted(chunks[0].domain.lead_times, estimator)

    def forecast(self, state: Fitted, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        made = np.asarray(state.estimator.predict(_features(initial)), dtype=float)
        pc = made.reshape(len(made), len(state.lead_times), -1)[:, lead_index(state.lead_times, lead_times)]
        coords = {"init_time": initial["init_time"], "lead_time": lead_times, "mode": initial["mode"]}
        return xr.Dataset({"pc": (("init_time", "lead_time", "mode"), pc)}, coords)


def _features(initial: xr.Dataset) -> Array:
    """The predictors and, for estimators that are not linear in them, the season by itself."""
    return np.concatenate([predictors(initial), seasonal(initial["init_time"].values)], axis=1)


def seeded(estimator: Any, seed: int) -> Any:
    """`estimator` with every `random_state` that was left open set to `seed`, so that the same seed gives the same forecast."""
    settings = estimator.get_params() if hasattr(estimator, "get_params") else {}
    left_open = {name: seed for name, value in settings.items() if name.split("__")[-1] == "random_state" and value is None}
    return estimator.set_params(**left_open) if left_open else estimator


@dataclass(frozen=True)
class Estimator(Composed):
    """Settings.

    estimator: an instance, with its own settings; components come to it divided by their root mean square over all modes.
    modes: number of EOFs.
    lags: months of components that it sees, beside their mean of a year, their products with the season, and the season.
    """

    estimator: Regressor
    modes: int = 8
    lags: int = 2

    def build(self) -> Model[Any, Any]:
        pc = Then(Scaled(), Then(Trailing(12), Regression(self.estimator, self.lags)))
        return Then(Eof(self.modes), beside(pc=pc, residual=Damping()))
