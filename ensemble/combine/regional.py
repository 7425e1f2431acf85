"""Weights by region: a rule that learns in each region by itself, for the points of that region.

    learnt from         a: 1 1 1 . . .     b: . . 1 1 1 .     all: 1 1 1 1 1 1
    used at             a  a  a  b  b  all

Where regions overlap the first in the order of the study is used, and where there is none the weights of `all`. Weights jump from
one point to the next where a region ends, so maps of the forecast show its edge. A region has fewer points to learn from than the
field: it is worth it where models differ between regions by more than chance does in a short validation period. So what suits the
field would trust a region's weights too much, and how far they are shrunk is tuned in each region by itself, on the errors made
there with what was learnt there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.combine.base import Combine
from ensemble.errors import InputError, unknown
from ensemble.model import Learnt
from ensemble.score.region import Region
from ensemble.sums import Sum
from ensemble.task import Array, Domain, Field

EVERYWHERE = "all"

State = tuple[Learnt[Any], ...]  # of each part


class Part(NamedTuple):
    """A region with the rule that learns there."""

    name: str
    region: Region
    rule: Combine[Any, Any]


@dataclass(frozen=True)
class Regional(Combine[State, Sum]):
    """The forecast of `rule`, which learns in each region by itself. In a recipe a setting of any rule, `by_region`.

    of: the names of these regions; all that the study has where none is given.
    parts: what they are, `all` first, then in the order of the study; it is the study that says so (`placed`).
    """

    rule: Combine[Any, Any]
    of: tuple[str, ...] = ()
    parts: tuple[Part, ...] = field(default=(), repr=False)
    without: tuple[str, ...] = field(default=(), init=False, repr=False)  # those of the rule

    def __post_init__(self) -> None:
        object.__setattr__(self, "without", self.rule.without)
        object.__setattr__(self, "parts", self.parts or (Part(EVERYWHERE, Region(), self.rule),))

    @property
    def named(self) -> tuple[str, ...]:
        return self.rule.named

    @property
    def distribution(self) -> bool:
        return self.rule.distribution

    def placed(self, regions: Mapping[str, Region], *, where: str) -> Self:
        for name in self.of:
            if name not in regions:
                raise unknown(f"{where}.by_region", name, regions)
        names = [name for name in regions if name != EVERYWHERE and name in (self.of or regions)]
        if not names:
            raise InputError(f"{where}.by_region: the study has no region but all; give it some, as in `regions: [nino34]`")
        return replace(self, parts=tuple(Part(name, regions[name], self.rule) for name in (EVERYWHERE, *names)))

    def among(self, models: Collection[str]) -> Self:
        return self._with(lambda each: each.rule.among(models), rule=self.rule.among(models))

    def tuned(self, folds: Sequence[Sequence[Chunk]], domain: Domain) -> Self:
        def tune(part: Part) -> Combine[Any, Any]:
            inside = part.region.mask(plain(domain))
            return part.rule.tuned([[cut(chunk, inside) for chunk in fold] for fold in folds], within(domain, inside))

        return self._with(tune)

    def _with(self, make: Callable[[Part], Combine[Any, Any]], **changes: Any) -> Self:
        return replace(self, parts=tuple(each._replace(rule=make(each)) for each in self.parts), **changes)

    def start(self, domain: Domain, seed: int) -> Learnt[State]:
        return told([part.rule.start(within(domain, part.region.mask(plain(domain))), seed) for part in self.parts])

    def summarise(self, state: State, chunk: Chunk) -> Sum:
        """What each part has to say; one that has finished says nothing."""
        at, pairs = plain(chunk.domain), zip(self.parts, state, strict=True)
        return Sum(tuple(None if e.finished else p.rule.summarise(e.state, cut(chunk, p.region.mask(at))) for p, e in pairs))

    def update(self, state: State, total: Sum) -> Learnt[State]:
        made = []
        for part, each, said in zip(self.parts, state, total.tree, strict=True):
            with located(part):
                made.append(each if each.finished else part.rule.update(each.state, said))
        return told(made)

    def weights(self, state: State, domain: Domain) -> Array:
        """Those of `all`."""
        return self.parts[0].rule.weights(state[0].state, domain)

    def weights_left(self, state: State, domain: Domain, models: Array) -> Array:
        return self.parts[0].rule.weights_left(state[0].state, domain, models)

    def weights_by_region(self, state: State, domain: Domain) -> dict[str, Array]:
        made = {}
        for part, each in list(zip(self.parts, state, strict=True))[1:]:
            with located(part):
                made[part.name] = part.rule.weights(each.state, within(domain, part.region.mask(plain(domain))))
        return made

    def errors(self, state: State) -> Array | None:
        return self.parts[0].rule.errors(state[0].state)

    def combine(self, state: State, domain: Domain, forecasts: xr.DataArray) -> xr.DataArray:
        return self._joined(domain, forecasts, lambda i, rule, *given: rule.combine(state[i].state, *given))

    def combine_some(self, state: State, domain: Domain, forecasts: xr.DataArray, models: Array) -> xr.DataArray:
        return self._joined(domain, forecasts, lambda i, rule, *given: rule.combine_some(state[i].state, *given, models))

    def sample(self, state: State, domain: Domain, forecasts: xr.DataArray) -> xr.DataArray:
        return self._joined(domain, forecasts, lambda i, rule, *given: rule.sample(state[i].state, *given))

    def sample_some(self, state: State, domain: Domain, forecasts: xr.DataArray, models: Array) -> xr.DataArray:
        return self._joined(domain, forecasts, lambda i, rule, *given: rule.sample_some(state[i].state, *given, models))

    def owner(self, domain: Domain) -> Array:
        """(...): by index the part of each point."""
        at = plain(domain)
        owner = np.zeros(at.mask.shape, dtype=int)
        for i in range(len(self.parts) - 1, 0, -1):  # the first has the last word
            owner[self.parts[i].region.mask(at)] = i
        return owner

    def _joined(self, domain: Domain, forecasts: xr.DataArray, make: Callable[..., xr.DataArray]) -> xr.DataArray:
        """What `make` (index, rule, domain, forecasts) gives for the points of each part, put together."""
        owner, made = self.owner(domain), {}
        for i in np.unique(owner):
            inside = owner == i
            some = xr.DataArray(forecasts.values[..., inside], dims=(*forecasts.dims[: -inside.ndim], "point"))
            one = make(i, self.parts[i].rule, in_a_row(domain, inside), some)
            made[i] = one.transpose("init_time", "lead_time", ..., "point")
        first = next(iter(made.values()))
        whole = np.empty((*first.shape[:-1], *owner.shape), np.result_type(*made.values()))
        for i, one in made.items():
            whole[..., owner == i] = one.values
        return xr.DataArray(whole, dims=(*first.dims[:-1], *forecasts.dims[-owner.ndim :]))


def told(made: Sequence[Learnt[Any]]) -> Learnt[State]:
    """Where the parts stand, as one."""
    return Learnt(tuple(made), all(each.finished for each in made))


def plain(domain: Domain) -> Field:
    """The field in which models stand side by side, of one of them."""
    at = domain.fields["forecast"]
    return at._replace(coords={name: each for name, each in at.coords.items() if name != "model"}, mask=at.mask[0], area=at.area[0])


def within(domain: Domain, inside: Array) -> Domain:
    """The domain of some points alone; as it is where these are all that carry data."""
    return domain if (inside == domain.fields["forecast"].mask[0]).all() else in_a_row(domain, inside)


def in_a_row(domain: Domain, inside: Array) -> Domain:
    """The domain of some points alone, along one dimension."""
    at = domain.fields["forecast"]
    area = at.area[:, inside]
    whole = area.sum(1, keepdims=True)
    coords = {"model": at.coords["model"], "point": np.arange(area.shape[1])}
    return domain._replace(fields={"forecast": Field(coords, at.mask[:, inside], area / np.where(whole > 0, whole, 1), at.attrs)})


def cut(chunk: Chunk, inside: Array) -> Chunk:
    """As `within`, of past forecasts."""
    domain = within(chunk.domain, inside)
    if domain is chunk.domain:
        return chunk
    space = chunk.data["forecast"].dims[-inside.ndim :]
    data = {name: ((*each.dims[: -inside.ndim], "point"), each.values[..., inside]) for name, each in chunk.data.items()}
    coords = {name: each for name, each in chunk.data.coords.items() if not set(each.dims) & set(space)}
    return Chunk(xr.Dataset(data, coords), domain, chunk.start, chunk.stop, chunk.first)


@contextmanager
def located(part: Part) -> Iterator[None]:
    """Errors say in which region they were met."""
    try:
        yield
    except ValueError as error:
        if part.name == EVERYWHERE:
            raise
        raise ValueError(f"in the region {part.name}, {error}") from error
