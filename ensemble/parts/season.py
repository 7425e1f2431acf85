"""The season as numbers that a regression or a network can use."""

from __future__ import annotations

import numpy as np

from ensemble.task import Array, Times, month


def seasonal(times: Times, harmonics: int = 1) -> Array:
    """Cosine and sine of the calendar month and its `harmonics`: (n,) -> (n, 2 harmonics)."""
    angle = 2 * np.pi * month(times)[:, None] / 12 * np.arange(1, harmonics + 1)
    return np.concatenate([np.cos(angle), np.sin(angle)], axis=1)
