"""Stacking: the weighted mean that would have had the smallest error, not quite believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ensemble.combine.quadratic import nonnegative
from ensemble.combine.weighing import Weighing
from ensemble.task import Array

RIDGE = 1e-6  # of the mean squared error: makes the answer one where models are the same, and is lost in any error that was measured


@dataclass(frozen=True)
class Stacking(Weighing):
    """Weights w >= 0 that add up to one and minimise the mean squared error w'Pw of the weighted mean; P are the products of errors.

    Breiman (1996), doi 10.1007/BF00117832, and Bates and Granger (1969), doi 10.1057/jors.1969.103, on the simplex. The state
    is P (model, model, lead_time) [unit of the variable, squared]. On 49 starts the test error rose with every step away from
    equal weights, so it is cautious.
    """

    name: ClassVar[str] = "stacking"
    cautious: ClassVar[float] = 0.75
    pairs: ClassVar[bool] = True

    def learnt(self, state: Array) -> Array:
        return np.stack([simplex(state[..., lead]) for lead in range(state.shape[-1])], axis=1)


def simplex(products: Array) -> Array:
    """The w (model,) >= 0 of sum 1 that minimises w'Pw, P (model, model); models that are the same share their weight.

    It is x / sum(x) of the x >= 0 that minimises x'Px/2 - sum(x): both ask for Pw the same wherever w > 0, and no less elsewhere.
    """
    count = len(products)
    x = nonnegative(products * (count / np.trace(products)) + RIDGE * np.eye(count), np.ones(count))
    weights: Array = x / x.sum()
    return weights
