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
        recipe, out=folder, workers=workers, scheduler=scheduler, settings=change or [], only=names, keep_forecasts=keep_forecasts
    )
    _show(found)
    if found.failures:
        raise typer.Exit(3)


def _show(run: ens.Run) -> None:
    """The ranking, and where the rest is."""
    scores, leads = run.scores, run.scores["lead_time"].values
    score = "rmse" if "rmse" in scores else str(next(iter(scores.data_vars)))
    unit = scores[score].attrs["units"]
    shown = sorted({0, len(leads) // 4, len(leads) // 2, len(leads) - 1})
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 0, 0, 1),
        pad_edge=False,
        title=escape(f"{scores[score].attrs['long_name']} [{unit}], all points, {int(scores['n_starts'].max())} starts"),
    )
    table.add_column("model", overflow="fold")
    for column in ("mean", *(f"lead {leads[i]}" for i in shown)):
        table.add_column(column, justify="right", min_width=6)
    table.add_column("kind")
    for each in run.ranking(score):
        name = str(each["model"].values)
        values = scores[score].sel(model=name, region="all").values
        table.add_row(name, f"{float(each):.4f}", *(f"{values[i]:.3f}" for i in shown), str(each["kind"].values))
    Console().print(table)
    for failure in run.failures:
        print(f"failed: {failure.model} in {failure.phase}: {failure.reason}")
    print(f"{run.seconds:.0f} s on {run.workers} workers; report: {run.folder and run.folder / 'report.html'}")
