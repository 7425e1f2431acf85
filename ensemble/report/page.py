"""The page: one HTML file with everything in it, that opens from a folder without a network, and the figures beside it."""

from __future__ import annotations

import inspect
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ensemble.report import pictures, remarks, tables, words
from ensemble.report.standing import main_score
from ensemble.store import write_text

if TYPE_CHECKING:
    from ensemble.results import Run

HERE = Path(__file__).parent


class Section(NamedTuple):
    """One region: what it is, its tables and pictures."""

    name: str
    where: str
    ranking: tables.Table
    overview: tables.Table
    pictures: list[pictures.Picture]


def write_report(run: Run, folder: str | Path) -> Path:
    """Write `report.html` and `figures/*.png` to `folder`; returns the page."""
    folder = Path(folder)
    text = _environment().get_template("report.html.j2").render(_content(run, folder / "figures"))
    write_text(folder / "report.html", text)
    return folder / "report.html"


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(HERE),
        autoescape=lambda name: name != "report.css",
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _content(run: Run, figures: Path) -> dict[str, Any]:
    """All that the template sets, by name."""
    study, region = run.study, "all"
    return {
        "title": study.name, "target": study.target, "note": study.note, "run": run, "study": study,
        "answer": _unbroken(remarks.answer(run)), "also": remarks.also(run),
        "failures": remarks.failures(run), "traces": {each.model: each.trace for each in run.failures},
        "remarks": [*remarks.first_lead(run), *remarks.cautions(run), *remarks.undefined(run)],
        "regions": [_section(run, str(name), figures) for name in run.scores["region"].values],
        "skill_scores": tables.skill_scores(run, region), "members": tables.members(run, region), "cost": tables.cost(run),
        "weights": tables.weights(run), "equal": remarks.equal_weights(run),
        "pictures": {each.name: each.drawn(figures) for each in pictures.of_run(run)},
        "about": run.described(), "periods": {name: words.span(each, study.data.step) for name, each in study.periods.items()},
        "starts": {name: len(study.starts(study.periods[name])) for name in ("validate", "test")},
        "leads": _leads(run), "points": words.count(study.domain.fields[study.target].mask.sum()), "licence": _licence(study.data),
    }  # fmt: skip


def _section(run: Run, region: str, figures: Path) -> Section:
    score, where = main_score(run), words.box(run.study.regions[region])
    drawn = [picture.drawn(figures) for picture in pictures.of_region(run, region)]
    return Section(region, where, tables.ranking(run, score, region), tables.overview(run, region), drawn)


def _leads(run: Run) -> str:
    leads, unit = words.leads(run.scores["lead_time"])
    return f"{leads[0]:g} to {leads[-1]:g} {unit}" if len(leads) > 1 else words.lead(leads[0], unit).removeprefix("lead ")


def _unbroken(sentence: str) -> str:
    """A sentence in which no line ends between a number and its unit."""
    return re.sub(r" (?==)|(?<=[\d=]) ", "\N{NO-BREAK SPACE}", sentence)


def _licence(source: object) -> list[str]:
    """What the module of a data source says of it, licence included, as paragraphs; a line that begins `Word:` begins one."""
    text = inspect.cleandoc(getattr(sys.modules.get(type(source).__module__), "__doc__", None) or "")
    return [" ".join(each.split()) for each in re.split(r"\n\s*\n|\n(?=[A-Z]\w+:)", text) if each.strip()]
