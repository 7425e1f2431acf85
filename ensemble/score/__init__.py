"""How good a forecast was: statistics at points, their sums over machines, and scores made of the means."""

from ensemble.score.base import Score
from ensemble.score.means import Means
from ensemble.score.named import NAMED
from ensemble.score.region import Mask, Region
from ensemble.score.scores import SCORES
from ensemble.score.statistics import Statistic, Values
from ensemble.score.tally import Tally, tally

__all__ = ["NAMED", "SCORES", "Mask", "Means", "Region", "Score", "Statistic", "Tally", "Values", "tally"]
