"""The one door through which a model or data file comes in: ours and a user's alike.

A file is loaded under the name ``ensemble.plugins.<stem>_<digest>``. Its text goes to the scheduler, which unpickles graphs,
and to every worker, also to those that join later (see `ensemble.cluster.share`), so whatever the file defines pickles by reference and
`models/` need not be an import package. The digest is of its text and of the files that it loads itself, so that an edited
file is a new module beside the old one, and two runs on one scheduler may hold two versions of a file.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from ensemble.errors import InputError, unknown

__path__: list[str] = []  # makes this module a package, so that `ensemble.plugins.linear_1f0c2a9b` may exist


class File(NamedTuple):
    """A plug-in file as it was when it was loaded."""

    path: str
    text: str
    loads: dict[str, str]  # what it asks `load` for -> the module that answers

    @property
    def digest(self) -> str:
        """SHA-256 of the text and of what it loads."""
        return hashlib.sha256("\n".join([self.text, *sorted(self.loads.values())]).encode()).hexdigest()


_files: dict[str, File] = {}  # module name -> the file


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.ExecutionLoader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in _files:
            return None
        return importlib.util.spec_from_file_location(fullname, _files[fullname].path, loader=self)

    def get_filename(self, fullname: str) -> str:
        return _files[fullname].path

    def get_source(self, fullname: str) -> str:
        return _files[fullname].text


sys.meta_path.append(_Finder())


def shipped(kind: str) -> Path:
    """The folder of our own plug-in files, `models` or `data`: inside the wheel, else at the repository's root."""
    inside = Path(__file__).parent / "_shipped" / kind
    return inside if inside.is_dir() else Path(__file__).parents[1] / kind


def names(kind: str = "models") -> list[str]:
    """What is shipped, in alphabetical order."""
    return sorted(path.stem for path in shipped(kind).glob("*.py"))


def load(where: str | Path, kind: str = "models", base: Path | None = None) -> ModuleType:
    """The plug-in file `where` as a module: a bare name is one of ours, anything with a slash or .py a path.

    A relative path starts at `base`, the current folder if not given, or, called from a plug-in file, at that file's folder.
    Raises InputError with the nearest names.
    """
    importer = sys._getframe(1).f_globals.get("__name__", "")
    if importer in _files and str(where) in _files[importer].loads:
        return importlib.import_module(_files[importer].loads[str(where)])
    return importlib.import_module(_remember(str(where), kind, base or Path()))


def _remember(where: str, kind: str, base: Path) -> str:
    """The module name of a file, once it and the files that it loads are known."""
    path = _find(where, kind, base)
    text = path.read_text(encoding="utf-8")
    loads = {asked: _remember(asked, of_kind, path.parent) for asked, of_kind in _asked(text, str(path))}
    file = File(str(path), text, loads)
    name = f"{__name__}.{path.stem}_{file.digest[:12]}"
    _files[name] = file
    return name


def _find(where: str, kind: str, base: Path) -> Path:
    if "/" not in where and not where.endswith(".py"):
        path = shipped(kind) / f"{where}.py"
        if path.is_file():
            return path
        raise unknown(f"{kind} (a file of your own is given by its path, ./{where}.py)", where, names(kind))
    path = (base / where).expanduser().resolve()
    if not path.is_file():
        raise InputError(f"{kind}: the file {where} does not exist; looked for {path}")
    return path


def _asked(text: str, path: str) -> Iterator[tuple[str, str]]:
    """The files a text asks for by `load("name")` or `load("name", "data")`, read off without running it."""
    try:
        tree = ast.parse(text, path)
    except SyntaxError as error:
        raise InputError(f"{path}, line {error.lineno}: {error.msg}; mend the file") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "load":
            words = [each.value for each in (*node.args, *(k.value for k in node.keywords)) if isinstance(each, ast.Constant)]
            if words:
                yield str(words[0]), str(words[1]) if len(words) > 1 else "models"


def origin(of: type) -> File | None:
    """The plug-in file that defines a class, None where it came in by another way."""
    return _files.get(of.__module__)


def code_of(of: type) -> frozenset[str]:
    """The plug-in modules that a class rests on: its own, and those that one loads, and so on."""
    return _with_loads(of.__module__) if of.__module__ in _files else frozenset()


def _with_loads(module: str) -> frozenset[str]:
    return frozenset({module}).union(*map(_with_loads, _files[module].loads.values()))


def definition(module: ModuleType, base: type) -> type:
    """The class of kind `base` that a plug-in file is about: the one named like the file (`lim.py`: `Lim`), or its only one."""
    found = [
        each for each in vars(module).values() if isinstance(each, type) and issubclass(each, base) and each.__module__ == module.__name__
    ]
    public = [each for each in found if not each.__name__.startswith("_")]
    stem = Path(_files[module.__name__].path).stem.replace("_", "")
    public = [each for each in public if each.__name__.lower() == stem] or public
    if len(public) != 1:
        listed = ", ".join(each.__name__ for each in public) or "none"
        raise InputError(f"{_files[module.__name__].path} defines {listed} of kind {base.__name__}; name one, as in file.py:Class")
    return public[0]


def remember(files: dict[str, File]) -> None:
    """Make `files` importable in this process."""
    _files.update(files)


def loaded() -> dict[str, File]:
    """Every file loaded so far, by module name."""
    return dict(_files)
