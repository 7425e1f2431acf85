"""Weights by the error of each model alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ensemble.combine.weighing import Weighing
from ensemble.task import Array


@dataclass(frozen=True)
class InverseMse(Weighing):
    """Weights in inverse proportion to the mean squared error of each model: w_i = (1/MSE_i) / sum_j (1/MSE_j).

    Bates and Granger (1969), doi 10.1057/jors.1969.103, without the correlations between models, which short records cannot
    tell. The state is the mean squared error (model, lead_time) [unit of the variable, squared].
    """

    name: ClassVar[str] = "inverse_mse"

    def learnt(self, state: Array) -> Array:
        inverse: Array = 1 / state
        weights: Array = inverse / inverse.sum(0)
        return weights
