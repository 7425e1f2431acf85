"""Sums are the same whoever computes the parts."""

from typing import NamedTuple

import numpy as np
import pytest

from ensemble.sums import Rows, Sum, total, tree_map


class Moments(NamedTuple):
    first: float
    second: np.ndarray


def test_parts_are_added_over_a_balanced_tree_of_their_index() -> None:
    parts = [Rows((name,)) for name in "abcde"]

    class Bracket(str):
        def __add__(self, other: str) -> "Bracket":
            return Bracket(f"({self}{other})")

    assert total([Bracket(p.pieces[0]) for p in parts]) == "(((ab)(cd))e)"
    assert total(parts) == Rows(tuple("abcde"))


def test_one_part_is_its_own_sum_and_none_is_refused() -> None:
    assert total([Sum(3.0)]) == Sum(3.0)
    with pytest.raises(ValueError, match="nothing to add up"):
        total([])


def test_a_balanced_tree_loses_less_than_a_running_sum() -> None:
    values = [Sum(np.float32(0.1))] * 2**14
    running = np.float32(0)
    for each in values:
        running += each.tree
    exact = 2**14 * float(np.float32(0.1))
    assert abs(float(total(values).tree) - exact) < abs(float(running) - exact)


def test_a_tree_is_added_leaf_by_leaf() -> None:
    one = Sum({"a": (1, [2.0]), "b": Moments(3.0, np.array([4.0, 5.0])), "c": None})
    both = (one + one).tree
    assert both["a"] == (2, [4.0])
    assert isinstance(both["b"], Moments)
    assert both["b"].first == 6.0
    assert both["b"].second.tolist() == [8.0, 10.0]
    assert both["c"] is None


def test_trees_of_another_shape_do_not_add_up() -> None:
    with pytest.raises(ValueError, match="argument 2"):
        tree_map(lambda a, b: a + b, (1, 2), (1,))
