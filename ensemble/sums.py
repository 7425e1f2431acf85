"""Things that add up: all that ever travels from a chunk to the answer.

Floating-point addition is not associative, so the order of a sum is part of its result. `total` adds neighbours pairwise,
level by level, by index alone: who computed which part, and when it arrived, cannot move a bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import add
from typing import Any, Generic, Protocol, Self, TypeVar


class Addable(Protocol):
    """Anything with an associative +. Order is kept, so it need not commute."""

    def __add__(self, other: Self, /) -> Self: ...


A = TypeVar("A", bound=Addable)
T = TypeVar("T")


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """`function` of the leaves that stand at the same place; dicts, lists, tuples and named tuples are branches."""
    if tree is None:
        return None
    if isinstance(tree, dict):
        return {key: tree_map(function, tree[key], *(other[key] for other in others)) for key in tree}
    if isinstance(tree, (list, tuple)):
        branches = [tree_map(function, *each) for each in zip(tree, *others, strict=True)]
        return type(tree)(*branches) if hasattr(tree, "_fields") else type(tree)(branches)
    return function(tree, *others)


@dataclass(frozen=True)
class Sum:
    """A tree of numbers and arrays, added leaf by leaf."""

    tree: Any

    def __add__(self, other: Sum) -> Sum:
        return Sum(tree_map(add, self.tree, other.tree))


@dataclass(frozen=True)
class Rows(Generic[T]):
    """Pieces kept whole, added by standing them one after the other."""

    pieces: tuple[T, ...]

    def __add__(self, other: Rows[T]) -> Rows[T]:
        return Rows(self.pieces + other.pieces)


def total(parts: Sequence[A]) -> A:
    """The sum of `parts` over a balanced binary tree of their index.

    0   1   2   3   4
     \\ /     \\ /    |
     01      23     4
       \\    /       |
        0123        4
           \\       /
             01234
    """
    if not parts:
        raise ValueError("nothing to add up: no part was given")
    level = list(parts)
    while len(level) > 1:
        paired = [level[i] + level[i + 1] for i in range(0, len(level) - 1, 2)]
        level = paired + level[len(level) - len(level) % 2 :]
    return level[0]
