"""Damped persistence: of the last anomaly, the share that past years have kept until each lead.

A regression through the origin per start month, lead and point (Lorenz 1973 compares persistence and its damped form;
van den Dool 2007, Empirical Methods in Short-Term Climate Prediction, section 2.2), not powers of one lag-one coefficient,
which are worse: sea surface temperature anomalies re-emerge and do not decay exponentially.
Unit: that of the variable. Assumes that each point knows only its own past.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ensemble import Composed, Model
from ensemble.parts import Damping


@dataclass(frozen=True)
class DampedPersistence(Composed):
    """Settings.

    window: start months on either side whose sums are pooled [months].
    shrink: weight of the all-year regression, as a number of months.
    """

    window: int = 2
    shrink: float = 20.0

    kind = "reference"

    def build(self) -> Model[Any, Any]:
        return Damping(self.window, self.shrink)
