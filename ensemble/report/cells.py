"""Figures made of cells with a number in each: a ranking as a heat map, and weights as shares of bars."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle

from ensemble.report import words
from ensemble.report.leads import Leads
from ensemble.report.look import GLYPH, INK, MEDIUM, QUIET, SMALL, Look, apart, brightness, dressed, entitled, size
from ensemble.report.standing import is_best, nearness, spread_out, with_mean

MANY = 6  # bars: with more, the numbers stand in the first, the middle and the last
SHADES = LinearSegmentedColormap.from_list("nearness", ["#ffffff", "#dbe7f2", "#8fb8d9"])  # dark ink stays readable on all


def draw_heat(ax: Axes, values: xr.DataArray, leads: Leads, looks: Mapping[str, Look], title: str, note: str) -> Axes:
    """(model, lead_time) in the order given, the mean over leads as a last column where there are several."""
    parts = with_mean(values)
    numbers, near, best = (np.concatenate([of(each).values for each in parts], axis=1) for of in (_itself, nearness, is_best))
    heads = [*leads.ticks, *leads.heads[len(leads.names) :]]
    names, places = [str(name) for name in values["model"].values], words.decimals(values)
    ax.pcolormesh(np.ma.masked_invalid(near), cmap=SHADES, vmin=0, vmax=1, edgecolor="white", linewidth=1)
    for (row, column), value in np.ndenumerate(numbers):
        weight = "bold" if best[row, column] else "normal"
        text = words.number(value, places)
        ax.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=SMALL, fontweight=weight, color=INK)
        if best[row, column]:
            ax.add_patch(Rectangle((column + 0.04, row + 0.06), 0.92, 0.88, fill=False, edgecolor=INK, linewidth=1.2, zorder=4))
    ax.axvline(len(leads.names), color="white", linewidth=4)
    ax.set(ylim=(len(names), 0), yticks=np.arange(len(names)) + 0.5, xticks=np.arange(len(heads)) + 0.5)
    ax.set_xticklabels(heads, fontsize=MEDIUM)
    ax.set_yticklabels(names, fontsize=MEDIUM)
    for label, name in zip(ax.get_yticklabels(), names, strict=True):
        label.set(fontweight=looks[name].weight, color=QUIET if looks[name].order == 3 else INK)
    ax.set_xlabel(f"Lead time [{leads.unit}]", fontsize=MEDIUM)
    entitled(ax, title, f"{words.axis(values)}, {note}; framed: the best of each lead")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def draw_shares(ax: Axes, weights: xr.DataArray, leads: Leads, looks: Mapping[str, Look], title: str, note: str) -> Axes:
    """(model, lead_time) as one bar a lead; the models are named beside the last bar."""
    count, (width, tall) = len(leads.names), size(ax)
    at = np.arange(count)
    room = max(len(str(name)) for name in weights["model"].values) * GLYPH * SMALL / 72 + 0.2
    dressed(ax, title, note, f"Lead time [{leads.unit}]", "Weight")
    below, middles, numbered = np.zeros(count), [], spread_out(weights)
    for name in weights["model"].values:
        share, colour = weights.sel(model=name).values, looks[str(name)].colour
        ax.bar(at, share, bottom=below, width=0.88, color=colour, edgecolor="white", linewidth=0.8, label=str(name))
        ink = "white" if brightness(colour) < 0.55 else INK
        for x, y, value in zip(at.tolist(), below + share / 2, share, strict=True):
            if abs(value) > 0.035 and (count <= MANY or x in numbered):
                ax.text(x, y, f"{value:.2f}", ha="center", va="center", fontsize=SMALL - 0.5, color=ink)
        middles.append(float(below[-1] + share[-1] / 2))
        below += share
    low, high = min(0.0, float(weights.values.min())), max(1.0, float(below.max()))
    beside = low + (high - low) * apart((np.array(middles) - low) / (high - low), 1.3 * SMALL / 72 / tall)
    for name, y in zip(map(str, weights["model"].values), beside, strict=True):
        ax.text(count - 0.45, y, name, va="center", fontsize=SMALL, color=looks[name].ink)
    end = count - 0.5 + (count + 0.1) * room / (width - room)
    ax.set(xlim=(-0.6, end), ylim=(low, high))
    ax.set_xticks(at, leads.ticks)
    ax.grid(visible=False)
    ax.spines["bottom"].set_bounds(-0.5, at[-1] + 0.5)
    ax.xaxis.label.set_x((1 - room / width) / 2)
    return ax


def _itself(values: xr.DataArray) -> xr.DataArray:
    return values
