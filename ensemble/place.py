"""Where the files of people are: paths and addresses as settings of models and sources."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationInfo


def _from_folder(given: Any, info: ValidationInfo) -> Any:
    folder = (info.context or {}).get("folder")
    return given if folder is None or not isinstance(given, str) else located(given, folder)


def located(place: str, folder: str | Path = ".") -> str:
    """A path that begins at `folder`, as one that means the same everywhere on this machine; addresses stay as they are."""
    return place if "://" in place else str(Path(folder, Path(place).expanduser()).absolute())


# A path, a pattern, or the address of a store (`https://...`, `s3://...`); written in a recipe, a path begins at the recipe's folder.
Place = Annotated[str, BeforeValidator(_from_folder)]
