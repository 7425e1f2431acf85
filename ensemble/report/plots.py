"""The figures of a run, one method each; every one returns its Matplotlib axes.

Called by hand they are made through pyplot, so that a notebook shows them; the report makes its own figures, which need no
screen and may be drawn in any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ensemble.errors import InputError
from ensemble.report import words
from ensemble.report.bars import draw_bars
from ensemble.report.cells import draw_heat, draw_shares
from ensemble.report.certainty import interval, leading
from ensemble.report.differences import Difference, draw_differences
from ensemble.report.leads import Leads
from ensemble.report.look import Look, dressed, looks, measured, name_lines
from ensemble.report.maps import BestMap, draw_maps, draw_winners
from ensemble.report.probabilities import draw_all_ranks, draw_diagrams
from ensemble.report.scatter import draw_costs
from ensemble.report.standing import combined, costs, main_score, ordered, table, unequal
from ensemble.task import Array

if TYPE_CHECKING:
    from ensemble.results import Run

Panels = np.ndarray[Any, np.dtype[Any]]  # of Axes


def shown(size: tuple[float, float]) -> Figure:
    """A figure that a notebook or a script shows."""
    from matplotlib import pyplot  # chooses a backend for the whole process: only once somebody wants to look

    return pyplot.figure(figsize=size)


@dataclass(frozen=True, eq=False)
class Plots:
    """The figures of `run`; `make` makes an empty figure of a size [in]."""

    run: Run
    make: Callable[[tuple[float, float]], Figure] = shown

    @property
    def _looks(self) -> dict[str, Look]:
        return looks(self.run.study)

    def skill(self, score: str = "rmse", region: str = "all", *, reference: str | None = None, ax: Axes | None = None) -> Axes:
        """A score against lead, for every model it is defined for; a skill score against one `reference`.

        Bars are the intervals of two models that lead: the best and the best single one.
        """
        values = table(self.run, score, region, reference=reference)
        ax = ax or self._above(self.make((9, 4.7)), 0.08, 0.905)
        found = {name: interval(self.run, score, region, name, reference) for name in leading(values)}
        bars = {name: ends for name, ends in found.items() if ends is not None and np.isfinite(ends).any()}
        note = f"{words.sample(self.run, region)}{'; bars: 95 % intervals' if bars else ''}"
        return self._lines(ax, values, words.title(self.run, values, region), note, bars)

    def bias(self, region: str = "all", *, ax: Sequence[Axes] | None = None) -> Panels:
        """The mean error and the error without it, apart: two panels against lead."""
        if ax is None:
            figure = self.make((12.6, 4.7))
            ax = [self._above(figure, left, 0.43) for left in (0.062, 0.56)]
        for panel, score, title in zip(ax, ("bias", "centred_rmse"), ("Bias", "Error without the bias of each point"), strict=True):
            self._lines(panel, table(self.run, score, region), f"{title}, {words.place(self.run, region)}", words.sample(self.run, region))
        ax[0].axhline(0, color="#555555", linewidth=0.8, zorder=0.9)
        return np.array(ax, dtype=object)

    def ranking(self, score: str = "rmse", region: str = "all", *, reference: str | None = None, ax: Axes | None = None) -> Axes:
        """Models by leads, the best in the mean first, every value written and the best of each lead framed."""
        values = ordered(table(self.run, score, region, reference=reference))
        leads, note = Leads.of(self.run), words.sample(self.run, region)
        if ax is None:
            left = 0.3 + 0.08 * max(len(str(name)) for name in values["model"].values)
            cell = max(
                1.0 if words.decimals(values) == words.POWERS else 0.62,
                0.09 * max(len(line) for tick in leads.ticks for line in tick.split("\n")),
            )
            wide, tall, below = cell * len(leads.heads), 0.3 * values.sizes["model"] + 0.25, 0.6 + leads.under
            width, height = left + max(wide, 0.068 * (len(note) + len(words.axis(values)) + 33)) + 0.3, below + tall + 0.65
            ax = self.make((width, height)).add_axes((left / width, below / height, wide / width, tall / height))
        return draw_heat(ax, values, leads, self._looks, words.title(self.run, values, region), note)

    def best_map(self, score: str = "rmse", *, lead_time: Any = None, ax: Axes | None = None) -> Axes:
        """The model with the best score at each point, at one lead time or in the mean over all."""
        best = BestMap.of(self.run, score, lead_time)
        if ax is None:
            below, tall = 0.5 + 0.19 * -(-len(best.shares) // 4), 8.2 * best.aspect
            figure = self.make((9, below + tall + 0.65))
            ax = figure.add_axes((0.06, below / (below + tall + 0.65), 8.2 / 9, tall / (below + tall + 0.65)))
        return draw_winners(ax, best, self._looks, note=words.sample(self.run))

    def maps(self, score: str = "rmse", *, lead_times: Sequence[Any] | None = None) -> Panels:
        """(lead, 2) panels: the model with the best score at each point, and its score there."""
        return draw_maps(self.make, self.run, score, self._looks, lead_times)

    def significance(self, model: str | None = None, baseline: str | None = None) -> Panels:
        """(lead,) panels: how far a model (the best) is from a baseline (the best reference), and where that is no chance."""
        chosen = model or next(str(name) for name in self.run.ranking(main_score(self.run))["model"].values)
        return draw_differences(self.make, self.run, Difference.of(self.run, chosen, baseline))

    def cost(self, score: str = "rmse", region: str = "all", *, reference: str | None = None, ax: Axes | None = None) -> Axes:
        """The mean score over all leads against the wall time of fit and forecasts; a combination costs what its models cost."""
        values = table(self.run, score, region, reference=reference)
        ax = ax or self.make((9, 4.9)).add_axes((0.08, 0.115, 0.905, 0.755))
        title, note = f"Cost against skill, {words.place(self.run, region)}", words.sample(self.run, region)
        over = "mean over leads" if values.sizes["lead_time"] > 1 else Leads.of(self.run).said[0]
        return draw_costs(ax, values, over, costs(self.run), self._looks, title, note)

    def weights(self, *, ax: Sequence[Axes] | None = None) -> Panels:
        """The weights of each combination by lead, as shares of a bar; those that are all equal only where no other is."""
        shares = unequal(self.run) or combined(self.run)
        if not shares:
            raise InputError("weights: the run has no combination; give the study one, as in `combine: [mean]`")
        if ax is None:
            rows, tall = len(shares), 3.9 + Leads.of(self.run).under
            figure, below = self.make((9, tall * rows)), 0.13 + Leads.of(self.run).under / tall
            ax = [figure.add_axes((0.065, (rows - 1 - i + below) / rows, 0.92, (0.83 - below) / rows)) for i in range(rows)]
        for panel, (name, values) in zip(ax, shares.items(), strict=True):
            draw_shares(panel, values, Leads.of(self.run), self._looks, f"Weights of {name}", words.learnt(self.run))
        return np.array(ax, dtype=object)

    def ranks(self, region: str = "all") -> Panels:
        """Rank histograms of the models with members, a panel each."""
        return draw_all_ranks(self.make, self.run, self._looks, region)

    def diagram(self, score: str = "reliability", region: str = "all") -> Panels:
        """A reliability diagram or a relative operating characteristic, a panel for the first, the middle and the last lead."""
        return draw_diagrams(self.make, self.run, score, self._looks, region)

    def _above(self, figure: Figure, left: float, width: float) -> Axes:
        """Axes with room below them for the names of the leads."""
        bottom = 0.12 + Leads.of(self.run).under / figure.get_figheight()
        return figure.add_axes((left, bottom, width, 0.86 - bottom))

    def _lines(self, ax: Axes, values: xr.DataArray, title: str, note: str, bars: Mapping[str, Array] | None = None) -> Axes:
        """One line per model that the score is defined for, named at its end; `bars` (bound, lead_time) of some."""
        leads = Leads.of(self.run)
        dressed(ax, title, note, f"Lead time [{leads.unit}]")
        ends, styles = {}, self._looks
        found = dict(zip(map(str, values["model"].values), values.transpose("model", "lead_time").values, strict=True))
        for name in [name for name in styles if name in found]:
            line = found[name]
            if np.isfinite(line).any():
                style = styles[name].line
                alone = {"marker": style["marker"] or "o"} if len(leads.at) == 1 else {}  # no line to be seen
                ax.plot(leads.at, line, label=name, markersize=4.5, **style | alone)
                last = np.flatnonzero(np.isfinite(line))[-1]
                ends[name] = (float(leads.at[last]), float(line[last]))
        draw_bars(ax, leads.at, bars or {}, styles)
        if not ends:
            ax.text(0.5, 0.5, "undefined for every model", transform=ax.transAxes, ha="center", fontsize=10, color="#555555")
        leads.on(ax)
        measured(ax.yaxis, values)
        ax.margins(y=0.06)
        name_lines(ax, ends, styles, first=float(leads.at[0]) - (len(leads.at) == 1))
        return ax
