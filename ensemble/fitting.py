"""How every learner learns: six lines that ask nobody what kind it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ensemble.chunk import Chunk
from ensemble.execute import Executor
from ensemble.model import Learner, State
from ensemble.sums import tree_map
from ensemble.task import Domain


def fit(learner: Learner[State, Any], shards: Sequence[Sequence[Chunk]], domain: Domain, executor: Executor, seed: int) -> State:
    """What `learner` knows once it has learnt from `shards`, each a list of chunks.

    The shards, not the workers, fix the order of every sum: the state is the same to the last bit wherever it is learnt.
    """
    state, finished = learner.start(domain, seed)
    while not finished:
        total = executor.fold(learner.summarise, shards, state)
        state, finished = learner.update(state, total)
    return tree_map(_owned, state)  # type: ignore[no-any-return]  # the same tree


def unlearnt(learner: Learner[State, Any], domain: Domain, seed: int, period: str) -> State:
    """The state of a learner for which there are no data; raises ValueError where it cannot do without."""
    state, finished = learner.start(domain, seed)
    if not finished:
        raise ValueError(f"{type(learner).__name__} learns from data, and the study has no `{period}:` period; give it one")
    return state


def _owned(leaf: Any) -> Any:
    """An array that owns its memory in order: a view and its pickled copy may add up to different last bits."""
    return np.array(leaf, order="C") if isinstance(leaf, np.ndarray) else leaf
