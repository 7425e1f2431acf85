"""The kit sees what it is there to see: each promise has a model that breaks it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import xarray as xr

from ensemble import Array, Chunk, Domain, Learnt, Model, Source, Sum, Times, Untrained
from ensemble.combine import COMBINATIONS, Combine, Fixed
from ensemble.score import SCORES, Means, Values
from ensemble.score.base import PointScore
from ensemble.score.statistics import SquaredError
from ensemble.testing import Basin, Changed, basin_study, check_combine, check_model, check_score, check_source
from ensemble.testing.models import Trial, the_future_is_unknown

NOISE = np.random.default_rng(0)
GLOBAL = {"factor": 1.0}


@dataclass(frozen=True)
class Honest(Model[dict[str, Any], Sum]):
    """The last value times a number that is learnt: keeps all promises, and the methods below break one each."""

    box: Any = field(default=None, hash=False)

    def start(self, domain: Domain, seed: int) -> Learnt[dict[str, Any]]:
        return Learnt({"factor": np.zeros(1)}, finished=False)

    def summarise(self, state: dict[str, Any], chunk: Chunk) -> Sum:
        x = np.nan_to_num(chunk.own()["sst"].values)
        return Sum((np.array([np.abs(x).sum()]), np.array([float(x.size)])))

    def update(self, state: dict[str, Any], total: Sum) -> Learnt[dict[str, Any]]:
        sums, count = total.tree
        return Learnt({"factor": sums / count}, finished=True)

    def forecast(self, state: dict[str, Any], initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        now = initial.isel(lag=-1, drop=True).drop_vars("time").expand_dims(lead_time=lead_times, axis=1)
        return now * float(np.asarray(state["factor"]).sum())


def test_an_honest_model_passes() -> None:
    check_model(Honest(), others=[Honest(1)])


class Thawed(Honest):
    __setattr__ = object.__setattr__


class Unhashable(Honest):
    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class LearnsOnSelf(Honest):
    def update(self, state: dict[str, Any], total: Sum) -> Learnt[dict[str, Any]]:
        object.__setattr__(self, "box", float(total.tree[0][0]))
        return super().update(state, total)


@dataclass(frozen=True)
class ForgetsAStart(Honest):
    def forecast(self, *arguments: Any) -> xr.Dataset:
        return super().forecast(*arguments).isel(init_time=slice(1, None))


@dataclass(frozen=True)
class Infinite(Honest):
    def forecast(self, *arguments: Any) -> xr.Dataset:
        return super().forecast(*arguments) / 0.0


@dataclass(frozen=True)
class OnLand(Honest):
    def forecast(self, *arguments: Any) -> xr.Dataset:
        return super().forecast(*arguments).fillna(0.0)


@dataclass(frozen=True)
class WritesIntoData(Honest):
    def summarise(self, state: dict[str, Any], chunk: Chunk) -> Sum:
        if chunk.data["sst"].values.flags.writeable:
            chunk.data["sst"].values[0] = 0.0
        return super().summarise(state, chunk)


@dataclass(frozen=True)
class WritesIntoInitial(Honest):
    def forecast(self, state: dict[str, Any], initial: xr.Dataset, *rest: Any) -> xr.Dataset:
        initial["sst"].values[...] = 0.0
        return super().forecast(state, initial, *rest)


@dataclass(frozen=True)
class Draws(Honest):
    def update(self, state: dict[str, Any], total: Sum) -> Learnt[dict[str, Any]]:
        return Learnt({"factor": NOISE.random(1)}, finished=True)


class Shy(float):
    def __reduce__(self) -> Any:
        return float, (1.0,)


@dataclass(frozen=True)
class LosesItsState(Honest):
    def update(self, state: dict[str, Any], total: Sum) -> Learnt[dict[str, Any]]:
        return Learnt({"factor": Shy(super().update(state, total).state["factor"][0])}, finished=True)


@dataclass(frozen=True)
class HoldsAnObject(Honest):
    def update(self, state: dict[str, Any], total: Sum) -> Learnt[dict[str, Any]]:
        return Learnt({**super().update(state, total).state, "object": frozenset({1})}, finished=True)


@dataclass(frozen=True)
class CountsChunks(Honest):
    def summarise(self, state: dict[str, Any], chunk: Chunk) -> Sum:
        sums, _ = super().summarise(state, chunk).tree
        return Sum((sums, np.array([1.0])))


@dataclass(frozen=True)
class Averages(Honest):
    def forecast(self, *arguments: Any) -> xr.Dataset:
        made = super().forecast(*arguments)
        return made + made.mean("init_time")


@dataclass(frozen=True)
class FirstIsSpecial(Honest):
    def forecast(self, *arguments: Any) -> xr.Dataset:
        made = super().forecast(*arguments)
        return made + xr.DataArray(np.arange(made.sizes["init_time"]) == 0, dims="init_time")


@dataclass(frozen=True)
class ChangesTheWorld(Honest):
    def update(self, state: dict[str, Any], total: Sum) -> Learnt[dict[str, Any]]:
        GLOBAL["factor"] = 2.0
        return super().update(state, total)


@dataclass(frozen=True)
class TrustsTheWorld(Honest):
    def forecast(self, *arguments: Any) -> xr.Dataset:
        return super().forecast(*arguments) * GLOBAL["factor"]


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (Thawed, "can be changed after it was made"),
        (Unhashable, "cannot be hashed"),
        (LearnsOnSelf, "changed a setting"),
        (ForgetsAStart, "has shape"),
        (Infinite, "not finite"),
        (OnLand, "where there are no data"),
        (WritesIntoData, "wrote into the data"),
        (WritesIntoInitial, "wrote into its initial states"),
        (Draws, "two fits with one seed differ"),
        (LosesItsState, "pickled and read again"),
        (HoldsAnObject, "a state holds a frozenset"),
        (CountsChunks, "cut into 2 shards"),
        (Averages, "depends on which other starts"),
        (FirstIsSpecial, "depends on the order of the starts"),
    ],
)
def test_a_broken_promise_is_named(broken: type[Honest], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_model(broken())


def test_a_model_that_changes_another_is_found() -> None:
    GLOBAL["factor"] = 1.0
    with pytest.raises(AssertionError, match="TrustsTheWorld forecasts differently once ChangesTheWorld has run"):
        check_model(TrustsTheWorld(), others=[ChangesTheWorld()])


def test_learning_from_after_the_training_period_is_found() -> None:
    @dataclass(frozen=True)
    class Peeks(Honest):
        def update(self, state: dict[str, Any], total: Sum) -> Learnt[dict[str, Any]]:
            source = NOW[-1]
            return Learnt({"factor": source.read(source.times[-1:])["sst"].values[0, 0, :1]}, finished=True)

    NOW: list[Source] = [Basin()]
    trial = Trial(basin_study(model=Peeks()))
    assert np.isfinite(trial.made).any()
    NOW.append(Changed(Basin(), Basin().times[60]))  # as it would be read, had the future been different
    with pytest.raises(AssertionError, match="after the training period"):
        the_future_is_unknown(trial)


def test_a_forecast_that_leans_on_later_starts_is_found() -> None:
    with pytest.raises(AssertionError, match="changes a forecast that was issued by then"):
        the_future_is_unknown(Trial(basin_study(model=Averages())))


@pytest.mark.parametrize("name", [name for name in SCORES if name != "sedi"])  # which a forecast that is nearly perfect has not
def test_every_score_keeps_its_promises(name: str) -> None:
    check_score(SCORES[name]())


@pytest.mark.parametrize("name", COMBINATIONS)
def test_every_combination_keeps_its_promises(name: str) -> None:
    check_combine(Fixed(share={"good": 3, "climatology": 1}) if name == "fixed" else COMBINATIONS[name]())


class RootBeforeTheMean(SquaredError):
    def at(self, values: Values) -> Array:
        squared: Array = values.error**2 * len(values.truth)
        return squared


@dataclass(frozen=True)
class Upside(PointScore):
    name = "upside"
    long_name = "says that high is good"
    statistics = (SquaredError(),)
    best = "high"

    def of(self, means: Means) -> xr.DataArray:
        return means[SquaredError()]


@dataclass(frozen=True)
class Nonlinear(PointScore):
    name = "nonlinear"
    long_name = "depends on the cut"
    statistics = (RootBeforeTheMean(),)

    def of(self, means: Means) -> xr.DataArray:
        return means[RootBeforeTheMean()]


def test_a_score_that_breaks_a_promise_is_named() -> None:
    with pytest.raises(AssertionError, match="best is 'high'"):
        check_score(Upside())
    with pytest.raises(AssertionError, match="two halves"):
        check_score(Nonlinear())


@dataclass(frozen=True)
class FirstOne(Untrained, Combine[None, Any]):
    share: float = 1.0

    def weights(self, state: None, domain: Domain) -> Array:
        weights = np.zeros((len(domain.fields["forecast"].coords["model"]), len(domain.lead_times)))
        weights[0] = self.share
        return weights


def test_a_combination_that_breaks_a_promise_is_named() -> None:
    with pytest.raises(AssertionError, match="order in which the models are listed"):
        check_combine(FirstOne())
    with pytest.raises(AssertionError, match="add up to one"):
        check_combine(FirstOne(share=0.5))


@dataclass(frozen=True)
class Gappy(Basin):
    @property
    def times(self) -> Times:
        return np.delete(super().times, 5)


@dataclass(frozen=True)
class Fickle(Basin):
    def read(self, times: Times) -> xr.Dataset:
        data = super().read(times)
        return data - data.mean()


@dataclass(frozen=True)
class Heavy(Basin):
    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "luggage": np.zeros(100_000)}


@dataclass(frozen=True)
class Bare(Basin):
    def read(self, times: Times) -> xr.Dataset:
        return super().read(times).drop_attrs()


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (Gappy, "is not one step of 1 months later"),
        (Fickle, "differs from the whole record"),
        (Heavy, "pickles to"),
        (Bare, "has no units"),
    ],
)
def test_a_source_that_breaks_a_promise_is_named(broken: type[Source], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_source(broken())
