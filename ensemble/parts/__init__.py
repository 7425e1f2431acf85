"""What many models are made of; each part is a learner, and a model is parts in a row.

`ensemble.parts.stencil`, which needs JAX, is imported by its own name.
"""

from ensemble.parts.climatology import Climatology
from ensemble.parts.corrected import Corrected
from ensemble.parts.damping import Damping, lead_index
from ensemble.parts.eof import Eof
from ensemble.parts.estimator import Estimator
from ensemble.parts.normal import RunningNormal, Trailing
from ensemble.parts.predictors import predictors
from ensemble.parts.quantiles import Quantiles
from ensemble.parts.scaled import Scaled
from ensemble.parts.season import seasonal
from ensemble.parts.then import Beside, Correction, Then, beside
from ensemble.parts.turns import InTurn, Turns

__all__ = [
    "Beside", "Climatology", "Corrected", "Correction", "Damping", "Eof", "Estimator", "InTurn", "Quantiles", "RunningNormal", "Scaled",
    "Then", "Trailing", "Turns", "beside", "lead_index", "predictors", "seasonal",
]  # fmt: skip
