"""How a run goes, while it goes: bars by model in a terminal or a notebook, plain lines elsewhere."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ensemble.execute import Failure, Unit, Watcher

log = logging.getLogger("ensemble")


class Silent:
    """Says nothing but what failed."""

    def began(self, unit: Unit) -> None:
        """As `Watcher.began`."""

    def ended(self, unit: Unit, outcome: object) -> None:
        """As `Watcher.ended`."""
        if isinstance(outcome, Failure) and (outcome.model, outcome.phase) == (unit.model, unit.phase):
            log.error("%s failed in %s: %s", outcome.model, outcome.phase, outcome.reason)


class Lines(Silent):
    """A log line when a model's phase is done."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self.left = Counter((unit.model, unit.phase) for unit in units)
        self.total, self.done = len(units), 0

    def ended(self, unit: Unit, outcome: object) -> None:
        """As `Watcher.ended`."""
        super().ended(unit, outcome)
        self.done += 1
        self.left[unit.model, unit.phase] -= 1
        if not self.left[unit.model, unit.phase] and not isinstance(outcome, Failure):
            log.info("%s: %s done (%d of %d units)", unit.model, unit.phase, self.done, self.total)


class Bars(Silent):
    """A bar for the run and one for each model, with the phase it is in."""

    def __init__(self, units: Sequence[Unit], bars: Progress) -> None:
        self.bars = bars
        self.whole = bars.add_task("run", total=len(units), phase="")
        counts = Counter(unit.model for unit in units)
        self.tasks: dict[str, TaskID] = {m: bars.add_task(m, total=n, phase="waiting", start=False) for m, n in counts.items()}

    def began(self, unit: Unit) -> None:
        """As `Watcher.began`."""
        self.bars.start_task(self.tasks[unit.model])
        self.bars.update(self.tasks[unit.model], phase=unit.phase)

    def ended(self, unit: Unit, outcome: object) -> None:
        """As `Watcher.ended`."""
        super().ended(unit, outcome)
        self.bars.advance(self.whole)
        self.bars.advance(self.tasks[unit.model])
        if isinstance(outcome, Failure):
            self.bars.update(self.tasks[unit.model], phase="[red]failed")
        elif self.bars.tasks[self.tasks[unit.model]].finished:
            self.bars.update(self.tasks[unit.model], phase="done")


@contextmanager
def progress(units: Sequence[Unit], *, show: bool, dashboard: str | None = None) -> Iterator[Watcher]:
    """Somebody to tell how the run goes: bars where they can be drawn, lines where not, failures alone if not to `show`."""
    console = Console(stderr=True)
    said = f"dashboard: {dashboard or 'none'}"
    if not show:
        yield Silent()
    elif not (console.is_terminal or console.is_jupyter):
        log.info(said)
        yield Lines(units)
    else:
        name, phase = TextColumn("{task.description:>22}"), TextColumn("{task.fields[phase]}")
        with Progress(name, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(), phase, console=console) as bars:
            bars.console.print(said, highlight=False)
            yield Bars(units, bars)
