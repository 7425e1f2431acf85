"""What a run knows of its members and of the probabilities they make: which tables there are, of which models, and their figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ensemble.errors import unknown
from ensemble.report import words
from ensemble.report.diagrams import draw_ranks, draw_reliability, draw_roc
from ensemble.report.leads import Leads
from ensemble.report.look import GLYPH, INK, LARGE, MEDIUM, QUIET, SMALL, Look
from ensemble.report.standing import are_draws, spread_out
from ensemble.score import Score
from ensemble.score.ranks import RankHistogram
from ensemble.score.reliability import Reliability, Roc, RocArea
from ensemble.task import Array

if TYPE_CHECKING:
    from ensemble.results import Run

Panels = np.ndarray[Any, np.dtype[Any]]  # of Axes
Make = Callable[[tuple[float, float]], Figure]

WIDE = 12.6  # inches, of all figures
ACROSS = 4  # rank histograms in a row
LEFT, BETWEEN, SIDE = 0.62, 0.4, 3.25  # inches: beside the first square panel, between two, and how large one is at most


def members_of(run: Run) -> dict[str, int]:
    """The models that have members, and how many."""
    each = zip(run.scores["model"].values, run.scores["members"].values, strict=True)
    return {str(name): int(m) for name, m in each if m > 1}


def quantiles_of(run: Run) -> list[str]:
    """Those of them whose members are quantiles of a distribution rather than draws."""
    return [name for name in members_of(run) if not are_draws(run, name)]


def asked(run: Run, of: type[Score]) -> list[str]:
    """The tables of a kind that the run has, of models that have members."""
    names = [each.name for each in run.study.scores if isinstance(each, of) and each.name in run.scores]
    return names if members_of(run) else []


def ranks(run: Run, region: str) -> dict[str, Array]:
    """(lead_time, rank) of each model with members, by name."""
    if not asked(run, RankHistogram):
        raise unknown("score", RankHistogram.name, [])
    values = run.scores[RankHistogram.name].sel(region=region).transpose("model", "lead_time", "rank")
    found = {model: values.sel(model=model).values[:, : m + 1] for model, m in members_of(run).items()}
    return {model: share for model, share in found.items() if np.isfinite(share).all()}


def outside(share: Array) -> float:
    """How often the truth is below or above all members, of (lead_time, rank)."""
    return float(share.mean(0)[[0, -1]].sum())


def draw_all_ranks(make: Make, run: Run, looks: Mapping[str, Look], region: str) -> Panels:
    """A panel a model, the most members first, on one scale."""
    found = sorted(ranks(run, region).items(), key=lambda pair: -pair[1].shape[1])
    rows = -(-len(found) // ACROSS)
    tall, wide, below, above = 2.15, 2.65, 0.5, 0.9  # inches
    total = above + rows * (tall + below) + (rows - 1) * 0.3
    figure, panels = make((WIDE, total)), []
    for i, (name, share) in enumerate(found):
        left, bottom = LEFT + (i % ACROSS) * (wide + BETWEEN), total - above - (i // ACROSS) * (tall + below + 0.3) - tall
        ax = figure.add_axes((left / WIDE, bottom / total, wide / WIDE, tall / total))
        m, draws = share.shape[1] - 1, are_draws(run, name)
        panels.append(draw_ranks(ax, share, draws, looks[name], f"{name}: {m} {'members' if draws else 'quantiles'}"))
        ax.set_xlabel("members below the truth", fontsize=SMALL)
        ax.set_xticks([0, m], ["none", f"all {m}"])
    for ax in panels[::ACROSS]:
        ax.set_ylabel("share × (m + 1)", fontsize=SMALL)
    top = max(ax.get_ylim()[1] for ax in panels)
    for i, ax in enumerate(panels):
        ax.set(ylim=(0, top), yticks=np.arange(np.floor(top) + 1))
        ax.tick_params(labelleft=i % ACROSS == 0)
    _headed(figure, f"Rank histograms, {words.place(run, region)}", f"{words.sample(run, region)}; {_lines(run)}")
    return np.array(panels, dtype=object)


def draw_diagrams(make: Make, run: Run, score: str, looks: Mapping[str, Look], region: str) -> Panels:
    """A reliability diagram or a relative operating characteristic at three leads, models with members in it."""
    kinds: dict[str, type[Reliability] | type[Roc]] = {name: kind for kind in (Reliability, Roc) for name in asked(run, kind)}
    if score not in kinds:
        raise unknown("score", score, kinds)
    names, at = list(members_of(run)), spread_out(run.scores)
    values = run.scores[score].sel(region=region, model=names).transpose("lead_time", "model", ...).values
    said, reliability = Leads.of(run).few(at).said, kinds[score] is Reliability
    room = 0.75 + max(map(len, members_of(run))) * GLYPH * SMALL / 72
    side, below, above = min(SIDE, (WIDE - LEFT - room) / len(at) - BETWEEN), 0.55, 0.9  # inches
    total = below + side + above
    figure, panels = make((WIDE, total)), []
    for i, (lead, when) in enumerate(zip(at, said, strict=True)):
        ax = figure.add_axes(((LEFT + i * (side + BETWEEN)) / WIDE, below / total, side / WIDE, side / total))
        draw = draw_reliability if reliability else draw_roc
        panels.append(draw(ax, dict(zip(names, values[lead], strict=True)), looks, when[:1].upper() + when[1:]))
        ax.set_xlabel("Mean probability" if reliability else "False alarm rate", fontsize=MEDIUM)
        ax.tick_params(labelleft=i == 0)
    panels[0].set_ylabel("Observed frequency" if reliability else "Hit rate", fontsize=MEDIUM)
    end = LEFT + len(at) * (side + BETWEEN) - BETWEEN / 2
    figure.legend(
        handles=_handles(names, looks, {} if reliability else _areas(run, score, region)), loc="upper left", fontsize=SMALL, frameon=False,
        bbox_to_anchor=(end / WIDE, (below + side + 0.1) / total), borderaxespad=0, labelspacing=0.7,
    )  # fmt: skip
    what = "Reliability" if reliability else "Relative operating characteristic"
    _headed(figure, f"{what}: {event_of(run, score)}, {words.place(run, region)}", words.sample(run, region))
    return np.array(panels, dtype=object)


def event_of(run: Run, score: str) -> str:
    """`sst above the quantile 0.667`."""
    attrs = run.study.domain.fields[run.study.target].attrs
    event = str(run.scores[score].attrs["event"])
    unit = words.unit(dict(attrs)) if "anomaly" in event else str(attrs.get("units", "")) if "quantile" not in event else ""
    return f"{run.study.target} {event} {unit}".rstrip()


def _areas(run: Run, score: str, region: str) -> dict[str, float]:
    """The area under each curve in the mean over leads, if the run has that of the same event."""
    curve = next(each for each in run.study.scores if each.name == score)
    of = [each.name for each in run.study.scores if isinstance(each, RocArea) and isinstance(curve, Roc) and each.event == curve.event]
    if not of or of[0] not in run.scores:
        return {}
    mean = run.scores[of[0]].sel(region=region).mean("lead_time")
    return {name: float(mean.sel(model=name)) for name in members_of(run)}


def _handles(names: list[str], looks: Mapping[str, Look], areas: Mapping[str, float]) -> list[Line2D]:
    """A line a model, with its area if that is known."""
    made = []
    for name in names:
        look, label = looks[name], f"{name}\narea {areas[name]:.2f}" if name in areas else name
        made.append(Line2D([], [], color=look.colour, linestyle=look.dash, marker=look.marker or "o", markersize=4, label=label))
    return made


def _lines(run: Run) -> str:
    if run.scores.sizes["lead_time"] == 1:
        return "dotted: what a reliable ensemble has"
    return "bars: all leads; line: the first, dashed: the last; dotted: what a reliable ensemble has"


def _headed(figure: Figure, title: str, note: str) -> None:
    """A title at the left of all panels, and a note under it."""
    height = figure.get_figheight()
    figure.text(LEFT / WIDE, 1 - 0.28 / height, title, fontsize=LARGE, fontweight="bold", color=INK)
    figure.text(LEFT / WIDE, 1 - 0.5 / height, note, fontsize=MEDIUM, color=QUIET)
