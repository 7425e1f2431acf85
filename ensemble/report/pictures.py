"""The figures of the page: each with a caption for those who see it and a text for those who do not."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from PIL import Image  # Matplotlib writes its own PNG with it

from ensemble.report import words
from ensemble.report.certainty import interval, leading
from ensemble.report.leads import Leads
from ensemble.report.maps import drawable
from ensemble.report.plots import Plots
from ensemble.report.standing import badness, combined, main_score, table, unequal
from ensemble.store import whole

if TYPE_CHECKING:
    from ensemble.results import Run

DPI = 130


class Picture(NamedTuple):
    """A figure to be drawn, or, once it has been, its place on the page as a data URL in `source`."""

    name: str
    draw: Callable[[], Any]
    alt: str
    caption: str
    source: str = ""

    def drawn(self, folder: Path) -> Picture:
        """Draw it once, write `<name>.png` to `folder`, and keep it for the page."""
        png = _png(np.ravel(self.draw())[0].figure)
        with whole(folder / f"{self.name}.png") as temporary:
            temporary.write_bytes(png)
        return self._replace(source=f"data:image/png;base64,{base64.b64encode(png).decode()}")


def of_region(run: Run, region: str) -> Iterator[Picture]:
    """Skill against lead, and bias and the rest of the error apart."""
    plots, score, n, where = Plots(run, _figure), main_score(run), words.starts(run, region), words.place(run, region)
    yield Picture(
        f"{score}_{region}",
        lambda: plots.skill(score, region),
        f"Line chart of {score} against lead time, one line a model, {where}. {_gist(run, score, region)}",
        f"{score} against lead time, {where}; n = {n}. References are grey and dashed, combinations bold.{_bars(run, score, region)}",
    )
    if {"bias", "centred_rmse"} <= set(run.scores):
        yield Picture(
            f"bias_{region}",
            lambda: plots.bias(region),
            f"Two line charts against lead time, one line a model, {where}: bias, and the error that is left without it.",
            f"Bias, which a correction could mend (left), and the error that is left when the bias of each point is taken out (right), "
            f"{where}; n = {n}.",
        )


def _bars(run: Run, score: str, region: str) -> str:
    """Whose intervals are drawn, and how not to read them."""
    names = leading(table(run, score, region))
    if all(interval(run, score, region, name) is None for name in names):
        return ""
    return (
        f" Bars: 95 % intervals of {words.listed(names)}. All models face the same years, so that bars may overlap and the models still "
        "differ: the ranks below tell which do."
    )


def of_run(run: Run) -> Iterator[Picture]:
    """Those that belong to no region: maps, cost, weights."""
    plots, score, n = Plots(run, _figure), main_score(run), words.starts(run)
    if drawable(run) and score in run.maps:
        yield Picture(
            "maps",
            lambda: plots.maps(score),
            f"Maps {'at a few leads' if run.scores.sizes['lead_time'] > 1 else 'at the only lead'}: left, which model has the best {score} "
            f"at each point; right, its {score} there.",
            f"Which model has the best {score} at each point, and its {score} there; n = {n} at each point. The best of many is picked "
            "after the fact: where models are close the colour is chance, and the score on the right flatters.",
        )
    over = Leads.of(run).over
    yield Picture(
        "cost",
        lambda: plots.cost(score),
        f"Scatter chart of {score} {over} against wall time in seconds, one point a model; the table below holds the numbers.",
        f"{score} {Leads.of(run).mean}, against the wall time of fit and forecasts, compiling included; n = {n}."
        + (" A combination costs what its models cost." if combined(run) else ""),
    )
    if unequal(run):
        yield Picture(
            "weights",
            plots.weights,
            "Bar charts of the weights of each combination by lead time; the tables below hold the numbers.",
            f"Weights by lead time, {words.learnt(run)}.",
        )


def _figure(size: tuple[float, float]) -> Figure:
    return Figure(figsize=size)


def _png(figure: Figure) -> bytes:
    """The figure with a palette of 256 colours: a quarter of the size, and written in half the time."""
    width, height = (int(inches * DPI) for inches in figure.get_size_inches())
    raw, png = io.BytesIO(), io.BytesIO()
    figure.savefig(raw, format="rgba", dpi=DPI)
    image = Image.frombytes("RGBA", (width, height), raw.getvalue()).convert("RGB")
    image = image.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    # The palette misses white by one in 255, and a figure would stand out from the page.
    image.putpalette([255 if each > 252 else each for each in image.getpalette() or []])
    image.save(png, "png")
    return png.getvalue()


def _gist(run: Run, score: str, region: str) -> str:
    """Who is best at the two ends of a skill figure."""
    values = table(run, score, region)
    bad, places, unit = badness(values).fillna(np.inf), words.decimals(values), words.unit(values.attrs)
    ends = {0: "first", -1: "last"} if values.sizes["lead_time"] > 1 else {0: "only"}
    found = []
    for i, when in ends.items():
        best = int(np.argmin(bad.values[:, i]))
        of = words.quantity(float(values[best, i]), places, unit)
        found.append(f"Best at the {when} lead: {values['model'].values[best]}, {of}.")
    return " ".join(found)
