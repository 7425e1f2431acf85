"""The times of a recipe: periods, rolling origins, years left out, lead times and windows of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np

from ensemble.crossing import LeaveOut
from ensemble.errors import InputError
from ensemble.model import Model
from ensemble.origins import Origins
from ensemble.recipe.schema import Leads, Recipe, Rolling, Windows
from ensemble.task import Array, Period, Window, moment


def leads_of(given: Leads | Windows | list[int] | None, models: Mapping[str, Model[Any, Any]]) -> tuple[Array, tuple[Window, ...]]:
    """The leads that models forecast, and the windows of them that are scored."""
    if isinstance(given, Windows):
        spans = {name: each if isinstance(each, tuple) else (each.first, each.last, each.how) for name, each in given.windows.items()}
        windows = tuple(Window(name, *each) for name, each in spans.items())
        for each in windows:
            if not 1 <= each.first <= each.last:
                raise InputError(f"leads.windows.{each.name}: {each.first} to {each.last}; begin at 1 or later, and end no earlier")
        return reduce(np.union1d, [each.steps for each in windows]), windows
    if given is None:
        held = [model.leads for model in models.values() if model.leads is not None]
        if not held:
            raise InputError("leads: none is given, and no model says which it holds; write them, as in `leads: {from: 1, to: 12}`")
        shared = reduce(np.intersect1d, held)
        if not shared.size:
            said = "; ".join(f"{name} {model.leads.tolist()}" for name, model in models.items() if model.leads is not None)
            raise InputError(f"leads: the models have none in common: {said}")
        return shared, ()
    leads = given if isinstance(given, list) else list(range(given.first, given.last + 1))
    return np.array(sorted(set(leads)), dtype=int), ()


def period_of(name: str, span: tuple[Any, Any] | None, step: np.timedelta64) -> Period | None:
    """Dates as precise as they are written: a year ends with its last step, so does a month."""
    if span is None:
        return None
    try:
        first, after = (np.datetime64(str(each)) for each in span)
    except ValueError as error:
        raise InputError(f"{name}: {span[0]} to {span[1]} are not dates; write them as 1991-01 or 1991-01-15") from error
    if np.isnat(first) or np.isnat(after):
        raise InputError(f"{name}: {span[0]} to {span[1]} are not dates; write them as 1991-01 or 1991-01-15")
    end = (after + 1).astype("datetime64[s]")
    return Period(moment(first, 0, step), moment(end - np.timedelta64(1, "s"), 0, step))


def left_out(given: Recipe) -> LeaveOut | None:
    """The years that are left out in turn, where there is no training period of its own."""
    if given.cross_validate is None:
        return None
    if given.train is not None or given.validation is not None:
        raise InputError("cross_validate: everything is learnt from the years around; leave out `train:` and `validate:`")
    try:
        return LeaveOut(given.cross_validate.years)
    except ValueError as error:
        raise InputError(f"cross_validate: {error}") from error


def validation_of(given: tuple[Any, Any] | Rolling | None, step: np.timedelta64) -> Period | None:
    """A period, or one with rolling origins."""
    if not isinstance(given, Rolling):
        return period_of("validate", given, step)
    period = period_of("validate", (given.first, given.last), step)
    assert period is not None
    try:
        return Origins(period.first, period.last, given.every, given.costly)
    except ValueError as error:
        raise InputError(f"validate: {error}") from error
