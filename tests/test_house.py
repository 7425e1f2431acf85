"""The rules that hold the house up: arrows point down, files are small, the face is lazy."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ensemble as ens

ROOT = Path(__file__).parents[1]
FILES = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in (ROOT / "ensemble").rglob("*.py")}
MODULES = {name.removesuffix(".__init__"): path for name, path in FILES.items() if ".template." not in name}


def imports(path: Path) -> set[str]:
    """The modules of the package that a file imports when it is imported itself."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ensemble"):
            found |= {name for alias in node.names if (name := f"{node.module}.{alias.name}") in MODULES} or {str(node.module)}
    return found


def test_there_is_no_circle_of_imports() -> None:
    arrows = {name: imports(path) - {name, "ensemble"} for name, path in MODULES.items()}
    while free := [name for name, targets in arrows.items() if not targets & arrows.keys()]:
        for name in free:
            del arrows[name]
    assert not arrows, f"these import each other: {sorted(arrows)}"


@pytest.mark.parametrize("folder", ["models", "data"])
def test_plugin_files_import_nothing_that_a_user_may_not(folder: str) -> None:
    allowed = {"ensemble", "ensemble.parts", "ensemble.parts.stencil", "ensemble.gradient", "ensemble.task", "ensemble.place"}
    allowed |= {"ensemble.errors", "ensemble.findings", *(name for name in MODULES if name.startswith("ensemble.prepare"))}
    for path in (ROOT / folder).glob("*.py"):
        used = {
            str(n.module) for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom) and "ensemble" in str(n.module)
        }
        assert used <= allowed, f"{path.name} imports {used - allowed}"


def test_files_are_of_a_size_to_be_read() -> None:
    long = {
        str(p.relative_to(ROOT)): n
        for d in ("ensemble", "models", "data")
        for p in (ROOT / d).rglob("*.py")
        if (n := len(p.read_text().splitlines())) > 250
    }
    assert not long


def test_every_name_of_the_face_is_there() -> None:
    for name in ens.__all__:
        assert getattr(ens, name) is not None
        assert name in dir(ens)
    assert callable(ens.run)
    assert callable(ens.fit)
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        _ = ens.runn


def test_importing_the_face_imports_nothing_heavy() -> None:
    code = "import ensemble, sys; assert not {'dask', 'distributed', 'jax', 'numpy', 'xarray'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
