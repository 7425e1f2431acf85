"""What many models are made of; each part is a learner, and a model is parts in a row."""

from ensemble.parts.climatology import Climatology
from ensemble.parts.damping import Damping
from ensemble.parts.eof import Eof
from ensemble.parts.normal import RunningNormal, Trailing
from ensemble.parts.season import seasonal
from ensemble.parts.then import Beside, Then, beside

__all__ = ["Beside", "Climatology", "Damping", "Eof", "RunningNormal", "Then", "Trailing", "beside", "seasonal"]
