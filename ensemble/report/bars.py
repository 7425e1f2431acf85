"""Intervals in a figure of lines: a bar a lead for a few models, side by side."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from ensemble.report.look import Look
from ensemble.task import Array

APART = 0.16  # of the distance between two leads


def draw_bars(ax: Axes, at: Array, ends: Mapping[str, Array], looks: Mapping[str, Look]) -> None:
    """`ends` (bound, lead_time) by model, at the leads `at`; bars lie under the lines, in the colours of their models."""
    step = float(np.diff(at).min()) if len(at) > 1 else 1.0
    for i, (name, (low, high)) in enumerate(ends.items()):
        x = at + APART * step * (i - (len(ends) - 1) / 2)
        there = np.isfinite(low) & np.isfinite(high)
        bars = np.stack([np.stack([x, low], -1), np.stack([x, high], -1)], axis=1)[there]
        collection = LineCollection(list(bars), colors=looks[name].colour, linewidths=3.2, alpha=0.38, capstyle="butt", zorder=2.5)
        collection.set_label(f"{name}, interval")
        ax.add_collection(collection)
