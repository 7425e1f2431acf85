"""Empirical orthogonal functions: a field as a few principal components and the part outside them.

The area-weighted covariance adds up over chunks while it is small (p x p for p points); over larger grids the packed
rows add up instead, and their n x n Gram matrix gives the same patterns: with X = U S V', X X' = U S^2 U' and V = X' U / S.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.model import Learnt, Transform
from ensemble.sums import Rows, Sum
from ensemble.task import Array, Domain, Field

LARGEST_COVARIANCE = 4096  # points: 128 MiB in double precision


class Patterns(NamedTuple):
    """The domain the patterns were learnt on, and (mode, point) orthonormal patterns of the area-weighted field."""

    field: Field
    name: str
    vectors: Array


@dataclass(frozen=True)
class Eof(Transform[Patterns, Any]):
    """`modes` principal components `pc` (..., mode) [unit of the variable], and the `residual` (..., space) outside them."""

    modes: int = 8

    def __post_init__(self) -> None:
        if self.modes < 1:
            raise ValueError(f"modes={self.modes}; at least one is needed")

    def start(self, domain: Domain, seed: int) -> Learnt[Patterns]:
        del seed
        field = domain.fields[domain.target]
        points = int(field.mask.sum())
        if self.modes > points:
            raise ValueError(f"modes={self.modes}, but the field has {points} points; use at most {points}")
        return Learnt(Patterns(field, domain.target, np.zeros((self.modes, points))), finished=False)

    def summarise(self, state: Patterns, chunk: Chunk) -> Any:
        x = _packed(state, chunk.own())
        if x.shape[1] <= LARGEST_COVARIANCE:
            return Sum(x.T @ x)
        return Rows((x.astype(np.float32),))

    def update(self, state: Patterns, total: Any) -> Learnt[Patterns]:
        points = state.vectors.shape[1]
        vectors = self._from_covariance(total.tree) if points <= LARGEST_COVARIANCE else self._from_rows(np.concatenate(total.pieces))
        largest = vectors[np.arange(self.modes), np.abs(vectors).argmax(1)]
        return Learnt(state._replace(vectors=vectors * np.sign(largest)[:, None]), finished=True)

    def _from_covariance(self, covariance: Array) -> Array:
        n = len(covariance)
        return scipy.linalg.eigh(covariance, subset_by_index=(n - self.modes, n - 1))[1].T[::-1]

    def _from_rows(self, x: Array) -> Array:
        n = len(x)
        if self.modes > n:
            raise ValueError(f"modes={self.modes}, but the training data hold only {n} steps; use at most {n}")
        values, u = scipy.linalg.eigh(x @ x.T, subset_by_index=(n - self.modes, n - 1))
        return np.asarray((u[:, ::-1] / np.sqrt(values[::-1])).T @ x, dtype=np.float64)

    def domain(self, state: Patterns, domain: Domain) -> Domain:
        ones = np.ones(self.modes)
        pc = Field({"mode": np.arange(1, self.modes + 1)}, ones > 0, ones / self.modes, dict(state.field.attrs))
        return domain._replace(fields={"pc": pc, "residual": state.field})

    def apply(self, state: Patterns, data: xr.Dataset) -> xr.Dataset:
        pc = _packed(state, data) @ state.vectors.T
        residual = data[state.name].values - _field(state, pc)
        leading = data["time"].dims
        space = (*leading, *state.field.dims)
        return data.drop_vars(state.name).assign(pc=((*leading, "mode"), pc), residual=(space, residual))

    def restore(self, state: Patterns, forecast: xr.Dataset, initial: xr.Dataset) -> xr.Dataset:
        leading = forecast["pc"].dims[:-1]
        inside = xr.DataArray(_field(state, forecast["pc"].values), dims=(*leading, *state.field.dims))
        whole = (inside + forecast["residual"]).transpose(*leading, *state.field.dims)
        kept = {name: forecast[name] for name in forecast.coords if name != "mode"}
        return xr.Dataset({state.name: whole}, coords=kept)


def _packed(state: Patterns, data: xr.Dataset) -> Array:
    """(..., space) -> (..., point): the points that carry data, each times the root of its area."""
    mask = state.field.mask
    packed: Array = data[state.name].values[..., mask] * np.sqrt(state.field.area[mask] / state.field.area[mask].mean())
    return packed


def _field(state: Patterns, pc: Array) -> Array:
    """(..., mode) -> (..., space)."""
    mask = state.field.mask
    field = np.full((*pc.shape[:-1], *mask.shape), np.nan)
    field[..., mask] = pc @ state.vectors / np.sqrt(state.field.area[mask] / state.field.area[mask].mean())
    return field
