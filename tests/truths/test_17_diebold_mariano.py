"""Truth 17: the test of Diebold and Mariano, with the factor of Harvey, Leybourne and Newbold, on real forecasts.

Absolute and squared errors of two models of 2 m temperature, the mean over stations of each day, forecasts two days ahead; held
against `scores.stats.statistical_tests` and against the closed form, written out. Series that were made up are in
`tests/significance/test_tests.py`.
"""

import importlib
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy.stats import t

from ensemble.significance import diebold_mariano
from ensemble.task import Array

FILE = Path(__file__).parents[2].parent / "shared" / "data" / "mm5_t2m_2004.nc"
pytestmark = pytest.mark.skipif(not FILE.exists(), reason="needs the real forecasts in ../shared/data")
AHEAD = np.array([1, 2, 3, 5])


@pytest.fixture(scope="module", params=[1, 2], ids=["absolute", "squared"])
def difference(request: pytest.FixtureRequest) -> Array:
    """Losses of UKMO minus those of GASP, (day,)."""
    with xr.open_dataset(FILE) as data:
        date, truth = data["date"].values.astype(str), data["observation"].values
        ukmo, gasp = (np.abs(data["forecast"].sel(model=name).values - truth) ** request.param for name in ("UKMO", "GASP"))
    return np.array([(ukmo - gasp)[date == day].mean() for day in np.unique(date)])


def test_it_is_the_closed_form(difference: Array) -> None:
    made = diebold_mariano(np.repeat(difference[:, None], len(AHEAD), 1), AHEAD)
    n, deviation = len(difference), difference - difference.mean()
    for lead, h in enumerate(AHEAD):
        lagged = [deviation[k:] @ deviation[: n - k] / n for k in range(h)]
        plain = difference.mean() / np.sqrt((lagged[0] + 2 * sum(lagged[1:])) / n)
        factor = np.sqrt((n + 1 - 2 * h + h * (h - 1) / n) / n)
        assert made.statistic[lead] == pytest.approx(factor * plain, rel=1e-12)
        assert made.p_value[lead] == pytest.approx(2 * t.sf(abs(factor * plain), n - 1), rel=1e-10)
    assert (made.n == n).all()
    assert not made.bartlett.any()


def test_it_is_that_of_scores(difference: Array) -> None:
    pytest.importorskip("scores", reason="a test of another hand")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = importlib.import_module("scores.stats.statistical_tests")
    series = xr.DataArray(np.repeat(difference[None], len(AHEAD), 0), dims=("lead", "day"), coords={"lead": AHEAD, "h": ("lead", AHEAD)})
    theirs = peer.diebold_mariano(series, "lead", "h", method="HLN", statistic_distribution="t")
    made = diebold_mariano(np.repeat(difference[:, None], len(AHEAD), 1), AHEAD)
    np.testing.assert_allclose(made.statistic, theirs["dm_test_stat"], rtol=1e-10)
    above = theirs["confidence_gt_0"].values
    np.testing.assert_allclose(made.p_value, 2 * np.minimum(above, 1 - above), rtol=1e-8)
    np.testing.assert_allclose(made.n, theirs["timeseries_len"])
