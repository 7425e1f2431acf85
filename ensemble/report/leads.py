"""Lead times as people call them: by their number, or, where they are windows, by name with the leads they are made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from ensemble.report import words
from ensemble.report.look import GLYPH, MEDIUM, size
from ensemble.task import Array, Window

if TYPE_CHECKING:
    from ensemble.results import Run

WHOLE = 8  # leads that a sentence names one by one
LABEL = 0.29  # inches from the axis to the top of what it is called by, below numbers


class Leads(NamedTuple):
    """All leads of a run: where they stand on an axis, their names for it, those for tables, and how a sentence says them."""

    at: Array  # (lead_time,)
    ticks: tuple[str, ...]
    names: tuple[str, ...]
    said: tuple[str, ...]
    unit: str

    @classmethod
    def of(cls, run: Run) -> Leads:
        """Windows stand side by side, one step apart, in the order of the study; other leads at their number."""
        values = run.scores["lead_time"]
        ends, unit = (values.values, str(values.attrs.get("units", "steps"))) if values.dtype.kind != "m" else _fixed(values.values)
        if not run.study.windows:
            names = tuple(f"{each:g}" for each in ends)
            return cls(ends.astype(float), names, names, tuple(_single(each, unit) for each in ends), unit)
        labels = dict(zip(run.study.labels.tolist(), ends.tolist(), strict=True))
        ranges = [_range(each, labels[each.last] / each.last) for each in run.study.windows]
        called = [each.name for each in run.study.windows]
        ticks, names = (
            tuple(pattern.format(name, span) for name, span in zip(called, ranges, strict=True)) for pattern in ("{}\n({})", "{} ({})")
        )
        said = tuple(
            f"{name} ({span} {unit.removesuffix('s') if span == '1' else unit})" for name, span in zip(called, ranges, strict=True)
        )
        return cls(np.arange(float(len(ends))), ticks, names, said, unit)

    @property
    def heads(self) -> list[str]:
        """Of the columns of a table; the mean over leads is one where there is more than one lead."""
        return [*self.names, *(["mean"] if len(self.names) > 1 else [])]

    @property
    def over(self) -> str:
        """Over what a mean is taken: `over all leads`, or where there is but one, `at lead 1 month`."""
        return "over all leads" if len(self.said) > 1 else f"at {self.said[0]}"

    @property
    def mean(self) -> str:
        """As `over`, of a noun that goes before: `in the mean over all leads`."""
        return f"in the mean {self.over}" if len(self.said) > 1 else self.over

    @property
    def all(self) -> str:
        """`1 to 6 months`, `1, 3 and 12 months`, `djf (1-3) and mam (4-6) [months]`."""
        if self.under:
            return f"{words.listed(list(self.names))} [{self.unit}]"
        if len(self.at) == 1:
            return self.said[0].removeprefix("lead ")
        if len(set(np.diff(self.at))) == 1 and len(self.at) > 2:
            apart = "" if self.at[1] - self.at[0] == 1 else f" in steps of {self.at[1] - self.at[0]:g}"
            return f"{self.names[0]} to {self.names[-1]} {self.unit}{apart}"
        if len(self.at) <= WHOLE:
            return f"{words.listed(list(self.names))} {self.unit}"
        return f"{len(self.at)} from {self.names[0]} to {self.names[-1]} {self.unit}"

    @property
    def under(self) -> float:
        """How much room the names need under an axis beyond that of a number [in]."""
        return max(tick.count("\n") for tick in self.ticks) * 1.25 * MEDIUM / 72

    def few(self, positions: Iterable[int]) -> Leads:
        """Some of them."""
        index = list(positions)
        ticks, names, said = (tuple(each[i] for i in index) for each in (self.ticks, self.names, self.said))
        return Leads(self.at[index], ticks, names, said, self.unit)

    def on(self, ax: Axes) -> None:
        """Ticks under the axes, as many as there is room for."""
        widest = max(len(line) for tick in self.ticks for line in tick.split("\n"))
        room = size(ax)[0] * 0.8 / ((widest + 1.5) * GLYPH * MEDIUM / 72)
        every = max(1, int(np.ceil(len(self.at) / max(room, 1))))
        ax.set_xticks(self.at[::every], self.ticks[::every])
        ax.xaxis.set_label_coords(0.5, -(LABEL + self.under) / size(ax)[1])  # as Matplotlib would find, in a tenth of the time of a figure


def _fixed(values: Array) -> tuple[Array, str]:
    """Leads of a fixed length as numbers, in days if they are whole ones."""
    hours: Array = values / np.timedelta64(1, "h")
    return (hours / 24, "days") if not (hours % 24).any() else (hours, "hours")


def _single(value: float, unit: str) -> str:
    """`lead 1 month`, `lead 3 months`."""
    return f"lead {value:g} {unit.removesuffix('s') if value == 1 else unit}"


def _range(window: Window, per: float) -> str:
    """`1-3`, its first and last lead."""
    first, last = (f"{each * per:g}" for each in (window.first, window.last))
    return first if first == last else f"{first}-{last}"
