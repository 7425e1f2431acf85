"""`ensemble init`: a study of one's own, laid out and ready to run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ensemble.errors import InputError

TEMPLATE = Path(__file__).parent / "template"


def init(folder: Annotated[Path, typer.Argument(help="Folder to make.", metavar="DIR")]) -> None:
    """Lay out a study in DIR: a recipe, a model of your own that works, and a notebook."""
    files = [path for path in sorted(TEMPLATE.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    for path in files:
        if (folder / path.relative_to(TEMPLATE)).exists():
            raise InputError(f"init: {folder / path.relative_to(TEMPLATE)} exists already; name another folder")
    for path in files:
        target = folder / path.relative_to(TEMPLATE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
        print(f"wrote {target}")
    print(f"now: cd {folder} && ensemble run study.yaml")
