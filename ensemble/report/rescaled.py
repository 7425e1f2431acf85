"""Combinations of models of which one failed at some starts: how they were made there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ensemble.report import words
from ensemble.report.remarks import Remark

if TYPE_CHECKING:
    from ensemble.results import Run


def rescaled(run: Run) -> dict[str, dict[str, str]]:
    """Of each combination that was scored, the models that failed in the test period, and at how many starts."""
    made = [name for name in run.combinations if name in run.scores["model"].values]
    found = {name: dict(_failed(run, run.combinations[name].models)) for name in made}
    return {name: failed for name, failed in found.items() if failed}


def remarks(run: Run) -> list[Remark]:
    """What the weights were at starts where a model failed."""
    return [
        Remark(
            f"{name} does without {words.listed(list(failed))} where {'it' if len(failed) == 1 else 'they'} failed",
            f"{words.listed([f'{model} failed at {where}' for model, where in failed.items()])}. At those starts the weights of the models "
            "that are left were rescaled, start by start, to add up to one; at all others every model counts as the table of weights says.",
            grave=True,
        )
        for name, failed in rescaled(run).items()
    ]


def _failed(run: Run, models: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    starts = run.study.starts(run.study.test)
    within = {str(start) for start in starts}
    for model in models:
        failures = [each for each in run.failures if each.model == model]
        some = {start for each in failures for start in each.starts} & within
        if some or (failures and model not in run.scores["model"].values):
            yield model, f"{len(some)} of {len(starts)} starts" if 0 < len(some) < len(starts) else "every start"
