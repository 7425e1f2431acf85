"""A place to fold: sums of a function over shards, in an order that the shards alone fix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from ensemble.sums import Addable, total

A = TypeVar("A", bound=Addable)


class Executor(Protocol):
    """A place to fold."""

    def fold(self, function: Callable[..., A], shards: Sequence[Sequence[Any]], *arguments: Any) -> A:
        """The sum of `function(*arguments, item)` over the items of all shards."""
        ...


class Serial:
    """Here and now, one after the other."""

    def fold(self, function: Callable[..., A], shards: Sequence[Sequence[Any]], *arguments: Any) -> A:
        """As `Executor.fold`."""
        return total([total([function(*arguments, item) for item in shard]) for shard in shards])
