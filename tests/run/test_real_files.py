"""Data that nobody here made, through the command line: what comes out is what plain numpy makes of the same files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import ensemble as ens
from ensemble import making
from ensemble.task import Array

RECIPES = Path(__file__).parents[1] / "recipes"
DATA = Path(__file__).parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data, the real data, is absent")
TRUTH_14 = (0.0588, 0.06396, 0.0680, 0.0624, 0.06577, 0.06401, 0.06473, 0.06475, 0.07299, 0.07433)


def command_line(folder: Path, *words: str, status: int = 0) -> tuple[xr.Dataset, str]:
    """The scores, and what is said, of a command that ends with `status`."""
    command = [sys.executable, "-m", "ensemble", *words, "--out", str(folder / "out")]
    environment = {**os.environ, "ENSEMBLE_CACHE": str(folder / "cache")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=folder, env=environment)
    assert done.returncode == status, done.stderr
    assert (folder / "out" / "report.html").exists()
    with xr.open_dataset(folder / "out" / "scores.nc") as scores:
        return scores.load(), done.stdout + done.stderr


def opened(*names: str) -> list[xr.Dataset]:
    """Files as they are, but for dates and packing."""
    return [xr.open_dataset(path) for name in names for path in sorted(DATA.glob(name))]


def anomalies(values: Array, month: Array, train: Array) -> Array:
    """(time, ...) less the mean of each calendar month in training."""
    return values - np.stack([values[train & (month == m)].mean(0) for m in range(1, 13)])[month - 1]


def weights(latitude: Array, present: Array) -> Array:
    area: Array = np.where(present, np.cos(np.deg2rad(latitude.astype(float)))[:, None], 0)
    return area / area.sum()


def fair_crps(forecast: Array, truth: Array) -> Array:
    """(member, ...) and (...) -> (...)."""
    m = len(forecast)
    apart = np.abs(forecast[:, None] - forecast[None, :]).sum((0, 1))
    return np.asarray(np.abs(forecast - truth).mean(0) - apart / (2 * m * (m - 1)))


def parabola_out(values: Array) -> Array:
    """(year, ...) less the parabola of each column."""
    x = np.linspace(-1, 1, len(values))
    columns = values.reshape(len(values), -1)
    return (columns - np.stack([np.polyval(np.polyfit(x, each, 2), x) for each in columns.T], 1)).reshape(values.shape)


def test_sixty_years_of_sea_surface_temperature(tmp_path: Path) -> None:
    scores, said = command_line(tmp_path, "run", str(RECIPES / "cobe_sst2.yaml"), "--workers", "2")
    whole = xr.concat(opened("cobe_sst2/*.nc"), "time").sel(lat=slice(20, -20), lon=slice(120, 290))["sst"]
    year, month = whole["time.year"].values, whole["time.month"].values
    sst = anomalies(whole.values.astype(float), month, year < 1990)
    area = weights(whole["lat"].values, np.isfinite(sst[0]))
    box = weights(whole["lat"].values, np.isfinite(sst[0]))
    box[abs(whole["lat"].values) > 5] = box[:, (whole["lon"].values < 190) | (whole["lon"].values > 240)] = 0
    box /= box.sum()
    starts = np.flatnonzero(year >= 2000)[0] + np.arange(115)  # 120 months, of which the last five begin no forecast of six
    models = {"climatology": 0.0, "persistence": 1.0, "mean": 0.5}  # the share of the last anomaly that each keeps
    for i, lead in enumerate((1, 3, 6)):
        now, then = np.nan_to_num(sst[starts - 1]), np.nan_to_num(sst[starts + lead - 1])
        for model, kept in models.items():
            for region, w in (("all", area), ("nino34", box)):
                error = kept * now - then
                mine = scores.sel(model=model, region=region).isel(lead_time=i)
                assert float(mine["rmse"]) == pytest.approx(np.sqrt((error**2 * w).sum((1, 2)).mean()), abs=1e-6)
                assert float(mine["bias"]) == pytest.approx((error * w).sum((1, 2)).mean(), abs=1e-6)
        f, o = ((each * box).sum((1, 2)) for each in (now, then))
        found = scores["index_correlation"].sel(model="persistence", region="nino34").isel(lead_time=i)
        assert float(found) == pytest.approx(np.corrcoef(f, o)[0, 1], abs=1e-6)
    assert (scores["n_starts"] == 115).all()
    assert (scores["n"].sel(region="all") == 115 * np.isfinite(sst[0]).sum()).all()
    rmse = scores["rmse"].sel(region="all")
    assert (rmse.sel(model="damped_persistence") < rmse.sel(model=["climatology", "persistence"])).all()
    assert "year1950.nc and 59 more" in said


def test_daily_pressure_in_other_units_remembers_as_long_as_is_known(tmp_path: Path) -> None:
    """Persistence correlates by .76, .50, .36 and .20 with 1, 2, 3 and 5 days later (README of the data).

    Here that is pooled over points and days, 1 - MSE of persistence / (2 MSE of climatology); at two points it is the correlation.
    """
    scores, _ = command_line(tmp_path, "run", str(RECIPES / "pressure.yaml"), "--workers", "2")
    (data,) = opened("ncep_slp*.nc")
    year, month = data["time.year"].values, data["time.month"].values
    slp = anomalies(data["slp"].values.astype(float) / 100, month, year >= 2006)
    area = weights(data["lat"].values, np.isfinite(slp[0]))
    starts = np.arange(1, (year < 2006).sum() - 4)
    for i, lead in enumerate((1, 2, 3, 5)):
        now, then = slp[starts - 1], slp[starts + lead - 1]
        for model, forecast in (("persistence", now), ("climatology", 0 * now)):
            found = float(scores["rmse"].sel(model=model, region="all").isel(lead_time=i))
            assert found == pytest.approx(np.sqrt((((forecast - then) ** 2).mean(0) * area).sum()), abs=1e-6)
        for region, lat, lon in (("azores", 37.5, -25), ("iceland", 65, -22.5)):
            j, k = int(np.flatnonzero(data["lat"] == lat)[0]), int(np.flatnonzero(data["lon"] == lon)[0])
            point = scores["index_correlation"].sel(model="persistence", region=region).isel(lead_time=i)
            assert float(point) == pytest.approx(np.corrcoef(now[:, j, k], then[:, j, k])[0, 1], abs=1e-6)
    mse = scores["rmse"].sel(region="all") ** 2
    pooled = 1 - mse.sel(model="persistence") / (2 * mse.sel(model="climatology"))
    np.testing.assert_allclose(pooled, (0.76, 0.50, 0.36, 0.20), atol=0.02)
    assert (scores["n_starts"] == len(starts)).all()
    assert scores["rmse"].attrs["units"] == "hPa"


def test_sums_of_pieces_on_the_workers_move_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []
    for together in (2, 8, 1024):  # of 57 pieces
        monkeypatch.setattr(making, "TOGETHER", together)
        runs.append(ens.run(RECIPES / "pressure.yaml", workers=0, show=False))
    for run in runs[1:]:
        xr.testing.assert_identical(run.scores, runs[0].scores)
        xr.testing.assert_identical(run.maps, runs[0].maps)
        assert len(run.costs) >= len(runs[-1].costs)


def test_a_seasonal_forecast_and_its_truth_in_one_file(tmp_path: Path) -> None:
    scores, _ = command_line(tmp_path, "run", str(RECIPES / "seas5.yaml"), "--workers", "1")
    (data,) = opened("cstools_seas5_era5_tas.nc")
    forecast, truth = data["forecast"].values, data["obs"].values
    lat, lon = data["lat"].values, data["lon"].values
    area = weights(lat, np.isfinite(truth[0, 0]))
    iberia = np.where(((lat >= 36) & (lat <= 44))[:, None] & (lon >= -10) & (lon <= -1), area, 0)
    for region, w in (("all", area), ("iberia", iberia / iberia.sum())):
        found = scores.sel(model="seas5", region=region)
        error = forecast.mean(0) - truth
        np.testing.assert_allclose(found["rmse"], np.sqrt((error**2 * w).sum((2, 3)).mean(0)), atol=1e-6)
        np.testing.assert_allclose(found["bias"], (error * w).sum((2, 3)).mean(0), atol=1e-6)
        np.testing.assert_allclose(found["crps"], (fair_crps(forecast, truth) * w).sum((2, 3)).mean(0), atol=1e-6)
        np.testing.assert_allclose(found["spread"], np.sqrt((forecast.var(0, ddof=1) * w).sum((2, 3)).mean(0)), atol=1e-6)
    assert (scores["n_starts"] == 6).all()
    assert scores["lead_time"].values.tolist() == [1, 2, 3]
    assert int(scores["members"].squeeze()) == 15
    assert scores["n"].sel(region="all").values.ravel().tolist() == [6 * 22 * 53] * 3


def test_truth_14_a_decadal_hindcast_without_its_parabola(tmp_path: Path) -> None:
    scores, said = command_line(tmp_path, "run", str(RECIPES / "decadal.yaml"), "--workers", "2")
    np.testing.assert_allclose(scores["rmse"].values.ravel(), TRUTH_14, atol=1e-4)
    here = ens.run(RECIPES / "decadal.yaml", workers=0, show=False)
    np.testing.assert_array_equal(here.scores["rmse"].values, scores["rmse"].values)
    observed, hindcast = opened("decadal/ERSST*.nc", "decadal/CESM*.nc")
    truth = parabola_out(observed["SST"].values.astype(float))[1964 - 1955 : 2015 - 1955 + 1]
    mean = hindcast["SST"].values.mean(2)
    members = hindcast["SST"].values - (mean - parabola_out(mean))[:, :, None]
    for i, lead in enumerate(range(1, 11)):
        first = 1964 - lead - 1954
        forecast = members[first : first + 52, i].T
        assert float(scores["rmse"].isel(lead_time=i).squeeze()) == pytest.approx(
            np.sqrt(((forecast.mean(0) - truth) ** 2).mean()), abs=1e-6
        )
        assert float(scores["crps"].isel(lead_time=i).squeeze()) == pytest.approx(fair_crps(forecast, truth).mean(), abs=1e-6)
    assert (scores["n_starts"] == 52).all()
    assert said.count("the later ones too") == 2


def test_a_decadal_hindcast_in_years_without_units(tmp_path: Path) -> None:
    scores, _ = command_line(tmp_path, "run", str(RECIPES / "miklip.yaml"), "--workers", "1")
    run, hindcast = opened("miklip/*assim*.nc", "miklip/*hind*.nc")
    truth, members = run["SST"].values.astype(float), hindcast["SST"].transpose("lead", "member", "init").values
    for i, lead in enumerate(range(1, 11)):
        forecast, then = members[i, :, : 55 - lead], truth[lead:]
        found = scores.isel(lead_time=i).squeeze()
        assert float(found["rmse"]) == pytest.approx(np.sqrt(((forecast.mean(0) - then) ** 2).mean()), abs=1e-6)
        assert float(found["bias"]) == pytest.approx((forecast.mean(0) - then).mean(), abs=1e-6)
        assert float(found["crps"]) == pytest.approx(fair_crps(forecast, then).mean(), abs=1e-6)
        assert int(found["n_starts"]) == int(found["n"]) == 55 - lead


def test_a_historical_run_beside_the_hindcast_by_score(tmp_path: Path) -> None:
    """One of the three members ends in 2005, which is refused until it is said that those are meant which all years have."""
    place = {kind: str(DATA / "miklip" / f"MPIESM_miklip_baseline1-{kind}-SST-global.nc") for kind in ("assim", "hind", "hist")}
    settings = ["models.*.units_are=K", "models.hind.lead_one=after", "data.files.units_are=K", "leads=[1]", "scores=[rmse]"]
    command = ["score", f"hind={place['hind']}", f"hist={place['hist']}", "--truth", place["assim"]]
    command += [word for each in settings for word in ("--set", each)]
    (tmp_path / "refused").mkdir()
    _, said = command_line(tmp_path / "refused", *command, status=3)
    assert "hist failed in fit: InputError" in said
    assert "the forecast of 2006-01-01 has data of 2 members, others of 3; write `members: common`" in said
    scores, _ = command_line(tmp_path, *command, "--set", "models.hist.members=common")
    truth, hindcast, historical = (xr.open_dataset(place[kind])["SST"].values.astype(float) for kind in ("assim", "hind", "hist"))
    whole = historical[:, np.isfinite(historical).all(0)]
    assert whole.shape == (55, 2)
    forecast = {"hind": hindcast[0, :-1].mean(1), "hist": whole[1:].mean(1)}  # both for 1962-2015
    forecast["mean"] = (forecast["hind"] + forecast["hist"]) / 2
    for model, mean in forecast.items():
        assert float(scores["rmse"].sel(model=model).squeeze()) == pytest.approx(np.sqrt(((mean - truth[1:]) ** 2).mean()), abs=1e-6)
    assert (scores["n_starts"] == 54).all()
