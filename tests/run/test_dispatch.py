"""The dispatcher: needs before users, the longest first, failures where they belong."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from distributed import Client, LocalCluster

from ensemble.execute import Done, Failure, Here, OnDask, Unit
from ensemble.progress import Lines


class Diary(Lines):
    def __init__(self) -> None:
        super().__init__([])
        self.began_: list[str] = []

    def began(self, unit: Unit) -> None:
        self.began_.append(unit.model)


def value(done: Done[Any] | Failure) -> Any:
    assert isinstance(done, Done)
    return done.value


def one(i: int) -> int:
    return i


def add(*parts: Any) -> Any:
    return sum(part.value for part in parts if isinstance(part, Done))


def fails(*_: Any) -> None:
    raise ValueError("no")


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(params=["here", "dask"])
def dispatcher(request: pytest.FixtureRequest) -> Here | OnDask:
    if request.param == "here":
        return Here()
    return OnDask(request.getfixturevalue("client"), f"{abs(hash(request.node.name)) % 16**8:08x}")


def test_a_unit_gets_the_values_of_those_it_needs(dispatcher: Here | OnDask) -> None:
    parts = [Unit("part", "one", one, (i,)) for i in range(5)]
    total = Unit("total", "add", add, tuple(parts), keep=True)
    twice = Unit("twice", "add", add, (total, total), keep=True)
    outcomes = dispatcher.run([*parts, total, twice], Lines([]))
    assert set(outcomes) == {total, twice}
    assert (value(outcomes[total]), value(outcomes[twice])) == (10, 20)


def test_a_failure_takes_those_that_need_it_and_no_others(dispatcher: Here | OnDask) -> None:
    bad, good = Unit("bad", "one", fails, ()), Unit("good", "one", one, (3,))
    strict = Unit("strict", "add", add, (bad, good), keep=True)
    tolerant = Unit("tolerant", "add", add, (bad, good), tolerant=True, keep=True)
    outcomes = dispatcher.run([bad, good, strict, tolerant], Lines([]))
    assert value(outcomes[tolerant]) == 3
    for unit in (bad, strict):
        failure = outcomes[unit]
        assert isinstance(failure, Failure)
        assert (failure.model, failure.reason) == ("bad", "ValueError: no")
        assert "Traceback" in failure.trace


def test_the_longest_goes_first_and_order_breaks_ties(client: Client) -> None:
    diary = Diary()
    units = [Unit(name, "one", one, (1,), guess=guess) for name, guess in (("a", 1.0), ("b", 9.0), ("c", 1.0), ("d", 5.0))]
    OnDask(client, "0000000f").run(units, diary)
    assert diary.began_ == ["b", "d", "a", "c"]


def test_what_a_unit_costs_travels_with_its_value(dispatcher: Here | OnDask) -> None:
    unit = Unit("a", "one", one, (1,), keep=True)
    (cost,) = dispatcher.run([unit], Lines([]))[unit].costs  # type: ignore[union-attr]
    assert (cost.model, cost.phase) == ("a", "one")
    assert cost.seconds >= cost.compile_seconds >= 0
    assert cost.peak_bytes > 1e6


def test_values_that_nobody_needs_any_more_are_let_go(client: Client) -> None:
    first = Unit("a", "one", one, (1,))
    OnDask(client, "0000000e").run([first, Unit("b", "add", add, (first,))], Lines([]))
    for _ in range(50):  # the scheduler hears of it in its own time
        if not (left := [key for key in client.who_has() if "0000000e" in str(key)]):
            break
        time.sleep(0.1)
    assert not left
