"""The mean of all models: with little to learn from, hard to beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ensemble.combine.families import Sharing, spread
from ensemble.model import Untrained
from ensemble.task import Array, Domain


@dataclass(frozen=True)
class Mean(Untrained, Sharing[None, Any]):
    """Every model counts the same, or every family of models, but those named in `without`."""

    def weights(self, state: None, domain: Domain) -> Array:
        del state
        averaging = self.averaging(domain)
        return spread(averaging, np.full((len(averaging), len(domain.lead_times)), 1 / len(averaging)))
