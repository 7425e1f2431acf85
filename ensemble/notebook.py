"""How a run goes, in a notebook: a small table that is drawn anew, with no widgets to install."""

from __future__ import annotations

import html
import time
from collections import Counter
from collections.abc import Sequence

from IPython.display import DisplayHandle, display

from ensemble.execute import Failure, Unit

REDRAW = 0.25  # seconds between drawings at least


class Page:
    """The table; one row a model."""

    def __init__(self, units: Sequence[Unit], dashboard: str | None) -> None:
        self.dashboard = dashboard
        self.total = Counter(unit.model for unit in units)
        self.done: Counter[str] = Counter()
        self.phase = dict.fromkeys(self.total, "waiting")
        self.start, self.drawn = time.monotonic(), 0.0
        self.handle: DisplayHandle = display(self._bundle(), raw=True, display_id=True)

    def began(self, unit: Unit) -> None:
        """A unit has been given to a worker."""
        self.phase[unit.model] = unit.phase
        self._draw()

    def ended(self, unit: Unit, outcome: object) -> None:
        """A unit has ended, well or not."""
        self.done[unit.model] += 1
        if isinstance(outcome, Failure):
            self.phase[unit.model] = "failed"
        elif self.done[unit.model] == self.total[unit.model] and self.phase[unit.model] != "failed":
            self.phase[unit.model] = "done"
        self._draw(last=self.done.total() == self.total.total())

    def _draw(self, last: bool = False) -> None:
        if last or time.monotonic() - self.drawn > REDRAW:
            self.drawn = time.monotonic()
            self.handle.update(self._bundle(), raw=True)

    def _bundle(self) -> dict[str, str]:
        """The table as HTML, and in a line for readers that show none."""
        done, total, spent = self.done.total(), self.total.total(), time.monotonic() - self.start
        left = f", about {spent / done * (total - done):.0f} s left" if 0 < done < total else ""
        status = f"{done} of {total} units in {spent:.0f} s{left}"
        address = html.escape(self.dashboard or "")
        link = f' &middot; dashboard: <a href="{address}">{address}</a>' if self.dashboard else ""
        rows = "".join(
            f"<tr><td style='text-align:left'>{html.escape(model)}</td><td><progress value='{self.done[model]}' max='{count}'></progress>"
            f"</td><td style='text-align:left'>{html.escape(self.phase[model])}</td></tr>"
            for model, count in self.total.items()
        )
        return {"text/html": f"<div>{status}{link}</div><table>{rows}</table>", "text/plain": f"{status}; dashboard: {self.dashboard}"}
