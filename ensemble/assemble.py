"""From the columns of a run to its tables: scores, maps, weights, kept forecasts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from ensemble.combining import Weighted, side_by_side
from ensemble.hindcast import problem_of
from ensemble.score.evaluate import Labels, evaluate, evidence, statistics_of
from ensemble.score.means import Means
from ensemble.score.tally import Tally
from ensemble.store import labelled, verifiable
from ensemble.study import COMMON, Study
from ensemble.sums import total
from ensemble.task import Array
from ensemble.units import Column


def assembled(study: Study, columns: Sequence[Column], learnt: Mapping[str, Weighted]) -> tuple[xr.Dataset, xr.Dataset, xr.Dataset, Means]:
    """Scores, maps and weights of the models that every column has, and their sums by start."""
    names = tuple(name for name in columns[0].models if all(name in each.models for each in columns))
    tallies = [each.tally.select([each.models.index(name) for name in names]) for each in columns]
    kinds = tuple(study.models[name].kind if name in study.models else "combination" for name in names)
    members = tuple(columns[0].members[columns[0].models.index(name)] for name in names)
    draws = tuple(columns[0].draws[columns[0].models.index(name)] for name in names)
    labels = Labels(names, kinds, members, tuple(study.labels.tolist()), study.regions, study.domain.fields[study.target], draws)
    tally = total(tallies)
    scores, maps = evaluate(tally, study.scores, labels)
    had = np.stack([_starts_had(study, learnt[name].models if name in learnt else (name,)) for name in names])
    had = np.broadcast_to(had[:, :, None], scores["n_starts"].shape)
    scores["n_starts_had"] = scores["n_starts"].copy(data=had).assign_attrs(long_name="number of starts that the model has by itself")
    weights = [_weights(study, each) for each in learnt.values()]
    if not weights:
        none = (("combination", "lead_time"), np.zeros((0, len(study.labels))))
        return scores, maps, xr.Dataset({"weight": none}, {"lead_time": study.labels}), _by_start(study, tally, labels)
    weight = xr.concat(weights, xr.Variable("combination", list(learnt)), join="outer", fill_value=0.0)
    return scores, maps, xr.Dataset({"weight": weight}), _by_start(study, tally, labels)


def _by_start(study: Study, tally: Tally, labels: Labels) -> Means:
    """The sums of each start, and beside them `n`, the number of its points."""
    means = evidence(tally, statistics_of(study.scores), labels).regions
    return replace(means, sums=means.sums.assign(n=(means.weight.dims, tally.count)))


def _starts_had(study: Study, models: Sequence[str]) -> Array:
    """(lead_time,): the starts that verify in the test period and for which some models have a forecast, whatever the others have."""
    starts = COMMON.held(study.possible(study.test), {name: study.issued[name] for name in models})
    valid = study.domain.valid_time(starts, study.lead_times)
    counts = np.isin(valid, study.sample.verifies(study.test, starts, study.lead_times, study.data.step))
    spans = [each.steps for each in study.windows] or [np.array([lead]) for lead in study.lead_times]
    return np.array([counts[:, np.isin(study.lead_times, each)].all(1).sum() for each in spans])


def together(study: Study, columns: Sequence[Column], models: Sequence[str]) -> xr.DataTree:
    """The kept forecasts of all pieces, a node per model: the target (init_time, lead_time, [member,] ...)."""
    nodes = {}
    for name in models:
        values = xr.concat([each.forecasts[name] for each in columns], "init_time")
        nodes[name] = labelled(verifiable(values.to_dataset(name=study.target), study.domain, study.windows), study.data.step)
    return xr.DataTree.from_dict(nodes)


def _weights(study: Study, weighted: Weighted) -> xr.DataArray:
    values = weighted.rule.weights(weighted.state, side_by_side(problem_of(study).scored, weighted.models))
    coords = {"model": list(weighted.models), "lead_time": study.labels}
    return xr.DataArray(values, dims=("model", "lead_time"), coords=coords, attrs={"units": "1", "long_name": "weight in the combination"})
