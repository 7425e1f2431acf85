"""`ensemble run`."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import ensemble as ens
from ensemble.errors import InputError


def run(
    recipe: Annotated[str, typer.Argument(help="Name of a shipped recipe, or path of a YAML file.")] = "enso",
    out: Annotated[Path | None, typer.Option(help="Folder for the results. [default: runs/RECIPE-TIME]")] = None,
    workers: Annotated[int | None, typer.Option(min=0, help="Processes to start; 0 runs all in this one. [default: one a core]")] = None,
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler that runs already, tcp://host:port.")] = None,
    change: Annotated[list[str] | None, typer.Option("--set", help="Change one value: models.lim.modes=20. Repeatable.")] = None,
    only: Annotated[str | None, typer.Option(help="Run only these models: lim,mlp.")] = None,
    keep_forecasts: Annotated[bool, typer.Option("--keep-forecasts", help="Write all forecasts to forecasts.zarr.")] = False,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first failure of a model.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Fit, run, score and combine the models of RECIPE, and write scores, maps, weights and a report.

    Examples:

    ensemble run                                   the default study

    ensemble run --only lim,mlp --workers 1        two of its models on one process

    ensemble run study.yaml --set leads.to=6       a study of your own, with one value changed
    """
    if debug:
        os.environ["ENSEMBLE_DEBUG"] = "1"
    folder = out or Path("runs") / f"{Path(recipe).stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    if folder.is_file() or (folder / "run.json").exists():
        raise InputError(f"--out: {folder} exists already and holds {'a file' if folder.is_file() else 'a finished run'}; name another")
    names = [each.strip() for each in only.split(",") if each.strip()] if only else []
    found = ens.run(
        recipe, out=folder, workers=workers, scheduler=scheduler, settings=change or [], only=names, keep_forecasts=keep_forecasts,
        fail_fast=fail_fast,
    )  # fmt: skip
    _show(found)
    if found.failures:
        raise typer.Exit(3)


def _show(run: ens.Run) -> None:
    """The ranking, what it rests on, and where the rest is."""
    from ensemble.report import rescaled, samples  # Matplotlib comes with it: the run has loaded it by now, other commands need none

    title, table = _ranking(run)
    print(title)
    Console().print(table)
    if samples.differ(run):
        print(f"{samples.counted(run)} The ranking compares different samples.")
    for failure in run.failures:
        print(f"failed: {failure.model} in {failure.phase}: {failure}")
    for name, failed in rescaled.rescaled(run).items():
        said = ", ".join(f"{model} ({where})" for model, where in failed.items())
        print(f"{name}: weights were rescaled start by start where a model failed: {said}")
    print(f"{run.seconds:.0f} s on {run.workers} workers" + (f"; report: {run.folder / 'report.html'}" if run.folder else ""))


def _ranking(run: ens.Run) -> tuple[str, Table]:
    """What is ranked, and models by their mean over leads, with a few leads of each."""
    from ensemble.report import samples, words
    from ensemble.report.leads import Leads
    from ensemble.report.standing import main_score

    score, leads = main_score(run), Leads.of(run)
    values, several, apart = run.scores[score].sel(region="all"), len(leads.at) > 1, samples.differ(run)
    unit, places = words.unit(values.attrs), words.decimals(values)
    title = f"{values.attrs['long_name']}{f' [{unit}]' if unit else ''}, {words.place(run, 'all')}, {words.starts(run)}"
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False)
    shown = sorted({0, len(leads.at) // 4, len(leads.at) // 2, len(leads.at) - 1})
    table.add_column("model", overflow="fold")
    for column in (*(["mean"] if several else []), *(leads.names[i] if run.study.windows else f"lead {leads.names[i]}" for i in shown)):
        table.add_column(escape(column), justify="right", min_width=6)
    for column in (*(["n"] if apart else []), "kind"):
        table.add_column(column)
    for each in run.ranking(score):
        name, mean = str(each["model"].values), words.number(float(each), places + (places < words.POWERS))
        few = (words.number(float(x), places) for x in values.sel(model=name).values[shown])
        n = words.counts(run.scores["n_starts"].sel(model=name, region="all").values)
        table.add_row(escape(name), *([mean] if several else []), *few, *([n] if apart else []), str(each["kind"].values))
    return title, table
