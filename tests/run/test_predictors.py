"""Variables beside the target reach the models that look at them, and change nothing for the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import ensemble as ens
from ensemble.errors import InputError
from ensemble.prepare.together import Together
from ensemble.task import Period, Source, Times, shift

MONTHS = shift(np.datetime64("1990-01"), np.arange(240), np.timedelta64(1, "M"))
FORCE = np.random.default_rng(3).standard_normal(240)


@dataclass(frozen=True)
class Driven(Source):
    """A field that is next month what the wind is now."""

    step = np.timedelta64(1, "M")
    times = MONTHS
    target = "sst"

    def read(self, times: Times) -> xr.Dataset:
        sst = np.concatenate([[0.0], FORCE[:-1]])[:, None, None] * np.ones((1, 2, 3))
        space = {"latitude": [-5.0, 5.0], "longitude": [0.0, 10.0, 20.0]}
        return xr.Dataset({"sst": (("time", *space), sst)}, {"time": MONTHS, **space}).sel(time=times)


@dataclass(frozen=True)
class Wind(Source):
    """On a grid of its own, and longer."""

    step = np.timedelta64(1, "M")
    times = MONTHS[6:]
    target = "wind"

    def read(self, times: Times) -> xr.Dataset:
        space = {"latitude": [-2.5, 2.5], "longitude": [5.0]}
        wind = xr.Dataset({"wind": (("time", *space), FORCE[:, None, None] * np.ones((1, 2, 1)))}, {"time": MONTHS, **space})
        return wind.sel(time=times)


@dataclass(frozen=True)
class Blown(ens.Untrained, ens.Model):  # type: ignore[misc,type-arg]
    """The target is what the wind was last."""

    multivariate = True

    def forecast(self, state: None, initial: xr.Dataset, lead_times: ens.Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        last = initial["wind"].isel(lag=-1).mean([dim for dim in initial["wind"].dims if dim not in ("init_time", "lag")]).values
        made = last[:, None, None, None] * np.ones((1, len(lead_times), 2, 3))
        coords = {"init_time": initial["init_time"], "lead_time": lead_times, "latitude": [-5.0, 5.0], "longitude": [0.0, 10.0, 20.0]}
        return xr.Dataset({"sst": (tuple(coords), made)}, coords)


def study(**changed: object) -> ens.Study:
    persistence = ens.load("persistence").Persistence()
    made = ens.Study(
        data=Together(Driven(), (("wind", Wind()),)),
        target="sst",
        predictors=("wind",),
        train=Period(MONTHS[12], MONTHS[131]),
        validate=None,
        test=Period(MONTHS[144], MONTHS[239]),
        models={"persistence": persistence, "blown": Blown()},
        lead_times=np.array([1]),
    )
    return replace(made, **changed)  # type: ignore[arg-type]


def test_a_model_that_looks_at_a_predictor_forecasts_from_it() -> None:
    run = ens.run(study(), workers=0, show=False)
    assert float(run.scores["rmse"].sel(model="blown", region="all").squeeze()) == pytest.approx(0.0, abs=1e-14)
    assert float(run.scores["rmse"].sel(model="persistence", region="all").squeeze()) > 1.0


def test_a_model_that_does_not_is_shown_its_target_alone_and_scores_the_same() -> None:
    alone = ens.run(
        replace(study(), data=Driven(), predictors=(), models={"persistence": study().models["persistence"]}), workers=0, show=False
    )
    both = ens.run(study(), workers=0, show=False)
    assert np.array_equal(alone.scores["rmse"].sel(model="persistence"), both.scores["rmse"].sel(model="persistence"))


def test_the_record_is_what_all_of_them_have() -> None:
    data = study().data
    assert data.times[0] == MONTHS[6]
    read = data.read(data.times[:3])
    assert read["wind"].dims == ("time", "latitude_wind", "longitude_wind")
    assert study().domain.fields["wind"].area.sum() == pytest.approx(1.0)


def test_a_predictor_of_another_step_is_refused() -> None:
    @dataclass(frozen=True)
    class Yearly(Wind):
        step = np.timedelta64(1, "Y")

    with pytest.raises(InputError, match=r"predictors\.wind: has steps of 1 years.*bring them to one step"):
        Together(Driven(), (("wind", Yearly()),))


def test_a_recipe_names_predictors_and_is_written_back(tmp_path: Path) -> None:
    for source in (Driven(), Wind()):
        data = source.read(source.times)
        data[source.target].attrs["units"] = "K" if source.target == "sst" else "m s-1"
        data.to_netcdf(tmp_path / f"{source.target}.nc")
    recipe = tmp_path / "wind.yaml"
    recipe.write_text(
        "data: {files: {path: sst.nc}}\npredictors: {wind: {files: {path: wind.nc}}}\n"
        "train: [1991-01, 2000-12]\ntest: [2002-01, 2009-12]\nleads: [1]\nmodels: [persistence]\nscores: [rmse]\n"
    )
    run = ens.run(recipe, workers=0, show=False, out=tmp_path / "out")
    assert run.study.names == ("sst", "wind")
    again = ens.read_recipe(tmp_path / "out" / "recipe.yaml")
    assert again.data == run.study.data
    assert again.predictors == ("wind",)
