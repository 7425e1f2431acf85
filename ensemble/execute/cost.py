"""What a unit of work cost, measured where it ran; it travels with the value, so no message of its own is needed."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from ensemble.execute.threads import one_thread

T = TypeVar("T")

_compiled = [0.0]  # seconds that XLA has spent on compiling in this process
_listens = [False]


class Cost(NamedTuple):
    """One unit: wall time [s], compilation therein [s], and the peak memory of its process meanwhile [bytes]."""

    model: str
    phase: str
    seconds: float
    compile_seconds: float
    peak_bytes: int
    worker: str


class Done(NamedTuple, Generic[T]):
    """A value and what it and the values it was made from cost."""

    value: T
    costs: tuple[Cost, ...]


def measured(model: str, phase: str, function: Callable[..., T], *arguments: Any) -> Done[T]:
    """`function(*arguments)` on one thread, with its cost."""
    _listen()
    _reset_peak()
    with one_thread():
        compiled, began = _compiled[0], time.perf_counter()
        value = function(*arguments)
        seconds = time.perf_counter() - began
    _listen()
    return Done(value, (Cost(model, phase, seconds, _compiled[0] - compiled, _peak(), _worker()),))


def _listen() -> None:
    """Count XLA's compile times, once there is an XLA."""
    if "jax" not in sys.modules or _listens[0]:
        return
    from jax import monitoring  # only where a model has imported it

    def add(event: str, duration_secs: float, **_: str | int) -> None:
        if event.startswith("/jax/core/compile"):
            _compiled[0] += duration_secs

    monitoring.register_event_duration_secs_listener(add)
    _listens[0] = True


def _worker() -> str:
    from distributed import get_worker  # absent from a run in this process

    try:
        return str(get_worker().name)
    except ValueError:
        return "here"


def _reset_peak() -> None:
    """Linux forgets the peak when asked; elsewhere it is the peak since the process began."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        scale = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale
