"""The units of a run: what one worker does in one go. Each is a function of descriptions and of other units' values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ensemble.chunk import Chunk, known_ahead, windows
from ensemble.combine import Combine
from ensemble.execute import Cost, Done, Failure, Serial
from ensemble.fitting import fit
from ensemble.model import Model
from ensemble.prepare import chunk_of, record
from ensemble.prepare.record import span
from ensemble.score import Region, Statistic, Tally, Values, tally
from ensemble.task import Array, Domain, Field, Period, Source, Times, month


class Problem(NamedTuple):
    """What every unit of a study shares; small, for it travels with each."""

    source: Source
    domain: Domain
    train: Period
    shards: int
    history: int
    size: int  # starts in the largest piece
    seed: int


class Weighted(NamedTuple):
    """A combination with what it has learnt, of which models."""

    rule: Combine[Any, Any]
    state: Any
    models: tuple[str, ...]
    costs: tuple[Cost, ...]  # of the forecasts it was learnt from


class Column(NamedTuple):
    """All that is kept of one piece of starts: sums, and the forecasts where they are wanted."""

    tally: Tally
    models: tuple[str, ...]
    members: tuple[int, ...]
    forecasts: Mapping[str, xr.DataArray]  # where they are wanted
    costs: tuple[Cost, ...]  # of the forecasts


def fit_model(problem: Problem, learner: Any) -> Any:
    """The state of a model, or of the climatology that scores are made against, learnt from the training period."""
    chunks = [
        chunk_of(problem.source, problem.domain, problem.train, problem.shards, i, problem.history).fresh() for i in range(problem.shards)
    ]
    return fit(learner, [[chunk] for chunk in chunks], problem.domain, Serial(), problem.seed)


def forecast(problem: Problem, model: Model[Any, Any], state: Done[Any], init_time: Times) -> xr.DataArray:
    """(init_time, lead_time, member, ...), checked: finite wherever the domain has data.

    The starts are filled up to one size for all pieces by repeating the last one, so that compiled code is compiled once.
    """
    padded = np.concatenate([init_time, np.repeat(init_time[-1:], problem.size - len(init_time))])
    domain, leads = problem.domain, problem.domain.lead_times
    initial = windows(_record(problem, init_time), domain, padded, model.history)
    made = model.forecast(state.value, initial, leads, known_ahead(domain, padded, leads), problem.seed)
    return checked(made, domain, padded).isel(init_time=slice(len(init_time)))


def mean_forecast(problem: Problem, model: Model[Any, Any], state: Done[Any], init_time: Times) -> xr.DataArray:
    """As `forecast`, of the mean of the members alone: all that combinations learn from, and a fraction of what travels."""
    return forecast(problem, model, state, init_time).mean("member", skipna=False, keepdims=True)


def checked(made: xr.Dataset, domain: Domain, init_time: Times) -> xr.DataArray:
    """The target of a forecast with all its dimensions in order; raises ValueError with what is wrong."""
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
    bad = ~np.isfinite(values.values[..., field.mask])
    if bad.any():
        where = np.argwhere(bad)[0]
        first = f"the first in the forecast issued {init_time[where[0]]} at lead {leads[where[1]]}"
        raise ValueError(f"{bad.sum()} values are not finite, {first}")
    whole = np.where(field.mask, values.values, np.nan)
    return xr.DataArray(whole, dims=dims, coords={"init_time": init_time, "lead_time": leads, "member": values["member"].values})


def learn(problem: Problem, rule: Combine[Any, Any], forecasts: Mapping[str, list[Done[xr.DataArray] | Failure]]) -> Weighted:
    """What a combination learns from all forecasts of the validation period; models that failed take no part."""
    alive = {n: [each.value for each in made if isinstance(each, Done)] for n, made in forecasts.items() if not _failed(made)}
    names = tuple(name for name in alive if name not in rule.without)
    if not names:
        raise ValueError("no model is left to combine")
    domain = side_by_side(problem.domain, names)
    pieces = range(len(next(iter(alive.values()))))
    chunks = [_past(problem, domain, [alive[name][i] for name in names]) for i in pieces]
    costs = tuple(cost for each in forecasts.values() for done in each if isinstance(done, Done) for cost in done.costs)
    return Weighted(rule, fit(rule, [[chunk] for chunk in chunks], domain, Serial(), problem.seed), names, costs)


def _failed(made: Iterable[object]) -> bool:
    return any(isinstance(each, Failure) for each in made)


def _past(problem: Problem, domain: Domain, forecasts: list[xr.DataArray]) -> Chunk:
    truth = verifying(problem, forecasts[0]["init_time"].values)
    stacked = np.stack([each.values.mean(2) for each in forecasts])
    dims = ("init_time", "lead_time", *problem.domain.fields[problem.domain.target].dims)
    return Chunk(xr.Dataset({"forecast": (("model", *dims), stacked), "truth": (dims, truth)}), domain, 0, len(truth), True)


def side_by_side(domain: Domain, names: tuple[str, ...]) -> Domain:
    """The domain of forecasts that stand side by side."""
    field = domain.fields[domain.target]
    mask, area = (np.broadcast_to(each, (len(names), *each.shape)) for each in (field.mask, field.area))
    return domain._replace(fields={"forecast": Field({"model": np.array(names), **field.coords}, mask, area, field.attrs)})


def verifying(problem: Problem, init_time: Times) -> Array:
    """The truth of forecasts (init_time, lead_time, ...)."""
    domain, data = problem.domain, _record(problem, init_time)
    index = np.searchsorted(data["time"].values, domain.valid_time(init_time, domain.lead_times))
    truth: Array = data[domain.target].values[index]
    return truth


def _record(problem: Problem, init_time: Times) -> xr.Dataset:
    """What the forecasts of a piece look at and are held against: one read, for all models and for the scores."""
    lead = int(max(problem.domain.lead_times))
    return record(problem.source, problem.domain.target, *span(problem.source, init_time, problem.history, lead))


def column(
    problem: Problem, climatology: Done[Any], regions: Mapping[str, Region], statistics: tuple[Statistic, ...], init_time: Times,
    forecasts: Mapping[str, Done[xr.DataArray] | Failure], combinations: Mapping[str, Done[Weighted] | Failure], keep: bool,
) -> Column:  # fmt: skip
    """All models' forecasts of one piece of starts, scored beside their combinations on the same starts and points."""
    domain, target = problem.domain, problem.domain.target
    done = {name: each for name, each in forecasts.items() if isinstance(each, Done)}
    made = {name: each.value.values for name, each in done.items()}
    for name, each in combinations.items():
        if isinstance(each, Done) and made.keys() >= set(each.value.models):
            made[name] = combined(domain, each.value, made)
    normal = climatology.value[target][month(domain.valid_time(init_time, domain.lead_times))]
    truth = verifying(problem, init_time) - normal
    values = [Values(each - normal[:, :, None], truth) for each in made.values()]
    sums = tally(init_time, values, domain.fields[target], regions, statistics)
    costs = tuple(cost for each in done.values() for cost in each.costs)
    kept = {name: _kept(domain, init_time, each) for name, each in made.items()} if keep else {}
    return Column(sums, tuple(made), tuple(each.shape[2] for each in made.values()), kept, costs)


def combined(domain: Domain, weighted: Weighted, made: Mapping[str, Array]) -> Array:
    """What a combination makes of forecasts (init_time, lead_time, member, ...): one with a single member."""
    dims = ("model", "init_time", "lead_time", *domain.fields[domain.target].dims)
    stacked = xr.DataArray(np.stack([made[name].mean(2) for name in weighted.models]), dims=dims)
    return weighted.rule.combine(weighted.state, side_by_side(domain, weighted.models), stacked).values[:, :, None]


def _kept(domain: Domain, init_time: Times, made: Array) -> xr.DataArray:
    """(init_time, lead_time, [member,] ...)."""
    field = domain.fields[domain.target]
    member = {} if made.shape[2] == 1 else {"member": np.arange(made.shape[2])}
    coords = {"init_time": init_time, "lead_time": domain.lead_times, **member, **field.coords}
    return xr.DataArray(made if member else made[:, :, 0], coords=coords, dims=tuple(coords), attrs=dict(field.attrs))
