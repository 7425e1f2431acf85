"""The data table: what was found in what people brought, and what was done about it."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """One line of it; `done` is empty where nothing had to be done."""

    what: str  # "calendar", "units", "longitude", ...
    where: str  # the file or files
    found: str
    done: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}: {self.found}" + (f"; {self.done}" if self.done else "")
