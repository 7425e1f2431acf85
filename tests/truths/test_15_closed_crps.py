"""Truth 15: continuous ranked probability scores in closed form.

Of a normal distribution: s (z (2 Phi(z) - 1) + 2 phi(z) - 1/sqrt(pi)), Gneiting et al. (2005), doi 10.1175/MWR2904.1, eq. 5; of
members by hand.
"""

import numpy as np
import pytest

from ensemble.combine.closed import crps
from ensemble.combine.family import FAMILIES
from ensemble.score import Values
from ensemble.score.statistics import EnsembleCrps, FairCrps


@pytest.mark.parametrize(
    ("location", "scale", "truth", "expected"),
    [(0.0, 1.0, 0.0, 0.2336949773), (0.0, 1.0, 1.0, 0.6024413576), (1.0, 2.0, 2.5, 0.8962885044)],
)
def test_of_normal_distributions(location: float, scale: float, truth: float, expected: float) -> None:
    made = crps(FAMILIES["normal"], np.array(truth), np.array(location), np.array(scale))
    assert made == pytest.approx(expected, abs=5e-11)


def test_of_three_members() -> None:
    values = Values(np.array([1.0, 2.0, 3.0]).reshape(1, 1, 3), np.array([[1.5]]))
    assert EnsembleCrps().at(values) == pytest.approx(5 / 6 - 4 / 9, rel=1e-14)
    assert FairCrps().at(values) == pytest.approx(5 / 6 - 4 / 6, rel=1e-14)
