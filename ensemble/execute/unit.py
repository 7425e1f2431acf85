"""The unit of work: what it needs, and what can become of it."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from ensemble.execute.cost import Done


class Failure(NamedTuple):
    """Why a unit has no value: its own error, or that of a unit it needed."""

    model: str
    phase: str
    reason: str
    trace: str
    starts: tuple[str, ...] = ()  # the `init_time` of each forecast that failed, where that is known
    of: int = 0  # how many were tried

    def __str__(self) -> str:
        some = f" ({len(self.starts)} of {self.of} starts failed, the first is that issued {self.starts[0]})" if self.starts else ""
        return f"{self.reason}{some}"


def merged(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """One failure for each model, phase and reason, with the starts of all."""
    found: dict[tuple[str, str, str], Failure] = {}
    for each in failures:
        first = found.setdefault(each[:3], each)
        if first is not each:
            starts = tuple(sorted({*first.starts, *each.starts}))
            found[each[:3]] = first._replace(starts=starts, of=first.of + each.of)
    return tuple(found.values())


@dataclass(frozen=True, eq=False)
class Unit:
    """`function(*arguments)`; units among the arguments (or in lists and dicts there) stand for their `Done` values.

    A unit with `tolerant` runs even where some of those failed, and gets their `Failure`; another fails with them.
    """

    model: str
    phase: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    guess: float = 1.0  # seconds, until units of this model and phase have been measured
    tolerant: bool = False
    keep: bool = False  # the caller wants the value itself
    code: frozenset[str] = frozenset()  # what a worker that has run it has imported and compiled; it suits units that share some
    needs: tuple[Unit, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "needs", tuple(_units(self.arguments)))


class Watcher(Protocol):
    """Somebody who is told how the run goes."""

    def began(self, unit: Unit) -> None: ...

    def ended(self, unit: Unit, outcome: Done[Any] | Failure | None) -> None: ...


class Dispatcher(Protocol):
    """A place to run units; returns what became of those with `keep`, and every failure."""

    def run(self, units: Sequence[Unit], watcher: Watcher) -> dict[Unit, Done[Any] | Failure]: ...


def _units(arguments: Any) -> Iterable[Unit]:
    if isinstance(arguments, Unit):
        yield arguments
    elif isinstance(arguments, Mapping):
        for each in arguments.values():
            yield from _units(each)
    elif type(arguments) in (list, tuple):
        for each in arguments:
            yield from _units(each)


def filled(arguments: Any, values: Mapping[Unit, Any]) -> Any:
    """`arguments` with each unit replaced by its value."""
    if isinstance(arguments, Unit):
        return values[arguments]
    if isinstance(arguments, Mapping):
        return {key: filled(each, values) for key, each in arguments.items()}
    if type(arguments) in (list, tuple):
        return type(arguments)(filled(each, values) for each in arguments)
    return arguments


def failure_of(model: str, phase: str, error: BaseException) -> Failure:
    """What an error says, in a line and in whole."""
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    starts, of = getattr(error, "failing", ((), 0))
    return Failure(model, phase, reason, "".join(traceback.format_exception(error)), starts, of)


def inherited(unit: Unit, outcomes: Mapping[Unit, Any]) -> Failure | None:
    """The failure of something that the unit cannot do without."""
    failed = [outcomes[need] for need in unit.needs if isinstance(outcomes[need], Failure)]
    return failed[0] if failed and not unit.tolerant else None
