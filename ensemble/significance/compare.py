"""Two models against each other, by every test at once."""

from __future__ import annotations

import xarray as xr

from ensemble.errors import unknown
from ensemble.score.base import Score
from ensemble.score.means import Means
from ensemble.significance.diebold_mariano import diebold_mariano
from ensemble.significance.difference import apart, p_value
from ensemble.significance.discovery import false_discovery
from ensemble.significance.draw import Bootstrap, Draw
from ensemble.significance.independent import effective_number
from ensemble.significance.intervals import bounds, tail
from ensemble.significance.judge import badness, sampled
from ensemble.significance.sign import sign_test
from ensemble.task import Array


def compared(
    score: Score, means: Means, first: str, second: str, draw: Draw, steps_ahead: Array, settings: Bootstrap | None = None
) -> xr.Dataset:
    """The `difference` of a score, first minus second, (lead_time, region), and what is behind it.

    `interval` (bound, ...) and `bootstrap_p`; of a score that is one mean loss also `dm`, `dm_p`, `dm_bartlett`, `sign_p`,
    `sign_p_dependent`, `wins` of `decided`, `walk` and `walk_bound` (init_time, ...), and `n_effective` of the differences.
    `significant`: `bootstrap_p` by false discovery rate over all leads and regions, at twice 1 - level (Wilks 2016).
    `steps_ahead` (lead_time,), each lead in starts.
    """
    settings = settings or Bootstrap()
    models = [str(each) for each in means.sums["model"].values]
    for name in (first, second):
        if name not in models:
            raise unknown("model", name, models)
    both = sampled(score, means, draw)
    difference = _between(both.value, first, second)
    p = p_value(_between(badness(both.resamples, both.best), first, second).values, both.blocks)
    made = xr.Dataset(
        {
            "difference": difference,
            "interval": bounds(_between(both.resamples, first, second), tail(settings.level, both.blocks)),
            "bootstrap_p": (difference.dims, p),
            "significant": (difference.dims, false_discovery(p, 2 * (1 - settings.level))),
        },
        attrs={"first": first, "second": second, "level": settings.level, "blocks": both.blocks, "block_length": draw.length},
    )
    if score.best != "low" or len(score.statistics) != 1:
        return made
    (statistic,) = score.statistics
    losses = means.of_start(statistic).transpose("model", "init_time", "lead_time", "region")
    return made.assign(_by_start(_between(losses, first, second), steps_ahead, settings.level))


def _between(values: xr.DataArray, first: str, second: str) -> xr.DataArray:
    """First minus second, without what is known of either."""
    here, there = (values.sel(model=name).reset_coords(drop=True) for name in (first, second))
    return here.copy(data=apart(here.values, there.values))


def _by_start(difference: xr.DataArray, steps_ahead: Array, level: float) -> dict[str, tuple[tuple[str, ...], Array]]:
    """The tests that see the loss of each start, (init_time, lead_time, region)."""
    each, whole = ("lead_time", "region"), ("init_time", "lead_time", "region")
    dm, signs = diebold_mariano(difference.values, steps_ahead), sign_test(difference.values, level)
    return {
        "n_effective": (each, effective_number(difference.values)),
        "dm": (each, dm.statistic),
        "dm_p": (each, dm.p_value),
        "dm_bartlett": (each, dm.bartlett),
        "wins": (each, signs.wins),
        "decided": (each, signs.n),
        "sign_p": (each, signs.p_value),
        "sign_p_dependent": (each, signs.p_dependent),
        "walk": (whole, signs.walk),
        "walk_bound": (whole, signs.bound),
    }
