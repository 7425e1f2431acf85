"""The units of a run: what one worker does in one go. Each is a function of descriptions and of other units' values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ensemble.combine.dressing import Dressing
from ensemble.combining import Weighted, combined
from ensemble.execute import Cost, Done, Failure, Serial
from ensemble.fitting import fit, unlearnt
from ensemble.hindcast import Problem, verifying, windowed
from ensemble.parts import Quantiles
from ensemble.prepare import chunk_of
from ensemble.score import Region, Statistic, Tally, Values, tally
from ensemble.score.statistics import SquaredError
from ensemble.sums import total
from ensemble.task import Array, Domain, Field, Times, month

SQUARED = SquaredError().name


class Block(NamedTuple):
    """Neighbouring starts of which squared errors are added up apart, so that maps can be tested: (model, lead_time, ...)."""

    squared: Array
    starts: Array

    def select(self, models: Sequence[int]) -> Block:
        """The same of some of the models."""
        return Block(self.squared[list(models)], self.starts[list(models)])


class Column(NamedTuple):
    """All that is kept of one piece of starts: sums, and the forecasts where they are wanted."""

    tally: Tally
    models: tuple[str, ...]
    members: tuple[int, ...]
    forecasts: Mapping[str, xr.DataArray]  # where they are wanted
    costs: tuple[Cost, ...]  # of the forecasts
    failures: tuple[Failure, ...] = ()  # of models that forecast some of the starts
    draws: tuple[bool, ...] = ()  # whether members are draws, of each model
    blocks: tuple[Block, ...] = ()


def fit_model(problem: Problem, learner: Any) -> Any:
    """The state of a model, or of the climatology that scores are made against, learnt from the training period."""
    if not problem.train:
        return unlearnt(learner, problem.domain, problem.seed, "train")
    cuts = [(period, i) for period in problem.train for i in range(problem.shards)]
    chunks = [chunk_of(problem.source, problem.domain, period, problem.shards, i, problem.history).fresh() for period, i in cuts]
    return fit(learner, [[chunk] for chunk in chunks], problem.domain, Serial(), problem.seed)


class Scoring(NamedTuple):
    """How forecasts are scored; the same for all pieces."""

    problem: Problem
    regions: Mapping[str, Region]
    statistics: tuple[Statistic, ...]
    verifies: Times
    quantiles: Quantiles | None  # that scores are made with
    dressing: Dressing | None
    keep: bool  # whether forecasts are kept
    compiled: bool  # whether there is enough to add up for compiled passes
    block: int = 0  # starts in a block, at the least; 0 for none


def column(
    how: Scoring, init_time: Times, climatology: Done[Any] | None, quantiles: Done[Any] | None, worn: Mapping[str, Done[Array] | Failure],
    forecasts: Mapping[str, Done[xr.DataArray] | Failure], combinations: Mapping[str, Done[Weighted] | Failure],
) -> Column:  # fmt: skip
    """All models' forecasts of one piece of starts, scored beside their combinations on the same starts and points.

    A model that failed at a start has no scores; combinations are made start by start of the models that are there.
    """
    problem = how.problem
    domain, field = problem.scored, problem.domain.fields[problem.domain.target]
    done = {name: each for name, each in forecasts.items() if isinstance(each, Done)}
    if not done:
        raise ValueError("no model has a forecast")
    failures = tuple(_named(each.value.attrs["failure"], name) for name, each in done.items() if "failure" in each.value.attrs)
    failing = {each.model: ~np.isin(init_time, np.array(each.starts, init_time.dtype)) for each in failures}
    made = {name: each.value.values for name, each in done.items()}
    learnt = {name: each.value for name, each in combinations.items() if isinstance(each, Done)}
    for name, weighted in learnt.items():
        whole = combined(domain, weighted, made, failing)
        if whole is not None:
            made[name] = whole
    made = {name: each for name, each in made.items() if name not in failing}
    if not made:
        raise ValueError("no model has a forecast of all starts, and no combination")
    drawn = {name: name not in learnt or not learnt[name].rule.distribution for name in made}
    if how.dressing is not None:
        widths = {name: each.value for name, each in worn.items() if isinstance(each, Done)} | {n: e.worn for n, e in learnt.items()}
        bare = [name for name, each in made.items() if each.shape[2] == 1 and widths.get(name) is not None]
        made |= {name: how.dressing.dressed(widths[name], init_time, made[name]) for name in bare}
        drawn |= dict.fromkeys(bare, False)
    normal, truth = normals(problem, climatology, init_time), verifying(problem, init_time, how.verifies)
    edges = {} if how.quantiles is None or quantiles is None else how.quantiles.edges(quantiles.value, problem.domain, init_time)
    for edge in edges.values():
        truth = np.where(np.isnan(edge), np.nan, truth)  # what the training period has no value of does not count
    values = [Values(each, truth, normal, edges, draws=drawn[name]) for name, each in made.items()]
    parts = np.array_split(np.arange(len(init_time)), max(1, len(init_time) // how.block) if how.block else 1)
    tallies = [_tallied(how, init_time, values, slice(part[0], part[-1] + 1), field) for part in parts]
    costs = tuple(cost for each in done.values() for cost in (*each.value.attrs["costs"], *each.costs))
    kept = {name: _kept(domain, init_time, each) for name, each in made.items()} if how.keep else {}
    members = tuple(each.shape[2] for each in made.values())
    blocks = tuple(Block(each.at_points[SQUARED], each.starts) for each in tallies) if how.block else ()
    return Column(total(tallies), tuple(made), members, kept, costs, failures, tuple(drawn[name] for name in made), blocks)


def _tallied(how: Scoring, init_time: Times, values: Sequence[Values], starts: slice, field: Field) -> Tally:
    """The sums of some of the starts."""
    parts = [each.part(starts) for each in values]
    return tally(init_time[starts], parts, field, how.regions, how.statistics, common=how.problem.common, compiled=how.compiled)


def summed(columns: Sequence[Done[Column]]) -> Column:
    """Columns of pieces that follow one another as one, of the models that all of them have."""
    values = [each.value for each in columns]
    models = tuple(name for name in values[0].models if all(name in each.models for each in values))
    sums = total([each.tally.select([each.models.index(name) for name in models]) for each in values])
    at = [values[0].models.index(name) for name in models]
    members, draws = tuple(values[0].members[i] for i in at), tuple(values[0].draws[i] for i in at)
    costs = tuple(dict.fromkeys(cost for each in columns for cost in (*each.value.costs, *each.costs)))
    failures = tuple(failure for each in values for failure in each.failures)
    blocks = tuple(block.select([each.models.index(name) for name in models]) for each in values for block in each.blocks)
    return Column(sums, models, members, {}, costs, failures, draws, blocks)


def normals(problem: Problem, climatology: Done[Any] | None, init_time: Times) -> Array | None:
    """(init_time, lead_time, ...): the climatology that scores are made against; None where none was learnt."""
    domain = problem.domain
    if climatology is None:
        return None
    return windowed(climatology.value[domain.target][month(domain.valid_time(init_time, domain.lead_times))], problem)


def _named(failure: Failure, model: str) -> Failure:
    return failure._replace(model=model, phase="hindcast")


def _kept(domain: Domain, init_time: Times, made: Array) -> xr.DataArray:
    """(init_time, lead_time, [member,] ...)."""
    field = domain.fields[domain.target]
    member = {} if made.shape[2] == 1 else {"member": np.arange(made.shape[2])}
    coords = {"init_time": init_time, "lead_time": domain.lead_times, **member, **field.coords}
    return xr.DataArray(made if member else made[:, :, 0], coords=coords, dims=tuple(coords), attrs=dict(field.attrs))
