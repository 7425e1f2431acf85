"""Every file of data/ keeps the promises of a source."""

import numpy as np
import pytest

from ensemble import Source, load
from ensemble.plugins import definition, names
from ensemble.testing import Basin, Changed, check_source


@pytest.mark.parametrize("name", [name for name in names("data") if name != "files"])  # which has files of its own in test_files.py
def test_a_source_keeps_its_promises(name: str) -> None:
    check_source(definition(load(name, "data"), Source)())


def test_the_sources_of_the_kit_keep_their_own_promises() -> None:
    check_source(Basin())
    check_source(Changed(Basin(), Basin().times[40]))


def test_a_changed_source_is_the_same_before_and_another_after() -> None:
    plain, changed = (source.read(Basin().times)["sst"].values for source in (Basin(), Changed(Basin(), Basin().times[40])))
    sea = np.isfinite(plain[0])
    assert np.array_equal(changed[:40], plain[:40], equal_nan=True)
    assert (changed[40:, sea] != plain[40:, sea]).all()
    assert np.isnan(changed[:, ~sea]).all()
