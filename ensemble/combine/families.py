"""Families: models that share a weight because they have an origin in common, averaged before anything is said about them.

Ten versions of one model are not ten opinions, and should not outvote nine others. The averaging matrix A (family, model) has 1/n
at each of the n members of a family:

    models    cm4  cm5  lim            errors of families     A e
           A  1/2  1/2   0   gcm       products of these      A P A'
               0    0    1   lim       weights of models      A' w

so all that is learnt of families follows from what is known of models, and each member has the n-th part of its family's weight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Self, final

import numpy as np

from ensemble.combine.base import Combine, rescaled
from ensemble.model import State, Summary
from ensemble.task import Array, Domain


@dataclass(frozen=True)
class Sharing(Combine[State, Summary]):
    """A rule in which models of one family share a weight.

    families: names of models by family; these are averaged first, and count as one. A model that is not named is a family of its own.
    """

    families: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        check_families(self.families)

    @property
    def named(self) -> tuple[str, ...]:
        return (*self.without, *chain.from_iterable(self.families.values()))

    def among(self, models: Collection[str]) -> Self:
        left = {family: tuple(name for name in names if name in models) for family, names in self.families.items()}
        return replace(super().among(models), families={family: names for family, names in left.items() if names})

    @final
    def averaging(self, domain: Domain) -> Array:
        """(family, model): A, of the domain's models, families in the order of their first members."""
        family = {name: (label,) for label, names in self.families.items() for name in names}  # a tuple, lest it be a model's name
        of = [family.get(str(name), str(name)) for name in domain.fields["forecast"].coords["model"]]
        member = np.array([[each == one for each in of] for one in dict.fromkeys(of)], dtype=float)
        averaging: Array = member / member.sum(1, keepdims=True)
        return averaging

    @final
    def weights_left(self, state: State, domain: Domain, models: Array) -> Array:
        """As `Combine`, a family's weight staying in the family as long as one of its members is left."""
        member = self.averaging(domain) > 0
        shares, left = member @ self.weights(state, domain), member[:, models]
        there = left.any(1)
        return spread(left[there] / left[there].sum(1, keepdims=True), rescaled(shares[there]))


def spread(averaging: Array, shares: Array) -> Array:
    """A'w (model, lead_time): the weights of families (family, lead_time), each shared among its members."""
    weights: Array = averaging.T @ shares
    return weights


def averaged(products: Array, averaging: Array) -> Array:
    """A P A' (family, family, lead_time) of P (model, model, lead_time)."""
    made: Array = np.einsum("fm,mnl,gn->fgl", averaging, products, averaging, optimize=True)
    return made


def check_families(families: Mapping[str, tuple[str, ...]]) -> None:
    """Raise ValueError where a family is no list of models, or a model has two."""
    for family, names in families.items():
        if isinstance(names, str) or not names:
            raise ValueError(f"families: {family} is {names!r}; list its models, as in `families: {{{family}: [model_a, model_b]}}`")
    twice = [name for name, count in Counter(chain.from_iterable(families.values())).items() if count > 1]
    if twice:
        where = " and in ".join(family for family, names in families.items() for name in names if name == twice[0])
        raise ValueError(f"families: {twice[0]} is in {where}; name each model once")
