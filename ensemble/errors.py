"""The errors a person can mend."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """Something that was asked for cannot be had: the name, the value found, and the cure, in one line."""


class RunError(RuntimeError):
    """A run that has nothing to show, with what became of each model."""


def unknown(what: str, name: str, known: Iterable[str]) -> InputError:
    """`what` has no `name`; the nearest of the `known` names, or all of them."""
    names = list(known)
    near = get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(names) or 'none'}"
    return InputError(f"{what}: {name!r} is unknown; {hint}")
