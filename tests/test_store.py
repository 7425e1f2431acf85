"""What is written can be read back, and nothing is ever half there."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import xarray as xr

import ensemble as ens
from ensemble.errors import InputError
from ensemble.recipe import written
from ensemble.store import labelled, read_state, whole, write_state, write_text


class Nested(NamedTuple):
    a: Any
    b: Any


class Foreign:
    pass


def test_a_state_comes_back_as_it_was(tmp_path: Path) -> None:
    state = {"x": Nested(np.arange(3.0), (1, "two", None, [True])), 7: np.float32(2.5), "n": Nested((), np.array(["a", "b"]))}
    write_state(tmp_path, "m", state)
    read = read_state(tmp_path, "m")
    assert isinstance(read["x"], Nested)
    np.testing.assert_array_equal(read["x"].a, state["x"].a)
    assert read["x"].b == (1, "two", None, [True])
    assert read[7] == np.float32(2.5)
    assert read["n"].a == ()
    assert read["n"].b.tolist() == ["a", "b"]


def test_reading_a_state_runs_no_code_unless_it_is_trusted(tmp_path: Path) -> None:
    write_state(tmp_path, "m", {"estimator": Foreign(), "x": np.ones(2)})
    with pytest.raises(InputError, match="trusted=True"):
        read_state(tmp_path, "m")
    assert type(read_state(tmp_path, "m", trusted=True)["estimator"]).__name__ == "Foreign"


def test_a_class_that_is_not_loaded_is_refused(tmp_path: Path) -> None:
    write_state(tmp_path, "m", Nested(1, 2))
    text = (tmp_path / "m.json").read_text()
    (tmp_path / "m.json").write_text(text.replace(f"{__name__}:Nested", "antigravity:fly"))
    with pytest.raises(InputError, match="has not been loaded"):
        read_state(tmp_path, "m")


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "before")

    def fails() -> None:
        with whole(tmp_path / "a.txt") as temporary:
            temporary.write_text("half")
            raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="disk"):
        fails()
    assert (tmp_path / "a.txt").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize(
    ("step", "kind"),
    [(np.timedelta64(1, "M"), "i"), (np.timedelta64(6, "h"), "m"), (np.timedelta64(1, "Y"), "i"), (np.timedelta64(3, "M"), "i")],
)
def test_lead_times_are_written_as_other_tools_read_them(step: np.timedelta64, kind: str) -> None:
    data = labelled(xr.Dataset(coords={"lead_time": [1, 2]}), step)
    assert data["lead_time"].values[1] == (2 * 6 * np.timedelta64(1, "h") if kind == "m" else 2 * int(step.astype(int)))
    assert data["lead_time"].dtype.kind == kind
    if kind == "i":
        assert data["lead_time"].attrs["units"] in ("months", "years")


def test_a_file_of_ones_own_comes_back_from_the_written_recipe(tmp_path: Path) -> None:
    text = Path(ens.load("persistence").__file__ or "").read_text()
    (tmp_path / "two.py").write_text(text + text[text.index("@dataclass") :].replace("class Persistence", "class Other"))
    (tmp_path / "mine.yaml").write_text(
        (Path(ens.__file__).parent / "recipes" / "enso_small.yaml").read_text().replace("  - lim\n", "  - ./two.py:Other\n")
    )
    study = ens.read_recipe(tmp_path / "mine.yaml", only=["persistence", "two"])
    (tmp_path / "again.yaml").write_text(written(study))
    assert ens.read_recipe(tmp_path / "again.yaml").models == study.models


def test_a_run_folder_holds_what_its_run_knew(tmp_path: Path) -> None:
    run = ens.run("enso_small", workers=0, only=["climatology", "lim"], keep_forecasts=True, show=False, out=tmp_path / "run")
    xr.testing.assert_identical(xr.load_dataset(tmp_path / "run" / "scores.nc"), run.scores)
    again = ens.read_recipe(tmp_path / "run" / "recipe.yaml")
    assert again.models == run.study.models
    state = read_state(tmp_path / "run" / "states", "lim")
    np.testing.assert_array_equal(state.second.second.first.vectors, run.states["lim"].second.second.first.vectors)
    made = xr.open_zarr(tmp_path / "run" / "forecasts.zarr", group="lim").load()
    assert {"valid_time", "valid_time_bounds"} <= set(made.coords)
    one = made["sst"].sel(init_time="2018-03-01")
    fresh = run.forecast("lim", "2018-03")["sst"].isel(init_time=0, member=0, drop=True)
    np.testing.assert_allclose(one.values, fresh.values, rtol=1e-12)
