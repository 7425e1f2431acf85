"""Many forecasts into one: rules that learn their weights from past forecasts, as a model learns from data.

A rule is a learner. Its chunks hold `forecast` (model, init_time, lead_time, ...), the mean of each model's members, and
`truth` (init_time, lead_time, ...) of the validation period, so weights are learnt by the same fold as everything else;
its domain has the field `forecast` with `model` as the first dimension.
"""

from __future__ import annotations

import abc
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.model import Learner, Learnt, State, Summary, Untrained
from ensemble.sums import Sum
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
        """(model, init_time, lead_time, ...) -> (init_time, lead_time, ...): the weighted mean, unless a rule does better."""
        weights = xr.DataArray(self.weights(state, domain), dims=("model", "lead_time"))
        return (forecasts * weights).sum("model", skipna=False)


@dataclass(frozen=True)
class Mean(Untrained, Combine[None, Any]):
    """Every model counts the same, but those named in `without`."""

    def weights(self, state: None, domain: Domain) -> Array:
        del state
        models = len(domain.fields["forecast"].coords["model"])
        equal: Array = np.full((models, len(domain.lead_times)), 1 / models)
        return equal


@dataclass(frozen=True)
class InverseMse(Combine[Array, Sum]):
    """Weights in inverse proportion to the mean squared error of each model at each lead.

    Bates and Granger (1969), doi 10.1057/jors.1969.103, without the correlations between models, which short records cannot
    tell. The state is the mean squared error (model, lead_time) [unit of the variable, squared].
    """

    def start(self, domain: Domain, seed: int) -> Learnt[Array]:
        del seed
        return Learnt(np.ones((len(domain.fields["forecast"].coords["model"]), len(domain.lead_times))), finished=False)

    def summarise(self, state: Array, chunk: Chunk) -> Sum:
        del state
        field = chunk.domain.fields["forecast"]
        forecast, truth = chunk.data["forecast"].values[..., field.mask[0]], chunk.data["truth"].values[..., field.mask[0]]
        squared = ((forecast - truth) ** 2) @ (field.area[0][field.mask[0]] / field.area[0].sum())
        return Sum((squared.sum(1), np.array(squared.shape[1])))

    def update(self, state: Array, total: Sum) -> Learnt[Array]:
        del state
        squared, starts = total.tree
        return Learnt(squared / starts, finished=True)

    def weights(self, state: Array, domain: Domain) -> Array:
        del domain
        if (state <= 0).any():
            raise ValueError("inverse_mse: a model has no error at all in the validation period; has it seen the truth?")
        inverse: Array = 1 / state
        weights: Array = inverse / inverse.sum(0)
        return weights


COMBINATIONS: Mapping[str, type[Combine[Any, Any]]] = {"mean": Mean, "inverse_mse": InverseMse}
