"""What is prepared is not kept: every file of these tests is read once."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENSEMBLE_CACHE", "none")
