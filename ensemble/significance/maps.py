"""Where on the map a model differs from a baseline, by the means of blocks of starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.special import stdtr

from ensemble.errors import InputError, unknown
from ensemble.significance.discovery import false_discovery
from ensemble.task import Array

FEWEST = 3  # blocks, to say how much they vary


class BlockMaps(NamedTuple):
    """Mean squared errors by block of starts, (block, model, lead_time, ...), and the number of starts behind each."""

    mse: xr.DataArray
    starts: xr.DataArray

    @property
    def testable(self) -> bool:
        """Whether there are blocks enough, and two models to compare."""
        return self.mse.sizes["block"] >= FEWEST and self.mse.sizes["model"] > 1


def significant_maps(blocks: BlockMaps, baseline: str, level: float = 0.95) -> xr.Dataset:
    """`difference` (model, lead_time, ...) of the mean squared error of each model less that of the `baseline`, and its `p_value`.

    A t test of the mean of blocks, which neighbouring starts share and different ones hardly do: t = d / s with k - 1 degrees of
    freedom, d the mean of k blocks by their starts, s^2 = sum n_b (d_b - d)^2 / (sum n_b (k - 1)). `significant` holds the false
    discovery rate over leads and points of each model at twice 1 - level (Wilks 2016, doi 10.1175/BAMS-D-15-00267.1). A point
    with fewer than three blocks is not tested (NaN); raises InputError where there are no more anywhere.
    """
    names = [str(each) for each in blocks.mse["model"].values]
    if baseline not in names:
        raise unknown("model", baseline, names)
    if blocks.mse.sizes["block"] < FEWEST:
        held = f"{blocks.mse.sizes['block']} blocks that are as long as the longest lead or a year"
        raise InputError(f"significance: the starts make {held}; {FEWEST} are needed")
    others = [name for name in names if name != baseline]
    apart = (blocks.mse - blocks.mse.sel(model=baseline, drop=True)).sel(model=others)
    n = blocks.starts.sel(model=others).where(apart.notnull(), 0)
    k, whole = (n > 0).sum("block"), n.sum("block")
    difference = (apart.fillna(0) * n).sum("block") / whole.where(whole > 0)
    scatter = (((apart - difference) ** 2).fillna(0) * n).sum("block") / whole.where(k >= FEWEST) / (k - 1)
    p = difference.copy(data=_p_value(difference.values, scatter.values, k.values))
    axes = tuple(i for i, dim in enumerate(p.dims) if dim != "model")
    found = p.copy(data=false_discovery(p.values, 2 * (1 - level), axis=axes))
    return xr.Dataset({"difference": difference, "p_value": p, "significant": found}).assign_attrs(
        baseline=baseline, level=level, blocks=blocks.mse.sizes["block"]
    )


def usual_baseline(blocks: BlockMaps) -> str:
    """The best of the models of kind `reference` by the mean squared error at all points, or without one the worst of all."""
    mse = blocks.mse.mean([dim for dim in blocks.mse.dims if dim != "model"])
    known = mse.isel(model=np.flatnonzero(blocks.mse["kind"].values == "reference"))
    return str((known.idxmin() if known.size else mse.idxmax()).values)


def blocks_of(squared: Sequence[Array], starts: Sequence[Array], like: xr.DataArray) -> BlockMaps:
    """From sums of squared errors (model, lead_time, ...) of each block; `like` has the labels of a map."""
    dims, coords = ("block", *like.dims), like.coords
    counted = np.stack(starts)
    with np.errstate(invalid="ignore"):
        mse = np.where(counted > 0, np.stack(squared) / np.maximum(counted, 1), np.nan)
    return BlockMaps(xr.DataArray(mse, coords, dims), xr.DataArray(counted, coords, dims))


def _p_value(difference: Array, scatter: Array, k: Array) -> Array:
    """Two-sided; 1 where two models are the same in every block, 0 where they differ by one number in all."""
    t = np.abs(difference) / np.sqrt(np.where(scatter > 0, scatter, np.nan))
    tested = 2 * stdtr(np.maximum(k - 1, 1), -t)
    same = np.where(difference == 0, 1.0, 0.0)
    made: Array = np.where(np.isnan(scatter), np.nan, np.where(scatter > 0, tested, same))
    return made
