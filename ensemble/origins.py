"""Validation by rolling origins: at each origin all is learnt anew from what came before, and what follows is forecast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ensemble.task import Period, Times, moment, shift, steps_between

COSTLY = 1.0  # seconds that a fit may take before a model is refitted less often


class Fold(NamedTuple):
    """The starts of a validation period that are forecast with what was learnt from `train`."""

    train: tuple[Period, ...]
    starts: Times
    costly: int = 0  # how often a model whose fit takes long is fitted anew, in folds; never where it is 0, nor is any other

    def fitted(self, index: int, effort: float) -> int | None:
        """Which fold's fit a model uses in this one, the `index`-th; None for that of the study."""
        if not self.costly:
            return None
        return index if effort <= COSTLY else index - index % self.costly


@dataclass(frozen=True)
class Origins(Period):
    """A validation period in which models are fitted anew every so many steps, each time on all that came before.

    every: steps of the data from one origin to the next, the first being the beginning of the period.
    costly: models whose fit takes more than a second (`Model.effort`) are fitted anew at every so many origins, and keep the older
        fit in between, which has seen less and never more.
    """

    every: int = 36
    costly: int = 2

    def __post_init__(self) -> None:
        if self.every < 1 or self.costly < 1:
            raise ValueError(f"every {self.every} and costly {self.costly} must be 1 or more")

    def origins(self, step: np.timedelta64) -> Times:
        """(origin,): the issue times at which all is learnt anew."""
        count = -(-(steps_between(self.first, self.last, step) + 1) // self.every)
        return shift(self.first, np.arange(count) * self.every, step)


def folds(validate: Period, starts: Times, train: Period | None, step: np.timedelta64) -> list[Fold]:
    """The `starts` of a validation period by the last origin before them, each with all that was known by then; none is empty.

    A plain period is one fold, forecast with the fit of the study.
    """
    if not isinstance(validate, Origins) or train is None:
        return [Fold(() if train is None else (train,), starts)]
    origins = validate.origins(step)
    of = np.searchsorted(origins, starts, side="right") - 1
    made = [Fold((Period(train.first, moment(origin, -1, step)),), starts[of == i], validate.costly) for i, origin in enumerate(origins)]
    return [each for each in made if len(each.starts)]
