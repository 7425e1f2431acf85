"""From the summed tally to `scores.nc` and `maps.nc`: labelled, with units, and the sample size beside the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from ensemble.score.means import Evidence, Means
from ensemble.score.scores import Score
from ensemble.score.statistics import Statistic
from ensemble.score.tally import Region, Tally
from ensemble.task import Field

CELSIUS = ("degC", "deg_C", "celsius", "degree_Celsius", "degrees_Celsius")


@dataclass(frozen=True)
class Labels:
    """What the axes of a tally stand for."""

    models: tuple[str, ...]
    kinds: tuple[str, ...]
    members: tuple[int, ...]
    lead_times: tuple[int, ...]
    regions: Mapping[str, Region]
    field: Field


def statistics_of(scores: Sequence[Score]) -> tuple[Statistic, ...]:
    """Each statistic once, however many scores share it."""
    return tuple(dict.fromkeys(each for score in scores for each in score.statistics))


def evaluate(tally: Tally, scores: Sequence[Score], labels: Labels) -> tuple[xr.Dataset, xr.Dataset]:
    """Tables (model, lead_time, region) and maps (model, lead_time, ...) of all `scores`."""
    evidence = _evidence(tally, labels)
    units = str(labels.field.attrs.get("units", "1"))
    tables = {each.name: _described(each.table(evidence), each, units) for each in scores}
    drawn = {each.name: (each, each.map(evidence)) for each in scores}
    maps = {name: _described(values, score, units) for name, (score, values) in drawn.items() if values is not None}
    count = xr.DataArray(tally.count.sum(0), dims=("lead_time", "region"), attrs={"long_name": "number of starts times points counted"})
    n_starts = xr.DataArray((tally.count > 0).sum(0), dims=("lead_time", "region"), attrs={"long_name": "number of starts counted"})
    starts = xr.DataArray(tally.starts, dims=("lead_time", *labels.field.dims), attrs={"long_name": "number of starts counted"})
    return xr.Dataset({**tables, "n": count, "n_starts": n_starts}), xr.Dataset({**maps, "n_starts": starts})


def _evidence(tally: Tally, labels: Labels) -> Evidence:
    space = labels.field.dims
    model = {
        "model": list(labels.models),
        "kind": ("model", list(labels.kinds)),
        "members": ("model", list(labels.members), {"long_name": "number of members"}),
        "lead_time": list(labels.lead_times),
    }
    region = {"region": list(labels.regions), "init_time": tally.init_time}
    by_start = {name: (("model", "init_time", "lead_time", "region"), each) for name, each in tally.by_start.items()}
    weight = xr.DataArray(tally.weight, dims=("init_time", "lead_time", "region"))
    at_points = {name: (("model", "lead_time", *space), each) for name, each in tally.at_points.items()}
    starts = xr.DataArray(tally.starts, dims=("lead_time", *space))
    inside = np.stack([each.mask(labels.field) * labels.field.area for each in labels.regions.values()])
    area = inside / inside.reshape(len(inside), -1).sum(1).reshape(-1, *[1] * len(space))
    return Evidence(
        Means(xr.Dataset(by_start, {**model, **region}), weight),
        Means(xr.Dataset(at_points, {**model, **dict(labels.field.coords)}), starts),
        xr.DataArray(area, dims=("region", *space), coords={"region": list(labels.regions)}),
    )


def _described(values: xr.DataArray, score: Score, units: str) -> xr.DataArray:
    unit = {0: "1", 1: units}.get(score.power, f"{units}{score.power}")
    difference = {"units_metadata": "temperature: difference"} if score.power == 1 and units in CELSIUS else {}  # CF 1.11, section 3.1.2
    return values.assign_attrs(long_name=score.long_name, units=unit, best=score.best, **difference)
