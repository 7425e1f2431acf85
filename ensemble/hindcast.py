"""Forecasts of one piece of starts, and the truth they are held against: the units that every model's column rests on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ensemble.chunk import known_ahead, windows
from ensemble.execute import Done, failure_of
from ensemble.model import Model
from ensemble.prepare import record
from ensemble.prepare.record import span
from ensemble.study import Study
from ensemble.task import Array, Domain, Period, Source, Times, Window


class Problem(NamedTuple):
    """What every unit of a study shares; small, for it travels with each."""

    source: Source
    domain: Domain
    train: tuple[Period, ...]  # one, or those around what is left out; none where nothing can be learnt
    shards: int
    history: int
    size: int  # starts in the largest piece
    seed: int
    windows: tuple[Window, ...] = ()
    common: bool = True  # whether models are counted on the starts and points that all of them have

    def learning(self, *train: Period) -> Problem:
        """The same, learnt from other periods."""
        return self._replace(train=train, domain=self.domain._replace(period=Period(train[0].first, train[-1].last)))

    @property
    def scored(self) -> Domain:
        """The domain of what is scored and combined: of the windows, where there are any."""
        return self.domain._replace(lead_times=np.array([each.last for each in self.windows])) if self.windows else self.domain


def problem_of(study: Study, size: int = 1, model: str | None = None) -> Problem:
    """What the units of `study` share, whose largest piece has `size` starts; a `model` may be shown more variables than its target."""
    common = study.sample.mask == "common"
    wide = model is not None and study.models[model].multivariate
    domain = study.domain if wide else study.domain.only(study.target)
    train = () if study.train is None else (study.train,)
    return Problem(study.data, domain, train, study.shards, study.history, size, study.seed, study.windows, common)


def forecast(problem: Problem, model: Model[Any, Any], state: Done[Any], init_time: Times, *, partly: bool = False) -> xr.DataArray:
    """(init_time, lead_time, member, ...), checked, with windows made of their leads; NaN for starts that the model has not issued.

    The starts are filled up to one size for all pieces by repeating the last one, so that compiled code is compiled once. With
    `partly` a model that fails at some starts hands over the others, with its `Failure` in the attribute `failure`. What the fit
    cost goes with it in the attribute `costs`, for nobody else may keep the fit.
    """
    issued = model.issued
    held = init_time if issued is None else init_time[np.isin(init_time, issued)]
    if not held.size:
        nothing = np.full((len(init_time), len(problem.scored.lead_times), 1, *_shape(problem)), np.nan)
        return _labelled(problem, init_time, nothing, [0]).assign_attrs(costs=state.costs)
    padded = np.concatenate([held, np.repeat(held[-1:], problem.size - len(held))])
    made = _made(problem, model, state.value, padded, partly)[: len(held)]
    values = windowed(made.values, problem)
    if len(held) < len(init_time):
        whole = np.full((len(init_time), *values.shape[1:]), np.nan)
        whole[np.isin(init_time, held)] = values
        values = whole
    return _labelled(problem, init_time, values, made["member"].values).assign_attrs(made.attrs, costs=state.costs)


def forecast_partly(problem: Problem, model: Model[Any, Any], state: Done[Any], init_time: Times) -> xr.DataArray:
    """As `forecast`, of the starts at which the model does not fail."""
    return forecast(problem, model, state, init_time, partly=True)


def mean_forecast(problem: Problem, model: Model[Any, Any], state: Done[Any], init_time: Times) -> xr.DataArray:
    """As `forecast`, of the mean of the members alone: all that combinations learn from, and a fraction of what travels."""
    return forecast(problem, model, state, init_time).mean("member", skipna=False, keepdims=True).assign_attrs(costs=state.costs)


def mean_of(made: Done[xr.DataArray]) -> xr.DataArray:
    """A forecast that was made already, of which the mean of the members alone is to travel on."""
    return made.value.mean("member", skipna=False, keepdims=True).assign_attrs(made.value.attrs)


def _made(problem: Problem, model: Model[Any, Any], state: Any, init_time: Times, partly: bool) -> xr.DataArray:
    """What `model` forecasts; where it raises, each start is tried alone, and the error is told which of how many fail."""
    try:
        return _of(problem, model, state, init_time)
    except Exception as error:
        starts = np.unique(init_time)
        alone = [_alone(problem, model, state, start) for start in starts]
        failing = tuple(str(start) for start, made in zip(starts, alone, strict=True) if made is None)
        error.failing = failing, len(starts)  # type: ignore[attr-defined]  # travels with it from the worker
        if not partly or not 0 < len(failing) < len(starts):
            raise
        some = next(each for each in alone if each is not None)
        filled = [xr.full_like(some, np.nan) if each is None else each for each in alone]
        made = xr.concat(filled, xr.Variable("init_time", starts))
        return made.sel(init_time=init_time).assign_attrs(failure=failure_of("", "", error))


def _of(problem: Problem, model: Model[Any, Any], state: Any, init_time: Times) -> xr.DataArray:
    domain, leads = problem.domain, problem.domain.lead_times
    initial = windows(recorded(problem, init_time), domain, init_time, model.history)
    made = model.forecast(state, initial, leads, known_ahead(domain, init_time, leads), problem.seed)
    return checked(made, domain, init_time, gaps=model.may_lack)


def _alone(problem: Problem, model: Model[Any, Any], state: Any, start: np.datetime64) -> xr.DataArray | None:
    """The forecast of one start; None where it fails."""
    try:
        return _of(problem, model, state, np.array([start]))
    except Exception:
        return None


def checked(made: xr.Dataset, domain: Domain, init_time: Times, *, gaps: bool = False) -> xr.DataArray:
    """The target of a forecast with all its dimensions in order; raises ValueError with what is wrong.

    Every value must be finite wherever the domain has data; with `gaps` points may be missing.
    """
    target, leads = domain.target, domain.lead_times
    field = domain.fields[target]
    if target not in made:
        raise ValueError(f"the forecast holds {list(made.data_vars)}, not the target {target}")
    values = made[target] if "member" in made[target].dims else made[target].expand_dims(member=[0])
    dims = ("init_time", "lead_time", "member", *field.dims)
    if set(values.dims) != set(dims):
        raise ValueError(f"the forecast has dimensions {made[target].dims}; they must be {dims}, member being optional")
    values = values.transpose(*dims)
    expected = (len(init_time), len(leads), values.sizes["member"], *field.mask.shape)
    if values.shape != expected:
        raise ValueError(f"the forecast has shape {values.shape}; it must be {expected}")
    within = values.values[..., field.mask]
    bad = np.isinf(within) if gaps else ~np.isfinite(within)
    if bad.any():
        where = np.argwhere(bad)[0]
        first = f"the first in the forecast issued {init_time[where[0]]} at lead {leads[where[1]]}"
        raise ValueError(f"{bad.sum()} values are not finite, {first}")
    whole = np.where(field.mask, values.values, np.float64(np.nan))  # in double precision, whatever the model works in
    return xr.DataArray(whole, dims=dims, coords={"init_time": init_time, "lead_time": leads, "member": values["member"].values})


def windowed(values: Array, problem: Problem) -> Array:
    """(init_time, lead_time, ...) with each window made of its lead times; as it is where there are none."""
    if not problem.windows:
        return values
    leads = problem.domain.lead_times
    parts = [values[:, np.isin(leads, each.steps)] for each in problem.windows]
    return np.stack([p.mean(1) if each.how == "mean" else p.sum(1) for p, each in zip(parts, problem.windows, strict=True)], axis=1)


def verifying(problem: Problem, init_time: Times, verifies: Times | None = None) -> Array:
    """The truth of forecasts (init_time, lead_time, ...); NaN where a lead verifies at none of the times `verifies`, if given."""
    domain, data = problem.domain, recorded(problem, init_time)
    valid, times = domain.valid_time(init_time, domain.lead_times), data["time"].values
    index = np.clip(np.searchsorted(times, valid), 0, len(times) - 1)
    values = data[domain.target].values[index]
    counts = (times[index] == valid) & (True if verifies is None else np.isin(valid, verifies))
    if not counts.all():
        values = np.where(counts.reshape(*counts.shape, *[1] * (values.ndim - 2)), values, np.nan)
    return windowed(values, problem)


def recorded(problem: Problem, init_time: Times) -> xr.Dataset:
    """What the forecasts of a piece look at and are held against: one read, for all models and for the scores."""
    lead = int(max(problem.domain.lead_times))
    first, last = span(problem.source, init_time, problem.history, lead)
    times = problem.source.times
    return record(problem.source, tuple(problem.domain.fields), max(first, times[0]), min(last, times[-1]))


def _shape(problem: Problem) -> tuple[int, ...]:
    shape: tuple[int, ...] = problem.domain.fields[problem.domain.target].mask.shape
    return shape


def _labelled(problem: Problem, init_time: Times, values: Array, member: Any) -> xr.DataArray:
    dims = ("init_time", "lead_time", "member", *problem.domain.fields[problem.domain.target].dims)
    coords = {"init_time": init_time, "lead_time": problem.scored.lead_times, "member": member}
    return xr.DataArray(values, dims=dims, coords=coords)
