"""The keys of a recipe and the types of their values."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

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
    """A region of the recipe."""

    model_config = ConfigDict(extra="forbid")
    latitude: tuple[float, float] = (-90.0, 90.0)
    longitude: tuple[float, float] = (0.0, 360.0)


class Anomalies(BaseModel):
    """`anomalies: {running_normal: {months: 36, share: 0.5}}`, or true for a climatology alone."""

    model_config = ConfigDict(extra="forbid")
    running_normal: dict[str, Any] | None = None


class Recipe(BaseModel):
    """A recipe as it is written.

    What is left out: `target`, the only variable of the data; `train`, nothing is learnt; `test`, the whole record; `leads`,
    those that all models hold; `anomalies`, whether there is a training period; `scores`, all that make sense then.
    `predictors` are other variables of the data, or sources by name.
    """

    model_config = ConfigDict(extra="forbid")
    data: Entry
    target: str | None = None
    predictors: list[str] | dict[str, Entry] = []
    anomalies: Anomalies | bool | None = None
    train: tuple[Any, Any] | None = None
    validation: tuple[Any, Any] | None = Field(alias="validate", default=None)
    test: tuple[Any, Any] | None = None
    leads: Leads | Windows | list[int] | None = None
    regions: dict[str, Box] = {}
    models: list[Entry] = Field(min_length=1)
    scores: list[Entry] | None = None
    combine: list[Entry] = []
    sample: dict[str, Any] = {}
    cluster: dict[str, dict[str, Any] | None] | None = None
    seed: int = 0
    shards: int = 1
