"""What a model promises: each promise a function of a `Trial`, its message the promise in words.

The engine relies on every one of them: to cut the data, to resume, to forecast anywhere in any order, and for the claim that
all models had the same data and none saw the future.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from ensemble.chunk import Chunk, known_ahead, windows
from ensemble.execute import Serial
from ensemble.fitting import fit
from ensemble.hindcast import checked
from ensemble.model import Model
from ensemble.prepare import chunk_of, record
from ensemble.study import Study
from ensemble.sums import tree_map
from ensemble.task import Array, Period, Source, Times, shift
from ensemble.testing.sea import Changed, basin_study
from ensemble.testing.watched import Watched

STARTS = 6


@dataclass(frozen=True)
class Trial:
    """A model at work on a study; a cut into `shards` may move it by `tolerance` standard deviations of the record."""

    study: Study
    tolerance: float = 1e-3
    shards: tuple[int, ...] = (2, 3)

    settings: tuple[bytes, ...] = field(init=False)  # as they were before any fit

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", settings_of(self.given))

    @property
    def train(self) -> Period:
        assert self.study.train is not None, "a trial needs a training period"
        return self.study.train

    @property
    def given(self) -> Model[Any, Any]:
        model: Model[Any, Any] = self.study.models["model"]
        return model

    @cached_property
    def model(self) -> Model[Any, Any]:
        """As the study runs it, inside its anomalies."""
        return self.study.framed["model"]

    @cached_property
    def state(self) -> Any:
        return self.fit()

    @cached_property
    def starts(self) -> Times:
        return self.study.starts(self.study.test)[:STARTS]

    @cached_property
    def made(self) -> Array:
        return self.forecast(self.state, self.starts)

    def chunks(self, shards: int = 1, source: Source | None = None) -> list[Chunk]:
        study = self.study
        return [chunk_of(source or study.data, study.domain, self.train, shards, i, study.history).fresh() for i in range(shards)]

    def fit(self, shards: int = 1, source: Source | None = None) -> Any:
        return fit(self.model, [[chunk] for chunk in self.chunks(shards, source)], self.study.domain, Serial(), self.study.seed)

    def known(self, starts: Times, source: Source | None = None) -> tuple[xr.Dataset, xr.Dataset]:
        """The initial states and the forcing of `STARTS` starts; the last one is repeated where there are fewer."""
        study, padded = self.study, np.concatenate([starts, np.repeat(starts[-1:], STARTS - len(starts))])
        past = record(source or study.data, (study.target,), study.data.times[0], shift(self.starts[-1:], -1, study.data.step)[0])
        return windows(past, study.domain, padded, self.model.history), known_ahead(study.domain, padded, study.lead_times)

    def forecast(self, state: Any, starts: Times, source: Source | None = None) -> Array:
        """(init_time, lead_time, member, ...), checked as the engine does."""
        initial, forcing = self.known(starts, source)
        made = self.model.forecast(state, initial, self.study.lead_times, forcing, self.study.seed)
        try:
            return checked(made, self.study.domain, initial["init_time"].values).values[: len(starts)]
        except ValueError as error:
            raise AssertionError(f"{error}; the target is wanted at all starts, leads and points of the domain") from error


def settings_are_frozen_and_hashable(trial: Trial) -> None:
    """So that a model can travel, be a key, and be the same one when it comes back."""
    try:
        hash(trial.given)
    except TypeError as error:
        raise AssertionError(f"a model cannot be hashed: {error}; write @dataclass(frozen=True), and tuples for lists") from error
    try:
        trial.given._probe = None  # type: ignore[attr-defined]
    except AttributeError:
        return
    raise AssertionError("a model can be changed after it was made; write @dataclass(frozen=True)")


def settings_of(model: Model[Any, Any]) -> tuple[bytes, ...]:
    """Each field of a dataclass, as bytes."""
    return tuple(pickle.dumps(getattr(model, name)) for name in getattr(model, "__dataclass_fields__", ()))


def settings_stay_as_they_are(trial: Trial) -> None:
    """What is learnt is in the state, never on self."""
    trial.forecast(trial.state, trial.starts)
    assert trial.settings == settings_of(trial.given), "fitting or forecasting changed a setting; what is learnt belongs into the state"


def a_forecast_is_whole(trial: Trial) -> None:
    """All starts, leads and points of the domain, finite, from at least one step of the past."""
    assert trial.model.history >= 1, f"history is {trial.model.history}; it must be at least one step"
    trial.forecast(trial.state, trial.starts)


def data_stay_as_they_are(trial: Trial) -> None:
    """All models share them; and where there are none, there is no forecast."""
    watched = Trial(_with(trial.study, Watched(trial.given)))
    watched.forecast(watched.state, watched.starts)


def the_same_seed_gives_the_same_bits(trial: Trial) -> None:
    """So that a run can be repeated, and compared with one elsewhere."""
    assert same_bits(trial.made, trial.forecast(trial.fit(), trial.starts)), (
        "two fits with one seed differ; take all noise from the seed given"
    )


def a_state_survives_its_journey(trial: Trial) -> None:
    """It travels from the worker that fitted to those that forecast."""
    copied = pickle.loads(pickle.dumps(trial.state))
    same = same_bits(trial.made, trial.forecast(copied, trial.starts))
    assert same, "a state that was pickled and read again forecasts differently; let its arrays be np.ascontiguousarray"


def a_state_is_plain(trial: Trial) -> None:
    """So that it can be saved as arrays and a JSON of the rest, and read without running code."""

    def plain(leaf: Any) -> None:
        good = isinstance(leaf, (np.ndarray, np.generic, int, float, str)) and not getattr(leaf, "dtype", np.dtype(int)).hasobject
        assert good, f"a state holds a {type(leaf).__name__}; it must be a tree of numpy arrays, numbers and strings to be saved"

    tree_map(plain, trial.state)


def shards_move_last_digits_only(trial: Trial) -> None:
    """How the data are cut is no part of the model."""
    spread = float(trial.study.data.read(trial.train.times(trial.study.data.step))[trial.study.target].std("time").mean())
    for shards in trial.shards:
        moved = np.nanmax(np.abs(trial.forecast(trial.fit(shards), trial.starts) - trial.made)) / spread
        assert moved <= trial.tolerance, (
            f"cut into {shards} shards the forecast moves by {moved:.2g} standard deviations, more than {trial.tolerance:g}; "
            "a summary must add up to the same whatever the cut"
        )


def a_start_stands_alone(trial: Trial) -> None:
    """Forecasts are made in any order and in any company."""
    order = np.random.default_rng(0).permutation(len(trial.starts))
    for chosen, words in ((order, "the order of the starts"), (order[:2], "which other starts are in the call")):
        made = trial.forecast(trial.state, trial.starts[chosen])
        close = np.allclose(made, trial.made[chosen], rtol=1e-5, atol=1e-6, equal_nan=True)
        assert close, f"the forecast of a start depends on {words}"


def the_future_is_unknown(trial: Trial) -> None:
    """To a forecast what comes after its issue time, to a fit what comes after the training period."""
    for k in range(len(trial.starts)):
        made = trial.forecast(trial.state, trial.starts, Changed(trial.study.data, trial.starts[k]))
        same = np.allclose(made[: k + 1], trial.made[: k + 1], rtol=1e-5, atol=1e-6, equal_nan=True)
        assert same, f"what happened after {trial.starts[k]} changes a forecast that was issued by then"
    after = shift([trial.train.last], 1, trial.study.data.step)[0]
    state = trial.fit(source=Changed(trial.study.data, after))
    assert same_bits(trial.made, trial.forecast(state, trial.starts)), "what happened after the training period changes what is learnt"


PROMISES: tuple[Callable[[Trial], None], ...] = (
    settings_are_frozen_and_hashable, settings_stay_as_they_are, a_forecast_is_whole, data_stay_as_they_are,
    the_same_seed_gives_the_same_bits, a_state_survives_its_journey, shards_move_last_digits_only, a_start_stands_alone,
    the_future_is_unknown,
)  # fmt: skip


def check_model(
    model: Model[Any, Any], study: Study | None = None, *, others: Sequence[Model[Any, Any]] = (), tolerance: float = 1e-3,
    shards: tuple[int, ...] = (2, 3), plain_state: bool = True,
) -> None:  # fmt: skip
    """Raise AssertionError with the promise that `model` breaks, on the data and periods of `study` or on a small invented sea.

    `others` are run before and after it: none may move a bit of another. `tolerance`, in standard deviations of the record, is
    how far a cut into `shards` may move a forecast; `plain_state=False` lets a foreign estimator be a state.
    """
    trial = Trial(basin_study(model=model) if study is None else _with(study, model), tolerance, shards)
    for promise in PROMISES:
        promise(trial)
    if plain_state:
        a_state_is_plain(trial)
    for other in others:
        models_leave_each_other_alone(trial, Trial(_with(trial.study, other)))


def _with(study: Study, model: Model[Any, Any]) -> Study:
    return replace(study, models={"model": model}, combinations={})


def models_leave_each_other_alone(trial: Trial, other: Trial) -> None:
    """A global setting that one of them changes would show."""
    before = trial.made, other.made
    for one, made, beside in ((trial, before[0], other), (other, before[1], trial)):
        same = same_bits(made, one.forecast(one.fit(), one.starts))
        assert same, f"{type(one.given).__name__} forecasts differently once {type(beside.given).__name__} has run in the same process"


def same_bits(one: Array, other: Array) -> bool:
    """Whether two arrays are equal to the last bit, NaN included."""
    return one.shape == other.shape and one.tobytes() == other.tobytes()
