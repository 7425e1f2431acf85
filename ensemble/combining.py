"""Combinations: what they learn from past forecasts, and what they make of new ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.combine import Combine
from ensemble.combine.dressing import Dressing
from ensemble.execute import Cost, Done, Failure, Serial
from ensemble.fitting import fit, unlearnt
from ensemble.hindcast import Problem, verifying
from ensemble.task import Array, Domain, Field, Times


class Weighted(NamedTuple):
    """A combination with what it has learnt, of which models."""

    rule: Combine[Any, Any]
    state: Any
    models: tuple[str, ...]
    costs: tuple[Cost, ...]  # of the forecasts it was learnt from
    worn: Array | None = None  # the width of its past errors, where it is to be dressed; see `Dressing`


def learn(
    problem: Problem, rule: Combine[Any, Any], verifies: Times, forecasts: Mapping[str, list[Done[xr.DataArray] | Failure]],
    fold_of: tuple[int, ...], dressing: Dressing | None,
) -> Weighted:  # fmt: skip
    """What a combination learns from all forecasts of the validation period; models that failed take no part.

    `fold_of` (piece,) says at which origin the models of a piece were fitted. With a `dressing` a rule that gives single values
    learns how far they were off, from the same forecasts that it learnt its weights from.
    """
    alive = {n: [each.value for each in made if isinstance(each, Done)] for n, made in forecasts.items() if not _failed(made)}
    names = tuple(name for name in alive if name not in rule.without)
    if not names:
        raise ValueError("no model is left to combine")
    domain = side_by_side(problem.scored, names)
    pieces = range(len(alive[names[0]]))
    if not pieces:
        return Weighted(rule, unlearnt(rule, domain, problem.seed, "validate"), names, ())
    chunks = [_past(problem, domain, [alive[name][i] for name in names], verifies) for i in pieces]
    done = [each for pieces in forecasts.values() for each in pieces if isinstance(each, Done)]
    costs = tuple(dict.fromkeys(cost for each in done for cost in (*each.value.attrs["costs"], *each.costs)))
    rule = rule.tuned([[chunk for chunk, i in zip(chunks, fold_of, strict=True) if i == fold] for fold in sorted(set(fold_of))], domain)
    state = fit(rule, [[chunk] for chunk in chunks], domain, Serial(), problem.seed)
    if dressing is None or rule.distribution:
        return Weighted(rule, state, names, costs)
    return Weighted(rule, state, names, costs, _worn(problem, dressing, [_as_one(rule, state, chunk) for chunk in chunks]))


def dress(problem: Problem, dressing: Dressing, verifies: Times, forecasts: list[Done[xr.DataArray]]) -> Array:
    """The width of a model's errors in the validation period, from its forecasts piece by piece; see `Dressing`."""
    domain = side_by_side(problem.scored, ("model",))
    return _worn(problem, dressing, [_past(problem, domain, [each.value], verifies) for each in forecasts])


def _worn(problem: Problem, dressing: Dressing, chunks: list[Chunk]) -> Array:
    return fit(dressing, [[chunk] for chunk in chunks], chunks[0].domain, Serial(), problem.seed)


def _as_one(rule: Combine[Any, Any], state: Any, chunk: Chunk) -> Chunk:
    """Past forecasts of many models as those of their combination."""
    forecast = rule.combine(state, chunk.domain, chunk.data["forecast"]).expand_dims("model")
    data = xr.Dataset({"forecast": forecast.transpose(*chunk.data["forecast"].dims), "truth": chunk.data["truth"]})
    return Chunk(data.assign_coords(init_time=chunk.data["init_time"]), chunk.domain, 0, chunk.stop, True)


def _failed(made: Iterable[Done[xr.DataArray] | Failure]) -> bool:
    """Whether a model has failed at any start."""
    return any(isinstance(each, Failure) or "failure" in each.value.attrs for each in made)


def _past(problem: Problem, domain: Domain, forecasts: list[xr.DataArray], verifies: Times) -> Chunk:
    init_time = forecasts[0]["init_time"].values
    truth = verifying(problem, init_time, verifies)
    stacked = np.stack([each.values.mean(2) for each in forecasts])
    dims = ("init_time", "lead_time", *problem.domain.fields[problem.domain.target].dims)
    data = xr.Dataset({"forecast": (("model", *dims), stacked), "truth": (dims, truth)}, {"init_time": init_time})
    return Chunk(data, domain, 0, len(truth), True)


def side_by_side(domain: Domain, names: tuple[str, ...]) -> Domain:
    """The domain of forecasts that stand side by side."""
    field = domain.fields[domain.target]
    mask, area = (np.broadcast_to(each, (len(names), *each.shape)) for each in (field.mask, field.area))
    return domain._replace(fields={"forecast": Field({"model": np.array(names), **field.coords}, mask, area, field.attrs, field.places)})


def combined(domain: Domain, weighted: Weighted, made: Mapping[str, Array], there: Mapping[str, Array] | None = None) -> Array | None:
    """What a combination makes of forecasts (init_time, lead_time, member, ...): one alike.

    `there` says at which starts (init_time,) a model has a forecast, if not at all of them; a model that is not `made` has none.
    None where there is a start at which all of its models have failed.
    """
    starts = len(next(iter(made.values())))
    has = {name: np.ones(starts, dtype=bool) for name in made} | dict(there or {})
    present = np.stack([has.get(name, np.zeros(starts, dtype=bool)) for name in weighted.models])
    if not present.any(0).all():
        return None
    if present.all():
        return _combined(domain, weighted, made, slice(None), np.arange(len(present)))
    parts, order = [], []
    for pattern in np.unique(present, axis=1).T:
        same = np.flatnonzero((present == pattern[:, None]).all(0))
        parts.append(_combined(domain, weighted, made, same, np.flatnonzero(pattern)))
        order.append(same)
    return np.concatenate(parts)[np.argsort(np.concatenate(order))]


def _combined(domain: Domain, weighted: Weighted, made: Mapping[str, Array], starts: Array | slice, models: Array) -> Array:
    """Of some starts, of the models that have a forecast at all of these."""
    rule, state, names = weighted.rule, weighted.state, weighted.models
    dims = ("model", "init_time", "lead_time", *domain.fields[domain.target].dims)
    stacked = xr.DataArray(np.stack([made[names[i]][starts].mean(2) for i in models]), dims=dims)
    beside = side_by_side(domain, names)
    one = rule.sample(state, beside, stacked) if len(models) == len(names) else rule.sample_some(state, beside, stacked, models)
    values: Array = one.transpose("init_time", "lead_time", "member", *dims[3:]).values
    return values
