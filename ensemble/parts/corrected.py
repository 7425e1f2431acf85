"""A model whose forecasts are corrected by its own past errors, per start month, lead and point.

The inner model is fitted first. Then it forecasts the starts of the training period, as far as it has issued them, and is held
against what came. For forecasts that lie in files these are errors like any other. For a model that is fitted here they are errors
on the very data that it was fitted on: in-sample, smaller than they will be, and next to none in the mean for a regression.

    mean      f - e                     e: mean error
    variance  y + (s_y / s_f) (f - m)   m, s_f: mean and standard deviation of the ensemble mean, y = m - e, s_y those of the truth
    drift     f - e - b (t - t_e)       b: slope of the error in the start's year t; it goes on as it went (Kharin et al. 2012,
                                        doi 10.1029/2012GL052647)

All members go through the same map: `variance` is inflation (Doblas-Reyes et al. 2005, doi 10.1111/j.1600-0870.2005.00104.x) with the
departures of members from their mean growing by the same ratio, so that signal to noise and every correlation stay the model's own.
Start months within `window` are pooled: their errors, and departures each from the mean of its own month, for means follow the
season.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr

from ensemble.chunk import Chunk, Pairs, known_ahead, windows
from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.model import Learnt, Model
from ensemble.parts.damping import lead_index
from ensemble.parts.drift import WAYS, Drift, Moments, moments, near
from ensemble.sums import total
from ensemble.task import Array, Domain, Times, dataset, month

TOGETHER = 2**25  # bytes of forecasts that are made at once
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
OWN = ("kind", "multivariate", "may_lack", "effort")  # what a class says of all its models, and here the inner one says


class Known(NamedTuple):
    """The inner model's state, and once that is `fitted` and has been held against the truth, its drift."""

    inner: Any
    fitted: bool
    drift: Drift | None
    target: str
    lead_times: Array
    seed: int


@dataclass(frozen=True)
class Corrected(Model[Known, Any]):
    """`model` with its errors of start months within `window` taken out; members share one correction.

    `variance` and `drift` are learnt from five pairs or more, `drift` of five years. A start month of which the training period holds
    fewer is an error at each such start; a point of it that lacks them is missing in the forecast.
    """

    model: Model[Any, Any]
    how: Literal["mean", "variance", "drift"] = "mean"
    window: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.model, Model):
            raise ValueError(f"{self.model!r} is no Model; an estimator goes into ensemble.parts.Estimator first")
        if self.how not in WAYS:
            raise ValueError(f"how: {self.how!r} is unknown; there are: {', '.join(WAYS)}")
        if self.window < 0:
            raise ValueError(f"window: {self.window} months; give 0, for each start month alone, or more")
        for name in OWN:
            object.__setattr__(self, name, getattr(self.model, name))

    @property
    def history(self) -> int:
        return max(1, self.model.history)  # forecasts in files look at no step, but the record they are held against has some

    @property
    def ensemble_size(self) -> int:
        return self.model.ensemble_size

    @property
    def issued(self) -> Times | None:
        return self.model.issued

    @property
    def leads(self) -> Array | None:
        return self.model.leads

    @property
    def notes(self) -> tuple[Finding, ...]:
        return self.model.notes

    @property
    def bare(self) -> Model[Any, Any]:
        return self.model.bare

    def check(self, domain: Domain) -> None:
        """As the inner model does; and some start of the training period is there."""
        self.model.check(domain)
        issued = self.issued
        if issued is None or np.isin(domain.period.starts(domain.lead_times, domain.step), issued).any():
            return
        years = f"issued {_day(issued[0])} to {_day(issued[-1])}" if len(issued) else "none at all"
        raise InputError(
            f"{self._name}: correct: no forecast of it ({years}) verifies inside the training period, {_day(domain.period.first)} to "
            f"{_day(domain.period.last)}, to be corrected by; let `train:` reach into its years, or leave out `correct:`"
        )

    @property
    def _name(self) -> str:
        """The kind of model, and where it lies in files the first of them."""
        where = [f" ({each.where})" for each in self.notes[:1]]
        return "".join([type(self.bare).__name__, *where])

    def found(self, state: Known) -> tuple[Finding, ...]:
        inner = self.model.found(state.inner)
        if state.drift is None:
            return inner
        pairs = state.drift.pairs[state.drift.pairs > 0]
        sample = "" if self.issued is not None else ", in-sample: the model was fitted on them"
        learnt = f"learnt from {pairs.min()} to {pairs.max()} pairs for a start month and lead{sample}"
        return (*inner, Finding("correct", self._name, learnt, f"{WAYS[self.how].done}, months within {self.window} pooled"))

    def framed(self, frame: Callable[[Model[Any, Any]], Model[Any, Any]]) -> Model[Any, Any]:
        """Around the inner model in its anomalies, for errors are those of full fields."""
        return replace(self, model=self.model.framed(frame))

    def start(self, domain: Domain, seed: int) -> Learnt[Known]:
        self.check(domain)
        inner, finished = self.model.start(domain, seed)
        return Learnt(Known(inner, finished, None, domain.target, domain.lead_times, seed), finished=False)

    def summarise(self, state: Known, chunk: Chunk) -> Any:
        return self._moments(state, chunk) if state.fitted else self.model.summarise(state.inner, chunk)

    def update(self, state: Known, total: Any) -> Learnt[Known]:
        if not state.fitted:
            inner, finished = self.model.update(state.inner, total)
            return Learnt(state._replace(inner=inner, fitted=finished), finished=False)
        drift = WAYS[self.how].learn(total, near(self.window), state.lead_times)
        if not drift.known.any():
            raise ValueError(f"correct: no start month can be corrected at any lead: {self._cure(int(drift.pairs.max()))}")
        return Learnt(state._replace(drift=drift), finished=True)

    def _cure(self, pairs: int) -> str:
        way = WAYS[self.how]
        held = f"the training period has {pairs or 'no'} pair{'s' * (pairs != 1)} of it (`window: {self.window}`)"
        return f"`{self.how}` needs {way.needs}, {held}; make that longer, {way.cure}"

    def _moments(self, state: Known, chunk: Chunk) -> Moments:
        """Of all pairs of a chunk, so many starts at once as fit into memory."""
        pairs = self._pairs(chunk)
        truth = pairs.targets[state.target]
        size = 8 * truth.size * self.ensemble_size
        pieces = np.array_split(np.arange(len(truth)), max(1, min(len(truth), -(-size // TOGETHER))))
        made = (self._made(state, _some(pairs, piece), chunk.domain) for piece in pieces)
        starts = truth["init_time"].values
        each = [moments(WAYS[self.how], values, truth.values[i], starts[i]) for values, i in zip(made, pieces, strict=True)]
        return total(each)

    def _pairs(self, chunk: Chunk) -> Pairs:
        """Those of the inner model; one that looks at no past has forecasts from the record's first step on."""
        if self.model.history:
            pairs = chunk.pairs(self.model.history)
        else:
            domain, times = chunk.domain, chunk.data["time"].values
            first = np.arange(chunk.start, min(chunk.stop, len(times) - int(max(domain.lead_times)) + 1))
            ahead = first[:, None] + domain.lead_times - 1
            values = {str(name): each.values[ahead] for name, each in chunk.data.items()}
            targets = dataset(domain, values, init_time=times[first], lead_time=domain.lead_times)
            forcing = known_ahead(domain, times[first], domain.lead_times)
            pairs = Pairs(windows(chunk.data, domain, times[first], 0), targets, forcing)
        if self.issued is None:
            return pairs
        return _some(pairs, np.flatnonzero(np.isin(pairs.targets["init_time"].values, self.issued)))

    def _made(self, state: Known, pairs: Pairs, domain: Domain) -> Array:
        """(init_time, lead_time, ...): the mean of the members; raises ValueError where a value is missing and must not be."""
        field, truth = domain.fields[state.target], pairs.targets[state.target]
        if not len(truth):
            return np.empty(truth.shape)
        made = self.model.forecast(state.inner, pairs.initial, truth["lead_time"].values, pairs.forcing, state.seed)[state.target]
        mean = made.mean("member", skipna=False, dtype=float) if "member" in made.dims else made.astype(float)
        values: Array = mean.transpose("init_time", "lead_time", *field.dims).values
        within = values[..., field.mask]
        bad = np.isinf(within) if self.may_lack else ~np.isfinite(within)
        if bad.any():
            issued = truth["init_time"].values[np.argwhere(bad)[0, 0]]
            raise ValueError(f"correct: {bad.sum()} forecast values of training starts are not finite, the first in that issued {issued}")
        return np.where(field.mask, values, np.nan)

    def forecast(self, state: Known, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        assert state.drift is not None, "finished"
        seen = initial.isel(lag=slice(initial.sizes["lag"] - self.model.history, None))
        made = self.model.forecast(state.inner, seen, lead_times, forcing, seed)
        given = made[state.target]
        whole = given if "member" in given.dims else given.expand_dims(member=[0])
        whole = whole.transpose("init_time", "lead_time", "member", *initial[state.target].dims[2:])
        starts = initial["init_time"].values
        self._raise_unknown(state.drift, starts, lead_times, np.isfinite(whole.values).any(tuple(range(2, whole.ndim))))
        corrected = whole.copy(data=state.drift.correct(whole.values.astype(float), starts, lead_times))
        return made.assign({state.target: corrected if "member" in given.dims else corrected.isel(member=0, drop=True)})

    def _raise_unknown(self, drift: Drift, starts: Times, lead_times: Array, there: Array) -> None:
        """A forecast that is `there` (init_time, lead_time) and can be corrected nowhere is an error, not a field of missing values."""
        rows, columns = month(starts), lead_index(drift.lead_times, lead_times)
        untold = np.argwhere(there & ~drift.known[rows[:, None], columns])
        if len(untold):
            row, column = rows[untold[0, 0]], columns[untold[0, 1]]
            cure = self._cure(int(drift.pairs[row, column]))
            raise ValueError(f"correct: starts of {MONTHS[row]} cannot be corrected at lead {drift.lead_times[column]}: {cure}")


def _some(pairs: Pairs, which: Array) -> Pairs:
    return Pairs(*(each.isel(init_time=which) for each in pairs))


def _day(time: Any) -> str:
    return str(np.datetime64(time, "D"))
