"""The median of all models: the mean for those who fear the odd one out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import xarray as xr

from ensemble.combine.base import Combine, equal
from ensemble.model import Untrained
from ensemble.task import Array, Domain


@dataclass(frozen=True)
class Median(Untrained, Combine[None, Any]):
    """The forecast with as many models above as below it, at each point; of an even number the mean of the middle two.

    Its weights are equal: before the forecasts are known, every model is as likely to be the one in the middle.
    """

    def weights(self, state: None, domain: Domain) -> Array:
        del state
        return equal(domain)

    def combine(self, state: None, domain: Domain, forecasts: xr.DataArray) -> xr.DataArray:
        del state, domain
        return forecasts.median("model", skipna=False)

    def combine_some(self, state: None, domain: Domain, forecasts: xr.DataArray, models: Array) -> xr.DataArray:
        del models
        return self.combine(state, domain, forecasts)
