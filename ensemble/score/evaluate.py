"""From the summed tally to `scores.nc` and `maps.nc`: labelled, with units, and the sample size beside the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from ensemble.score.base import Score
from ensemble.score.means import Evidence, Means
from ensemble.score.region import Region
from ensemble.score.statistics import Statistic
from ensemble.score.tally import Tally
from ensemble.task import Field

DRAWS = "whether members are draws from a distribution, and not equally likely quantiles of it"
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
    draws: tuple[bool, ...] = ()  # whether members are draws, of each model; of all, if nothing is said


def statistics_of(scores: Sequence[Score]) -> tuple[Statistic, ...]:
    """Each statistic once, however many scores share it."""
    return tuple(dict.fromkeys(each for score in scores for each in score.statistics))


def evaluate(tally: Tally, scores: Sequence[Score], labels: Labels) -> tuple[xr.Dataset, xr.Dataset]:
    """Tables (model, lead_time, region) and maps (model, lead_time, ...) of all `scores`."""
    known = evidence(tally, statistics_of(scores), labels)
    units = str(labels.field.attrs.get("units", "1"))
    tables = {each.name: _described(each.table(known), each, units) for each in scores}
    drawn = {each.name: (each, each.map(known)) for each in scores}
    maps = {name: _described(values, score, units) for name, (score, values) in drawn.items() if values is not None}
    tables |= _samples(tally)
    starts = known.points.weight.assign_attrs(long_name="number of starts counted")
    return xr.Dataset(tables, known.regions.sums.drop_vars("init_time").coords), xr.Dataset(
        {**maps, "n_starts": starts}, known.points.sums.coords
    )


def _samples(tally: Tally) -> dict[str, xr.DataArray]:
    """How much stands behind each score, (model, lead_time, region)."""
    dims = ("model", "lead_time", "region")
    counted = {
        "n": (tally.count.sum(1), "number of starts times points counted"),
        "n_starts": ((tally.count > 0).sum(1), "number of starts counted"),
        "n_had": (tally.had.sum(1), "number of starts times points that the model and the truth have"),
    }
    return {name: xr.DataArray(values, dims=dims, attrs={"long_name": what, "units": "1"}) for name, (values, what) in counted.items()}


def evidence(tally: Tally, statistics: Sequence[Statistic], labels: Labels) -> Evidence:
    """All that scores are made of, labelled."""
    space = labels.field.dims
    model = {
        "model": list(labels.models),
        "kind": ("model", list(labels.kinds)),
        "members": ("model", list(labels.members), {"long_name": "number of members"}),
        "draws": ("model", list(labels.draws or [True] * len(labels.models)), {"long_name": DRAWS}),
        "lead_time": list(labels.lead_times),
    }
    region = {"region": list(labels.regions), "init_time": tally.init_time}
    dims = ("model", "init_time", "lead_time", "region")
    along = {each.name: (each.along,) if each.along else () for each in statistics}
    by_start = xr.Dataset({name: ((*dims, *along[name]), each) for name, each in tally.by_start.items()}, {**model, **region})
    weight = xr.DataArray(tally.weight, dims=dims)
    at_points = {name: (("model", "lead_time", *space, *along[name]), each) for name, each in tally.at_points.items()}
    starts = xr.DataArray(tally.starts, dims=("model", "lead_time", *space))
    inside = np.stack([each.mask(labels.field) * labels.field.area for each in labels.regions.values()])
    area = inside / inside.reshape(len(inside), -1).sum(1).reshape(-1, *[1] * len(space))
    return Evidence(
        Means(by_start, weight),
        Means(xr.Dataset(at_points, {**model, **dict(labels.field.coords)}), starts),
        xr.DataArray(area, dims=("region", *space), coords={"region": list(labels.regions)}),
    )


def _described(values: xr.DataArray, score: Score, units: str) -> xr.DataArray:
    whole = units if " " not in units and "/" not in units else f"({units})"
    unit = {0: "1", 1: units}.get(score.power, f"{whole}{score.power}")
    difference = {"units_metadata": "temperature: difference"} if score.power == 1 and units in CELSIUS else {}  # CF 1.11, section 3.1.2
    return values.assign_attrs(long_name=score.long_name, units=unit, best=score.best, **difference)
