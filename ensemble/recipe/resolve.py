"""A recipe that has been checked becomes the objects of a study.

A bare name is one of the files or classes that are shipped, a path a file of one's own. Settings are the fields of the class
they configure, and are checked against its annotations.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import numpy as np
from pydantic import ConfigDict, TypeAdapter, ValidationError

from ensemble import plugins
from ensemble.combine import COMBINATIONS, Combine
from ensemble.errors import InputError, unknown
from ensemble.model import Model, Transform
from ensemble.parts import Climatology, RunningNormal
from ensemble.recipe.schema import Anomalies, Recipe
from ensemble.score import SCORES, Region, Score
from ensemble.study import Study
from ensemble.task import Period, Source, moment

T = TypeVar("T")


def entry_of(entry: Any) -> tuple[str, dict[str, Any]]:
    """`lim`, or `lim: {modes: 20}`, as a name and its settings."""
    if isinstance(entry, dict):
        if len(entry) != 1:
            raise InputError(f"{entry!r}: an entry has one name; begin each with its own dash")
        ((name, settings),) = entry.items()
        return str(name), dict(settings or {})
    return str(entry), {}


def resolved(given: Recipe, path: Path, note: str) -> Study:
    """The study of a recipe; files are looked for from the recipe's own folder."""
    source = _plugin(given.data, "data", Source, path.parent)[1]
    leads = given.leads if isinstance(given.leads, list) else list(range(given.leads.first, given.leads.last + 1))
    regions = {name: Region(box.latitude, box.longitude) for name, box in given.regions.items()}
    models = _unique("models", (_plugin(each, "models", Model, path.parent) for each in given.models))
    combinations = _unique("combine", (_builtin(each, "combine", COMBINATIONS, Combine, path.parent) for each in given.combine))
    for name, rule in combinations.items():
        for absent in sorted(set(rule.without) - set(models)):
            raise unknown(f"combine.{name}.without", absent, models)
    scores = _unique("scores", (_builtin(each, "scores", SCORES, Score, path.parent) for each in given.scores))
    return Study(
        data=source,
        target=given.target,
        train=_period("train", given.train, source.step),
        validate=_period("validate", given.validation, source.step),
        test=_period("test", given.test, source.step),
        models=models,
        lead_times=np.array(sorted(set(leads)), dtype=int),
        anomalies=_anomalies(given.anomalies),
        regions=regions,
        scores=tuple(scores.values()),
        combinations=combinations,
        seed=given.seed,
        shards=given.shards,
        name=path.stem,
        note=note,
    )


def _anomalies(given: Anomalies | bool) -> tuple[Transform[Any, Any], ...]:
    if isinstance(given, bool):
        return (Climatology(),) if given else ()
    if given.running_normal is None:
        return (Climatology(),)
    return Climatology(), configured(RunningNormal, given.running_normal, "anomalies.running_normal")


def _period(name: str, span: tuple[Any, Any], step: np.timedelta64) -> Period:
    """Dates as precise as they are written: a year ends with its last step, so does a month."""
    try:
        first, after = (np.datetime64(str(each)) for each in span)
    except ValueError as error:
        raise InputError(f"{name}: {span[0]} to {span[1]} are not dates; write them as 1991-01 or 1991-01-15") from error
    if np.isnat(first) or np.isnat(after):
        raise InputError(f"{name}: {span[0]} to {span[1]} are not dates; write them as 1991-01 or 1991-01-15")
    end = (after + 1).astype("datetime64[ns]")
    return Period(moment(first, 0, step), moment(end - np.timedelta64(1, "ns"), 0, step))


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
    file, _, wanted = where.partition(":") if ".py:" in where else (where, "", "")
    module = plugins.load(file, kind, folder)
    cls = getattr(module, wanted, None) if wanted else plugins.definition(module, base)
    if cls is None:
        raise unknown(f"{kind}: {file}", wanted, [n for n, c in vars(module).items() if isinstance(c, type)])
    label = name if name != where else Path(file).stem
    return label, configured(cls, settings, f"{kind}.{label}")


def _builtin(entry: Any, what: str, known: Mapping[str, type], base: type, folder: Path) -> tuple[str, Any]:
    """The name and the object of an entry that the package defines, or a file of one's own."""
    name, settings = entry_of(entry)
    if name.endswith(".py") or ".py:" in name:
        file, _, wanted = name.partition(":")
        module = plugins.load(file, what, folder)
        return Path(file).stem, configured(getattr(module, wanted) if wanted else plugins.definition(module, base), settings, name)
    if name not in known:
        raise unknown(what, name, known)
    return name, configured(known[name], settings, f"{what}.{name}")


def configured(cls: Callable[..., T], settings: Mapping[str, Any], where: str) -> T:
    """`cls(**settings)`, each setting known and of its annotated type."""
    fields = {each.name for each in dataclasses.fields(cls) if each.init} if dataclasses.is_dataclass(cls) else None
    if fields is None:
        raise InputError(f"{where}: its class is no dataclass; write @dataclass(frozen=True) above it")
    hints = get_type_hints(cls)
    checked = {}
    for name, value in settings.items():
        if name not in fields:
            raise unknown(where, name, fields)
        try:
            checked[name] = TypeAdapter(hints[name], config=ConfigDict(arbitrary_types_allowed=True)).validate_python(value)
        except ValidationError as error:
            raise InputError(f"{where}.{name}: {error.errors()[0]['msg'].lower()}; found {value!r}") from error
    try:
        return cls(**checked)
    except (ValueError, TypeError) as error:
        raise InputError(f"{where}: {error}") from error
