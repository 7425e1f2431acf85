"""A run with regions of every kind and scores by groups of starts, from a recipe to its folder and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import yaml

import ensemble as ens
from ensemble.errors import InputError
from ensemble.recipe import shipped
from ensemble.score import Region
from ensemble.score.named import named

REGIONS = """\
regions:
  - nino34
  - {enso: nino34}
  - maritime: {latitude: [-10, 10], longitude: [100, 150]}
  - third: {mask: masks/basins.nc, value: 3}
  - tropical_third: {named: tropics, mask: masks/basins.nc, variable: basin, value: 3}
by: [start_month, valid_season]
"""


def labels(data: ens.Source) -> xr.DataArray:
    """Basins 1, 2, 3 from west to east on the grid of the data."""
    field = data.read(data.times[:1])["sst"].isel(time=0, drop=True)
    third = np.ceil(3 * (1 + np.arange(field.sizes["longitude"])) / field.sizes["longitude"])
    return xr.DataArray(np.broadcast_to(third, field.shape), field.drop_vars("time", errors="ignore").coords, field.dims, name="basin")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe beside its mask, which runs from north to south, in longitudes from -180."""
    folder = tmp_path_factory.mktemp("study")
    basin = labels(ens.read_recipe("enso_small", only=["lim"], settings=["combine=[]"]).data)
    turned = basin.assign_coords(longitude=(basin["longitude"] + 180) % 360 - 180).sortby("longitude").sortby("latitude", ascending=False)
    (folder / "masks").mkdir()
    for dim, units in (("latitude", "degrees_north"), ("longitude", "degrees_east")):
        turned[dim].attrs["units"] = units
    turned.to_netcdf(folder / "masks" / "basins.nc")
    raw = yaml.safe_load(shipped()["enso_small"].read_text())
    raw |= {**yaml.safe_load(REGIONS), "models": ["climatology", "persistence", "lim"], "combine": [], "scores": ["rmse", "acc", "msss"]}
    raw["scores"].append("centred_rmse")
    (folder / "mine.yaml").write_text(yaml.safe_dump(raw))
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> ens.Run:
    run = ens.run(folder / "mine.yaml", workers=0, keep_forecasts=True, show=False, out=folder / "out")
    assert not run.failures
    return run


def test_regions_of_every_kind_are_scored_on_their_points(run: ens.Run) -> None:
    truth = run.study.data.read(run.study.data.times[:1])["sst"].isel(time=0)
    latitude, longitude, basin = truth["latitude"], truth["longitude"], labels(run.study.data)
    pacific = (abs(latitude) <= 5) & (longitude >= 190) & (longitude <= 240)
    inside = {
        "nino34": pacific,
        "enso": pacific,
        "maritime": (abs(latitude) <= 10) & (longitude >= 100) & (longitude <= 150),
        "third": basin == 3,
        "tropical_third": (basin == 3) & (abs(latitude) <= 20),
    }
    assert run.scores["region"].values.tolist() == ["all", *inside]
    for name, where in inside.items():
        points = int((truth.notnull() & where).sum())
        assert points > 0, name
        assert (run.scores["n"].sel(region=name) == 55 * points).all(), name
    rmse = run.scores["rmse"]
    assert rmse.sel(region="enso", drop=True).equals(rmse.sel(region="nino34", drop=True))


def by_hand(run: ens.Run, model: str, region: str) -> tuple[xr.DataArray, xr.DataArray]:
    """(init_time, lead_time): the squared error of each start, and the time that it verifies."""
    assert run.forecasts is not None
    made = run.forecasts[model]["sst"]
    truth = run.study.data.read(run.study.data.times)["sst"].sel(time=made["valid_time"]).drop_vars("time")
    field = run.study.domain.fields["sst"]
    weight = np.cos(np.deg2rad(made["latitude"])) * xr.DataArray(run.study.regions[region].mask(field), dims=field.dims)
    return ((made - truth) ** 2).weighted(weight).mean(field.dims), made["valid_time"]


@pytest.mark.parametrize("region", ["all", "maritime", "third"])
def test_groups_on_disk_come_out_again_by_hand(region: str, run: ens.Run, folder: Path) -> None:
    with xr.open_dataset(folder / "out" / "scores_by_start_month.nc") as found:
        for model in ("persistence", "lim"):
            error, _ = by_hand(run, model, region)
            expected = np.sqrt(error.groupby("init_time.month").mean())
            here = found["rmse"].sel(model=model, region=region).transpose("start_month", "lead_time")
            assert here["start_month"].values.tolist() == expected["month"].values.tolist() == list(range(1, 13))
            np.testing.assert_allclose(here, expected.transpose("month", "lead_time"), rtol=1e-10)
    with xr.open_dataset(folder / "out" / "scores_by_valid_season.nc") as found:
        error, valid = by_hand(run, "lim", region)
        for season in ("DJF", "MAM", "JJA", "SON"):
            chosen = valid.dt.season == season
            here = found.sel(valid_season=season, model="lim", region=region)
            np.testing.assert_allclose(here["rmse"], np.sqrt(error.where(chosen).mean("init_time")), rtol=1e-10)
            np.testing.assert_array_equal(here["n_starts"], chosen.sum("init_time"))


def test_what_is_on_disk_says_what_it_is(run: ens.Run, folder: Path) -> None:
    points = {name: int(each.mask(run.study.domain.fields["sst"]).sum()) for name, each in run.study.regions.items()}
    for by in run.study.by:
        with xr.open_dataset(folder / "out" / f"scores_by_{by}.nc") as found:
            xr.testing.assert_equal(found.load(), run.grouped(by))
            assert set(found.data_vars) == {"rmse", "acc", "msss", "n", "n_starts"}
            assert found.attrs["left_out"] == "centred_rmse"
            assert found["rmse"].attrs == run.scores["rmse"].attrs
            assert found["lead_time"].attrs["standard_name"] == "forecast_period"
            assert found[by].attrs["long_name"]
            assert (found["n_starts"].sum(by) == 55).all()
            for name, each in points.items():
                assert (found["n"].sel(region=name) == each * found["n_starts"].sel(region=name)).all()


def test_the_recipe_that_a_run_leaves_is_the_study_again(run: ens.Run, folder: Path) -> None:
    again = ens.read_recipe(folder / "out" / "recipe.yaml")
    assert again.regions == run.study.regions
    assert again.by == run.study.by == ("start_month", "valid_season")
    assert again.regions["enso"] == named("nino34")
    report = (folder / "out" / "report.html").read_text()
    assert "basins.nc where its mask is 3" in report


WRONG = {
    "regions=[nino35]": r"^regions\.nino35: 'nino35' is unknown; did you mean nino3 or nino34 or nino4",
    "regions={enso: nino5}": r"^regions\.enso: 'nino5' is unknown; did you mean",
    "regions=[tropics, tropics]": r"^regions: .*two are called tropics; name one",
    "regions={a: {named: tropics, latitude: [0, 10]}}": r"^regions\.a: has the name tropics, and a latitude beside it; write one",
    "regions={a: {value: 3}}": r"^regions\.a\.value: is a setting of a mask, and there is none; name its file, as in `mask: a\.nc`",
    "regions={a: {mask: gone.nc}}": r"^regions\.a: no file is called or fits .*gone\.nc",
    "regions={a: {latitud: [0, 1]}}": r"^regions\.a\.latitud: ",
    "regions=[3]": r"^regions\.3: .*found 3",
    "by=[month]": r"^by: 'month' is unknown; did you mean valid_month or start_month",
}


@pytest.mark.parametrize("setting", WRONG)
def test_what_cannot_be_a_region_or_a_group_is_told_in_one_line(setting: str) -> None:
    with pytest.raises(InputError, match=WRONG[setting]) as error:
        ens.read_recipe("enso_small", settings=[setting])
    assert "\n" not in str(error.value)


def test_regions_may_be_written_as_ever() -> None:
    study = ens.read_recipe("enso_small", settings=["regions={a: {latitude: [-5, 5], longitude: [190, 240]}, b: {}}"])
    assert study.regions == {"all": Region(), "a": named("nino34"), "b": Region()}
