"""Faults that users of other tools met: each goes in as files through the front door, and comes out as the right value or an error.

The inputs and the right values are not ours; see `../shared/cases`.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import xarray as xr

import ensemble as ens
from ensemble.errors import InputError, RunError
from ensemble.scoring import Scored, score_files

SECONDS = xr.coders.CFDatetimeCoder(time_unit="s")
CASES = Path(__file__).parents[3] / "shared" / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not there")


def case(number: str) -> ModuleType:
    (path,) = CASES.glob(f"{number}_*.py")
    spec = importlib.util.spec_from_file_location(f"case_{number}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENSEMBLE_CACHE", str(tmp_path / "cache"))


def scored(files: dict[str, Path], *names: str, truth: str = "obs", settings: tuple[str, ...] = (), **more: Any) -> Scored:
    return score_files({name: str(files[name]) for name in names}, {truth: str(files[truth])}, settings=settings, show=False, **more)


def value(of: Scored, score: str, model: str, *, region: str = "all", lead: int = 0) -> float:
    (run,) = of.runs.values()
    return float(run.scores[score].sel(model=model, region=region).isel(lead_time=lead))


def test_01_month_end_stamps_of_three_calendars(tmp_path: Path) -> None:
    c = case("01")
    made = scored(c.make(tmp_path), "model_a", "model_b")
    (run,) = made.runs.values()
    assert (run.scores["n_starts"] == c.EXPECT["n_times"]).all()
    for model, name in (("model_a", "a"), ("model_b", "b"), ("mean", "equal_mean")):
        for score in ("bias", "rmse", "mae"):
            assert value(made, score, model) == pytest.approx(c.EXPECT[f"{score}_{name}"], abs=c.TOL)


@pytest.mark.parametrize("truth", ["obs_days", "obs_months"])
def test_02_dates_past_2262(truth: str, tmp_path: Path) -> None:
    c = case("02")
    files = c.make(tmp_path)
    made = score_files({"a": str(files["model_a"])}, {"obs": str(files[truth])}, out=tmp_path / "out", show=False)
    assert value(made, "bias", "a") == pytest.approx(c.EXPECT["bias_a"], abs=c.TOL)
    assert value(made, "rmse", "a") == pytest.approx(c.EXPECT["rmse_a"], abs=c.TOL)
    assert int(made.scores["n_starts"].min()) == c.EXPECT["n_times"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "January 2250 to December 2299" in page


def test_02_persistence_past_2262(tmp_path: Path) -> None:
    c = case("02")
    files = c.make(tmp_path)
    recipe = tmp_path / "persistence.yaml"
    recipe.write_text(f"data: {{files: {{path: {files['obs_days']}}}}}\nleads: [12]\nmodels: [persistence]\nscores: [rmse]\n")
    run = ens.run(recipe, workers=0, show=False, keep_forecasts=True, out=tmp_path / "out")
    assert int(run.scores["n_starts"].min()) == c.EXPECT["persistence_lead_12_pairs"]
    assert float(run.scores["rmse"].squeeze()) == pytest.approx(c.EXPECT["persistence_lead_12_rmse"], abs=c.TOL)
    with xr.open_datatree(tmp_path / "out" / "forecasts.zarr", engine="zarr", decode_times=SECONDS) as kept:
        valid = kept["persistence"]["valid_time"].values.ravel().astype("datetime64[M]")
    assert (str(valid[0]), str(valid[-1]), len(valid)) == ("2251-01", c.EXPECT["last_month"], c.EXPECT["persistence_lead_12_pairs"])
    assert (valid.astype("datetime64[Y]") == np.datetime64("2263")).sum() == c.EXPECT["n_months_in_2263"]


@pytest.mark.parametrize("longitude", [[340, 40], [-20, 40]])
def test_04_longitudes_and_latitudes_in_every_convention(longitude: list[int], tmp_path: Path) -> None:
    c = case("04")
    settings = ("regions.sahel.latitude=[0, 30]", f"regions.sahel.longitude={longitude}")
    made = scored(c.make(tmp_path), "model_a", "model_b", "model_c", settings=settings)
    for name in "abc":
        assert value(made, "rmse", f"model_{name}") == pytest.approx(c.EXPECT[f"rmse_{name}_global_weighted"], abs=c.TOL)
    assert value(made, "rmse", "model_a", region="sahel") == pytest.approx(c.EXPECT["rmse_a_region_weighted"], abs=c.TOL)
    (run,) = made.runs.values()
    assert (run.scores["n"].sel(region="all") == 3 * c.EXPECT["n_cells"]).all()
    assert (run.scores["n"].sel(region="sahel") == 3 * c.EXPECT["n_region_cells"]).all()


def test_04_a_region_without_a_cell_is_an_error(tmp_path: Path) -> None:
    files = case("04").make(tmp_path)
    with pytest.raises(InputError, match=r"regions.gap: .*41.*44.*latitude -85"):
        scored(files, "model_a", settings=("regions.gap.latitude=[41, 44]",))


def test_06_rain_in_four_units(tmp_path: Path) -> None:
    c = case("06")
    made = scored(c.make(tmp_path), "model_a", "model_b", "model_c")
    for name in "abc":
        for score in ("bias", "rmse"):
            assert value(made, score, f"model_{name}") == pytest.approx(c.EXPECT[f"{score}_{name}_mm_day"], abs=c.TOL)
    assert value(made, "rmse", "mean") == pytest.approx(c.EXPECT["rmse_equal_mean_abc_mm_day"], abs=c.TOL)


def test_06_a_file_without_a_unit_is_refused_by_name(tmp_path: Path) -> None:
    c = case("06")
    files = c.make(tmp_path)
    with pytest.raises(InputError, match=r"pr in model_d\.nc has no units.*units_are"):
        scored(files, "model_a", "model_d")
    made = scored(files, "model_d", settings=("models.model_d.units_are=kg m-2 s-1",))
    assert value(made, "bias", "model_d") == pytest.approx(0.5, abs=c.TOL)


def test_08_members_without_data(tmp_path: Path) -> None:
    c = case("08")
    files = c.make(tmp_path)
    made = scored(files, "forecast_declared")
    for score, name in (("bias", "bias_ensemble_mean"), ("rmse", "rmse_ensemble_mean"), ("spread", "spread_ddof1")):
        assert value(made, score, "forecast_declared") == pytest.approx(c.EXPECT[name], abs=c.TOL)
    (run,) = made.runs.values()
    assert int(run.scores["n"].squeeze()) == c.EXPECT["n_cells_scored"]
    assert int(run.scores["members"].squeeze()) == len(c.EXPECT["members_with_data"])
    assert any("2, 4, 5" in f"{each.found} {each.done}" for each in run.notes)


def test_08_a_fill_value_that_is_not_declared_is_refused(tmp_path: Path) -> None:
    c = case("08")
    files = c.make(tmp_path)
    with pytest.raises(InputError, match=r"aod.*-9999") as caught:
        scored(files, "forecast_undeclared")
    assert "2, 4, 5" in str(caught.value)
    made = scored(files, "forecast_undeclared", settings=("models.forecast_undeclared.missing_value=-9999",))
    assert value(made, "rmse", "forecast_undeclared") == pytest.approx(c.EXPECT["rmse_ensemble_mean"], abs=c.TOL)


def test_08_the_least_number_of_members_is_kept_to(tmp_path: Path) -> None:
    files = case("08").make(tmp_path)
    with pytest.raises(RunError, match=r"4 of 7 members have data .*fewer than the least number of 5"):
        scored(files, "forecast_declared", settings=("models.forecast_declared.least_members=5",))


@pytest.mark.parametrize("mask", ["own", "common"])
def test_10_area_means_with_gaps(mask: str, tmp_path: Path) -> None:
    c = case("10")
    made = scored(c.make(tmp_path), "model_a", "model_b", settings=(f"sample.mask={mask}", "sample.missing=keep"))
    (run,) = made.runs.values()
    for name in "ab":
        for score in ("bias", "rmse"):
            assert value(made, score, f"model_{name}") == pytest.approx(c.EXPECT[f"{score}_{name}_{mask}_mask"], abs=c.TOL)
        n = c.EXPECT["n_valid_common"] if mask == "common" else c.EXPECT[f"n_valid_{name}"]
        assert int(run.scores["n"].sel(model=f"model_{name}").squeeze()) == n
        assert int(run.scores["n_had"].sel(model=f"model_{name}").squeeze()) == c.EXPECT[f"n_valid_{name}"]
    assert value(made, "rmse", "mean") == pytest.approx(c.EXPECT["rmse_equal_mean_common_mask"], abs=c.TOL)


def test_12_stamps_at_the_end_of_the_month(tmp_path: Path) -> None:
    c = case("12")
    files = c.make(tmp_path)
    made = scored(files, "model_run")
    assert int(made.scores["n_starts"].min()) == c.EXPECT["n_pairs_run"]
    assert value(made, "bias", "model_run") == pytest.approx(c.EXPECT["bias_run"], abs=c.TOL)
    assert value(made, "rmse", "model_run") == pytest.approx(c.EXPECT["rmse_run"], abs=c.TOL)
    hindcast = scored(files, "hindcast")
    (run,) = hindcast.runs.values()
    np.testing.assert_allclose(run.scores["rmse"].sel(model="hindcast", region="all"), c.EXPECT["rmse_by_lead"], atol=c.TOL)
    assert (run.scores["n_starts"] == c.EXPECT["n_starts_per_lead"]).all()


def test_14_doubled_and_unsorted_stamps(tmp_path: Path) -> None:
    c = case("14")
    files = c.make(tmp_path)
    with pytest.raises(InputError, match=r"2010-02-01.18.*duplicates"):
        scored(files, "model_a", truth="dataset")
    for keep in ("first", "last"):
        made = scored(files, "model_a", truth="dataset", settings=(f"data.files.duplicates={keep}",))
        assert value(made, "rmse", "model_a") == pytest.approx(c.EXPECT[f"rmse_a_keep_{keep}"], abs=c.TOL)
        assert int(made.scores["n_starts"].min()) == c.EXPECT["n_distinct"]


def test_14_persistence_of_the_sorted_record(tmp_path: Path) -> None:
    c = case("14")
    files = c.make(tmp_path)
    recipe = tmp_path / "persistence.yaml"
    recipe.write_text(
        f"data: {{files: {{path: {files['dataset']}, duplicates: first}}}}\nleads: [1]\nmodels: [persistence]\nscores: [rmse]\n"
    )
    run = ens.run(recipe, workers=0, show=False)
    assert int(run.scores["n_starts"].squeeze()) == c.EXPECT["persistence_1h_pairs"]
    assert float(run.scores["rmse"].squeeze()) == pytest.approx(c.EXPECT["persistence_1h_rmse_keep_first"], abs=c.TOL)


def test_14_starts_are_read_back_to_the_minute(tmp_path: Path) -> None:
    c = case("14")
    files = c.make(tmp_path)
    recipe = tmp_path / "persistence.yaml"
    recipe.write_text(f"data: {{files: {{path: {files['starts']}}}}}\nleads: [1]\nmodels: [persistence]\nscores: [rmse]\n")
    run = ens.run(recipe, workers=0, show=False, keep_forecasts=True, out=tmp_path / "out")
    assert float(run.scores["rmse"].squeeze()) == pytest.approx(c.EXPECT["starts_persistence_6h_rmse"], abs=c.TOL)
    with xr.open_datatree(tmp_path / "out" / "forecasts.zarr", engine="zarr", decode_times=SECONDS) as kept:
        valid = kept["persistence"]["valid_time"].values.ravel().astype("datetime64[m]")
    assert [str(each) for each in valid] == c.EXPECT["starts_read_back"][1:]  # what is forecast: all but the first, which is known


def test_16_ensembles_of_different_size(tmp_path: Path) -> None:
    c = case("16")
    files = c.make(tmp_path)
    names = ("model_two", "model_eight", "model_one", "model_one_without_member_dim")
    made = scored(files, *names, settings=("scores=[rmse, mae, crps, crps_standard, spread]", "combine=[]"))
    for model, name in zip(names, ("two", "eight", "one", "one"), strict=True):
        for score, key in (
            ("crps_standard", "crps_standard"),
            ("crps", "crps_fair"),
            ("spread", "spread_ddof1"),
            ("rmse", "rmse_ensemble_mean"),
        ):
            assert value(made, score, model) == pytest.approx(c.EXPECT[f"{key}_{name}"], abs=c.TOL, nan_ok=True)
    (run,) = made.runs.values()
    assert value(made, "mae", "model_one") == pytest.approx(c.EXPECT["mae_one"], abs=c.TOL)
    assert run.ranking("crps").sel(model=["model_two", "model_eight"])["model"].values[0] == "model_two"
    best = {score: run.ranking(score)["model"].values.tolist() for score in ("crps", "crps_standard")}
    assert best["crps"].index("model_two") < best["crps"].index("model_eight")
    assert best["crps_standard"].index("model_eight") < best["crps_standard"].index("model_two")


def test_18_long_means_of_single_precision(tmp_path: Path) -> None:
    c = case("18")
    made = scored(c.make(tmp_path), "model_a", settings=("scores=[bias, rmse]",))
    assert value(made, "bias", "model_a") == pytest.approx(c.EXPECT["bias"], abs=1e-12)
    assert value(made, "rmse", "model_a") == pytest.approx(c.EXPECT["rmse"], abs=1e-12)
    assert int(made.scores["n"].squeeze()) == 800_000


MODEL = '''
from dataclasses import dataclass

import numpy as np

from ensemble import Model, Untrained, dataset


@dataclass(frozen=True)
class Toy(Untrained, Model):
    """The mean of all that was seen, and a constant; with `strict` it wants no gap."""

    plus: float = 1.0
    strict: bool = False

    @property
    def history(self):
        return 25

    def forecast(self, state, initial, lead_times, forcing, seed):
        x = initial["tas"].values
        if self.strict and np.isnan(x).any():
            raise ValueError("Input X contains NaN")
        mean = np.nanmean(x, axis=1)[:, None] + self.plus
        coords = {"init_time": initial["init_time"], "lead_time": lead_times}
        return initial["tas"].isel(lag=[0] * len(lead_times), drop=True).drop_vars("time").rename(lag="lead_time").copy(
            data=np.repeat(mean, len(lead_times), 1)).assign_coords(coords).to_dataset()
'''


@pytest.mark.parametrize("workers", [0, 1, 2, 4])
def test_20_one_model_fails(workers: int, tmp_path: Path) -> None:
    c = case("20")
    files = c.make(tmp_path)
    (tmp_path / "toy.py").write_text(MODEL)
    recipe = tmp_path / "study.yaml"
    recipe.write_text(
        f"data: {{files: {{path: {files['obs']}}}}}\nleads: [1]\ntest: [2002-02, 2004-01]\nscores: [rmse]\n"
        "sample: {missing: keep}\ncombine: [fixed: {share: {ok_a: 0.5, ok_b: 0.3, bad: 0.2}}]\nmodels:\n"
        "  - ok_a: {model: ./toy.py, plus: 1.0}\n  - ok_b: {model: ./toy.py, plus: -2.0}\n"
        "  - bad: {model: ./toy.py, plus: 0.5, strict: true}\n"
    )
    run = ens.run(recipe, workers=workers, show=False, out=tmp_path / "out")
    for name in ("ok_a", "ok_b"):
        assert float(run.scores["rmse"].sel(model=name).squeeze()) == pytest.approx(c.EXPECT[f"rmse_{name}"], abs=c.TOL)
        assert int(run.scores["n"].sel(model=name).squeeze()) == c.EXPECT["n_pairs"]
    assert run.scores["model"].values.tolist() == ["ok_a", "ok_b", "fixed"]
    assert float(run.scores["rmse"].sel(model="fixed").squeeze()) == pytest.approx(c.EXPECT["rmse_combined_rescaled_per_start"], abs=c.TOL)
    (failure,) = run.failures
    assert (failure.model, len(failure.starts), failure.of) == ("bad", c.EXPECT["n_starts_bad_failed"], c.EXPECT["n_starts"])
    assert failure.starts[0].startswith("2002-08")  # issued after month 30, the one with the gap
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Input X contains NaN" in page
    assert "18 of 24" in page
    assert "rescaled" in page


@pytest.mark.parametrize("store", ["obs", "obs_zarr"])
def test_22_a_running_loop_and_letters_of_every_kind(store: str, tmp_path: Path) -> None:
    c = case("22")
    files = c.make(tmp_path)
    recipe = tmp_path / "étude.yaml"
    recipe.write_text(
        f"data: {{files: {{path: '{files[store]}'}}}}\nleads: [1, 2, 3]\nmodels: [persistence]\nscores: [rmse]\nsample: {{align: pairs}}\n",
        encoding="utf-8",
    )
    out = files["output_folder_to_use"]
    run = c.inside_loop(ens.run, recipe, workers=1, show=False, out=out)
    for i, lead in enumerate((1, 2, 3)):
        assert float(run.scores["rmse"].isel(lead_time=i).squeeze()) == pytest.approx(c.EXPECT[f"persistence_rmse_lead_{lead}"], abs=c.TOL)
        assert int(run.scores["n_starts"].isel(lead_time=i).squeeze()) == c.EXPECT[f"persistence_starts_lead_{lead}"]
    assert "température" in (out / "report.html").read_text(encoding="utf-8")
    assert {"scores.nc", "maps.nc", "report.html", "run.json"} <= {path.name for path in out.iterdir()}


def test_22_a_script_without_a_main_guard_stops_with_one_message(tmp_path: Path) -> None:
    files = case("22").make(tmp_path)
    script = files["script_without_guard"]
    out = str(files["output_folder_to_use"])
    call = f"ensemble.run('enso_small', only=['persistence', 'damped_persistence'], workers=2, out={out!r})"
    text = f"import ensemble\nrun = {call}\nprint(len(run.failures))\n"
    script.write_text(text, encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode == 0:
        assert done.stdout.strip().splitlines()[-1] == "0"
    else:
        assert len(done.stderr.strip().splitlines()) < 5
        assert "__main__" in done.stderr


def test_22_from_the_command_line_with_quoted_paths(tmp_path: Path) -> None:
    files = case("22").make(tmp_path)
    out = files["output_folder_to_use"]
    words = ["score", f"same={files['obs']}", "--truth", str(files["obs_zarr"]), "--out", str(out)]
    done = subprocess.run([sys.executable, "-m", "ensemble", *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert (out / "report.html").exists()
    with xr.open_dataset(out / "scores.nc") as scores:
        assert float(scores["rmse"].squeeze()) == 0.0


Check = Callable[[ModuleType], None]


@pytest.mark.parametrize("number", ["01", "02", "04", "06", "08", "10", "12", "14", "16", "18", "20", "22"])
def test_the_right_values_are_right(number: str) -> None:
    case(number).verify()
