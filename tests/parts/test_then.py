"""Parts in a row and side by side are the models they are made of."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import xarray as xr

from ensemble import Learner, Learnt, Model, Sum, Transform
from ensemble.chunk import Chunk, known_ahead, windows
from ensemble.execute import Serial
from ensemble.fitting import fit
from ensemble.hindcast import checked
from ensemble.parts import Climatology, Correction, Damping, Eof, RunningNormal, Then, beside
from ensemble.task import Array, Domain, Times
from ensemble.testing import basin_study
from ensemble.testing.models import Trial

STUDY = basin_study(model=Damping())
CHUNK = Trial(STUDY).chunks()[0]


def state_of(model: Learner[Any, Any]) -> Any:
    return fit(model, [[CHUNK.fresh()]], STUDY.domain, Serial(), 0)


def forecast_of(model: Model[Any, Any], starts: Times | None = None) -> Array:
    starts = STUDY.train.times(STUDY.data.step)[30:36] if starts is None else starts
    initial = windows(CHUNK.data, STUDY.domain, starts, model.history)
    made = model.forecast(state_of(model), initial, STUDY.lead_times, known_ahead(STUDY.domain, starts, STUDY.lead_times), 0)
    return checked(made, STUDY.domain, starts).values


@dataclass(frozen=True)
class Constant(Model[Any, Sum]):
    """The mean of the targets of each lead, over all starts: a forecast in one number."""

    past: int = 1

    @property
    def history(self) -> int:
        return self.past

    def start(self, domain: Domain, seed: int) -> Learnt[Any]:
        return Learnt(np.zeros(1), finished=False)

    def summarise(self, state: Any, chunk: Chunk) -> Sum:
        targets = chunk.pairs(self.history).targets[chunk.domain.target].values
        return Sum((np.nansum(targets, axis=0), np.array(len(targets))))

    def update(self, state: Any, total: Sum) -> Learnt[Any]:
        return Learnt(total.tree[0] / total.tree[1], finished=True)

    def forecast(self, state: Any, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        name = next(iter(initial.data_vars))
        assert initial.sizes["lag"] == self.history
        now = (initial[[name]].isel(lag=-1, drop=True).drop_vars("time") * 0.0).expand_dims(lead_time=lead_times, axis=1)
        return now + xr.DataArray(state, dims=now[name].dims[1:])


@dataclass(frozen=True)
class Twice(Transform[Any, Sum]):
    """Twice the variable: a transform that needs a round of its own and three steps of history."""

    @property
    def history(self) -> int:
        return 3

    def start(self, domain: Domain, seed: int) -> Learnt[Any]:
        return Learnt(0.0, finished=False)

    def summarise(self, state: Any, chunk: Chunk) -> Sum:
        return Sum(1.0)

    def update(self, state: Any, total: Sum) -> Learnt[Any]:
        return Learnt(2.0 * total.tree, finished=True)

    def apply(self, state: Any, data: xr.Dataset) -> xr.Dataset:
        return data * float(state)

    def restore(self, state: Any, forecast: xr.Dataset, initial: xr.Dataset) -> xr.Dataset:
        return forecast / float(state)


def test_a_model_in_other_variables_forecasts_in_the_old_ones() -> None:
    np.testing.assert_allclose(forecast_of(Then(Twice(), Damping())), forecast_of(Damping()), rtol=1e-12)


def test_history_is_that_of_the_longest_way_back() -> None:
    assert Then(Twice(), Constant(4)).history == 6
    assert beside(sst=Then(Twice(), Constant(2))).history == 4
    assert Correction(Constant(2), Constant(5)).history == 5
    forecast_of(Then(Twice(), Constant(4)))  # `Constant` looks at how many lags it is handed


def test_stages_are_fitted_in_turn_and_the_second_in_the_new_variables() -> None:
    model = Then(Climatology(), Then(Eof(3), beside(pc=Damping(), residual=Damping())))
    anomalies = Climatology().apply(state_of(Climatology()), CHUNK.data)
    inner = Chunk(anomalies, STUDY.domain, CHUNK.start, CHUNK.stop, True)
    patterns = fit(Eof(3), [[inner]], STUDY.domain, Serial(), 0)
    state = state_of(model)
    assert np.array_equal(state.second.first.vectors, patterns.vectors)
    pc = Chunk(Eof(3).apply(patterns, anomalies)[["pc"]], Eof(3).domain(patterns, STUDY.domain).only("pc"), CHUNK.start, CHUNK.stop, True)
    share = fit(Damping(), [[pc]], pc.domain, Serial(), 0).share
    np.testing.assert_array_equal(state.second.second["pc"].state.share, share)


def test_models_side_by_side_do_not_hear_of_each_other() -> None:
    alone = {name: state_of(Then(Eof(3), beside(pc=Damping(), residual=Damping(3)))).second[name].state for name in ("pc", "residual")}
    turned = state_of(Then(Eof(3), beside(residual=Damping(3), pc=Damping()))).second
    for name, state in alone.items():
        assert np.array_equal(state.share, turned[name].state.share, equal_nan=True)


@dataclass(frozen=True)
class Rounds(Model[Any, Sum]):
    """Counts how often it is asked, until it has had enough."""

    rounds: int

    def start(self, domain: Domain, seed: int) -> Learnt[Any]:
        return Learnt(0, finished=self.rounds == 0)

    def summarise(self, state: Any, chunk: Chunk) -> Sum:
        return Sum(1)

    def update(self, state: Any, total: Sum) -> Learnt[Any]:
        return Learnt(state + total.tree, finished=state + 1 >= self.rounds)

    def forecast(self, state: Any, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        raise NotImplementedError


@pytest.mark.parametrize(("one", "other"), [(3, 1), (0, 2), (0, 0)])
def test_each_of_several_learns_for_as_many_rounds_as_it_wants(one: int, other: int) -> None:
    state = state_of(Then(Eof(3), beside(pc=Rounds(one), residual=Rounds(other)))).second
    assert (state["pc"].state, state["residual"].state) == (one, other)
    inner = state_of(Then(Twice(), Then(Twice(), Rounds(one))))
    assert inner.second.second == one


def errors(model: Model[Any, Any], past: int = 1) -> Array:
    """(start, lead_time, point) of the starts that a model with `past` steps of history learns from."""
    pairs = CHUNK.fresh().pairs(past)
    mask = STUDY.domain.fields["sst"].mask
    made = forecast_of(model, pairs.initial["init_time"].values)[:, :, 0, mask]
    difference: Array = made - pairs.targets["sst"].values[:, :, mask]
    return difference


def test_a_correction_learns_what_the_base_leaves_and_adds_it() -> None:
    """Damped persistence, corrected by its mean error: no mean error is left on the starts it was learnt from."""
    assert np.abs(errors(Damping()).mean(0)).max() > 0.01
    assert np.abs(errors(Correction(Damping(), Constant())).mean(0)).max() < 1e-12


def test_a_base_with_a_longer_history_than_its_correction_sees_all_of_it() -> None:
    base = Then(RunningNormal(7, 0.5), Damping())
    assert np.abs(errors(Correction(base, Constant()), past=7).mean(0)).max() < 1e-12


def test_a_correction_of_a_correction_learns_what_both_leave() -> None:
    base = Then(RunningNormal(7, 0.5), Damping())
    model = Correction(base, Correction(Damping(), Constant()))
    assert np.abs(errors(model, past=7).mean(0)).max() < 1e-12


def test_a_transform_inside_a_correction_is_refused() -> None:
    with pytest.raises(ValueError, match="put the transform around both"):
        state_of(Correction(Damping(), Then(Twice(), Damping())))
