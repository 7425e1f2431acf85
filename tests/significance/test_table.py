"""What is written of certainty: what the judges say, with its meaning, and the reason for all that is absent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from ensemble.errors import InputError
from ensemble.score import Score
from ensemble.score.members import Spread
from ensemble.score.scores import CentredRmse, Mae, Msss, Rmse
from ensemble.significance import Bootstrap, Case, certainties, judged, table
from ensemble.store import write_netcdf
from tests.significance.series import ar1, means

MONTH = np.timedelta64(1, "M")
SETTINGS = Bootstrap(resamples=60)
LEADS = np.array([1, 2, 3])


def case(starts: int = 200, models: int = 3, scores: tuple[Score, ...] = (Mae(), Spread(), CentredRmse(), Rmse())) -> Case:
    loss = 3 + ar1(0.3, (starts, models, 3, 2), 1).swapaxes(0, 1) + np.arange(models).reshape(-1, 1, 1, 1)
    data = means(AbsoluteError=loss, SquaredError=loss**2, Variance=loss**2)
    return Case({each.name: each for each in scores}, data, LEADS, MONTH)


def test_every_score_is_judged_by_lead_and_over_all_leads() -> None:
    made = certainties(case(), {"mae": "K"}, SETTINGS)
    for name in ("mae", "rmse", "spread"):
        found = case().sampled(name, SETTINGS)
        for prefix, score in ((f"{name}_", found), (f"{name}_mean_", found.over_leads())):
            expected = judged(score, SETTINGS)
            assert {str(each) for each in made if str(each) in {f"{prefix}{what}" for what in expected}} == {
                f"{prefix}{what}" for what in expected if what != "value"
            }
            for what, values in expected.items():
                if what != "value":
                    np.testing.assert_allclose(made[f"{prefix}{what}"].values, values.values, rtol=1e-12)
    assert "rmse_in_set" in made
    assert "spread_rank" not in made


def test_what_it_means_stands_beside_it_and_survives_the_disk(tmp_path: Path) -> None:
    made = certainties(case(), {"mae": "K"}, SETTINGS)
    write_netcdf(tmp_path / "significance.nc", made)
    with xr.open_dataset(tmp_path / "significance.nc") as read:
        xr.testing.assert_identical(read.load(), made)
    assert made["mae_interval"].attrs == {"long_name": "ends of the 95 % interval of mean absolute error", "units": "K"}
    assert "false discovery rate of 10 %" in made["rmse_rank"].attrs["long_name"]
    assert made["mae_in_set"].dtype == np.int8
    assert made["mae_in_set"].attrs["flag_meanings"] == "outside inside"
    assert made.attrs["blocks"] == pytest.approx(200 / 12)
    assert made.attrs["resamples"] == 60
    assert all("long_name" in each.attrs for each in made.values())


def test_what_is_absent_has_its_reason(tmp_path: Path) -> None:
    made = certainties(case(starts=80), {}, SETTINGS)
    assert "cannot be drawn again" in made.attrs["absent_centred_rmse"]
    assert "6.7 independent samples" in made.attrs["absent_confidence_sets"]
    assert "mae_in_set" not in made
    assert "mae_rank" in made
    write_netcdf(tmp_path / "significance.nc", made)


@pytest.mark.parametrize(("starts", "models"), [(1, 1), (1, 3), (2, 1), (15, 2), (40, 1)])
def test_nothing_is_too_small(starts: int, models: int, tmp_path: Path) -> None:
    made = certainties(case(starts, models), {}, SETTINGS)
    write_netcdf(tmp_path / "significance.nc", made)
    assert ("absent" in made.attrs) == (starts < 24)
    assert bool(made.data_vars) == (starts >= 24)
    if "absent" in made.attrs:
        assert "independent samples" in made.attrs["absent"]


def test_nothing_is_left_where_no_score_can_be_drawn_again() -> None:
    made = certainties(case(scores=(CentredRmse(),)), {}, SETTINGS)
    assert not made.data_vars
    assert "absent_centred_rmse" in made.attrs


def test_a_skill_score_whose_reference_was_not_run_is_absent() -> None:
    made = certainties(case(scores=(Msss(), Mae())), {}, SETTINGS)
    assert "was not run" in made.attrs["absent_msss"]
    assert "mae_rank" in made


def test_what_would_take_long_is_not_made_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MOST", 3 * 3 * 2 * 60 - 1)
    made = certainties(case(), {}, SETTINGS)
    assert not made.data_vars
    assert "Run.judged" in made.attrs["absent_mae"]


def test_a_score_that_was_not_asked_for_is_named() -> None:
    with pytest.raises(InputError, match="crps"):
        case().judged("crps", None, over_leads=False)
