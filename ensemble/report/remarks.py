"""What a careful reader would ask about a run, answered before he asks: failures, undefined scores, few years, odd models."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ensemble.execute import Failure
from ensemble.report import gains, samples, stability, words
from ensemble.report.certainty import said
from ensemble.report.leads import Leads
from ensemble.report.standing import main_score, mean_of, names_of, ordered, table
from ensemble.report.tables import Table
from ensemble.score import SCORES

if TYPE_CHECKING:
    from ensemble.results import Run

WORSE = 0.03  # of its error: by so much may a model lose to damped persistence at the first lead without a remark
FEW = 10  # years: fewer than that hold too few independent events to choose a model by

_UNDEFINED = {
    "acc": "the forecast does not vary in space, so that its correlation with the truth has no value",
    "index_correlation": "the region's mean of the forecast does not vary in time, so that its correlation with the truth has no value",
    "crps": "the model gives a single value and no members",
    "spread": "the model gives a single value and no members",
    "msss": "the reference has no error at all there",
}


class Remark(NamedTuple):
    """A headline, what it means, and perhaps a table of it; `grave` where something is missing."""

    head: str
    text: str
    grave: bool = False
    table: Table | None = None


def answer(run: Run) -> str:
    """The result in one sentence."""
    score, leads = main_score(run), Leads.of(run)
    values = ordered(table(run, score))
    mean, unit, places = mean_of(values), words.unit(values.attrs), words.decimals(values)
    if not np.isfinite(mean.values[0]):
        return f"No model has a defined {score} {'at every lead' if len(leads.at) > 1 else leads.over}."
    numbers = [words.quantity(float(each), places, unit) for each in mean.values]
    best, names = str(mean["model"].values[0]), [str(name) for name in mean["model"].values]
    against = next((each for each in ("climatology", *reversed(names)) if each in names and each != best), None)
    of = {"rmse": "RMSE"}.get(score, score)
    what = best if best in run.study.models else f"The combination {best}"
    if not against:
        return f"{what}, the only model, has {of} {numbers[0]} {leads.over}, n = {words.starts(run)}."
    behind = f"against {numbers[names.index(against)]} for {against}"
    return f"{what} predicts best {leads.over}: {of} {numbers[0]}, {behind}, n = {words.starts(run)}."


def also(run: Run) -> list[str]:
    """What the one sentence leaves out: the best single model, and who leads at the first and the last lead."""
    values, leads = ordered(table(run, main_score(run))), Leads.of(run)
    unit, places = words.unit(values.attrs), words.decimals(values)
    defined = [str(name) for name in values["model"].values if np.isfinite(values.sel(model=name).values).all()]
    single = next((name for name in defined if name in run.study.models), None)
    found = []
    if single is not None and single != defined[0]:
        found.append(f"The best single model is {single}: {words.quantity(float(values.sel(model=single).mean()), places, unit)}.")
    for i in (0, len(leads.at) - 1) if defined and len(leads.at) > 1 and values.sizes["model"] > 1 else ():
        best = run.best(main_score(run), lead_time=values["lead_time"].values[i])
        found.append(f"At {leads.said[i]} {best} is best: {words.quantity(float(values.sel(model=best)[i]), places, unit)}.")
    return [*found, *gains.sentences(run)]


def failures(run: Run) -> list[Remark]:
    """Each model that failed, in words, and combinations that could not be made because of it."""
    scored = {str(name) for name in run.scores["model"].values}
    seen: dict[tuple[str, str, str], Failure] = {(each.model, each.phase, each.reason): each for each in run.failures}
    found = []
    for failure in seen.values():
        rest = (
            "It is scored, but is missing where that was needed" if failure.model in scored else "It is missing from all tables and figures"
        )
        text = f"{str(failure).rstrip('.')}. {rest}; all others were finished."
        found.append(Remark(f"{failure.model} failed {words.failing(failure.phase)}", text, grave=True))
    known = {failure.model for failure in run.failures}
    for name in [*run.study.models, *run.study.combinations]:
        if name not in scored and name not in known:
            found.append(Remark(f"{name} has no scores", "Something that it needed had failed; see above.", grave=True))
    return found


def first_lead(run: Run) -> list[Remark]:
    """Models that lose to damped persistence at the first lead, where knowing the present should be enough."""
    if "damped_persistence" not in run.scores["model"].values or "rmse" not in run.scores:
        return []
    values = table(run, "rmse").isel(lead_time=0)
    damped = float(values.sel(model="damped_persistence"))
    behind = values - damped
    slow = [str(name) for name in values["model"].values[(behind.values > WORSE * damped) & (values["kind"].values != "reference")]]
    places, unit = words.decimals(values), words.unit(run.scores["rmse"].attrs)
    text = (
        "Damped persistence carries the last anomaly on and lets it fade. A model that does worse at the first lead has lost some of what "
        "was observed before it began to predict: to a truncation to few modes, to smoothing, to a drift from its start, or to a fit that "
        "served later leads. Its later leads may be good all the same."
    )
    much = {name: words.quantity(float(behind.sel(model=name)), places, unit) for name in slow}
    return [Remark(f"{name}: {each} worse than damped persistence at {Leads.of(run).said[0]}", text) for name, each in much.items()]


def undefined(run: Run) -> list[Remark]:
    """Scores that are NaN, for which models, and why; those of the same models and reason together."""
    found: dict[tuple[str, str], list[str]] = {}
    for score in names_of(run.scores):
        values = run.scores[score]
        missing = values.isnull().any([dim for dim in values.dims if dim != "model"]).values
        names = [str(name) for name in values["model"].values[missing]]
        why = _UNDEFINED.get(score, "nothing was counted, or the score has no value there")
        if names:
            found.setdefault((why, "every model" if missing.all() else words.listed(names)), []).append(score)
    return [
        Remark(
            f"{words.listed(scores)} {'is' if len(scores) == 1 else 'are'} undefined (NaN, a dash in the tables)",
            f"For {names}: {why}. An undefined score is left out of rankings and not counted as zero.",
        )
        for (why, names), scores in found.items()
    ]


def cautions(run: Run) -> list[Remark]:
    """What the sample cannot tell."""
    study, found = run.study, [Remark(*each) for each in (samples.caution(run), _unlearnt(run)) if each]
    length = FEW if study.validate is None else words.years(study.validate, study.data.step)
    if study.validate is not None and length < FEW:
        text = (
            f"{words.span(study.validate, study.data.step)}, {len(study.starts(study.validate))} starts. Neighbouring starts verify on "
            "nearly the same times, so there are few independent events in it: weights, and settings chosen on it, may owe much to chance."
        )
        found.append(Remark(f"The validation period has few independent years: {length:.2g}", text))
    length = words.years(study.test, study.data.step)
    if length < FEW:
        n = words.starts(run)
        several = "overlap in time and are not as many independent cases; read small differences with care"
        text = f"{n} {several if n != '1 start' else 'cannot tell skill from chance'}."
        found.append(Remark(f"The test period spans {length:.2g} year{'s' if f'{length:.2g}' != '1' else ''}", text[:1].upper() + text[1:]))
    sure = said(run)
    found += [] if sure is None else [Remark(*sure)]
    return [*found, *(Remark(*each[:2], table=each[2]) for each in (gains.remark(run), stability.remark(run)) if each)]


def _unlearnt(run: Run) -> tuple[str, str] | None:
    """What there is not without a training period."""
    if run.study.train is not None:
        return None
    made = {name for name in names_of(run.scores) if run.scores[name].size}
    wanted = [name for name, each in SCORES.items() if each.usual and (each.of_anomalies or name == "msss")]
    absent = words.listed([name for name in wanted if name not in made], "or")
    text = (
        "Forecasts are scored as they are, as full fields: no climatology was taken out and nothing corrected, so that bias is part of the "
        f"errors.{f' There is no {absent}, which are made against a climatology or a reference.' if absent else ''}"
    )
    return "The study has no training period: nothing was learnt", text
