"""Doors: the command line, names of files of every kind, patterns, stores, many files, and errors in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import xarray as xr

from ensemble.errors import InputError, RunError
from ensemble.scoring import score_files
from tests.front.manner import PLAIN, agree, but, world, written

ODD = ["a b", "été 100%", "run#1", "per%20cent", "q=1", "[x]", "a*b", "日本", "it's; $HOME"]


def shell(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "ensemble", *words], capture_output=True, text=True, timeout=120, check=False, cwd=cwd)


@pytest.mark.parametrize("name", ODD)
def test_a_file_or_folder_may_be_called_anything(name: str, tmp_path: Path) -> None:
    of = world(3)
    folder = tmp_path / name
    folder.mkdir()
    truth, model = folder / f"obs {name}.nc", folder / f"{name}.zarr"
    written(of.truth, of, PLAIN).to_netcdf(truth)
    written(of.model, of, PLAIN).to_zarr(model, zarr_format=2)
    made = score_files([str(model)], [str(truth)], show=False)
    (called,) = made.scores["model"].values.tolist()
    agree(made, of, model=called)


@pytest.mark.parametrize("name", ["a b", "été %", "run#1"])
def test_patterns_in_odd_folders(name: str, tmp_path: Path) -> None:
    of = world(14)
    folder = tmp_path / name
    folder.mkdir()
    for kind, values in (("obs", of.truth), ("mod", of.model)):
        data = written(values, of, but(PLAIN, north_first=kind == "mod"))
        for part, cut in (("1", slice(0, 5)), ("2", slice(5, 6)), ("3", slice(6, 14))):
            data.isel(time=cut).to_netcdf(folder / f"{kind} {part}.nc")
    found = score_files([f"model={folder}/mod *.nc"], [f"{folder}/obs ?.nc"], show=False)
    agree(found, of)


def test_parts_in_any_order_with_other_units_of_time_and_types(tmp_path: Path) -> None:
    of = world(14)
    manners = [but(PLAIN, units="hours since 1990-01-01"), but(PLAIN, kelvin=False), but(PLAIN, dtype="f4", west=-180.0)]
    for i, (how, cut) in enumerate(zip(manners, (slice(6, 14), slice(0, 5), slice(5, 6)), strict=True)):
        for kind, values in (("obs", of.truth), ("mod", of.model)):
            written(values, of, how).isel(time=cut).to_netcdf(tmp_path / f"{kind}_{i}.nc")
    agree(score_files([f"model={tmp_path}/mod_*.nc"], [f"{tmp_path}/obs_*.nc"], show=False), of, rel=1e-4)


def test_files_of_one_model_must_be_on_one_grid_and_in_one_kind_of_unit(tmp_path: Path) -> None:
    of = world(4)
    written(of.truth, of, PLAIN).to_netcdf(tmp_path / "obs.nc")
    data = written(of.model, of, PLAIN)
    data.isel(time=slice(0, 2)).to_netcdf(tmp_path / "mod_1.nc")
    late = data.isel(time=slice(2, 4))
    late.assign_coords(lon=late["lon"] + 30).to_netcdf(tmp_path / "mod_2.nc")
    names = [f"model={tmp_path}/mod_*.nc"], [f"{tmp_path}/obs.nc"]
    with pytest.raises((InputError, RunError), match=r"mod_2\.nc: its grid is not that .*longitude is shifted by half a cell"):
        score_files(*names, show=False)
    late["tas"].attrs["units"] = "hPa"
    late.to_netcdf(tmp_path / "mod_2.nc")
    with pytest.raises((InputError, RunError), match=r"tas in mod_2\.nc: 'hPa' cannot be brought to 'K'"):
        score_files(*names, show=False)
    agree(score_files(*names, settings=["models.model.units_are=K"], show=False), of)


def test_the_command_line_from_another_folder(tmp_path: Path) -> None:
    of = world(3)
    here = tmp_path / "here é %"
    here.mkdir()
    written(of.truth, of, PLAIN).to_netcdf(here / "obs #1.nc")
    written(of.model, of, PLAIN).to_netcdf(here / "mod a.nc")
    truths = ("--truth", "obs #1.nc", "--truth", "again=obs #1.nc")
    done = shell("score", "mod a.nc", "b=mod a.nc", *truths, "--out", "out é", "--set", "scores=[rmse, bias]", cwd=here)
    assert done.returncode == 0, done.stderr
    assert "against obs_1:" in done.stdout
    with xr.open_dataset(here / "out é" / "scores.nc") as scores:
        assert scores["truth"].values.tolist() == ["obs_1", "again"]
        assert scores["model"].values.tolist() == ["mod_a", "b", "mean"]
        assert scores["rmse"].values.ravel() == pytest.approx([of.scores["rmse"]] * 6)


def test_errors_of_the_command_line_are_one_line_with_the_cure(tmp_path: Path) -> None:
    of = world(3)
    model = written(of.model, of, PLAIN)
    del model["tas"].attrs["units"]
    model.to_netcdf(tmp_path / "mod.nc")
    written(of.truth, of, PLAIN).to_netcdf(tmp_path / "obs.nc")
    done = shell("score", str(tmp_path / "mod.nc"), "--truth", str(tmp_path / "obs.nc"))
    assert done.returncode != 0
    (line,) = done.stderr.strip().splitlines()
    assert "tas in mod.nc has no units" in line
    assert "units_are: K" in line


@pytest.mark.parametrize(
    ("model", "truth", "said"),
    [
        ("nowhere.nc", "obs.nc", r"no file is called or fits .*nowhere\.nc; mend `path:`"),
        ("mod.nc", "no*where.nc", r"no file is called or fits .*no\*where\.nc"),
        ("text.nc", "obs.nc", r"^text\.nc: cannot be opened as NetCDF or Zarr .*mend it"),
        ("mod.nc", "two.nc", r"^two\.nc: holds the variables tas, pr; say which one: `variable: tas`"),
        (".", "obs.nc", r"is a folder and no Zarr store; write which of its files"),
    ],
)
def test_what_cannot_be_found_or_read_is_named(model: str, truth: str, said: str, tmp_path: Path) -> None:
    of = world(3)
    data = written(of.truth, of, PLAIN)
    data.to_netcdf(tmp_path / "obs.nc")
    written(of.model, of, PLAIN).to_netcdf(tmp_path / "mod.nc")
    data.assign(pr=data["tas"] * 2).to_netcdf(tmp_path / "two.nc")
    (tmp_path / "text.nc").write_text("no data")
    with pytest.raises(InputError, match=said) as caught:
        score_files({"model": str(tmp_path / model)}, {"obs": str(tmp_path / truth)}, show=False)
    assert "\n" not in str(caught.value)


def test_two_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    of = world(3)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        written(of.model, of, PLAIN).to_netcdf(tmp_path / folder / "mod.nc")
    written(of.truth, of, PLAIN).to_netcdf(tmp_path / "obs.nc")
    places = [str(tmp_path / folder / "mod.nc") for folder in ("a", "b")]
    with pytest.raises(InputError, match=r"^forecasts: two are called mod .*name them, as in mod_b="):
        score_files(places, [str(tmp_path / "obs.nc")], show=False)
    found = score_files([places[0], f"other={places[1]}"], [str(tmp_path / "obs.nc")], show=False)
    agree(found, of, model="other")


def test_one_of_two_variables_by_any_of_its_names(tmp_path: Path) -> None:
    of = world(3)
    data = written(of.truth, of, PLAIN)
    data["tas"].attrs["standard_name"] = "air_temperature"
    data.assign(pr=data["tas"] * 2).assign(pr=lambda both: both["pr"].drop_attrs(deep=False)).to_netcdf(tmp_path / "obs.nc")
    written(of.model, of, PLAIN).to_netcdf(tmp_path / "mod.nc")
    for name in ("tas", "air_temperature"):
        found = score_files([f"model={tmp_path}/mod.nc"], [f"{tmp_path}/obs.nc"], settings=[f"data.files.variable={name}"], show=False)
        agree(found, of)
