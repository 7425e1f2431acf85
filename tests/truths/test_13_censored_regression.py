"""Truth 13: rain at Innsbruck by censored regression on eleven members, out of sample.

Square roots; location a + b mean, log(scale) = c + d log(deviation) of the members, by the greatest likelihood on the cases with
a deviation up to 2004-11-30, for those from 2005 on. Jordan, Krueger and Lerch (2019), doi 10.18637/jss.v090.i12, section 5.1.
"""

from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pytest

from ensemble.combine import Emos
from ensemble.combine.closed import crps
from ensemble.combine.regression import distribution
from ensemble.score import Values
from ensemble.score.statistics import EnsembleCrps
from ensemble.task import Array
from tests.combine.past import labelled, learnt

FILE = Path(__file__).parents[2].parent / "shared" / "data" / "innsbruck_rain_2000_2013.csv"
pytestmark = pytest.mark.skipif(not FILE.exists(), reason="needs the observations and forecasts of rain in ../shared/data")


class Cases(NamedTuple):
    """Eleven members side by side (model, init_time, 1, 1), and what was observed (init_time, 1, 1)."""

    members: Array
    truth: Array


def cases() -> tuple[Cases, Cases]:
    """To learn from, and to verify."""
    table = np.genfromtxt(FILE, delimiter=",", skip_header=1, dtype=str)
    date, root = np.char.strip(table[:, 0], '"'), np.sqrt(table[:, 1:].astype(float))
    spread = root[:, 1:].std(1) > 0
    parts = [root[spread & when] for when in (date <= "2004-11-30", date >= "2005-01-01")]
    learning, verifying = (Cases(each[:, 1:].T[:, :, None, None], each[:, :1, None]) for each in parts)
    return learning, verifying


@pytest.mark.parametrize(("family", "expected"), [("logistic", 0.875), ("normal", 0.876)])
def test_scores_of_rain_are_those_published(family: Literal["logistic", "normal"], expected: float) -> None:
    rule = Emos(family=family, censored=True, link="log", loss="likelihood", shrink=1.0, members=400)
    learning, verifying = cases()
    state, domain = learnt(rule, *learning, pieces=3)
    location, scale = distribution(state.frame, state.at, verifying.members, rule.shape)
    score = crps(rule.shape.wears, verifying.truth, location, scale, censored=True).mean()
    assert score == pytest.approx(expected, abs=1e-3)
    sampled = rule.sample(state, domain, labelled(verifying.members)).values
    assert EnsembleCrps().at(Values(sampled, verifying.truth)).mean() == pytest.approx(score, abs=1e-4)


def test_the_score_of_the_members_as_they_are_is_that_published() -> None:
    members, truth = cases()[1]
    raw = EnsembleCrps().at(Values(np.moveaxis(members, 0, 2), truth)).mean()
    assert raw == pytest.approx(1.321, abs=1e-3)
