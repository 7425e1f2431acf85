"""`ensemble models`, `ensemble data` and `ensemble check`: what is there, and what would run."""

from __future__ import annotations

import dataclasses
import inspect
import os
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import ensemble as ens
from ensemble import plugins
from ensemble.errors import InputError

Action = Annotated[str, typer.Argument(help="`list`, or `show` with a NAME.", metavar="[show]")]
Name = Annotated[str | None, typer.Argument(help="A shipped name, or the path of a file.", metavar="[NAME]")]


def models(action: Action = "list", name: Name = None) -> None:
    """List the models that are there; `ensemble models show NAME` tells settings, units and references."""
    _look("models", "Model", action, name)


def data(action: Action = "list", name: Name = None) -> None:
    """List the datasets that are there; `ensemble data show NAME` tells contents, units, source and licence."""
    _look("data", "Source", action, name)


def _look(kind: str, base: str, action: str, name: str | None) -> None:
    if action not in ("list", "show") or (action == "show") != (name is not None):
        raise InputError(f"{kind}: write `ensemble {kind}` or `ensemble {kind} show NAME`")
    if name is not None:
        _tell(name, kind, base)
        return
    table = Table(box=None, pad_edge=False)
    for column in ("name", "kind", "what") if kind == "models" else ("name", "what"):
        table.add_column(column)
    shipped_here = Path(kind).resolve() == plugins.shipped(kind).resolve()
    own = [] if shipped_here else [f"./{path}" for path in sorted(Path(kind).glob("*.py"))]
    for each in [*plugins.names(kind), *own]:
        table.add_row(each, *_row(each, kind, base))
    Console().print(table)


def _row(name: str, kind: str, base: str) -> tuple[str, ...]:
    """What a list says of a file; a file that cannot be loaded is listed with the reason."""
    try:
        module = plugins.load(name, kind)
        cls = plugins.definition(module, getattr(ens, base))
    except Exception as error:
        return ("broken", str(error)) if kind == "models" else (f"broken: {error}",)
    what = (inspect.getdoc(module) or "").split("\n\n")[0].replace("\n", " ")
    return (str(cls.kind), what) if kind == "models" else (what,)  # type: ignore[attr-defined]  # a Model has a kind


def _tell(name: str, kind: str, base: str) -> None:
    """All that a file says of itself."""
    module = plugins.load(name, kind)
    cls = plugins.definition(module, getattr(ens, base))
    settings = [str(each).split(":", 1) for each in inspect.signature(cls).parameters.values()]
    print(inspect.getdoc(module))
    print(f"\n{cls.__name__}: {inspect.getdoc(cls)}\n")
    for setting, rest in settings:
        print(f"  {setting}:{rest.replace(chr(39), '')}")
    if not settings:
        print("  no settings")


def check(
    recipe: Annotated[str, typer.Argument(help="Name of a shipped recipe, or path of a YAML file.")] = "enso",
    change: Annotated[list[str] | None, typer.Option("--set", help="Change one value: models.lim.modes=20. Repeatable.")] = None,
    only: Annotated[str | None, typer.Option(help="Only these models: lim,mlp.")] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Validate RECIPE and print what would run; nothing is computed."""
    if debug:
        os.environ["ENSEMBLE_DEBUG"] = "1"
    from ensemble.checks import check_against_record
    from ensemble.planning import plan  # dask is needed only here

    study = ens.read_recipe(recipe, settings=change or [], only=only.split(",") if only else [])
    check_against_record(study)
    field, times = study.domain.fields[study.target], study.data.times
    grid = " x ".join(f"{len(coord)} {dim}" for dim, coord in field.coords.items())
    unit = field.attrs.get("units", "1")
    print(f"data      {type(study.data).__name__}: {study.target} [{unit}], {grid}, {field.mask.sum()} points with data")
    print(f"          {len(times)} steps, {_day(times[0])} to {_day(times[-1])}")
    for name, period in study.periods.items():
        starts = study.starts(period)
        issued = "" if name == "train" else f": {len(starts)} starts, issued {_day(starts[0])} to {_day(starts[-1])}"
        print(f"{name:9s} {_day(period.first)} to {_day(period.last)}{issued}{_again(study, name)}")
    windows = ", ".join(f"{each.name} ({each.how} of {each.first} to {each.last})" for each in study.windows)
    print(f"leads     {windows or ', '.join(map(str, study.lead_times))} steps")
    print(f"sample    {_chosen(study.sample)}")
    print(f"regions   {', '.join(f'{name} ({region.mask(field).sum()} points)' for name, region in study.regions.items())}")
    print(f"scores    {', '.join(score.name for score in study.scores)}")
    print(f"combine   {', '.join(study.combinations) or 'nothing'}")
    for name, model in study.models.items():
        print(f"model     {name:22s} {model.kind:12s} {_chosen(model)}")
    for note in study.notes:
        print(f"found     {note}")
    print(f"{len(plan(study).units)} units of work")


def _again(study: ens.Study, name: str) -> str:
    """How often all is learnt anew for the forecasts of a period."""
    if name == "validate" and study.folds and study.folds[0].costly:
        return f"; models fitted anew at {len(study.folds)} origins"
    if name == "test" and study.leave_out is not None:
        return f"; all learnt anew for each of {len(study.parts)} parts, from the others"
    return ""


def _chosen(of: Any) -> str:
    """An object with those of its settings that are not the default."""
    settings = [each for each in dataclasses.fields(of) if each.init] if dataclasses.is_dataclass(of) else []
    values = {each.name: getattr(of, each.name) for each in settings if getattr(of, each.name) != each.default}
    said = {name: _chosen(value) if isinstance(value, ens.Model) else repr(value) for name, value in values.items()}
    return f"{type(of).__name__}({', '.join(f'{name}={value}' for name, value in said.items())})"


def _day(time: np.datetime64) -> str:
    return str(time.astype("datetime64[D]"))
