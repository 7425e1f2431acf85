"""What a rule that makes one forecast of many is."""

from __future__ import annotations

import abc
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.model import Learner, State, Summary
from ensemble.score.region import Region
from ensemble.task import Array, Domain


@dataclass(frozen=True)
class Combine(Learner[State, Summary]):
    """A rule that makes one forecast of many.

    without: names of models that take no part.
    """

    without: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """The models that its settings speak of."""
        return self.without

    @property
    def distribution(self) -> bool:
        """Whether `sample` gives quantiles of a distribution, and no single value."""
        return False

    def among(self, models: Collection[str]) -> Self:
        """The same rule for a study that has only these models."""
        return replace(self, without=tuple(name for name in self.without if name in models))

    def placed(self, regions: Mapping[str, Region], *, where: str) -> Self:
        """The same rule in a study with these regions. Raises InputError, which begins with `where`, for those that it lacks."""
        del regions, where
        return self

    def tuned(self, folds: Sequence[Sequence[Chunk]], domain: Domain) -> Self:
        """The same rule with what it leaves open settled on rolling origins: chunks by fold, each fold later than those before it."""
        del folds, domain
        return self

    @abc.abstractmethod
    def weights(self, state: State, domain: Domain) -> Array:
        """(model, lead_time), adding up to one over the models."""

    def weights_left(self, state: State, domain: Domain, models: Array) -> Array:
        """As `weights`, of those of the domain's models that are left, by index."""
        return rescaled(self.weights(state, domain)[models])

    def weights_by_region(self, state: State, domain: Domain) -> Mapping[str, Array]:
        """As `weights`, by name of the regions that have their own."""
        del state, domain
        return {}

    def errors(self, state: State) -> Array | None:
        """(model, lead_time): mean squared errors in the validation period [unit of the variable, squared], where a rule knows them."""
        del state
        return None

    def combine(self, state: State, domain: Domain, forecasts: xr.DataArray) -> xr.DataArray:
        """(model, init_time, lead_time, ...) -> (init_time, lead_time, ...): the weighted mean, unless a rule does better.

        It is missing where a model of any weight is; a model without weight need not be there.
        """
        return weighted_mean(self.weights(state, domain), forecasts)

    def combine_some(self, state: State, domain: Domain, forecasts: xr.DataArray, models: Array) -> xr.DataArray:
        """As `combine`, of starts at which the others failed: `forecasts` of those of the domain's models that are left, by index."""
        return weighted_mean(self.weights_left(state, domain, models), forecasts)

    def sample(self, state: State, domain: Domain, forecasts: xr.DataArray) -> xr.DataArray:
        """As `combine`, (init_time, lead_time, member, ...): a single member, unless a rule knows how sure it is."""
        return self.combine(state, domain, forecasts).expand_dims("member", axis=2)

    def sample_some(self, state: State, domain: Domain, forecasts: xr.DataArray, models: Array) -> xr.DataArray:
        """As `sample`, of some of the models."""
        return self.combine_some(state, domain, forecasts, models).expand_dims("member", axis=2)


@dataclass(frozen=True)
class Shrinking(Combine[State, Summary]):
    """A rule whose weights may be drawn towards equal ones.

    shrink: how far, from 0 (weights as they are learnt) to 1 (equal ones), which few starts make the wiser choice; if it is left
        open, that which would have done best on rolling origins, and `cautious` where the study has none.
    """

    cautious: ClassVar[float] = 0.0
    shrink: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise ValueError(f"shrink {self.share} is outside 0 (weights as they are learnt) to 1 (equal weights)")

    @property
    def share(self) -> float:
        """How far weights are shrunk."""
        return self.cautious if self.shrink is None else self.shrink


def weighted_mean(weights: Array, forecasts: xr.DataArray) -> xr.DataArray:
    """Of weights (model, lead_time) and forecasts (model, init_time, lead_time, ...), over the models that have a weight."""
    weight = xr.DataArray(weights, dims=("model", "lead_time"))
    counting = weight != 0
    taken = forecasts if counting.all() else forecasts.where(counting, 0)
    return (taken * weight).sum("model", skipna=False)


def rescaled(weights: Array) -> Array:
    """Weights (model, lead_time) of some of the models, adding up to one; the same for all where none has any."""
    weight = weights.sum(0)
    made: Array = np.where(weight > 0, weights / np.where(weight > 0, weight, 1), 1 / len(weights))
    return made


def equal(domain: Domain) -> Array:
    """(model, lead_time) in which every model counts the same."""
    models = len(domain.fields["forecast"].coords["model"])
    weights: Array = np.full((models, len(domain.lead_times)), 1 / models)
    return weights


def shrunk(weights: Array, shrink: float) -> Array:
    """Weights (model, ...) drawn the share `shrink` of the way towards equal ones; untouched to the last bit where it is 0."""
    return weights if shrink == 0 else (1 - shrink) * weights + shrink / len(weights)
