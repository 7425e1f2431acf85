"""Cost against skill: one point a model, each named where there is room."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.ticker import LogLocator, NullFormatter

from ensemble.report.look import FAINT, GLYPH, SMALL, Look, dressed, measured, size
from ensemble.report.standing import badness, mean_of
from ensemble.task import Array

LEAST = 1e-3  # seconds: nothing is cheaper on the axis
NEXT = 0.15  # inches: a name nearer than that to its point needs no line to it
SHORT = 0.055  # inches that a line to a point ends before it
Box = tuple[float, float, float, float]  # left, bottom, right, top


def draw_costs(
    ax: Axes, values: xr.DataArray, over: str, seconds: Mapping[str, float], looks: Mapping[str, Look], title: str, note: str
) -> Axes:
    """The mean over leads of `values` (model, lead_time), called `over`, against `seconds`.

    The dotted line is that below which nothing as cheap is as good.
    """
    mean = mean_of(values).dropna("model")
    names = [str(name) for name in mean["model"].values]
    points = {name: (max(seconds[name], LEAST), float(mean.sel(model=name))) for name in names}
    note = f"{note}; dotted: the best that can be had for the time"
    dressed(ax, title, note, "Wall time of fit and forecasts [s]")
    measured(ax.yaxis, mean, f", {over}")
    ax.set_xscale("log")
    if points and max(x for x, _ in points.values()) < 100 * min(x for x, _ in points.values()):
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    if not points:
        return ax
    for name, (x, y) in points.items():
        look = looks[name]
        shape, large = look.marker or ("s" if look.order == 3 else "*"), 12 if look.order == 5 else 8
        ax.plot(x, y, shape, color=look.colour, markersize=large, zorder=look.order, label=name)
    at = np.array(list(points.values()))
    least, most = at[:, 0].min(), at[:, 0].max()
    ax.set_xlim(least / 1.6, most * (10 * most / least) ** 0.12)
    ax.margins(y=0.12)
    ax.grid(axis="x", color=FAINT, linewidth=0.6)
    _frontier(ax, at, badness(mean).values)
    _name_points(ax, points, looks)
    return ax


def _frontier(ax: Axes, points: Array, bad: Array) -> None:
    """A step line through the models that no cheaper one beats."""
    order = np.argsort(points[:, 0], kind="stable")
    leading = points[order[bad[order] <= np.minimum.accumulate(bad[order])]]
    right = ax.get_xlim()[1]
    ax.step([*leading[:, 0], right], [*leading[:, 1], leading[-1, 1]], where="post", color="#b5b5b5", linewidth=1, linestyle=":", zorder=1)


def _name_points(ax: Axes, points: Mapping[str, tuple[float, float]], looks: Mapping[str, Look]) -> None:
    """Names near their points, the best free place of a few; a fine line leads there where it is not next to the point."""
    width, height = size(ax)
    (left, right), (bottom, top) = np.log10(ax.get_xlim()), ax.get_ylim()
    at = {n: ((np.log10(x) - left) / (right - left) * width, (y - bottom) / (top - bottom) * height) for n, (x, y) in points.items()}
    markers: dict[str, Box] = {name: (x - 0.07, y - 0.07, x + 0.07, y + 0.07) for name, (x, y) in at.items()}
    names: list[Box] = []
    leaders = []
    for name in sorted(at, key=lambda each: at[each][1]):
        wide = len(name) * GLYPH * SMALL / 72 * (1.08 if looks[name].weight == "bold" else 1.0)
        x, y = at[name]
        boxes = [(x + dx, y + dy - 0.08, x + dx + wide, y + dy + 0.08) for dx, dy in _places(wide)]
        inside = [each for each in boxes if each[0] > 0 and each[2] < width and each[1] > 0 and each[3] < height]
        others = [marker for other, marker in markers.items() if other != name]
        box = next((each for each in inside if _clear(each, markers[name], others, names)), boxes[0])
        names.append(box)
        middle = (box[1] + box[3]) / 2
        text = ax.text(box[0] / width, middle / height, name, transform=ax.transAxes, fontsize=SMALL, va="center", zorder=6)
        text.set(fontweight=looks[name].weight, color=looks[name].ink)
        if _gap(box, markers[name]) >= NEXT:
            end, start = np.array([box[0] if box[0] > x else box[2], middle]), np.array([x, y])
            start = start + SHORT * (end - start) / np.hypot(*(end - start))
            leaders.append(np.stack([start, end]) / (width, height))
    white = [[(box[i] / width, box[j] / height) for i, j in ((0, 1), (2, 1), (2, 3), (0, 3))] for box in names]
    ax.add_collection(PolyCollection(white, facecolors="white", alpha=0.75, linewidths=0, transform=ax.transAxes, zorder=2), autolim=False)
    lines = LineCollection(leaders, colors="#8a8a8a", linewidths=0.6, transform=ax.transAxes)
    ax.add_collection(lines, autolim=False)


def _places(wide: float) -> Iterator[tuple[float, float]]:
    """Where a name may stand, from its point [in]: next to it, above and below, then further and further away."""
    yield from ((0.12, 0.0), (-0.12 - wide, 0.0), (-wide / 2, 0.18), (-wide / 2, -0.18))
    for far in np.arange(0.2, 1.6, 0.1):
        for side in (0.25, -0.25 - wide):
            yield side, -far
            yield side, far


def _clear(box: Box, own: Box, others: list[Box], names: list[Box]) -> bool:
    """Whether a name in `box` covers nothing and cannot be taken for the name of another point."""
    nearest = min((_gap(box, other) for other in others), default=np.inf)
    enough = nearest > _gap(box, own) + 0.06 if _gap(box, own) < NEXT else nearest > 0.02
    return enough and all(_gap(box, name) > 0 for name in names)


def _gap(one: Box, other: Box) -> float:
    """The distance between two boxes, 0 where they meet."""
    beside, above = (max(one[i] - other[i + 2], other[i] - one[i + 2], 0.0) for i in (0, 1))
    return float(np.hypot(beside, above))
