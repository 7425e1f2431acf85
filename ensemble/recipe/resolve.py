"""A recipe that has been checked becomes the objects of a study.

A bare name is one of the files or classes that are shipped, a path a file of one's own. Settings are the fields of the class
they configure, and are checked against its annotations.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from ensemble import plugins
from ensemble.combine import COMBINATIONS, Combine, Regional
from ensemble.combine.dressing import Dressing
from ensemble.errors import InputError, unknown
from ensemble.model import Model, Transform
from ensemble.parts import Climatology, Corrected, RunningNormal
from ensemble.place import located
from ensemble.prepare.together import Together
from ensemble.recipe.schema import Anomalies, Box, Recipe
from ensemble.recipe.times import leads_of, left_out, period_of, validation_of
from ensemble.sample import Sample
from ensemble.score import SCORES, Mask, Region, Score
from ensemble.score.named import named
from ensemble.study import Study
from ensemble.task import Period, Source

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
    test = period_of("test", given.test, source.step) or Period(source.times[0], source.times[-1])
    leave_out = left_out(given)
    train = period_of("train", given.train, source.step) if leave_out is None else test
    regions = {label: _region(f"regions.{label}", each, folder) for label, each in given.regions.items()}
    models = _unique("models", (_plugin(each, "models", Model, folder) for each in given.models))
    for label, model in models.items():
        if isinstance(model, Corrected) and train is None:
            raise InputError(f"models.{label}.correct: is learnt from the training period, and there is none; give `train:`")
    combinations = _unique("combine", (_rule(each, folder) for each in given.combine))
    for label, rule in combinations.items():
        for absent in sorted(set(rule.named) - set(models)):
            raise unknown(f"combine.{label}", absent, models)
    scores = _unique("scores", (_builtin(each, "scores", SCORES, Score, folder) for each in _scores(given, models, train is not None)))
    leads, windows = leads_of(given.leads, models)
    return Study(
        data=source,
        target=given.target or source.target,
        train=train,
        validate=validation_of(given.validation, source.step),
        test=test,
        leave_out=leave_out,
        models=models,
        lead_times=leads,
        windows=windows,
        predictors=tuple(given.predictors),
        anomalies=_anomalies(train is not None if given.anomalies is None else given.anomalies),
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


def _scores(given: Recipe, models: Collection[str], learns: bool) -> list[Any]:
    """Those asked for, or all that make sense: without a climatology none of anomalies."""
    if given.scores is not None:
        return given.scores
    usual = {name: score for name, score in SCORES.items() if score.usual and score().possible(models)}
    return [name for name, score in usual.items() if learns or not score.of_anomalies]


def _anomalies(given: Anomalies | bool) -> tuple[Transform[Any, Any], ...]:
    if isinstance(given, bool):
        return (Climatology(),) if given else ()
    if given.running_normal is None:
        return (Climatology(),)
    return Climatology(), configured(RunningNormal, given.running_normal, "anomalies.running_normal")


def _dressing(given: bool | dict[str, Any]) -> Dressing | None:
    if given is False:
        return None
    return configured(Dressing, {} if given is True else given, "dress")


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


def _rule(entry: Any, folder: Path) -> tuple[str, Combine[Any, Any]]:
    """The name and the rule of an entry, which learns `by_region` where that is asked for: true, or a list of regions."""
    name, settings = entry_of(entry)
    by_region = settings.pop("by_region", False)
    label, rule = _builtin({name: settings}, "combine", COMBINATIONS, Combine, folder)
    if not isinstance(by_region, (bool, list)) or by_region == []:
        raise InputError(f"combine.{label}.by_region: is true, or a list of regions, as in `by_region: [nino34]`; found {by_region!r}")
    of = () if isinstance(by_region, bool) else tuple(map(str, by_region))
    return label, rule if by_region is False else Regional(rule, of)


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
