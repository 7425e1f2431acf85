"""Cross-validation for records too short to be cut in three: what the forecasts of some years need is learnt from all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ensemble.task import Period, Times, moment


class Part(NamedTuple):
    """Some of the starts, and the periods around them that are learnt from."""

    starts: Times
    train: tuple[Period, ...]


@dataclass(frozen=True)
class LeaveOut:
    """Whole years of starts are left out, so many at a time; WMO-No. 485, attachment II.8 (one year for seasonal hindcasts).

    Everything that is learnt is learnt anew for each: climatology, quantiles, corrections, models, weights. All that the forecasts
    of a year look ahead to is left out with it, which for long leads is more than a year. Weights rest on the errors of the other
    years alone; the models that made these had seen the year that is left out, as leaving out two years at once would mend at the
    price of as many fits as there are pairs of years.
    """

    years: int = 1

    def __post_init__(self) -> None:
        if self.years < 1:
            raise ValueError(f"leave_out {self.years} must be 1 year or more")

    def parts(self, starts: Times, period: Period, longest: int, step: np.timedelta64) -> list[Part]:
        """The `starts` by years, with what is left of `period` without the times at which their leads up to the `longest` verify."""
        year = starts.astype("datetime64[Y]").astype(int)
        block = (year - year[0]) // self.years
        made = [starts[block == i] for i in np.unique(block)]
        return [Part(each, _around(period, each[0], moment(each[-1], longest - 1, step), step)) for each in made]


def _around(period: Period, first: np.datetime64, last: np.datetime64, step: np.timedelta64) -> tuple[Period, ...]:
    """What lies before `first` and after `last`."""
    before, after = Period(period.first, moment(first, -1, step)), Period(moment(last, 1, step), period.last)
    return tuple(each for each in (before, after) if each.first <= each.last)
