"""Rules that weigh models by the errors they have made, in one look at the validation period."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self, final

import numpy as np

from ensemble.chunk import Chunk
from ensemble.combine.base import Shrinking, shrunk
from ensemble.combine.errors import error_products, squared_errors, squares
from ensemble.combine.families import Sharing, averaged, check_families, spread
from ensemble.model import Learnt
from ensemble.sums import Sum, total
from ensemble.task import Array, Domain

SHARES = np.arange(21) / 20  # of the way to equal weights, among which rolling origins choose


@dataclass(frozen=True)
class Weighing(Sharing[Array, Sum], Shrinking[Array, Sum]):
    """A rule whose weights are a function of mean squared errors, or of mean products of errors.

    The state is (model, lead_time) or (model, model, lead_time) [unit of the variable, squared], and what a chunk says is its
    sum and the mass (lead_time,) to divide it by. Where models share weights it is always the products, from which those of the
    families' means follow.

    by_lead: whether each lead has its own weights, or all share those learnt from the mean over leads.
    """

    name: ClassVar[str]
    pairs: ClassVar[bool] = False  # whether it learns from the products of errors of any two models, or from each model's alone
    by_lead: bool = True

    def __post_init__(self) -> None:
        check_families(self.families)
        Shrinking.__post_init__(self)

    @final
    def tuned(self, folds: Sequence[Sequence[Chunk]], domain: Domain) -> Self:
        """With the `shrink` of the least squared error when each fold is forecast with weights learnt on those before it."""
        if self.shrink is not None or len(folds) < 2:
            return self
        seen = [total([self.summarise(np.zeros(0), chunk) for chunk in fold]) for fold in folds]
        errors, averaging = np.zeros(len(SHARES)), self.averaging(domain)
        for i, fold in enumerate(folds[1:], start=1):
            unshrunk = self._unshrunk(self.update(np.zeros(0), total(seen[:i])).state, domain)
            products = averaged(total([error_products(chunk) for chunk in fold]).tree[0], averaging)
            tried = [shrunk(unshrunk, share) for share in SHARES]
            errors += [np.einsum("il,ijl,jl->", weights, products, weights) for weights in tried]
        return replace(self, shrink=float(SHARES[::-1][np.argmin(errors[::-1])]))  # of equals the most cautious

    @final
    def start(self, domain: Domain, seed: int) -> Learnt[Array]:
        del domain, seed
        return Learnt(np.zeros(0), finished=False)

    @final
    def summarise(self, state: Array, chunk: Chunk) -> Sum:
        del state
        return error_products(chunk) if self.pairs or self.families else squared_errors(chunk)

    @final
    def update(self, state: Array, total: Sum) -> Learnt[Array]:
        del state
        sums, mass = total.tree
        check_mass(mass, self.name)
        return Learnt(sums / mass, finished=True)

    @final
    def errors(self, state: Array) -> Array:
        return squares(state)

    @final
    def weights(self, state: Array, domain: Domain) -> Array:
        return spread(self.averaging(domain), shrunk(self._unshrunk(state, domain), self.share))

    def _unshrunk(self, state: Array, domain: Domain) -> Array:
        """(family, lead_time)."""
        perfect = (squares(state) <= 0).any(1)
        if perfect.any():
            name = domain.fields["forecast"].coords["model"][perfect][0]
            raise ValueError(f"{self.name}: a model ({name}) has no error at all in the validation period; has it seen the truth?")
        if self.families:
            products = averaged(state, self.averaging(domain))
            state = products if self.pairs else squares(products)
            if (squares(state) <= 0).any():
                raise ValueError(f"{self.name}: the mean of a family has no error at all in the validation period; has it seen the truth?")
        return self.learnt(state if self.by_lead else np.broadcast_to(state.mean(-1, keepdims=True), state.shape))

    @abc.abstractmethod
    def learnt(self, state: Array) -> Array:
        """(model, lead_time): the weights before they are shrunk, of models or of the means of families."""


def check_mass(mass: Array, name: str) -> None:
    """Raise ValueError where a lead has nothing to learn from; `mass` (lead_time,)."""
    if (mass <= 0).any():
        lead = int(np.argmax(mass <= 0)) + 1
        raise ValueError(
            f"{name}: at lead {lead} of the {len(mass)} leads there is no point in the validation period where all models and the truth "
            "have a value; leave out the model that lacks it with `without: [...]`"
        )
