"""`ensemble score`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

import ensemble as ens
from ensemble.cli.run import _show
from ensemble.errors import InputError


def score(
    forecasts: Annotated[list[str], typer.Argument(help="A file, a pattern in quotes, a store or an address; NAME=PLACE names it.")],
    truth: Annotated[list[str], typer.Option(help="What the forecasts are held against; repeatable, NAME=PLACE.")],
    recipe: Annotated[Path | None, typer.Option(help="A recipe that brings periods, leads, regions and scores.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for scores, maps and a report. [default: none is written]")] = None,
    workers: Annotated[int | None, typer.Option(min=0, help="Processes to start; 0 runs all in this one. [default: by the work]")] = None,
    change: Annotated[
        list[str] | None, typer.Option("--set", help="models.NAME.regrid=bilinear, data.files.units=degC. Repeatable.")
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Score FORECASTS that lie in files against a truth that does, without fitting anything.

    Examples:

    ensemble score seas5.nc --truth era5.nc

    ensemble score "a=runs/a/*.nc" "b=runs/b/*.nc" --truth era5=era5.zarr --truth jra.nc --out verified

    ensemble score model.nc --truth obs.nc --set "models.*.regrid=bilinear" --set "regions.nino34.latitude=[-5, 5]"
    """
    if debug:
        os.environ["ENSEMBLE_DEBUG"] = "1"
    if out is not None and (out.is_file() or (out / "run.json").exists() or (out / "scores.nc").exists()):
        raise InputError(f"--out: {out} exists already and holds {'a file' if out.is_file() else 'a finished run'}; name another")
    from ensemble.scoring import score_files  # xarray and dask are needed only here

    scored = score_files(forecasts, truth, recipe=recipe, settings=change or [], out=out, workers=workers)
    for name, run in scored.runs.items():
        if len(scored.runs) > 1:
            print(f"against {name}:")
        _show(run)
        if alone := _alone(run):
            print(alone)
    for each in scored.changes() if len(scored.runs) > 1 else ():
        print(f"the order changes with the truth: {each}")
    if out is not None:
        print(f"written: {out}")
    if any(run.failures for run in scored.runs.values()):
        raise typer.Exit(3)


def _alone(run: ens.Run) -> str:
    """How many starts each model has by itself, where these are not those that all of them were counted on."""
    had, counted = (run.scores[name].isel(lead_time=0, region=0) for name in ("n_starts_had", "n_starts"))
    if bool((had == counted).all()):
        return ""
    each = ", ".join(f"{name} {int(had.sel(model=name))}" for name in run.study.models if name in had["model"].values)
    return f"counted on {int(counted.min())} starts that all have; alone they have: {each}"
