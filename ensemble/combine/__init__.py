"""Many forecasts into one: rules that learn their weights from past forecasts, as a model learns from data.

A rule is a learner. Its chunks hold `forecast` (model, init_time, lead_time, ...), the mean of each model's members, and
`truth` (init_time, lead_time, ...) of the validation period, so weights are learnt by the same fold as everything else;
its domain has the field `forecast` with `model` as the first dimension.

    Combine ── Median, Fixed              every model counts the same, or what it is told to: nothing is learnt
       ├────── Sharing ── Mean            as these, of families of models, where some have a weight in common
       │          └────── Weighing ── InverseMse, Best       from the mean squared error of each model
       │                      └────── Stacking, ClimWip      from the products of all models' errors
       ├────── Predictive ── Bma, Emos            from all errors, in many rounds: a distribution, handed on as members
       └────── Regional                   any of them, region by region
"""

from collections.abc import Mapping
from typing import Any

from ensemble.combine.base import Combine
from ensemble.combine.best import Best
from ensemble.combine.bma import Bma
from ensemble.combine.climwip import ClimWip
from ensemble.combine.emos import Emos
from ensemble.combine.fixed import Fixed
from ensemble.combine.inverse_mse import InverseMse
from ensemble.combine.mean import Mean
from ensemble.combine.median import Median
from ensemble.combine.predictive import Predictive
from ensemble.combine.regional import Regional
from ensemble.combine.stacking import Stacking
from ensemble.combine.weighing import Weighing

COMBINATIONS: Mapping[str, type[Combine[Any, Any]]] = {
    "mean": Mean,
    "median": Median,
    "fixed": Fixed,
    "inverse_mse": InverseMse,
    "best": Best,
    "stacking": Stacking,
    "climwip": ClimWip,
    "bma": Bma,
    "emos": Emos,
}

__all__ = [
    "COMBINATIONS", "Best", "Bma", "ClimWip", "Combine", "Emos", "Fixed", "InverseMse", "Mean", "Median", "Predictive", "Regional",
    "Stacking", "Weighing",
]  # fmt: skip
