"""What a run can be asked about its certainty: its sums by start, and all that must be known to draw them again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from ensemble.errors import InputError, unknown
from ensemble.score import Score
from ensemble.score.means import Means
from ensemble.significance.baseline import gained, significant
from ensemble.significance.choice import choices, rank_correlation, validation_errors, widest
from ensemble.significance.compare import compared
from ensemble.significance.draw import Bootstrap, Draw
from ensemble.significance.judge import Sampled, badness, judged, sampled
from ensemble.significance.ranks import first_share
from ensemble.significance.spans import steps_ahead
from ensemble.task import Array

if TYPE_CHECKING:
    from ensemble.combining import Weighted
    from ensemble.study import Study


@dataclass(frozen=True, eq=False)
class Case:
    """The `scores` of a run and the `means` by start that they are made of; `lead_times` in steps of the record."""

    scores: Mapping[str, Score]
    means: Means
    lead_times: Array
    step: np.timedelta64
    seed: int = 0

    @classmethod
    def of(cls, study: Study, by_start: Means) -> Case:
        """That of a run of `study`."""
        return cls({each.name: each for each in study.scores}, by_start, study.labels, study.data.step, study.seed)

    def settings(self, given: Bootstrap | None) -> Bootstrap:
        """Those that are given, or the usual ones with the seed of the study."""
        return given or Bootstrap(seed=self.seed)

    def draw(self, settings: Bootstrap) -> Draw:
        """The resamples of the starts."""
        return settings.draw(self.means.sums["init_time"].values, int(self.lead_times.max()) * self.step)

    def score(self, name: str) -> Score:
        """Raises InputError for a score that the study did not ask for."""
        if name not in self.scores:
            raise unknown("score", name, self.scores)
        return self.scores[name]

    def sampled(self, name: str, settings: Bootstrap | None = None) -> Sampled:
        """A score and its resamples."""
        return sampled(self.score(name), self.means, self.draw(self.settings(settings)))

    def judged(self, name: str, settings: Bootstrap | None, *, over_leads: bool) -> xr.Dataset:
        """See `ensemble.significance.judged`."""
        found = self.sampled(name, settings)
        return judged(found.over_leads() if over_leads else found, self.settings(settings))

    def compared(self, first: str, second: str, name: str, settings: Bootstrap | None) -> xr.Dataset:
        """See `ensemble.significance.compared`."""
        given, ahead = self.settings(settings), steps_ahead(self.means.sums["init_time"].values, self.lead_times, self.step)
        return compared(self.score(name), self.means, first, second, self.draw(given), ahead, given)

    def significant(self, baseline: str, name: str, settings: Bootstrap | None) -> xr.Dataset:
        """See `ensemble.significance.significant`."""
        return significant(self.sampled(name, settings), baseline, self.settings(settings))

    def gained(self, combinations: Mapping[str, Weighted], name: str, settings: Bootstrap | None) -> xr.Dataset:
        """(combination, region) of the mean over all leads; `hindsight` says of each whether its `single` was picked by the test itself.

        See `ensemble.significance.gained` and `choices`.
        """
        found = self.sampled(name, settings).over_leads()
        if "reference" in found.value.dims:
            raise InputError(f"gain: {name} is made against several references; use a score that is not, such as rmse")
        test = badness(found.value, found.best).isel(region=0)
        picked = choices(combinations, test)
        made = gained(found, {combination: each.model for combination, each in picked.items()}, self.settings(settings))
        hindsight = ("combination", [each.hindsight for each in picked.values()])
        return made.assign_coords(hindsight=hindsight).assign_attrs(score=name)

    def stability(self, combinations: Mapping[str, Weighted], name: str, settings: Bootstrap | None) -> xr.Dataset:
        """How a ranking of single models by the mean over all leads holds, over all points: (model,).

        `test`, the score, and `first`, the share of resamples in which a model is the best of these; where a combination has learnt
        from errors, of the models that it knows, with `validation`, their mean root mean squared errors there, and
        `rank_correlation`, Spearman's of the two.
        """
        known = widest(validation_errors(combinations))
        found = self._alone(name, settings, None if known is None else known["model"].values, combinations)
        made = xr.Dataset({"test": found.value, "first": first_share(badness(found.resamples, found.best))})
        if known is None:
            return made
        validation = known.sel(model=made["model"]).mean("lead_time").reset_coords(drop=True)
        correlation = rank_correlation(validation.values, badness(found.value, found.best).values)
        return made.assign(validation=validation, rank_correlation=correlation)

    def _alone(self, name: str, settings: Bootstrap | None, known: Array | None, combinations: Mapping[str, Weighted]) -> Sampled:
        """A score in the mean over all leads and points, of single models for which it is defined, those that are `known`."""
        found = self.sampled(name, settings).over_leads()
        one = {dim: 0 for dim in found.value.dims if dim != "model"}
        value = found.value.isel(one, drop=True).dropna("model")
        names = [each for each in value["model"].values if each not in combinations and (known is None or each in known)]
        resamples, influence = (each.isel(one, drop=True).sel(model=names) for each in (found.resamples, found.influence))
        return Sampled(value.sel(model=names), resamples, influence, found.best, found.blocks)
