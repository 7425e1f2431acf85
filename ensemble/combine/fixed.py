"""Weights that somebody has settled beforehand."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from ensemble.combine.base import Combine
from ensemble.model import Untrained
from ensemble.task import Array, Domain


@dataclass(frozen=True)
class Fixed(Untrained, Combine[None, Any]):
    """The weighted mean with given weights, at every lead; nothing is learnt.

    share: by name of model, in any unit; they are divided by their sum. A model that is not named has no weight.
    """

    share: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        low = [name for name, share in self.share.items() if not 0 <= share < np.inf]
        if low or not sum(self.share.values()) > 0:
            said = f"that of {low[0]} is {self.share[low[0]]}" if low else f"they are {dict(self.share)}"
            raise ValueError(f"shares are numbers from 0, not all of them 0, as in `share: {{lim: 2, persistence: 1}}`; {said}")

    @property
    def named(self) -> tuple[str, ...]:
        return (*self.without, *self.share)

    def among(self, models: Collection[str]) -> Self:
        return replace(super().among(models), share={name: share for name, share in self.share.items() if name in models})

    def weights(self, state: None, domain: Domain) -> Array:
        del state
        names = [str(name) for name in domain.fields["forecast"].coords["model"]]
        share = np.array([self.share.get(name, 0.0) for name in names])
        if not share.any():
            raise ValueError(f"fixed: none of {', '.join(names)} has a share; {', '.join(self.share)} have")
        weights: Array = np.repeat((share / share.sum())[:, None], len(domain.lead_times), axis=1)
        return weights
