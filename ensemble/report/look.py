"""How a model looks: the same in every figure, safe for the colour-blind, and told apart by marker or dash as well.

References are cool greys and dashed, combinations near black and bold; the others take a colour each, in the order of the
study, so that a model that fails leaves the colours of the rest as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import Rectangle

from ensemble.report import words
from ensemble.study import Study
from ensemble.task import Array

# Paul Tol's "muted" scheme (personal.sron.nl/~pault, 2021), the colours furthest apart first.
COLOURS = ("#332288", "#CC6677", "#117733", "#88CCEE", "#882255", "#999933", "#44AA99", "#AA4499", "#DDCC77")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
GREYS = ("#aebbc1", "#93a2aa", "#788992", "#5d6f78")
DASHES: tuple[Any, ...] = ((0, (5, 2)), (0, (2, 1.5)), (0, (7, 2, 1.5, 2)), (0, (1, 1)))
BLACKS = ("#000000", "#54432f", "#3d3d3d")
INK, QUIET, FAINT, LAND = "#222222", "#5f666b", "#dcdcdc", "#e4ded3"
SMALL, MEDIUM, LARGE = 8.5, 9.5, 11.0  # font sizes [pt]
GLYPH = 0.62  # mean width of a letter, in font sizes


class Look(NamedTuple):
    """What a model is drawn with."""

    colour: str
    dash: Any
    marker: str
    width: float
    weight: str
    order: int  # combinations lie over models, and models over references

    @property
    def line(self) -> dict[str, Any]:
        """The keywords of a line."""
        return {"color": self.colour, "linestyle": self.dash, "marker": self.marker, "linewidth": self.width, "zorder": self.order}

    @property
    def ink(self) -> str:
        """The colour, darkened where text in it would be too light to read."""
        dark = min(1.0, 0.42 / brightness(self.colour))
        red, green, blue = to_rgb(self.colour)
        return to_hex((dark * red, dark * green, dark * blue))


def brightness(colour: str) -> float:
    """How light a colour looks, 0 to 1 (luma, ITU-R BT.601)."""
    return float(np.dot(to_rgb(colour), (0.299, 0.587, 0.114))) or 1e-6


def looks(study: Study) -> dict[str, Look]:
    """The look of each model and combination of a study."""
    kinds = {name: model.kind for name, model in study.models.items()} | dict.fromkeys(study.combinations, "combination")
    found: dict[str, Look] = {}
    for name, kind in kinds.items():
        i = sum(each in ("reference", "combination") and each == kind for each in (kinds[other] for other in found))
        if kind == "reference":
            found[name] = Look(GREYS[i % len(GREYS)], DASHES[i % len(DASHES)], "", 1.6, "normal", 3)
        elif kind == "combination":
            found[name] = Look(BLACKS[i % len(BLACKS)], ("-", *DASHES)[i % 4], "", 2.6, "bold", 5)
        else:
            i = sum(kinds[other] not in ("reference", "combination") for other in found)
            found[name] = Look(COLOURS[i % len(COLOURS)], "-", MARKERS[(i + i // len(COLOURS)) % len(MARKERS)], 1.7, "normal", 4)
    return found


def entitled(ax: Axes, title: str, note: str) -> None:
    """A title at the left, and under it what one must know to read the figure."""
    ax.set_title(title, loc="left", fontsize=LARGE, fontweight="bold", color=INK, pad=22, y=1.0)  # where it is: nothing to look for
    ax.annotate(note, (0, 1), (0, 8), "axes fraction", "offset points", fontsize=MEDIUM, color=QUIET)


def dressed(ax: Axes, title: str, note: str, x: str, y: str = "") -> Axes:
    """Axes with a title, names and nothing that is not needed."""
    entitled(ax, title, note)
    ax.set_xlabel(x, fontsize=MEDIUM)
    ax.set_ylabel(y, fontsize=MEDIUM)
    ax.tick_params(labelsize=MEDIUM, length=3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)
    return ax


def measured(axis: Axis, values: xr.DataArray, more: str = "") -> None:
    """An axis with the name and the unit of `values`; a power of ten, where they need one, stands in the name and not at the end."""
    largest = float(np.nanmax(np.abs(values.values), initial=0.0))
    power = int(np.floor(np.log10(largest))) if largest and words.decimals(values) == words.POWERS else 0
    axis.set_label_text(words.axis(values, power) + more, fontsize=MEDIUM)
    if power:
        axis.set_major_formatter(lambda value, _: f"{value / 10.0**power:.4g}".replace("-", "−"))


def size(ax: Axes) -> tuple[float, float]:
    """Width and height of the axes [in]."""
    box, figure = ax.get_position(), ax.figure.get_figure(root=True)
    assert figure is not None  # axes are made by their figure
    width, height = figure.get_size_inches()
    return float(box.width * width), float(box.height * height)


def apart(wanted: Array, gap: float) -> Array:
    """Positions as near as can be to the `wanted` ones, at least `gap` from one another, and inside 0 to 1 where they fit."""
    order = np.argsort(wanted, kind="stable")
    groups: list[list[float]] = []  # [sum of (wanted - offset inside the group), members]; a group's first sits at their ratio
    for value in wanted[order]:
        groups.append([float(value), 1.0])
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] + groups[-2][1] * gap > groups[-1][0] / groups[-1][1]:
            total, count = groups.pop()
            groups[-1][0] += total - count * groups[-1][1] * gap
            groups[-1][1] += count
    placed = np.concatenate([total / count + gap * np.arange(count) for total, count in groups])
    last = len(placed) - 1 - np.arange(len(placed))
    placed = np.maximum(np.minimum(placed, 1 - gap * last), gap * np.arange(len(placed)))
    spread = np.empty(len(placed))
    spread[order] = placed
    return spread


def name_lines(ax: Axes, ends: Mapping[str, tuple[float, float]], styles: Mapping[str, Look], *, first: float) -> None:
    """Each line's name to the right of its end, inside the axes, which are widened for it; names never overlap."""
    if not ends:
        return
    width, height = size(ax)
    last = max(x for x, _ in ends.values())
    room = min(0.6, (max(map(len, ends)) * GLYPH * SMALL / 72 + 0.3) / width)
    end = last + (last - first or 1.0) * room / (1 - room)
    bottom, top = ax.get_ylim()
    ax.set_xlim(first - 0.02 * (end - first), end)
    at = bottom + (top - bottom) * apart(np.array([(y - bottom) / (top - bottom) for _, y in ends.values()]), 1.3 * SMALL / 72 / height)
    text = last + 0.28 / width * (end - first)
    leaders = []
    for (name, (x, y)), beside in zip(ends.items(), at, strict=True):
        look = styles[name]
        leaders.append([(x + 0.06 / width * (end - first), y), (text - 0.04 / width * (end - first), beside)])
        ax.text(text, beside, name, color=look.ink, fontsize=SMALL, fontweight=look.weight, va="center")
    # No grid under the names.
    ax.add_patch(Rectangle((last + 0.05 * (text - last), bottom), end - last, top - bottom, facecolor="white", zorder=1))
    ax.add_collection(LineCollection(leaders, colors=[styles[name].colour for name in ends], linewidths=0.5), autolim=False)
    ax.spines["bottom"].set_bounds(first, last)
    ax.xaxis.label.set_x((1 - room) / 2)
