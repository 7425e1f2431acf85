"""What a rule that makes one forecast of many is."""

from __future__ import annotations

import abc
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Self, final

import numpy as np
import xarray as xr

from ensemble.model import Learner, State, Summary
from ensemble.task import Array, Domain


@dataclass(frozen=True)
class Combine(Learner[State, Summary]):
    """A rule that makes one forecast of many.

    without: names of models that take no part.
    """

    without: tuple[str, ...] = ()

    @final
    def among(self, models: Collection[str]) -> Self:
        """The same rule for a study that has only these models."""
        return replace(self, without=tuple(name for name in self.without if name in models))

    @abc.abstractmethod
    def weights(self, state: State, domain: Domain) -> Array:
        """(model, lead_time), adding up to one over the models."""

    def combine(self, state: State, domain: Domain, forecasts: xr.DataArray) -> xr.DataArray:
        """(model, init_time, lead_time, ...) -> (init_time, lead_time, ...): the weighted mean, unless a rule does better.

        It is missing where a model of any weight is; a model without weight need not be there.
        """
        weights = xr.DataArray(self.weights(state, domain), dims=("model", "lead_time"))
        counting = weights != 0
        taken = forecasts if counting.all() else forecasts.where(counting, 0)
        return (taken * weights).sum("model", skipna=False)


def equal(domain: Domain) -> Array:
    """(model, lead_time) in which every model counts the same."""
    models = len(domain.fields["forecast"].coords["model"])
    weights: Array = np.full((models, len(domain.lead_times)), 1 / models)
    return weights


def shrunk(weights: Array, shrink: float) -> Array:
    """Weights (model, ...) drawn the share `shrink` of the way towards equal ones; untouched to the last bit where it is 0."""
    return weights if shrink == 0 else (1 - shrink) * weights + shrink / len(weights)


def check_shrink(shrink: float) -> None:
    """Raise ValueError where `shrink` is no share."""
    if not 0 <= shrink <= 1:
        raise ValueError(f"shrink {shrink} is outside 0 (weights as they are learnt) to 1 (equal weights)")
