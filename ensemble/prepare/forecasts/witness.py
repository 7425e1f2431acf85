"""Where each step of a forecast begins, by what its file tells.

Bounds say so. Without them the stamp of a valid time and the number of a lead are two witnesses: one must know, and both must
agree. Where neither knows, the forecast may be a step early or late, and is refused.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.prepare.forecasts.leads import (
    Kind,
    Lead,
    LeadOne,
    begun,
    calendar_step,
    halves,
    into,
    offset,
    ticks,
    ticks_in,
    times_of,
    whole,
)
from ensemble.prepare.time.dates import Dates, taken, text
from ensemble.prepare.time.intervals import starts_of
from ensemble.prepare.time.steps import said
from ensemble.task import Array, unit_of


class Told(NamedTuple):
    """What a file tells of each of its positions."""

    issue: Dates
    lead: Lead | None
    stamp: Dates | None
    bounds: tuple[Dates, Dates] | None


class Rule(NamedTuple):
    """What is known of the file as a whole, by itself or from its user."""

    step: np.timedelta64
    kind: Kind
    lead_one: LeadOne | None
    where: str

    @property
    def seen(self) -> bool:
        """Whether the step that begins at the start is the last that was seen, as the analysis of a weather forecast is."""
        return self.kind.instant or self.lead_one == "after"


class Steps(NamedTuple):
    """The tick that each step begins at, and whether it is a whole one: a lead of 6 hours is none of a daily forecast."""

    begin: Array
    whole: Array


def steps_told(told: Told, rule: Rule, notes: list[Finding]) -> Steps:
    """Where each step begins; InputError where it may be one or another, or where the witnesses disagree."""
    if told.bounds is not None:
        starts = starts_of(told.stamp or told.bounds[0], told.bounds, rule.step, where=rule.where, notes=notes)
        return Steps(ticks(starts.dates, rule.step, where=rule.where), np.ones(told.issue.year.shape, bool))
    counted = told.lead if told.lead is not None and (told.stamp is None or told.lead.counts) else None
    by_stamp = None if told.stamp is None else _by_stamp(told.issue, told.stamp, rule)
    by_lead = None if counted is None else _by_lead(told.issue, counted, rule)
    if counted is not None and by_lead is not None and told.stamp is not None:
        _agree(told, counted, by_stamp, by_lead, rule, notes)
    made = by_stamp or by_lead
    if made is None:
        raise _ambiguous(told, rule)
    if not made.whole.any():
        raise InputError(f"{rule.where}: no lead is a whole number of steps of {said(rule.step)}; set `step:` to that of the file")
    return made


def counted_from(issue: Dates, begin: Array, rule: Rule) -> tuple[Array, Array]:
    """The tick of the first step that begins after its issue, and the number of each step from there, 1 for the first."""
    length = ticks_in(rule.step)
    first = ticks(issue, rule.step, where=rule.where) + (begun(issue, rule.step) | rule.seen)
    init = first + (begin - first) % length
    return init, (begin - init) // length + 1


def _by_stamp(issue: Dates, stamp: Dates, rule: Rule) -> Steps | None:
    """What the stamps of valid times say; None where they stand on the edge between two steps, and it may be either."""
    tick, length, inside = ticks(stamp, rule.step, where=rule.where), ticks_in(rule.step), into(stamp, rule.step) > 0
    if inside.all():
        if length % 2 == 0:
            raise InputError(f"{rule.where}: the valid time {text(stamp)} stands for no one {said(rule.step)}; add its bounds")
        return Steps(tick - (length - 1) // 2, inside)
    if inside.any():
        lies = text(taken(stamp, inside))
        raise InputError(f"{rule.where}: some valid times begin a step, and {lies} lies inside one; add their bounds")
    base = _base(issue, rule)
    if (tick == base).any() and not rule.kind.ends:
        return _placed(tick - base, base, rule._replace(lead_one=None), named=False)  # stamps that begin at the start begin their steps
    return _placed(tick - base, base, rule, named=False)


def _by_lead(issue: Dates, lead: Lead, rule: Rule) -> Steps | None:
    """What the number of the lead says; None where lead 1 may be the first or the second step."""
    if lead.unit in ("month", "year") and not calendar_step(rule.step):
        raise InputError(f"{rule.where}: {lead.name} counts {lead.unit}s, and the steps are of {said(rule.step)}; set `step: {lead.unit}`")
    a_unit = {("year", "M"): 12.0, ("month", "Y"): 1 / 12, ("year", "Y"): 1.0, ("month", "M"): 1.0}
    count = lead.value * a_unit.get((lead.unit, unit_of(rule.step)[0]), float(ticks_in(rule.step)))
    if begun(issue, rule.step).all() and rule.lead_one is None and not lead.named:
        if (count == 0).any():
            return None  # the step that the forecast was issued in, or the first whole one
        rule = rule._replace(lead_one="at")  # the first whole step is the next one
    return _placed(count, _base(issue, rule), rule, named=lead.named)


def _placed(count: Array, base: Array, rule: Rule, *, named: bool) -> Steps | None:
    """The steps that are said to be `count` ticks after `base`."""
    steps = count / ticks_in(rule.step)
    kept = whole(steps)
    if halves(steps).all():
        kept = ~kept
    elif not kept.all() and not (rule.kind.instant or rule.kind.ends):
        raise InputError(
            f"{rule.where}: a lead is {steps[~kept][0]:.4g} steps of {said(rule.step)}; bring them to whole steps, or set `step:` to theirs"
        )
    after = offset(steps[kept], rule.kind, named=named, lead_one=rule.lead_one)
    return None if after is None else Steps(base + np.round((steps - after) * ticks_in(rule.step)).astype(np.int64), kept)


def _base(issue: Dates, rule: Rule) -> Array:
    """Where leads are counted from: the first tick that had not begun, or with `after` the one that had."""
    tick = ticks(issue, rule.step, where=rule.where)
    return tick if rule.lead_one == "after" else tick + begun(issue, rule.step)


def _agree(told: Told, lead: Lead, by_stamp: Steps | None, by_lead: Steps, rule: Rule, notes: list[Finding]) -> None:
    """InputError where a lead that knows and a valid time mean different steps; bare numbers may count as they like."""
    assert told.stamp is not None
    if by_stamp is not None:
        knows = lead.named or rule.lead_one is not None or halves(lead.value).all()
        off = (by_stamp.begin != by_lead.begin) & by_stamp.whole & by_lead.whole & knows
    else:
        late = ticks(told.stamp, rule.step, where=rule.where) - by_lead.begin
        off = ~np.isin(late, (0, ticks_in(rule.step))) & by_lead.whole
        notes.append(Finding("valid_time", rule.where, "on the edge of a step, without bounds", f"{lead.name} says which step it is"))
    if off.any():
        says = str(times_of(by_lead.begin, rule.step)[off][0])[:16].removesuffix("T00:00")
        raise InputError(
            f"{rule.where}: from {text(taken(told.issue, off))} {lead.name} {lead.value[off][0]:g} is the step of {says}, and its "
            f"valid time {text(taken(told.stamp, off))} is not; drop the wrong one, or say what lead 1 is: `lead_one: at` or `after`"
        )


def _ambiguous(told: Told, rule: Rule) -> InputError:
    one = f"{told.lead.name} {told.lead.value[0]:g}" if told.lead is not None else "the first lead"
    stamp = f", stamped {text(told.stamp)} without bounds," if told.stamp is not None else ""
    step = said(rule.step).removeprefix("1 ")
    return InputError(
        f"{rule.where}: {one}{stamp} may be the {step} that begins at its start {text(told.issue)} or the next; "
        "write `lead_one: at` if lead 1 begins at the start, `lead_one: after` if it is the next one"
    )
