"""The single model that was best, which is what a ranking invites people to use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ensemble.combine.weighing import Weighing
from ensemble.task import Array

TIE = 1e-9  # relative: far above what the order of a sum can move, far below what a validation period can tell


@dataclass(frozen=True)
class Best(Weighing):
    """The model with the lowest mean squared error in the validation period: w_i = 1 for i = argmin_j MSE_j, else 0.

    One model for all leads, by the mean of their mean squared errors, unless `by_lead`. Models that tie share the weight. The
    state is the mean squared error (model, lead_time) [unit of the variable, squared]. What a combination has to beat: picking
    the winner of a short period is no safe choice (Hansen et al. 2011, doi 10.3982/ECTA5771).
    """

    name: ClassVar[str] = "best"
    shrink: float | None = 0.0
    by_lead: bool = False

    def learnt(self, state: Array) -> Array:
        first = state <= state.min(0) * (1 + TIE)
        weights: Array = first / first.sum(0)
        return weights
