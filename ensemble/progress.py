"""How a run goes, while it goes: bars by model in a terminal or a notebook, plain lines elsewhere."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ensemble.errors import RunError
from ensemble.execute import Done, Failure, Unit, Watcher

log = logging.getLogger("ensemble")


class Lines:
    """A log line when a phase of a model is done, and when one has failed."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self.left = Counter((unit.model, unit.phase) for unit in units)
        self.total, self.done = len(units), 0

    def began(self, unit: Unit) -> None:
        """As `Watcher.began`."""

    def ended(self, unit: Unit, outcome: object) -> None:
        """As `Watcher.ended`."""
        self.done += 1
        self.left[unit.model, unit.phase] -= 1
        if isinstance(outcome, Failure):
            if (outcome.model, outcome.phase) == (unit.model, unit.phase):  # not one that is only passed on
                log.error("%s failed in %s: %s", outcome.model, outcome.phase, outcome)
        elif not self.left[unit.model, unit.phase]:
            log.info("%s: %s done (%d of %d units)", unit.model, unit.phase, self.done, self.total)


class Strict:
    """Ends the run at the first failure, which it raises as RunError; all else it passes on."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher

    def began(self, unit: Unit) -> None:
        """As `Watcher.began`."""
        self.watcher.began(unit)

    def ended(self, unit: Unit, outcome: Done[Any] | Failure | None) -> None:
        """As `Watcher.ended`."""
        self.watcher.ended(unit, outcome)
        if isinstance(outcome, Failure):
            raise RunError(f"stopped at the first failure: {outcome.model} in {outcome.phase}: {outcome}")


class Bars(Lines):
    """A bar for the run and one for each model, with the phase it is in, beside the log."""

    def __init__(self, units: Sequence[Unit], bars: Progress) -> None:
        super().__init__(units)
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
        task = self.tasks[unit.model]
        self.bars.advance(self.whole)
        self.bars.advance(task)
        if isinstance(outcome, Failure):
            self.bars.update(task, phase="failed")
        elif not any(left for (model, _), left in self.left.items() if model == unit.model):
            self.bars.update(task, phase="done")


@contextmanager
def logged(folder: str | Path | None) -> Iterator[None]:
    """What is logged meanwhile goes to `run.log` in `folder` too, if there is one."""
    if folder is None:
        yield
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    handler, level = logging.FileHandler(Path(folder) / "run.log", encoding="utf-8"), log.level
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(min(level or logging.INFO, logging.INFO))
    try:
        yield
    finally:
        log.setLevel(level)
        log.removeHandler(handler)
        handler.close()


class Beside(Lines):
    """A notebook's table, beside the log."""

    def __init__(self, units: Sequence[Unit], dashboard: str | None) -> None:
        from ensemble.notebook import Page  # IPython is there only where there is a notebook

        super().__init__(units)
        self.page = Page(units, dashboard)

    def began(self, unit: Unit) -> None:
        """As `Watcher.began`."""
        self.page.began(unit)

    def ended(self, unit: Unit, outcome: object) -> None:
        """As `Watcher.ended`."""
        super().ended(unit, outcome)
        self.page.ended(unit, outcome)


@contextmanager
def progress(units: Sequence[Unit], *, show: bool, dashboard: str | None = None) -> Iterator[Watcher]:
    """Somebody to tell how the run goes: bars in a terminal, a table in a notebook, and log lines everywhere."""
    console = Console(stderr=True)
    log.info("dashboard: %s", dashboard or "none")
    if show and console.is_jupyter:
        yield Beside(units, dashboard)
    elif show and console.is_terminal:
        name, phase = TextColumn("{task.description:>22}"), TextColumn("{task.fields[phase]}")
        with Progress(name, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(), phase, console=console) as bars:
            bars.console.print(f"dashboard: {dashboard or 'none'}", highlight=False)
            yield Bars(units, bars)
    else:
        yield Lines(units)
