"""The recipe: a YAML file that reads like a sentence, checked as a whole and resolved to a `Study`, and written back out.

A bare name is one of the files or classes that are shipped, a path a file of one's own. Settings are the fields of the class
they configure, and are checked against its annotations before anything runs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, get_type_hints

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ensemble import plugins
from ensemble.combine import COMBINATIONS, Combine
from ensemble.errors import InputError, unknown
from ensemble.model import Model, Transform
from ensemble.parts import Climatology, RunningNormal
from ensemble.score import SCORES, Region, Score
from ensemble.study import Study
from ensemble.task import Period, Source, shift

T = TypeVar("T")
Entry = str | dict[str, dict[str, Any] | None]


class Leads(BaseModel):
    """`leads: {from: 1, to: 12}`, in steps of the data."""

    model_config = ConfigDict(extra="forbid")
    first: int = Field(alias="from")
    last: int = Field(alias="to")


class Box(BaseModel):
    """A region of the recipe."""

    model_config = ConfigDict(extra="forbid")
    latitude: tuple[float, float] = (-90.0, 90.0)
    longitude: tuple[float, float] = (0.0, 360.0)


class Anomalies(BaseModel):
    """`anomalies: {running_normal: {months: 36, share: 0.5}}`, or true for a climatology alone."""

    model_config = ConfigDict(extra="forbid")
    running_normal: dict[str, Any] | None = None


class Recipe(BaseModel):
    """The keys of a recipe and the types of their values."""

    model_config = ConfigDict(extra="forbid")
    data: Entry
    target: str
    anomalies: Anomalies | bool = True
    train: tuple[Any, Any]
    validation: tuple[Any, Any] = Field(alias="validate")
    test: tuple[Any, Any]
    leads: Leads | list[int]
    regions: dict[str, Box] = {}
    models: list[Entry]
    scores: list[Entry] = list(SCORES)
    combine: list[Entry] = []
    cluster: dict[str, dict[str, Any] | None] | None = None
    seed: int = 0
    shards: int = 1


def shipped() -> dict[str, Path]:
    """The recipes that come with the package."""
    return {path.stem: path for path in sorted((Path(__file__).parent / "recipes").glob("*.yaml"))}


def recipe(where: str | Path = "enso", *, settings: Sequence[str] = (), only: Sequence[str] = ()) -> Study:
    """The study of a recipe: the name of a shipped one or a path.

    `settings` are changes such as "models.lim.modes=20"; `only` keeps some of the models. Raises InputError, in one line,
    for anything that could not be run.
    """
    path = _path(where)
    text = path.read_text(encoding="utf-8")
    raw = _parsed(text, path)
    for each in settings:
        _set(raw, each)
    study = _resolved(_validated(raw), path, _comment(text))
    return study.only(only) if only else study


def cluster_of(where: str | Path) -> dict[str, Any] | None:
    """The `cluster:` of a recipe, which is no part of the study."""
    path = _path(where)
    return _validated(_parsed(path.read_text(encoding="utf-8"), path)).cluster


def _path(where: str | Path) -> Path:
    if str(where) in shipped():
        return shipped()[str(where)]
    path = Path(where).expanduser()
    if path.is_file():
        return path
    if path.suffix in (".yaml", ".yml"):
        raise InputError(f"recipe: the file {where} does not exist; give a path, or one of {', '.join(shipped())}")
    raise unknown("recipe", str(where), shipped())


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        raw = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"{path.name}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(raw, dict):
        raise InputError(f"{path.name}: a recipe is a mapping of keys to values, such as `data: hadisst`")
    return raw


def _comment(text: str) -> str:
    """The comment that a recipe begins with: what its author wants readers of the report to know."""
    lines = [line[1:].strip() for line in text.splitlines()[: next((i for i, t in enumerate(text.splitlines()) if t[:1] != "#"), 0)]]
    return " ".join(lines)


def _set(raw: dict[str, Any], change: str) -> None:
    """`models.lim.modes=20`: one value of the recipe, by its path."""
    path, equals, value = change.partition("=")
    if not equals:
        raise InputError(f"--set {change}: expected path=value, such as models.lim.modes=20")
    *parents, last = path.split(".")
    at: Any = raw
    for key in parents:
        at = _inside(at, key, change)
    if not isinstance(at, dict):
        raise InputError(f"--set {change}: {'.'.join(parents)} holds no settings")
    at[last] = yaml.safe_load(value)


def _inside(at: Any, key: str, change: str) -> Any:
    """The mapping under `key`, made where there is none yet; lists are entered by the name of an entry."""
    if isinstance(at, list):
        named = {_entry(each)[0]: i for i, each in enumerate(at)}
        if key not in named:
            raise unknown(f"--set {change}", key, named)
        at[named[key]] = {key: _entry(at[named[key]])[1]}
        return at[named[key]][key]
    if not isinstance(at, dict):
        raise InputError(f"--set {change}: there is nothing under {key}")
    if at.get(key) is None or at[key] is True:
        at[key] = {}
    return at[key]


def _validated(raw: dict[str, Any]) -> Recipe:
    keys = [field.alias or name for name, field in Recipe.model_fields.items()]
    strangers = [str(unknown("recipe", str(key), keys)) for key in raw if key not in keys]
    if strangers:
        raise InputError("\n".join(strangers))
    try:
        return Recipe(**raw)
    except ValidationError as error:
        raise InputError("\n".join(dict.fromkeys(map(_said, error.errors())))) from error


def _said(error: Any) -> str:
    """One of pydantic's errors in a line: where, what, and the value found."""
    where = ".".join(str(each) for each in error["loc"] if each not in ("str", "Anomalies", "bool"))
    return f"{where}: {error['msg'].lower()}" + ("" if error["type"] == "missing" else f"; found {error['input']!r}")


def _entry(entry: Any) -> tuple[str, dict[str, Any]]:
    """`lim`, or `lim: {modes: 20}`, as a name and its settings."""
    if isinstance(entry, dict):
        if len(entry) != 1:
            raise InputError(f"{entry!r}: an entry has one name; begin each with its own dash")
        ((name, settings),) = entry.items()
        return str(name), dict(settings or {})
    return str(entry), {}


def _resolved(given: Recipe, path: Path, note: str) -> Study:
    source = _plugin(given.data, "data", Source, path.parent)[1]
    leads = given.leads if isinstance(given.leads, list) else list(range(given.leads.first, given.leads.last + 1))
    regions = {"all": Region(), **{name: Region(box.latitude, box.longitude) for name, box in given.regions.items()}}
    models = _unique("models", (_plugin(each, "models", Model, path.parent) for each in given.models))
    combinations = _unique("combine", (_builtin(each, "combine", COMBINATIONS, Combine, path.parent) for each in given.combine))
    for name, rule in combinations.items():
        for absent in sorted(set(rule.leaves_out) - set(models)):
            raise unknown(f"combine.{name}.without", absent, models)
    scores = _unique("scores", (_builtin(each, "scores", SCORES, Score, path.parent) for each in given.scores))
    periods = (_period(name, span, source.step) for name, span in (("train", given.train), ("validate", given.validation), ("test", given.test)))
    return Study(
        source, given.target, *periods, models, np.array(sorted(leads), dtype=int), _anomalies(given.anomalies), regions,
        tuple(scores.values()), combinations, given.seed, given.shards, path.stem, note,
    )  # fmt: skip


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
    return Period(first.astype("datetime64[ns]"), shift(end - np.timedelta64(1, "ns"), 0, step)[()])


def _unique(what: str, named: Iterable[tuple[str, T]]) -> dict[str, T]:
    found: dict[str, T] = {}
    for name, value in named:
        if name in found:
            raise InputError(f"{what}: two are called {name}; name one, as in {name}_b: {{model: {name}}}")
        found[name] = value
    return found


def _plugin(entry: Any, kind: Literal["models", "data"], base: type, folder: Path) -> tuple[str, Any]:
    """The name and the object of an entry that a file defines: `lim`, `./mine.py:Class`, or `lim20: {model: lim, modes: 20}`."""
    name, settings = _entry(entry)
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
    name, settings = _entry(entry)
    if name.endswith(".py") or ".py:" in name:
        file, _, wanted = name.partition(":")
        module = plugins.load(file, what, folder)
        return Path(file).stem, configured(getattr(module, wanted) if wanted else plugins.definition(module, base), settings, name)
    if name not in known:
        raise unknown(what, name, known)
    return name, configured(known[name], settings, f"{what}.{name}")


def configured(cls: Callable[..., T], settings: Mapping[str, Any], where: str) -> T:
    """`cls(**settings)`, each setting known and of its annotated type."""
    fields = {each.name for each in dataclasses.fields(cls) if each.init}  # type: ignore[arg-type]
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


def written(study: Study) -> str:
    """The recipe that makes `study` again, with every setting spelled out."""
    first, *rest = study.anomalies or (None,)
    anomalies = {"running_normal": _settings(rest[0])} if rest else first is not None
    resolved = {
        "data": {_origin(study.data): _settings(study.data)} if _settings(study.data) else _origin(study.data),
        "target": study.target,
        "anomalies": anomalies,
        **{name: [_day(each) for each in (p.first, p.last)] for name, p in study.periods.items()},
        "leads": [int(lead) for lead in study.lead_times],
        "regions": {n: {"latitude": list(r.latitude), "longitude": list(r.longitude)} for n, r in study.regions.items() if n != "all"},
        "models": [_model(name, model) for name, model in study.models.items()],
        "scores": [{each.name: _settings(each)} if _settings(each) else each.name for each in study.scores],
        "combine": [{name: _settings(rule)} for name, rule in study.combinations.items()],
        "seed": study.seed,
        "shards": study.shards,
    }
    note = "".join(f"# {line}\n" for line in [study.note] if line)
    return note + yaml.safe_dump(resolved, sort_keys=False, default_flow_style=None, width=120)


def _model(name: str, model: Any) -> Any:
    origin, settings = _origin(model), _settings(model)
    return {name: settings if origin == name else {"model": origin, **settings}}


def _origin(of: object) -> str:
    """What a recipe calls the class of an object."""
    file = plugins.origin(type(of))
    if file is None:
        return f"{type(of).__module__}:{type(of).__qualname__}"
    return file.path if Path(file.path).parent.parent != plugins.shipped("models").parent else Path(file.path).stem


def _settings(of: Any) -> dict[str, Any]:
    values = {each.name: getattr(of, each.name) for each in dataclasses.fields(of) if each.init}
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    """A value as YAML can hold it; objects of other libraries by what they print."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, (bool, int, float, str, type(None))) else repr(value)


def _day(time: np.datetime64) -> str:
    return str(time.astype("datetime64[D]"))

