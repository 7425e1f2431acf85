"""A forecast of a single value wears the errors that forecasts like it have made, and so says how sure it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from ensemble.chunk import Chunk
from ensemble.combine.predictive import levels
from ensemble.model import Learner, Learnt
from ensemble.sums import Sum
from ensemble.task import Array, Domain, Times, month


@dataclass(frozen=True)
class Dressing(Learner[Array, Sum]):
    """N(f, s^2) around a forecast f, s^2 the mean squared error of past ones by start month, lead and point.

    Error dressing, Roulston and Smith (2003), doi 10.3402/tellusa.v55i1.12082, with a normal distribution in place of the errors
    themselves; a bias is left in, and makes it wider. The state is s^2 (start month, lead_time, ...) [unit squared], learnt from
    chunks of `forecast` (model, init_time, lead_time, ...) with one model, and `truth`; NaN where no error is known.

    members: how many equally likely values the distribution is handed on as; see `predictive.py`.
    window: start months on either side that are pooled.
    """

    members: int = 20
    window: int = 2

    def __post_init__(self) -> None:
        if self.members < 2 or not 0 <= self.window <= 6:
            raise ValueError(f"members {self.members} must be at least 2, and window {self.window} from 0 to 6 months")

    def start(self, domain: Domain, seed: int) -> Learnt[Array]:
        del domain, seed
        return Learnt(np.zeros(0), finished=False)

    def summarise(self, state: Array, chunk: Chunk) -> Sum:
        del state
        error = chunk.data["forecast"].values[0] - chunk.data["truth"].values
        there = np.isfinite(error)
        of = (month(chunk.data["init_time"].values)[None, :] == np.arange(12)[:, None]).astype(float)
        squares = np.tensordot(of, np.where(there, error, 0) ** 2, (1, 0))
        return Sum((squares, np.tensordot(of, there.astype(float), (1, 0))))

    def update(self, state: Array, total: Sum) -> Learnt[Array]:
        del state
        near = np.arange(12)[:, None] + np.arange(-self.window, self.window + 1)
        near = near[:, :12]  # half a year on either side is all there is
        squares, count = (np.take(each, near, axis=0, mode="wrap").sum(1) for each in total.tree)
        return Learnt(np.where(count > 0, squares / np.maximum(count, 1), np.nan), finished=True)

    def dressed(self, state: Array, init_time: Times, forecast: Array) -> Array:
        """(init_time, lead_time, 1, ...) -> (init_time, lead_time, member, ...), the mean of which is the forecast."""
        width = np.sqrt(state[month(init_time)])[:, :, None]
        at = ndtri(np.array(levels(self.members)))
        at = (at - at[::-1]) / 2  # as far below as above, to the last bit
        members: Array = forecast + width * at.reshape(-1, *[1] * (forecast.ndim - 3))
        return members

    def reaches(self, learnt: Times, wanted: Times) -> Times:
        """Those of the starts that are `wanted` for whose month nothing was `learnt`."""
        apart = (month(wanted)[:, None] - month(learnt)[None, :] + 6) % 12 - 6
        missing: Times = wanted[~(np.abs(apart) <= self.window).any(1)]
        return missing
