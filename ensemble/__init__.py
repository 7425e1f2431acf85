"""Fit, run, score and combine many models of one system on the same data, on one machine or many.

Names are imported when they are first used: `import ensemble` costs next to nothing, and nobody pays for what he does not
touch. (The module behind `run` is called `runner`, and that behind `fit` `fitting`, for a module would hide its function.)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ensemble.chunk import Chunk, Pairs
    from ensemble.combine import Combine
    from ensemble.execute import Executor, Serial
    from ensemble.fitting import fit
    from ensemble.model import Composed, FitOnce, Learner, Learnt, Model, Transform, Untrained
    from ensemble.plugins import load
    from ensemble.recipe import read_recipe
    from ensemble.results import Run
    from ensemble.runner import run
    from ensemble.score import Region, Score, Statistic
    from ensemble.study import Study
    from ensemble.sums import Rows, Sum
    from ensemble.task import Array, Domain, Field, Period, Source, Times, dataset

_WHERE = {
    "chunk": ("Chunk", "Pairs"),
    "combine": ("Combine",),
    "execute": ("Executor", "Serial"),
    "fitting": ("fit",),
    "model": ("Composed", "FitOnce", "Learner", "Learnt", "Model", "Transform", "Untrained"),
    "plugins": ("load",),
    "recipe": ("read_recipe",),
    "results": ("Run",),
    "runner": ("run",),
    "score": ("Region", "Score", "Statistic"),
    "study": ("Study",),
    "sums": ("Rows", "Sum"),
    "task": ("Array", "Domain", "Field", "Period", "Source", "Times", "dataset"),
}
_MODULE = {name: module for module, names in _WHERE.items() for name in names}

__version__ = "0.1.0"
__all__ = [
    "Array", "Chunk", "Combine", "Composed", "Domain", "Executor", "Field", "FitOnce", "Learner", "Learnt", "Model", "Pairs", "Period",
    "Region", "Rows", "Run", "Score", "Serial", "Source", "Statistic", "Study", "Sum", "Times", "Transform", "Untrained", "dataset",
    "fit", "load", "read_recipe", "run",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module 'ensemble' has no attribute {name!r}")
    value = getattr(import_module(f"ensemble.{_MODULE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULE])
