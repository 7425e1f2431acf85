"""Figures of members and of probabilities: rank histograms, reliability diagrams, relative operating characteristics."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from ensemble.report.look import FAINT, INK, MEDIUM, QUIET, SMALL, Look
from ensemble.task import Array

BARS = 21  # of a rank histogram, and no more: neighbouring ranks stand together
TALL = 4.0  # times a flat histogram: what is taller is cut off, and its height written
LARGEST = 150.0  # area [pt^2] of the marker of a bin with all forecasts


def draw_ranks(ax: Axes, share: Array, draws: bool, look: Look, title: str) -> Axes:
    """`share` (lead_time, rank) of the truth's ranks among m members: bars for all leads together, lines for the first and the last.

    In multiples of 1 / (m + 1), which is what each rank has if the truth is one more draw; the expected histogram is dotted.
    """
    ranks = share.shape[1]
    edges = np.append(np.arange(0, ranks, -(-ranks // BARS)), ranks)
    wide = np.diff(edges)
    heights, first, last, flat = (
        np.add.reduceat(each, edges[:-1]) / wide * ranks for each in (share.mean(0), share[0], share[-1], expected(ranks, draws))
    )
    at = edges - 0.5
    ax.stairs(heights, at, fill=True, color=look.colour, alpha=0.4, linewidth=0)
    if len(share) > 1:
        ax.stairs(first, at, baseline=None, color=INK, linewidth=1.0)
        ax.stairs(last, at, baseline=None, color=INK, linewidth=1.0, linestyle=(0, (3, 1.5)))
    ax.stairs(flat, at, baseline=None, color=QUIET, linewidth=1.3, linestyle=(0, (1, 1)))
    for x, height in zip((at[:-1] + at[1:]) / 2, heights, strict=True):
        if height > TALL:
            ax.text(x, 0.97 * TALL, f"{height:.1f}", fontsize=SMALL, ha="center", va="top", color=INK)
    _plain(ax, title)
    ax.set(xlim=(at[0], at[-1]), ylim=(0, min(TALL, 1.08 * max(float(each.max()) for each in (heights, first, last, flat)))))
    ax.set_xticks([0, ranks - 1] if ranks > 1 else [0])
    return ax


def expected(ranks: int, draws: bool) -> Array:
    """(rank,): how often each is right of a reliable ensemble; beyond the outermost of n quantiles lie 1/(2n) at each end."""
    if draws:
        return np.full(ranks, 1 / ranks)
    m = ranks - 1
    return np.concatenate([[0.5 / m], np.full(m - 1, 1 / m), [0.5 / m]])


def draw_reliability(ax: Axes, curves: Mapping[str, Array], looks: Mapping[str, Look], title: str) -> Axes:
    """(bin, curve) of `Reliability` by model, called `forecast`, `observed` and `share`: the area of a marker is the share of its bin."""
    often = base_rate(curves)
    ax.plot([0, 1], [0, 1], color=QUIET, linewidth=1.0, zorder=1)
    ax.plot([0, 1], [often / 2, (1 + often) / 2], color=QUIET, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
    ax.plot([0, 1, np.nan, often, often], [often, often, np.nan, 0, 1], color=QUIET, linewidth=0.9, linestyle=(0, (1, 1.2)), zorder=1)
    for name, curve in curves.items():
        look, (forecast, observed, share) = looks[name], curve[curve[:, 2] > 0].T
        ax.plot(forecast, observed, color=look.colour, linestyle=look.dash, linewidth=1.4, zorder=look.order)
        area, shape = LARGEST * share + 3, look.marker or "o"
        ax.scatter(forecast, observed, area, color=look.colour, marker=shape, linewidths=0, zorder=look.order, clip_on=False)
    return _square(ax, title)


def base_rate(curves: Mapping[str, Array]) -> float:
    """How often it occurred, in the mean over models where their samples differ."""
    return float(np.mean([np.nansum(curve[:, 1] * curve[:, 2]) for curve in curves.values()]))


def draw_roc(ax: Axes, rates: Mapping[str, Array], looks: Mapping[str, Look], title: str) -> Axes:
    """(bin, rate) of `Roc` by model, hit rate and false alarm rate: from warnings at any probability to none at all."""
    ax.plot([0, 1], [0, 1], color=QUIET, linewidth=1.0, zorder=1)
    for name, each in rates.items():
        look, (hits, false) = looks[name], np.append(each, [[0.0, 0.0]], axis=0).T
        style = {"color": look.colour, "linestyle": look.dash, "marker": look.marker or "o", "markersize": 3.2, "linewidth": 1.4}
        ax.plot(false, hits, zorder=look.order, **style)
    return _square(ax, title)


def _plain(ax: Axes, title: str) -> None:
    ax.set_title(title, loc="left", fontsize=MEDIUM, color=INK, pad=5, y=1.0)
    ax.tick_params(labelsize=SMALL, length=3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)


def _square(ax: Axes, title: str) -> Axes:
    """Both axes from 0 to 1."""
    _plain(ax, title)
    ticks = [0, 0.25, 0.5, 0.75, 1]
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=ticks, yticks=ticks)
    return ax
