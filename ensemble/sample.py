"""Which forecasts are compared: the starts, leads and points that count, by default the same for all models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np

from ensemble.errors import InputError
from ensemble.task import Array, Period, Times, shift


@dataclass(frozen=True)
class Sample:
    """How the sample behind the scores is drawn.

    align: `starts` counts a forecast if all its leads verify inside the period; `pairs` every lead that does, so that short
    leads have more; `valid_times` the leads that verify at times which every lead reaches, so that all leads face the same truth.
    mask: `common` counts the starts and points that the truth and every model have; `own`, for each model those that it has.
    missing: `refuse` a record that lacks points for part of the time, or `keep` them: models are handed the gaps, scores leave
    them out.
    fewer: whether models may share fewer starts than the one that has fewest.
    """

    align: Literal["starts", "pairs", "valid_times"] = "starts"
    mask: Literal["common", "own"] = "common"
    missing: Literal["refuse", "keep"] = "refuse"
    fewer: bool = False

    def starts(self, period: Period, lead_times: Array, step: np.timedelta64) -> Times:
        """The `init_time` of all forecasts of which enough verifies inside `period`."""
        if self.align == "starts":
            return period.starts(lead_times, step)
        return reduce(np.union1d, [period.starts(np.array([lead]), step) for lead in lead_times])

    def held(self, possible: Times, issued: Mapping[str, Times | None]) -> Times:
        """Those of the `possible` starts that all models (with `own`, any of them) have; a model that has None has any."""
        each = [possible if times is None else np.intersect1d(possible, times) for times in issued.values()]
        return reduce(np.intersect1d if self.mask == "common" else np.union1d, each) if each else possible

    def verifies(self, period: Period, starts: Times, lead_times: Array, step: np.timedelta64) -> Times:
        """The valid times that count, ascending."""
        inside = period.times(step)
        if self.align != "valid_times":
            return inside
        return reduce(np.intersect1d, [shift(starts, lead - 1, step) for lead in lead_times], inside)

    def check(self, name: str, possible: Times, issued: Mapping[str, Times | None]) -> None:
        """Raise InputError where models share no start, or fewer than the one that has fewest and that is not allowed."""
        own = {model: len(self.held(possible, {model: times})) for model, times in issued.items()}
        shared = len(self.held(possible, issued))
        said = ", ".join(f"{model} {count}" for model, count in own.items())
        if not shared:
            raise InputError(f"{name}: the models share no start that verifies in it (each alone: {said}); look at their dates")
        if shared < min(own.values()) and not self.fewer:
            raise InputError(
                f"{name}: the models share {shared} starts, fewer than any has alone ({said}); allow it by `sample: {{fewer: true}}`, "
                "or count each model on its own by `sample: {mask: own}`"
            )
