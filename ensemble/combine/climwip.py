"""Performance and independence: a model counts for more the closer it is to the truth, and for less the more it has twins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ensemble.combine.weighing import Weighing
from ensemble.task import Array

SAME = 1e-12  # of the mean squared errors: a squared distance below it is the rounding of equal models


@dataclass(frozen=True)
class ClimWip(Weighing):
    """w_i ~ exp(-(D_i/s_D)^2) / (1 + sum over j != i of exp(-(S_ij/s_S)^2)).

    Knutti et al. (2017), doi 10.1002/2016GL072012, eq. 1. D_i is the root mean squared error of a model's forecasts in units of
    the mean over models, S_ij the root mean squared difference of two models' forecasts in units of the mean over pairs. This is
    the formula on forecasts that have been verified; it is not the method for projections of climate, where D is a distance in
    the present, and says so little of the future that s_D has to be calibrated with models as truth.

    performance: s_D; small ones trust the ranking, large ones make weights equal.
    independence: s_S; distances well below it are those of copies, those well above are as good as independent.
    """

    name: ClassVar[str] = "climwip"
    pairs: ClassVar[bool] = True
    performance: float = 0.5
    independence: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.performance, self.independence) <= 0:
            raise ValueError(f"performance {self.performance} and independence {self.independence} are widths; both must be above 0")

    def learnt(self, state: Array) -> Array:
        leads = range(state.shape[-1])
        pairs = [distances(state[..., lead]) for lead in leads]
        return np.stack([independent(*each, self.performance, self.independence) for each in pairs], axis=1)


def distances(products: Array) -> tuple[Array, Array]:
    """D (model,) and S (model, model) of the products of errors (model, model), both in units of their means."""
    squared = np.diag(products)
    sums = squared[:, None] + squared[None, :]
    between = sums - 2 * products
    apart = np.sqrt(np.where(between > SAME * sums, between, 0))
    pairs = apart[~np.eye(len(squared), dtype=bool)]
    unit = pairs.mean() if pairs.any() else 1.0
    return np.sqrt(squared) / np.sqrt(squared).mean(), apart / unit


def independent(distance: Array, apart: Array, performance: float, independence: float) -> Array:
    """The weights (model,) of distances to the truth D (model,) and between models S (model, model)."""
    alike = np.exp(-((apart / independence) ** 2))
    skill = np.exp((distance.min() / performance) ** 2 - (distance / performance) ** 2)  # of the best 1, so that not all underflow
    raw = skill / (1 + alike.sum(1) - np.diag(alike))
    weights: Array = raw / raw.sum()
    return weights
