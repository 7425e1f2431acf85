"""The figures of the page: each with a caption for those who see it and a text for those who do not."""

from __future__ import annotations

import base64
import gc
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from PIL import Image  # Matplotlib writes its own PNG with it

from ensemble.report import words
from ensemble.report.certainty import interval, leading
from ensemble.report.diagrams import expected
from ensemble.report.leads import Leads
from ensemble.report.maps import drawable
from ensemble.report.plots import Plots
from ensemble.report.probabilities import asked, event_of, outside, ranks
from ensemble.report.standing import are_draws, badness, combined, main_score, spread_out, table, unequal
from ensemble.score.ranks import RankHistogram
from ensemble.score.reliability import Reliability, Roc
from ensemble.significance import usual_baseline
from ensemble.store import whole
from ensemble.task import Array

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
        with _quickly():
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
    best, against = _compared(run)
    if best:
        yield Picture(
            "significance",
            lambda: plots.significance(best),
            f"Maps at {'the first, the middle and the last lead' if run.scores.sizes['lead_time'] > 2 else 'each lead'}: the mean squared "
            f"error of {best} less that of {against} in percent of it, with a dot where the difference is significant.",
            f"The mean squared error of {best}, the best by {score}, against that of {against}, the best reference; n = {n} at each point. "
            "Dots: a t test of the means of blocks of starts, with the share of false ones held over all points and leads at a tenth.",
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


def _compared(run: Run) -> tuple[str, str]:
    """The best model and the baseline that it is held against on a map; nothing where there is no such map."""
    if run.blocks is None or not run.blocks.testable or not drawable(run) or "rmse" not in run.maps:
        return "", ""
    best, against = str(run.ranking(main_score(run))["model"].values[0]), usual_baseline(run.blocks)
    return ("", "") if best == against else (best, against)


def of_members(run: Run) -> Iterator[Picture]:
    """Rank histograms and what probabilities turned out to mean, of models with members; as far as the run has them."""
    plots, n = Plots(run, _figure), words.starts(run)
    if asked(run, RankHistogram):
        found = ranks(run, "all")
        gist = words.listed([_beyond(run, name, share) for name, share in found.items()])
        quantiles = [name for name in found if not are_draws(run, name)]
        yield Picture(
            "rank_histogram",
            plots.ranks,
            f"Rank histograms, a panel a model. The truth lies outside all members: {gist}.",
            "How many members lie below the truth, in multiples of what a flat histogram has. A hollow in the middle: too sure, the truth "
            f"is too often outside; a slope: biased. Outside all members lie: {gist}; n = {n}.{_quantiles(quantiles)}",
        )
    for score in asked(run, Reliability):
        yield Picture(
            score,
            lambda score=score: plots.diagram(score),  # type: ignore[misc]  # as it is now
            f"Reliability diagrams of {event_of(run, score)}, {_at(run)}, one line a model: observed frequency against mean probability.",
            f"How often it came ({event_of(run, score)}), against how probable it was said to be; a marker's area is the share of the "
            "forecasts in its bin. On the diagonal probabilities mean what they say; flatter than that: too sure. Dotted: how often it "
            "came in all. Right of the dotted upright, forecasts that add skill (of the Brier score, over that frequency) lie above the "
            f"dashed line, left of it below; n = {n}.",
        )
    for score in asked(run, Roc):
        yield Picture(
            score,
            lambda score=score: plots.diagram(score),  # type: ignore[misc]  # as above
            f"Relative operating characteristics of {event_of(run, score)}, {_at(run)}, one line a model: hit rate against false alarms.",
            f"Warnings of {event_of(run, score)} from one probability on: the share of the events that were warned of, against the share "
            f"of the other cases with a false alarm. On the diagonal a warning tells nothing; n = {n}.",
        )


def _at(run: Run) -> str:
    return f"at {words.listed(list(Leads.of(run).few(spread_out(run.scores)).said))}"


def _beyond(run: Run, name: str, share: Array) -> str:
    """`mlp 30 % (right: 22 %)`."""
    right = expected(share.shape[1], are_draws(run, name))
    return f"{name} {words.share(outside(share))} (right: {words.share(right[0] + right[-1])})"


def _quantiles(names: list[str]) -> str:
    """What is to be expected of models whose members are no draws."""
    if not names:
        return ""
    return (
        f" The members of {words.listed(names)} are quantiles of a distribution and no draws: half as many truths should lie beyond the "
        "outermost ones as between two."
    )


def _figure(size: tuple[float, float]) -> Figure:
    return Figure(figsize=size)


@contextmanager
def _quickly() -> Iterator[None]:
    """A fifth faster, and letters of an even weight: without hints for coarse screens, and without garbage collection meanwhile.

    A figure is many thousand objects that hold one another, which collections would look through again and again.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        with rc_context({"text.hinting": "none"}):
            yield
    finally:
        if enabled:
            gc.enable()


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
