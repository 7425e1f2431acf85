"""Ranks that models share where they cannot be told apart, and how often each would have been first."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ensemble.significance.discovery import false_discovery


def shared_ranks(loss: xr.DataArray, p_values: xr.DataArray, rate: float = 0.05) -> xr.DataArray:
    """(model, ...): 1 and how many models are significantly better; NaN where the loss is undefined, or the tests are.

    `p_values` (model, other, ...) of all pairs; the false discovery rate is held over the pairs of each table, as each is read
    by itself. Two models may share a rank with a third and be told from each other.
    """
    p = p_values.transpose("model", "other", ...)
    ordered = loss.transpose("model", *p.dims[2:])
    upper = np.triu_indices(len(p), 1)
    found = np.zeros(p.shape, bool)
    found[upper] = false_discovery(p.values[upper], rate, axis=0)
    found |= found.swapaxes(0, 1)
    better = found & (ordered.values[None] < ordered.values[:, None])
    tested = np.isfinite(ordered.values) & (np.isfinite(p.values).sum(1) > min(1, len(p) - 1))
    return ordered.copy(data=np.where(tested, 1.0 + better.sum(1), np.nan)).assign_attrs(
        long_name="rank, shared where models cannot be told apart"
    )


def first_share(losses: xr.DataArray) -> xr.DataArray:
    """(model, ..., resample) -> (model, ...): the share of resamples in which a model is the best; those that tie share the place.

    NaN for a model that is undefined in any resample, which is no rival to the others.
    """
    ordered = losses.transpose("model", ..., "resample")
    undefined = np.isnan(ordered.values).any(-1)
    values = np.where(undefined[..., None], np.inf, ordered.values)
    best = values == values.min(0)
    places = best.sum(0)
    share = best.mean(-1) if (places == 1).all() else (best / places).mean(-1)
    return ordered.isel(resample=0, drop=True).copy(data=np.where(undefined, np.nan, share))
