"""The page: one HTML file with everything in it, that opens from a folder without a network, and the figures beside it."""

from __future__ import annotations

import inspect
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ensemble.report import combining, pictures, remarks, rescaled, samples, seasons, tables, words
from ensemble.report.leads import Leads
from ensemble.report.overview import overviews
from ensemble.report.probabilities import quantiles_of
from ensemble.report.standing import main_score
from ensemble.store import write_text

if TYPE_CHECKING:
    from ensemble.results import Run
    from ensemble.study import Study

HERE = Path(__file__).parent


class Section(NamedTuple):
    """One region: what it is, its tables and pictures."""

    name: str
    title: str
    where: str
    ranking: tables.Table
    overviews: list[tables.Table]
    certainty: tables.Table | None
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
    points = study.domain.fields[study.target].mask.sum()
    return {
        "title": study.name, "target": study.target, "named": _named(study), "note": study.note, "run": run, "study": study,
        "answer": _unbroken(remarks.answer(run)), "also": remarks.also(run),
        "failures": remarks.failures(run), "traces": {each.model: each.trace for each in run.failures},
        "remarks": [*rescaled.remarks(run), *remarks.first_lead(run), *remarks.cautions(run), *remarks.undefined(run)],
        "regions": [_section(run, str(name), figures) for name in run.scores["region"].values],
        "skill_scores": tables.skill_scores(run, region), "members": tables.members(run, region), "cost": tables.cost(run),
        "probable": [each.drawn(figures) for each in pictures.of_members(run)], "groups": seasons.groups(run),
        "quantiles": words.listed(quantiles_of(run)) if quantiles_of(run) else "",
        "weights": combining.tables(run), "equal": combining.equal(run), "pooled": combining.pooled(run), "meant": combining.notes(run),
        "counted": samples.counted(run), "rules": samples.rules(study.sample), "samples": samples.table(run, region),
        "differ": samples.differ(run), "findings": tuple(dict.fromkeys(run.notes)), "how_many": words.members(run),
        "pictures": {each.name: each.drawn(figures) for each in pictures.of_run(run)},
        "about": run.described(), "periods": _periods(study), "leads": Leads.of(run).all, "made": _made(study),
        "points": f"{words.count(points)} point{'s' if points != 1 else ''} with data", "licence": _licence(study.data),
    }  # fmt: skip


def _section(run: Run, region: str, figures: Path) -> Section:
    score, place = main_score(run), words.place(run, region)
    drawn = [picture.drawn(figures) for picture in pictures.of_region(run, region)]
    where, title = words.box(run.study.regions[region]), place if region != "all" else place[:1].upper() + place[1:]
    made = tables.ranking(run, score, region), overviews(run, region), tables.certainty(run, region)
    return Section(region, title, where, *made, drawn)


def _named(study: Study) -> str:
    """`sst, température de surface [degC]`, the long name as the data bring it."""
    attrs = study.domain.fields[study.target].attrs
    long, unit = str(attrs.get("long_name", "")), str(attrs.get("units", "1"))
    return study.target + (f", {long}" if long not in ("", study.target) else "") + (f" [{unit}]" if unit not in ("", "1") else "")


def _periods(study: Study) -> dict[str, str]:
    """Each period with its starts; of one that the study has not, what there is not because of it."""
    absent = {
        "train": "none: nothing was learnt, and scores are of full fields",
        "validate": "none: no combination has learnt its weights",
    }
    step, found = study.data.step, {name: words.span(period, study.data.step) for name, period in study.periods.items()}
    for name in found.keys() - {"train"}:
        n = len(study.starts(study.periods[name]))
        found[name] += f"; {words.count(n)} start{'s' if n != 1 else ''}"
    if study.leave_out is not None:
        years = "a year" if study.leave_out.years == 1 else f"{study.leave_out.years} years"
        found["train"] += f", of which {years} at a time are left out: all that their forecasts need is learnt from the others"
        found["validate"] = "none: weights, too, are learnt from the other years"
    return absent | found | {"verified": words.span(study.test, step)}


def _made(study: Study) -> str:
    """What each window is of its leads."""
    of = {how: [each.name for each in study.windows if each.how == how] for how in ("mean", "sum")}
    said = [f"{words.listed(names)}: the {how} of all leads from the first to the last" for how, names in of.items() if names]
    return "; ".join([*said, "lead 1 is the first step after the issue time"])


def _unbroken(sentence: str) -> str:
    """A sentence in which no line ends between a number and its unit."""
    return re.sub(r" (?==)|(?<=[\d=]) ", "\N{NO-BREAK SPACE}", sentence)


def _licence(source: object) -> list[str]:
    """What the module of a data source says of it, where that names a licence, as paragraphs; a line that begins `Word:` begins one."""
    text = inspect.cleandoc(getattr(sys.modules.get(type(source).__module__), "__doc__", None) or "")
    found = [" ".join(each.split()) for each in re.split(r"\n\s*\n|\n(?=[A-Z]\w+:)", text) if each.strip()]
    return found if re.search(r"licen[cs]e", text, re.IGNORECASE) else []
