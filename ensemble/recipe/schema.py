"""The keys of a recipe and the types of their values."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ensemble.score import SCORES

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
    """A recipe as it is written."""

    model_config = ConfigDict(extra="forbid")
    data: Entry
    target: str
    anomalies: Anomalies | bool = True
    train: tuple[Any, Any]
    validation: tuple[Any, Any] = Field(alias="validate")
    test: tuple[Any, Any]
    leads: Leads | list[int]
    regions: dict[str, Box] = {}
    models: list[Entry] = Field(min_length=1)
    scores: list[Entry] = list(SCORES)
    combine: list[Entry] = []
    cluster: dict[str, dict[str, Any] | None] | None = None
    seed: int = 0
    shards: int = 1
