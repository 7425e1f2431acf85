"""What a careful reader would ask about a run, answered before he asks: failures, undefined scores, few years, odd models."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ensemble.execute import Failure
from ensemble.report import words
from ensemble.report.standing import combined, main_score, ordered, table, unequal

if TYPE_CHECKING:
    from ensemble.results import Run

WORSE = 0.01  # of the unit: by so much may a model lose to damped persistence at the first lead without a remark
FEW = 10  # years: fewer than that hold too few independent events to choose a model by

_UNDEFINED = {
    "acc": "the forecast does not vary in space, so that its correlation with the truth has no value",
    "index_correlation": "the region's mean of the forecast does not vary in time, so that its correlation with the truth has no value",
    "crps": "the model gives a single value and no members",
    "spread": "the model gives a single value and no members",
    "msss": "the reference has no error at all there",
}


class Remark(NamedTuple):
    """A headline, and what it means; `grave` where something is missing."""

    head: str
    text: str
    grave: bool = False


def answer(run: Run) -> str:
    """The result in one sentence."""
    score = main_score(run)
    values = ordered(table(run, score))
    mean, unit = values.mean("lead_time", skipna=False), words.unit(values.attrs)
    if not np.isfinite(mean.values[0]):
        return f"No model has a defined {score} at every lead."
    places = words.decimals(values)
    numbers = [f"{words.number(each, places)} {unit}".strip() for each in mean.values]
    best, names = str(mean["model"].values[0]), [str(name) for name in mean["model"].values]
    against = next((each for each in ("climatology", *reversed(names)) if each in names and each != best), None)
    beside = f", against {numbers[names.index(against)]} for {against}" if against else ""
    of = {"rmse": "RMSE"}.get(score, score)
    what = best if best in run.study.models else f"The combination {best}"
    return f"{what} predicts best over all leads: {of} {numbers[0]}{beside}, n = {words.starts(run)}."


def also(run: Run) -> list[str]:
    """What the one sentence leaves out: the best single model, and who leads at the first and the last lead."""
    values = ordered(table(run, main_score(run)))
    unit, places = words.unit(values.attrs), words.decimals(values)
    defined = [str(name) for name in values["model"].values if np.isfinite(values.sel(model=name).values).all()]
    single = next((name for name in defined if name in run.study.models), None)
    found = []
    if single is not None and single != defined[0]:
        mean = words.number(float(values.sel(model=single).mean()), places)
        found.append(f"The best single model is {single}: {mean} {unit}".rstrip() + ".")
    leads, steps = words.leads(values["lead_time"])
    for i in sorted({0, len(leads) - 1}) if defined else []:
        best = run.best(main_score(run), lead_time=values["lead_time"].values[i])
        value = words.number(float(values.sel(model=best)[i]), places)
        found.append(f"At {words.lead(leads[i], steps)} {best} is best: {value} {unit}".rstrip() + ".")
    return found


def failures(run: Run) -> list[Remark]:
    """Each model that failed, in words, and combinations that could not be made because of it."""
    scored = {str(name) for name in run.scores["model"].values}
    seen: dict[tuple[str, str, str], Failure] = {(each.model, each.phase, each.reason): each for each in run.failures}
    found = []
    for failure in seen.values():
        rest = (
            "It is scored, but is missing where that was needed" if failure.model in scored else "It is missing from all tables and figures"
        )
        text = f"{failure.reason.rstrip('.')}. {rest}; all others were finished."
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
    leads, unit = words.leads(values["lead_time"].expand_dims("lead_time"))
    behind = values - values.sel(model="damped_persistence")
    slow = [str(name) for name in values["model"].values[(behind.values > WORSE) & (values["kind"].values != "reference")]]
    of = words.unit(run.scores["rmse"].attrs)
    text = (
        "Damped persistence carries the last anomaly on and lets it fade. A model that does worse at the first lead has lost some of what "
        "was observed before it began to predict: to a truncation to few modes, to smoothing, to a drift from its start, or to a fit that "
        "served later leads. Its later leads may be good all the same."
    )
    return [
        Remark(f"{name}: {float(behind.sel(model=name)):.3f} {of} worse than damped persistence at {words.lead(leads[0], unit)}", text)
        for name in slow
    ]


def undefined(run: Run) -> list[Remark]:
    """Scores that are NaN, for which models, and why; those of the same models and reason together."""
    found: dict[tuple[str, str], list[str]] = {}
    for score, values in run.scores.data_vars.items():
        if "model" in values.dims:
            missing = values.isnull().any([dim for dim in values.dims if dim != "model"]).values
            names = [str(name) for name in values["model"].values[missing]]
            why = _UNDEFINED.get(str(score), "nothing was counted, or the score has no value there")
            if names:
                found.setdefault((why, "every model" if missing.all() else words.listed(names)), []).append(str(score))
    return [
        Remark(
            f"{words.listed(scores)} {'is' if len(scores) == 1 else 'are'} undefined (NaN, a dash in the tables)",
            f"For {names}: {why}. An undefined score is left out of rankings and not counted as zero.",
        )
        for (why, names), scores in found.items()
    ]


def cautions(run: Run) -> list[Remark]:
    """What the sample cannot tell."""
    study, found = run.study, []
    length = words.years(study.validate, study.data.step)
    if length < FEW:
        text = (
            f"{words.span(study.validate, study.data.step)}, {len(study.starts(study.validate))} starts. Neighbouring starts verify on "
            "nearly the same times, so there are few independent events in it: weights, and settings chosen on it, may owe much to chance."
        )
        found.append(Remark(f"The validation period has few independent years: {length:.2g}", text))
    length = words.years(study.test, study.data.step)
    if length < FEW:
        text = f"{words.starts(run)} overlap in time and are not as many independent cases; read small differences with care."
        found.append(Remark(f"The test period spans {length:.2g} years", text[:1].upper() + text[1:]))
    found.append(
        Remark("No significance test was made", "Models whose scores stand close together may come out in another order on other years.")
    )
    return found


def equal_weights(run: Run) -> list[str]:
    """Combinations in which every model counts the same: they need no figure."""
    shares = {name: values for name, values in combined(run).items() if values.size and name not in unequal(run)}
    return [
        f"{name}: {words.listed([str(each) for each in values['model'].values])} count the same, {float(values.values.flat[0]):.3f} each."
        for name, values in shares.items()
    ]
