"""The settings of a bootstrap, and the resamples that come of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ensemble.errors import InputError
from ensemble.significance.blocks import Blocks, Circular, counted
from ensemble.significance.spans import block_length
from ensemble.task import Array, Times


@dataclass(frozen=True, eq=False)
class Draw:
    """`counts` (resample, start), made of blocks of `length` starts, and how many blocks there are to draw from."""

    counts: Array
    length: int

    @property
    def blocks(self) -> float:
        """Blocks of starts that do not overlap: the number of independent samples that the resamples rest on."""
        return float(self.counts.shape[1] / self.length)


@dataclass(frozen=True)
class Bootstrap:
    """How resamples are drawn; `length` of a block [starts], of `block_length` where none is given.

    `level` of confidence. A confidence set is made of at least `fewest` independent samples: rankings made on fewer independent
    years than about ten did not carry over to others.
    """

    resamples: int = 1000
    level: float = 0.95
    seed: int = 0
    length: int | None = None
    blocks: Blocks = field(default_factory=Circular)
    fewest: int = 10

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise InputError(f"level: {self.level} is no share of certainty; use one between 0 and 1, such as level=0.95")
        if self.resamples < 2:
            raise InputError(f"resamples: {self.resamples} are too few; use resamples=1000")

    def draw(self, init_time: Times, longest: np.timedelta64) -> Draw:
        """Resamples of the starts of a run, whose `longest` lead is a span of time."""
        starts = len(init_time)
        length = self.length or block_length(init_time, longest)
        if not 1 <= length <= starts:
            raise InputError(f"length: a block of {length} starts does not fit into {starts}; use length=1 to length={starts}")
        random = np.random.default_rng(self.seed)
        return Draw(counted(self.blocks.drawn(starts, length, self.resamples, random)), length)
