"""How sure a score is: intervals, paired tests, field significance, and which models cannot be told from the best.

All of it is made of the sums by start that scores are made of, and of one matrix of counts (resample, start): how often each
start stands in each resample. A resampled sum is their product, a resampled score is the score's own function of the resampled
means (`resample`), and the same resamples serve every model, so that differences between models are paired.
"""

from ensemble.significance.baseline import gained, significant
from ensemble.significance.blocks import Blocks, Circular, Moving, Stationary
from ensemble.significance.case import Case
from ensemble.significance.choice import choices, rank_correlation, validation_errors
from ensemble.significance.compare import compared
from ensemble.significance.confidence_set import confidence_set
from ensemble.significance.diebold_mariano import DieboldMariano, diebold_mariano
from ensemble.significance.discovery import false_discovery
from ensemble.significance.draw import Bootstrap, Draw
from ensemble.significance.independent import effective_number
from ensemble.significance.intervals import intervals
from ensemble.significance.judge import Sampled, judged, sampled
from ensemble.significance.maps import BlockMaps, significant_maps, usual_baseline
from ensemble.significance.ranks import first_share, shared_ranks
from ensemble.significance.sign import SignTest, sign_test
from ensemble.significance.table import certainties

__all__ = [
    "BlockMaps",
    "Blocks",
    "Bootstrap",
    "Case",
    "Circular",
    "DieboldMariano",
    "Draw",
    "Moving",
    "Sampled",
    "SignTest",
    "Stationary",
    "certainties",
    "choices",
    "compared",
    "confidence_set",
    "diebold_mariano",
    "effective_number",
    "false_discovery",
    "first_share",
    "gained",
    "intervals",
    "judged",
    "rank_correlation",
    "sampled",
    "shared_ranks",
    "sign_test",
    "significant",
    "significant_maps",
    "usual_baseline",
    "validation_errors",
]
