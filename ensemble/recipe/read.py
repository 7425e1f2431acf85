"""A recipe is read: found, parsed, changed by `--set`, and checked as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from ensemble.errors import InputError, unknown
from ensemble.recipe.resolve import entry_of, resolved, source_in
from ensemble.recipe.schema import Recipe
from ensemble.study import Study
from ensemble.task import Source


def shipped() -> dict[str, Path]:
    """The recipes that come with the package."""
    return {path.stem: path for path in sorted((Path(__file__).parents[1] / "recipes").glob("*.yaml"))}


def read_recipe(where: str | Path = "enso", *, settings: Sequence[str] = (), only: Sequence[str] = ()) -> Study:
    """The study of a recipe: the name of a shipped one or a path.

    `settings` are changes such as "models.lim.modes=20"; `only` keeps some of the models. Raises InputError, in one line,
    for anything that could not be run.
    """
    path = _path(where)
    note = _comment(path.read_text(encoding="utf-8"))
    study = study_of(changed(raw_recipe(path), settings), path.parent, name=path.stem, note=note)
    return study.only(only) if only else study


def raw_recipe(where: str | Path) -> dict[str, Any]:
    """A recipe as it is written, unchecked."""
    path = _path(where)
    return _parsed(path.read_text(encoding="utf-8"), path)


def changed(raw: dict[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """`raw` with changes such as "models.lim.modes=20", or "models.*.regrid=bilinear" for every model."""
    made = deepcopy(raw)
    for each in settings:
        _set(made, each)
    return made


def study_of(raw: dict[str, Any], folder: Path, *, name: str, note: str = "") -> Study:
    """The study that `raw` describes; files are looked for from `folder`. Raises as `read_recipe` does."""
    return resolved(_validated(raw), folder, name, note)


def source_of(raw: dict[str, Any], folder: Path) -> Source:
    """The record of the study that `raw` describes, before anything else of it is looked at."""
    return source_in(_validated(raw), folder)


def cluster_of(where: str | Path, *, settings: Sequence[str] = ()) -> dict[str, Any] | None:
    """The `cluster:` of a recipe, which is no part of the study."""
    return _validated(changed(raw_recipe(where), settings)).cluster


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
    inside: list[Any] = [raw]
    for key in parents:
        inside = [found for at in inside for found in _inside(at, key, change)]
    for at in inside:
        if not isinstance(at, dict):
            raise InputError(f"--set {change}: {'.'.join(parents)} holds no settings")
        at[last] = yaml.safe_load(value)


def _inside(at: Any, key: str, change: str) -> list[Any]:
    """The mapping under `key`, made where there is none yet; lists are entered by the name of an entry, `*` being all of them."""
    if isinstance(at, list):
        named = {entry_of(each)[0]: i for i, each in enumerate(at)}
        if key not in named and key != "*":
            raise unknown(f"--set {change}", key, named)
        names = list(named) if key == "*" else [key]
        for name in names:
            at[named[name]] = {name: entry_of(at[named[name]])[1]}
        return [at[named[name]][name] for name in names]
    if not isinstance(at, dict):
        raise InputError(f"--set {change}: there is nothing under {key}")
    if isinstance(at.get(key), str):
        at[key] = {at[key]: {}}  # `data: hadisst`, whose settings stand under its name
    if at.get(key) is None or at[key] is True:
        at[key] = {}
    return [at[key]]


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
