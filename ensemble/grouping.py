"""Tables of scores by groups of starts: by season, by start month. They are made of the sums by start that a run has anyway."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ensemble.errors import unknown
from ensemble.score.groups import GROUPINGS, groups
from ensemble.score.means import Means
from ensemble.significance.intervals import resamples
from ensemble.significance.resample import scored
from ensemble.store import labelled
from ensemble.study import Study
from ensemble.task import Times, shift


def grouped(study: Study, means: Means, by: str, like: xr.Dataset) -> xr.Dataset:
    """(group, model, lead_time, region) of every score of sums by start, with `n` and `n_starts`; what is left out is an attribute.

    The first dimension is called `by`, one of `GROUPINGS`. A group without a start does not appear; where one has none at some lead,
    its `n` there is 0 and its scores are undefined. `means` by start, with the number of points `n`; attributes are those of `like`.
    """
    if by not in GROUPINGS:
        raise unknown("by", by, GROUPINGS)
    grouping, starts = GROUPINGS[by], means.sums["init_time"].values
    number = grouping.of(starts, middles(study, starts))
    possible = [each for each in study.scores if resamples(each, means)]
    found = groups(means, number)
    parts = [xr.Dataset({each.name: scored(each, part) for each in possible} | _samples(part)) for part in found.values()]
    labels = xr.Variable(by, [grouping.label(each) for each in found], {"long_name": grouping.long_name})
    made = xr.concat(parts, labels, data_vars="all", coords="minimal", compat="override", join="exact")
    made = made.assign({name: each.assign_attrs(like[name].attrs) for name, each in made.data_vars.items()})
    left_out = ", ".join(each.name for each in study.scores if each not in possible)
    return labelled(made.drop_vars("init_time", errors="ignore").assign_attrs(left_out=left_out), study.data.step)


def middles(study: Study, init_time: Times) -> Times:
    """(init_time, lead_time): the middle of what is verified, so that a window belongs to one season as a month does."""
    first = np.array([each.first for each in study.windows]) if study.windows else study.labels
    begin = shift(init_time[:, None], first - 1, study.data.step)
    end = shift(init_time[:, None], study.labels, study.data.step)
    middle: Times = begin + (end - begin) // 2
    return middle


def _samples(means: Means) -> dict[str, xr.DataArray]:
    """How much stands behind the scores of a group, (model, lead_time, region)."""
    counts = means.sums["n"]
    return {"n": counts.sum("init_time").astype(int), "n_starts": (counts > 0).sum("init_time")}
