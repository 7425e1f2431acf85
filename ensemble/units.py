"""The units of a run: what one worker does in one go. Each is a function of descriptions and of other units' values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.combine import Combine
from ensemble.execute import Cost, Done, Failure, Serial
from ensemble.fitting import fit
from ensemble.hindcast import Problem, verifying, windowed
from ensemble.model import Learner, State
from ensemble.prepare import chunk_of
from ensemble.score import Region, Statistic, Tally, Values, tally
from ensemble.sums import total
from ensemble.task import Array, Domain, Field, Times, month


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
    period, shards = problem.train, problem.shards
    if period is None:
        return unlearnt(learner, problem.domain, problem.seed, "train")
    chunks = [chunk_of(problem.source, problem.domain, period, shards, i, problem.history).fresh() for i in range(shards)]
    return fit(learner, [[chunk] for chunk in chunks], problem.domain, Serial(), problem.seed)


def unlearnt(learner: Learner[State, Any], domain: Domain, seed: int, period: str) -> State:
    """The state of a learner for which there are no data; raises ValueError where it cannot do without."""
    state, finished = learner.start(domain, seed)
    if not finished:
        raise ValueError(f"{type(learner).__name__} learns from data, and the study has no `{period}:` period; give it one")
    return state


def learn(
    problem: Problem, rule: Combine[Any, Any], verifies: Times, forecasts: Mapping[str, list[Done[xr.DataArray] | Failure]]
) -> Weighted:
    """What a combination learns from all forecasts of the validation period; models that failed take no part."""
    alive = {n: [each.value for each in made if isinstance(each, Done)] for n, made in forecasts.items() if not _failed(made)}
    names = tuple(name for name in alive if name not in rule.without)
    if not names:
        raise ValueError("no model is left to combine")
    domain = side_by_side(problem.scored, names)
    pieces = range(len(alive[names[0]]))
    if not pieces:
        return Weighted(rule, unlearnt(rule, domain, problem.seed, "validate"), names, ())
    chunks = [_past(problem, domain, [alive[name][i] for name in names], verifies) for i in pieces]
    costs = tuple(cost for each in forecasts.values() for done in each if isinstance(done, Done) for cost in done.costs)
    return Weighted(rule, fit(rule, [[chunk] for chunk in chunks], domain, Serial(), problem.seed), names, costs)


def _failed(made: Iterable[object]) -> bool:
    return any(isinstance(each, Failure) for each in made)


def _past(problem: Problem, domain: Domain, forecasts: list[xr.DataArray], verifies: Times) -> Chunk:
    truth = verifying(problem, forecasts[0]["init_time"].values, verifies)
    stacked = np.stack([each.values.mean(2) for each in forecasts])
    dims = ("init_time", "lead_time", *problem.domain.fields[problem.domain.target].dims)
    return Chunk(xr.Dataset({"forecast": (("model", *dims), stacked), "truth": (dims, truth)}), domain, 0, len(truth), True)


def side_by_side(domain: Domain, names: tuple[str, ...]) -> Domain:
    """The domain of forecasts that stand side by side."""
    field = domain.fields[domain.target]
    mask, area = (np.broadcast_to(each, (len(names), *each.shape)) for each in (field.mask, field.area))
    return domain._replace(fields={"forecast": Field({"model": np.array(names), **field.coords}, mask, area, field.attrs)})


def column(
    problem: Problem, climatology: Done[Any] | None, regions: Mapping[str, Region], statistics: tuple[Statistic, ...], init_time: Times,
    verifies: Times, forecasts: Mapping[str, Done[xr.DataArray] | Failure], combinations: Mapping[str, Done[Weighted] | Failure],
    keep: bool,
) -> Column:  # fmt: skip
    """All models' forecasts of one piece of starts, scored beside their combinations on the same starts and points."""
    domain, field = problem.scored, problem.domain.fields[problem.domain.target]
    done = {name: each for name, each in forecasts.items() if isinstance(each, Done)}
    if not done:
        raise ValueError("no model has a forecast")
    made = {name: each.value.values for name, each in done.items()}
    for name, each in combinations.items():
        if isinstance(each, Done) and made.keys() >= set(each.value.models):
            made[name] = combined(domain, each.value, made)
    normal, truth = normals(problem, climatology, init_time), verifying(problem, init_time, verifies)
    values = [Values(each, truth, normal) for each in made.values()]
    sums = tally(init_time, values, field, regions, statistics, common=problem.common)
    costs = tuple(cost for each in done.values() for cost in each.costs)
    kept = {name: _kept(domain, init_time, each) for name, each in made.items()} if keep else {}
    return Column(sums, tuple(made), tuple(each.shape[2] for each in made.values()), kept, costs)


def summed(columns: Sequence[Done[Column]]) -> Column:
    """Columns of pieces that follow one another as one, of the models that all of them have."""
    values = [each.value for each in columns]
    models = tuple(name for name in values[0].models if all(name in each.models for each in values))
    sums = total([each.tally.select([each.models.index(name) for name in models]) for each in values])
    members = tuple(values[0].members[values[0].models.index(name)] for name in models)
    costs = tuple(dict.fromkeys(cost for each in columns for cost in (*each.value.costs, *each.costs)))
    return Column(sums, models, members, {}, costs)


def normals(problem: Problem, climatology: Done[Any] | None, init_time: Times) -> Array | None:
    """(init_time, lead_time, ...): the climatology that scores are made against; None where none was learnt."""
    domain = problem.domain
    if climatology is None:
        return None
    return windowed(climatology.value[domain.target][month(domain.valid_time(init_time, domain.lead_times))], problem)


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
