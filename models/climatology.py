"""Climatology: the mean of each calendar month of the training years, whatever the present is like.

The reference of every skill score (Murphy 1988, doi 10.1175/1520-0493(1988)116<2417:SSBOTM>2.0.CO;2). It is defined on full
fields and so is never wrapped: a running normal around it would make it another reference, `climatology_running`.
Unit: that of the variable. Assumes that the training years are like the years to come.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ensemble import Composed, Model, load
from ensemble.parts import Climatology as Normal
from ensemble.parts import Then

running = load("climatology_running")


@dataclass(frozen=True)
class Climatology(Composed):
    """No settings."""

    kind = "reference"

    def build(self) -> Model[Any, Any]:
        return Then(Normal(), running.NoAnomaly())

    def framed(self, frame: Callable[[Model[Any, Any]], Model[Any, Any]]) -> Model[Any, Any]:
        return self
