"""A model with an eye on what it is given: whether it writes into what all models share, or invents what is not there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import xarray as xr

from ensemble.chunk import Chunk
from ensemble.model import Learnt, Model
from ensemble.task import Array, Domain


@dataclass(frozen=True)
class Watched(Model[Any, Any]):
    """`model`, watched."""

    model: Model[Any, Any]

    @property
    def history(self) -> int:
        return self.model.history

    def framed(self, frame: Callable[[Model[Any, Any]], Model[Any, Any]]) -> Model[Any, Any]:
        framed = self.model.framed(lambda _: frame(self))
        return self if framed is self.model else framed

    def start(self, domain: Domain, seed: int) -> Learnt[Any]:
        return self.model.start(domain, seed)

    def summarise(self, state: Any, chunk: Chunk) -> Any:
        before = chunk.data.copy(deep=True)
        summary = self.model.summarise(state, chunk)
        assert before.identical(chunk.data), "fitting wrote into the data, which all models share; copy before you change"
        return summary

    def update(self, state: Any, total: Any) -> Learnt[Any]:
        return self.model.update(state, total)

    def forecast(self, state: Any, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        before = initial.copy(deep=True), forcing.copy(deep=True)
        made = self.model.forecast(state, initial, lead_times, forcing, seed)
        assert before[0].identical(initial), "forecasting wrote into its initial states"
        assert before[1].identical(forcing), "forecasting wrote into its forcing"
        for name in made.data_vars:
            invented = made[name].notnull() & before[0][name].isel(lag=-1, drop=True).isnull()
            assert not invented.any(), "the forecast has numbers where there are no data; it must be NaN there"
        return made
