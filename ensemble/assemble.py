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
from ensemble.significance.maps import BlockMaps, blocks_of
from ensemble.store import labelled, verifiable
from ensemble.study import COMMON, Study
from ensemble.sums import total
from ensemble.task import Array, Domain
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
    by_region = _weights_by_region(study, learnt, [str(name) for name in weight["model"].values])
    return scores, maps, xr.Dataset({"weight": weight, **by_region}), _by_start(study, tally, labels)


def blocks(columns: Sequence[Column], maps: xr.Dataset) -> BlockMaps | None:
    """Mean squared errors of the models that `maps` show, by blocks of starts, where these were kept."""
    names = [str(name) for name in maps["model"].values]
    kept = [block.select([each.models.index(name) for name in names]) for each in columns for block in each.blocks]
    return blocks_of([each.squared for each in kept], [each.starts for each in kept], maps["n_starts"]) if kept else None


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
    values = weighted.rule.weights(weighted.state, _beside(study, weighted))
    coords = {"model": list(weighted.models), "lead_time": study.labels}
    return xr.DataArray(values, dims=("model", "lead_time"), coords=coords, attrs={"units": "1", "long_name": "weight in the combination"})


def _weights_by_region(study: Study, learnt: Mapping[str, Weighted], models: list[str]) -> dict[str, xr.DataArray]:
    """`weight_by_region` (combination, region, model, lead_time), where any combination has weights of a region's own."""
    found = {name: each.rule.weights_by_region(each.state, _beside(study, each)) for name, each in learnt.items()}
    regions = [region for region in study.regions if any(region in each for each in found.values())]
    if not regions:
        return {}
    coords = {"combination": list(found), "region": regions, "model": models, "lead_time": study.labels}
    values = np.full((len(found), len(regions), len(models), len(study.labels)), np.nan)
    for i, (name, own) in enumerate(found.items()):
        at = [models.index(model) for model in learnt[name].models]
        for region, weights in own.items():
            values[i, regions.index(region)] = 0.0
            values[i, regions.index(region), at] = weights
    attrs = {
        "units": "1",
        "long_name": "weight in the combination at the points of a region",
        "comment": "missing where a combination has no weights of the region's own, and those of `weight` are used; points of several "
        "regions use those of the first, points of none use `weight`; weights change from one point to the next at the edge of a region",
    }
    return {"weight_by_region": xr.DataArray(values, coords, tuple(coords), attrs=attrs)}


def _beside(study: Study, weighted: Weighted) -> Domain:
    """Where the models of a combination stand side by side."""
    return side_by_side(problem_of(study).scored, weighted.models)
