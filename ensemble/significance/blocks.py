"""Which starts stand in a resample: blocks of neighbours, so that what hangs together is drawn together.

    starts      0 1 2 3 4 5 6 7 8 9       length 4
    moving      3 4 5 6|0 1 2 3|6 7       a block lies inside the series; the ends are drawn more seldom than the middle
    circular    8 9 0 1|3 4 5 6|5 6       a block runs on at the beginning; every start is drawn equally often
    stationary  8 9|3|5 6 7 8 9 0|2       as circular, lengths geometric with mean 4

Blocks of one length are never shorter than the longest lead, those of the stationary bootstrap mostly are: hence the default.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass

import numpy as np

from ensemble.task import Array


class Blocks(abc.ABC):
    """A way of drawing blocks of neighbouring starts."""

    @abc.abstractmethod
    def drawn(self, starts: int, length: int, resamples: int, random: np.random.Generator) -> Array:
        """(resample, place): the start that stands at each place of each resample, as many places as starts."""


@dataclass(frozen=True)
class Moving(Blocks):
    """Blocks of one length inside the series. Künsch (1989), doi 10.1214/aos/1176347265."""

    def drawn(self, starts: int, length: int, resamples: int, random: np.random.Generator) -> Array:
        firsts = random.integers(0, starts - length + 1, (resamples, -(-starts // length)))
        return _laid(firsts, length, starts)


@dataclass(frozen=True)
class Circular(Blocks):
    """Blocks of one length that run on at the beginning. Politis and Romano (1992), in LePage and Billard, pp. 263-270."""

    def drawn(self, starts: int, length: int, resamples: int, random: np.random.Generator) -> Array:
        firsts = random.integers(0, starts, (resamples, -(-starts // length)))
        return _laid(firsts, length, starts) % starts


@dataclass(frozen=True)
class Stationary(Blocks):
    """Blocks of geometric length with mean `length` that run on at the beginning.

    Politis and Romano (1994), doi 10.1080/01621459.1994.10476870.
    """

    def drawn(self, starts: int, length: int, resamples: int, random: np.random.Generator) -> Array:
        place = np.arange(starts)
        begins = random.random((resamples, starts)) < 1 / length
        begins[:, 0] = True
        last = np.maximum.accumulate(np.where(begins, place, 0), axis=1)
        firsts = np.take_along_axis(random.integers(0, starts, (resamples, starts)), last, axis=1)
        return (firsts + place - last) % starts


def _laid(firsts: Array, length: int, starts: int) -> Array:
    """Blocks one after the other, the last cut off at the end."""
    return (firsts[:, :, None] + np.arange(length)).reshape(len(firsts), -1)[:, :starts]


def counted(drawn: Array) -> Array:
    """(resample, start): how often each start stands in each resample, in double precision for the product with sums."""
    resamples, starts = drawn.shape
    row = starts * np.arange(resamples)[:, None]
    counts = np.bincount((drawn + row).ravel(), minlength=resamples * starts)
    return counts.reshape(resamples, starts).astype(float)
