"""The keys of a recipe and the types of their values."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

Entry = str | dict[str, dict[str, Any] | None]


class Leads(BaseModel):
    """`leads: {from: 1, to: 12}`, in steps of the data."""

    model_config = ConfigDict(extra="forbid")
    first: int = Field(alias="from")
    last: int = Field(alias="to")


class Windows(BaseModel):
    """`leads: {windows: {djf: [1, 3], wet: {from: 5, to: 7, how: sum}}}`: several leads forecast as one."""

    model_config = ConfigDict(extra="forbid")
    windows: dict[str, tuple[int, int] | Span]


class Span(Leads):
    """A window with how its leads are put together."""

    how: Literal["mean", "sum"] = "mean"


class Box(BaseModel):
    """A region of the recipe: a box, or one that is `named`, and within it the cells of a `mask`, a file."""

    model_config = ConfigDict(extra="forbid")
    named: str | None = None
    latitude: tuple[float, float] = (-90.0, 90.0)
    longitude: tuple[float, float] = (0.0, 360.0)
    mask: str | None = None
    variable: str | None = None
    value: float | None = None
    regrid: Literal["bilinear", "nearest", "conservative"] | None = None


class Rolling(BaseModel):
    """`validate: {from: 2001-01, to: 2013-12, every: 36}`: models are fitted anew every 36 steps, on all that came before."""

    model_config = ConfigDict(extra="forbid")
    first: Any = Field(alias="from")
    last: Any = Field(alias="to")
    every: int
    costly: int = 2


class LeaveOut(BaseModel):
    """`cross_validate: {leave_out: 1 year}`: for the forecasts of a year all is learnt from the others."""

    model_config = ConfigDict(extra="forbid")
    leave_out: int | str

    @property
    def years(self) -> int:
        """How many years are left out together; raises ValueError for what is no number of years."""
        found = re.fullmatch(r"(\d+)(?: years?)?", str(self.leave_out).strip())
        if found is None:
            raise ValueError(f"leave_out: {self.leave_out!r} is no number of years; write it as in `leave_out: 1 year`")
        return int(found[1])


class Anomalies(BaseModel):
    """`anomalies: {running_normal: {months: 36, share: 0.5}}`, or true for a climatology alone."""

    model_config = ConfigDict(extra="forbid")
    running_normal: dict[str, Any] | None = None


class Recipe(BaseModel):
    """A recipe as it is written.

    What is left out: `target`, the only variable of the data; `train`, nothing is learnt; `test`, the whole record; `leads`,
    those that all models hold; `anomalies`, whether there is a training period; `scores`, all that make sense then.
    `predictors` are other variables of the data, or sources by name. `dress` gives single forecasts the spread of their past
    errors. `by` is what starts are grouped by for tables of their own.
    """

    model_config = ConfigDict(extra="forbid")
    data: Entry
    target: str | None = None
    predictors: list[str] | dict[str, Entry] = []
    anomalies: Anomalies | bool | None = None
    train: tuple[Any, Any] | None = None
    validation: tuple[Any, Any] | Rolling | None = Field(alias="validate", default=None)
    test: tuple[Any, Any] | None = None
    cross_validate: LeaveOut | None = None
    leads: Leads | Windows | list[int] | None = None
    regions: dict[str, Box] = {}
    by: list[str] = []
    models: list[Entry] = Field(min_length=1)
    scores: list[Entry] | None = None
    combine: list[Entry] = []
    dress: bool | dict[str, Any] = False
    sample: dict[str, Any] = {}
    cluster: dict[str, dict[str, Any] | None] | None = None
    seed: int = 0
    shards: int = 1

    @field_validator("regions", mode="before")
    @classmethod
    def _by_name(cls, given: Any) -> Any:
        """`[nino34, tropics]`, or `{enso: nino34}`, with every name as a setting."""
        if isinstance(given, list):
            entries = [pair for each in given for pair in (each.items() if isinstance(each, dict) else [(str(each), each)])]
            if twice := {name for name, _ in entries if [n for n, _ in entries].count(name) > 1}:
                raise ValueError(f"two are called {min(twice)}; name one, as in {{{min(twice)}_b: {min(twice)}}}")
            given = dict(entries)
        if not isinstance(given, dict):
            return given
        return {name: {"named": each} if isinstance(each, str) else each for name, each in given.items()}
