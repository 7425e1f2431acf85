"""A recipe that has been checked becomes the objects of a study.

A bare name is one of the files or classes that are shipped, a path a file of one's own. Settings are the fields of the class
they configure, and are checked against its annotations.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import numpy as np
from pydantic import ConfigDict, TypeAdapter, ValidationError

from ensemble import plugins
from ensemble.combine import COMBINATIONS, Combine
from ensemble.combine.dressing import Dressing
from ensemble.errors import InputError, unknown
from ensemble.model import Model, Transform
from ensemble.origins import Origins
from ensemble.parts import Climatology, Corrected, RunningNormal
from ensemble.place import located
from ensemble.prepare.together import Together
from ensemble.recipe.schema import Anomalies, Box, Leads, Recipe, Rolling, Windows
from ensemble.sample import Sample
from ensemble.score import SCORES, Mask, Region, Score
from ensemble.score.named import named
from ensemble.study import Study
from ensemble.task import Array, Period, Source, Window, moment

T = TypeVar("T")


def entry_of(entry: Any) -> tuple[str, dict[str, Any]]:
    """`lim`, or `lim: {modes: 20}`, as a name and its settings."""
    if isinstance(entry, dict):
        if len(entry) != 1:
            raise InputError(f"{entry!r}: an entry has one name; begin each with its own dash")
        ((name, settings),) = entry.items()
        return str(name), dict(settings or {})
    return str(entry), {}


def resolved(given: Recipe, folder: Path, name: str, note: str) -> Study:
    """The study of a recipe; files are looked for from `folder`, the recipe's own."""
    source = _beside(source_in(given, folder), given.predictors, folder)
    regions = {label: _region(f"regions.{label}", each, folder) for label, each in given.regions.items()}
    models = _unique("models", (_plugin(each, "models", Model, folder) for each in given.models))
    for label, model in models.items():
        if isinstance(model, Corrected) and given.train is None:
            raise InputError(f"models.{label}.correct: is learnt from the training period, and there is none; give `train:`")
    combinations = _unique("combine", (_builtin(each, "combine", COMBINATIONS, Combine, folder) for each in given.combine))
    for label, rule in combinations.items():
        for absent in sorted(set(rule.named) - set(models)):
            raise unknown(f"combine.{label}", absent, models)
    scores = _unique("scores", (_builtin(each, "scores", SCORES, Score, folder) for each in _scores(given, models)))
    leads, windows = _leads(given.leads, models)
    return Study(
        data=source,
        target=given.target or source.target,
        train=_period("train", given.train, source.step),
        validate=_validation(given.validation, source.step),
        test=_period("test", given.test, source.step) or Period(source.times[0], source.times[-1]),
        models=models,
        lead_times=leads,
        windows=windows,
        predictors=tuple(given.predictors),
        anomalies=_anomalies(given.train is not None if given.anomalies is None else given.anomalies),
        regions=regions,
        dress=_dressing(given.dress),
        by=tuple(given.by),
        scores=tuple(scores.values()),
        combinations=combinations,
        sample=configured(Sample, given.sample, "sample"),
        seed=given.seed,
        shards=given.shards,
        name=name,
        note=note,
    )


def source_in(given: Recipe, folder: Path) -> Source:
    """The record that its `data:` names."""
    source: Source = _plugin(given.data, "data", Source, folder)[1]
    return source


def _beside(source: Source, predictors: list[str] | dict[str, Any], folder: Path) -> Source:
    """The record with the predictors that are sources of their own."""
    if isinstance(predictors, list) or not predictors:
        return source
    return Together(source, tuple((name, _plugin(entry, "data", Source, folder)[1]) for name, entry in predictors.items()))


def _region(where: str, given: Box, folder: Path) -> Region:
    """A box, one that has a name, or the cells of a mask, perhaps within either."""
    said = given.model_fields_set
    if given.named is not None and (both := sorted({"latitude", "longitude"} & said)):
        raise InputError(f"{where}: has the name {given.named}, and a {both[0]} beside it; write one of them")
    box = Region(given.latitude, given.longitude) if given.named is None else named(given.named, where=where)
    if given.mask is None:
        if stray := sorted({"variable", "value", "regrid"} & said):
            raise InputError(f"{where}.{stray[0]}: is a setting of a mask, and there is none; name its file, as in `mask: {where[8:]}.nc`")
        return box
    return dataclasses.replace(box, within=Mask(located(given.mask, folder), given.variable, given.value, given.regrid))


def _scores(given: Recipe, models: Collection[str]) -> list[Any]:
    """Those asked for, or all that make sense: without a climatology none of anomalies."""
    if given.scores is not None:
        return given.scores
    usual = {name: score for name, score in SCORES.items() if score.usual and score().possible(models)}
    return [name for name, score in usual.items() if given.train is not None or not score.of_anomalies]


def _leads(given: Leads | Windows | list[int] | None, models: Mapping[str, Model[Any, Any]]) -> tuple[Array, tuple[Window, ...]]:
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


def _anomalies(given: Anomalies | bool) -> tuple[Transform[Any, Any], ...]:
    if isinstance(given, bool):
        return (Climatology(),) if given else ()
    if given.running_normal is None:
        return (Climatology(),)
    return Climatology(), configured(RunningNormal, given.running_normal, "anomalies.running_normal")


def _period(name: str, span: tuple[Any, Any] | None, step: np.timedelta64) -> Period | None:
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


def _dressing(given: bool | dict[str, Any]) -> Dressing | None:
    if given is False:
        return None
    return configured(Dressing, {} if given is True else given, "dress")


def _validation(given: tuple[Any, Any] | Rolling | None, step: np.timedelta64) -> Period | None:
    """A period, or one with rolling origins."""
    if not isinstance(given, Rolling):
        return _period("validate", given, step)
    period = _period("validate", (given.first, given.last), step)
    assert period is not None
    try:
        return Origins(period.first, period.last, given.every, given.costly)
    except ValueError as error:
        raise InputError(f"validate: {error}") from error


def _unique(what: str, named: Iterable[tuple[str, T]]) -> dict[str, T]:
    found: dict[str, T] = {}
    for name, value in named:
        if name in found:
            raise InputError(f"{what}: two are called {name}; name one, as in {name}_b: {{model: {name}}}")
        found[name] = value
    return found


def _plugin(entry: Any, kind: str, base: type, folder: Path) -> tuple[str, Any]:
    """The name and the object of an entry that a file defines: `lim`, `./mine.py:Class`, or `lim20: {model: lim, modes: 20}`."""
    name, settings = entry_of(entry)
    where = str(settings.pop("model", name))
    correct = settings.pop("correct", None) if kind == "models" else None
    file, _, wanted = where.partition(":") if ".py:" in where else (where, "", "")
    module = plugins.load(file, kind, folder)
    cls = getattr(module, wanted, None) if wanted else plugins.definition(module, base)
    if cls is None:
        raise unknown(f"{kind}: {file}", wanted, [n for n, c in vars(module).items() if isinstance(c, type)])
    label = name if name != where else Path(file).stem
    made = configured(cls, settings, f"{kind}.{label}", folder)
    return label, made if correct is None else _corrected(made, correct, f"{kind}.{label}.correct")


def _corrected(model: Model[Any, Any], given: Any, where: str) -> Model[Any, Any]:
    """`correct: mean`, or `{how: drift, window: 0}`, or a list of them, the first being the innermost."""
    for each in given if isinstance(given, list) else [given]:
        settings = each if isinstance(each, dict) else {"how": each}
        if "model" in settings:
            raise unknown(where, "model", ("how", "window"))
        model = configured(Corrected, {"model": model, **settings}, where)
    return model


def _builtin(entry: Any, what: str, known: Mapping[str, type], base: type, folder: Path) -> tuple[str, Any]:
    """The name and the object of an entry that the package defines, perhaps under another name, or a file of one's own."""
    name, settings = entry_of(entry)
    if name.endswith(".py") or ".py:" in name:
        file, _, wanted = name.partition(":")
        module = plugins.load(file, what, folder)
        return Path(file).stem, configured(getattr(module, wanted) if wanted else plugins.definition(module, base), settings, name)
    rule = str(settings.pop("rule", name))  # `stacking25: {rule: stacking, shrink: 0.25}`
    if rule not in known:
        raise unknown(what, rule, known)
    own = {"name": name} if name != rule and "name" in {each.name for each in dataclasses.fields(known[rule])} else {}
    return name, configured(known[rule], own | settings, f"{what}.{name}")


def configured(cls: Callable[..., T], settings: Mapping[str, Any], where: str, folder: Path | None = None) -> T:
    """`cls(**settings)`, each setting known and of its annotated type; places (`ensemble.place`) begin at `folder`."""
    fields = {each.name for each in dataclasses.fields(cls) if each.init} if dataclasses.is_dataclass(cls) else None
    if fields is None:
        raise InputError(f"{where}: its class is no dataclass; write @dataclass(frozen=True) above it")
    hints = get_type_hints(cls, include_extras=True)
    checked = {}
    for name, value in settings.items():
        if name not in fields:
            raise unknown(where, name, fields)
        try:
            adapter = TypeAdapter(hints[name], config=ConfigDict(arbitrary_types_allowed=True))
            checked[name] = adapter.validate_python(value, context={"folder": folder})
        except ValidationError as error:
            raise InputError(f"{where}.{name}: {error.errors()[0]['msg'].lower()}; found {value!r}") from error
    try:
        return cls(**checked)
    except (ValueError, TypeError) as error:
        raise InputError(f"{where}: {error}") from error
