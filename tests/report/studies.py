"""Small studies of every shape that a page must cope with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import ensemble as ens
from ensemble.combine import InverseMse, Mean
from ensemble.findings import Finding
from ensemble.plugins import definition
from ensemble.score import SCORES
from ensemble.task import shift
from ensemble.testing import Basin

FULL_FIELDS = tuple(score() for name, score in SCORES.items() if score.usual and not score.of_anomalies and name != "msss")
FOUND = (
    Finding("calendar", "seas5_*.nc and 59 more", "360_day", "months counted in the file's own calendar"),
    Finding("longitude", "seas5_<1>.nc", "-180 to 180"),
)


class Page(HTMLParser):
    """The text of each table and of the whole, the tags that load something, and the images."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.source = path.read_text(encoding="utf-8")
        self.loads: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.tables: list[list[list[str]]] = []
        self.words: list[str] = []
        self.unclosed: list[str] = []
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("img", "script", "link", "iframe", "object", "source"):
            self.loads.append(str(given.get("src") or given.get("href") or given.get("data") or ""))
        if tag == "img":
            self.images.append(given)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag not in ("img", "meta", "br", "wbr", "!doctype"):
            self.unclosed.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.unclosed.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if self.unclosed and {"td", "th"} & set(self.unclosed):
            self.tables[-1][-1][-1] += data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def table(self, *heads: str) -> list[list[str]]:
        """The one table that has these heads."""
        (found,) = [rows for rows in self.tables if set(heads) <= set(rows[0])]
        return found


@dataclass(frozen=True)
class Sea(ens.Source):
    """A basin of another century, or one point of it, with or without coordinates; in other units."""

    start: str = "2301-01"
    only: dict[str, Any] | None = None
    units: str = "degC"
    scale: float = 1.0

    @property
    def step(self) -> np.timedelta64:
        return np.timedelta64(1, "M")

    @property
    def times(self) -> ens.Times:
        return shift(np.datetime64(f"{self.start}-01"), np.arange(96), self.step)

    def read(self, times: ens.Times) -> xr.Dataset:
        basin = Basin(96)
        data = basin.read(basin.times).assign_coords(time=self.times) * self.scale
        data["sst"].attrs = {"units": self.units, "long_name": "température <de> surface"}
        return data.isel(self.only or {}).drop_vars([d for d, i in (self.only or {}).items() if isinstance(i, int)]).sel(time=times)

    def __hash__(self) -> int:
        return hash((self.start, str(self.only), self.units, self.scale))


@dataclass(frozen=True)
class Held(ens.Untrained, ens.Model[None, Any]):
    """The truth with noise, for every so many of the starts, perhaps not in the north."""

    source: ens.Source
    members: int = 3
    every: int = 1
    north: float = 90.0

    kind = "external"
    may_lack = True

    @property
    def issued(self) -> ens.Times:
        return self.source.times[:: self.every]

    @property
    def notes(self) -> tuple[Finding, ...]:
        return FOUND

    def framed(self, frame: Callable[[ens.Model[Any, Any]], ens.Model[Any, Any]]) -> ens.Model[Any, Any]:
        del frame
        return self

    def forecast(self, state: None, initial: xr.Dataset, lead_times: ens.Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        record = self.source.read(self.source.times)
        at = np.minimum(np.searchsorted(record["time"].values, forcing["valid_time"].values), record.sizes["time"] - 1)
        true = record["sst"].isel(time=xr.DataArray(at, dims=("init_time", "lead_time"))).drop_vars("time")
        noise = np.random.default_rng(seed).standard_normal((self.members, *true.shape)) * 0.5 * float(record["sst"].std())
        made = xr.concat([true + each for each in noise], "member").transpose("init_time", "lead_time", "member", ...)
        return (made.where(made["latitude"] < self.north) if self.north < 90 else made).to_dataset(name="sst")


def references() -> dict[str, Any]:
    names = ("climatology", "persistence", "damped_persistence")
    return {name: definition(ens.load(name), ens.Model)() for name in names}


def learnt(source: ens.Source, **models: Any) -> ens.Study:
    """References and a hindcast of three members, with combinations."""
    t = source.times
    periods = [ens.Period(t[first], t[last]) for first, last in ((0, 59), (60, 77), (78, 95))]
    models = {**references(), "seas5": Held(source), **models}
    combinations = {"mean": Mean(), "inverse_mse": InverseMse()}
    return ens.Study(source, "sst", *periods, models, np.arange(1, 4), combinations=combinations)


def files_alone(source: ens.Source, **models: Any) -> ens.Study:
    """Hindcasts held against the truth: nothing is learnt."""
    models = models or {"seas5": Held(source)}
    combinations = {"mean": Mean()} if len(models) > 1 else {}
    study = learnt(source)
    return replace(study, train=None, validate=None, models=models, combinations=combinations, scores=FULL_FIELDS)


def run_of(study: ens.Study, folder: Path) -> tuple[ens.Run, Page]:
    """The run of a study, and its page."""
    return ens.run(study, workers=0, show=False, out=folder), Page(folder / "report.html")
