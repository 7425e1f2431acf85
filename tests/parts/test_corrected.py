"""Forecasts are corrected by what a loop over start months, leads and points says of their past."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from ensemble import Model, Untrained, load
from ensemble.chunk import Chunk, Pairs, known_ahead, windows
from ensemble.errors import InputError
from ensemble.execute import Serial
from ensemble.fitting import fit
from ensemble.parts import Climatology, Corrected, Damping, Estimator, Then, corrected
from ensemble.store import read_state, write_state
from ensemble.study import Study
from ensemble.task import Array, Domain, Field, Period, Times, moment, month, shift
from ensemble.testing import check_model
from ensemble.testing.sea import Basin, basin_study

MONTH = np.timedelta64(1, "M")
FIRST = np.datetime64("1990-01-01", "s")
YEARS, LEADS, POINTS = 12, np.array([1, 2, 4]), 3
HOWS = ("mean", "variance", "drift")
Lim, Persistence, Archived = load("lim").Lim, load("persistence").Persistence, load("archive").Archive


@dataclass(frozen=True)
class Wrong(Untrained, Model[None, Any]):
    """Members around a forecast of noise that is off by a season, grows and drifts; missing where `may_lack`."""

    members: int = 3
    past: int = 2
    every: int = 1  # months between starts; 0 for any
    gaps: bool = False
    broken: bool = False

    kind = "dynamical"
    effort = 0.25
    may_lack = True

    @property
    def history(self) -> int:
        return self.past

    @property
    def ensemble_size(self) -> int:
        return self.members

    @property
    def issued(self) -> Times | None:
        return shift(FIRST, np.arange(0, 12 * YEARS + 24, self.every), MONTH) if self.every else None

    def forecast(self, state: None, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        assert initial.sizes["lag"] == self.past
        made = np.stack([self.one(start, lead_times) for start in initial["init_time"].values]) if initial.sizes["init_time"] else None
        assert made is not None, "a model may be asked for at least one start"
        dims = ("init_time", "lead_time", "member", "point")
        return xr.Dataset({"x": (dims, made)}, {"init_time": initial["init_time"], "lead_time": lead_times})

    def one(self, start: np.datetime64, lead_times: Array) -> Array:
        """(lead_time, member, point) of one start, whatever the company."""
        steps = int((start.astype("datetime64[M]") - FIRST.astype("datetime64[M]")).astype(int))
        noise = np.random.default_rng(steps).normal(size=(4, self.members, POINTS))[lead_times - 1]
        made = 280 + 5 * np.cos(2 * np.pi * steps / 12) + 0.2 * lead_times[:, None, None] * noise + 0.03 * steps / 12
        if self.gaps and steps % 5 == 0:
            made[lead_times == 2, 0, 2] = np.nan
        if self.broken and steps == 30:
            made[0, 0, 0] = np.inf
        return made


def domain(points: int = POINTS, years: int = YEARS) -> Domain:
    field = Field({"point": np.arange(points)}, np.ones(points, bool), np.ones(points) / points, {})
    return Domain({"x": field}, MONTH, LEADS, Period(FIRST, moment(FIRST, 12 * years - 1, MONTH)))


def record(gaps: bool = False, years: int = YEARS) -> xr.Dataset:
    times = shift(FIRST, np.arange(12 * years), MONTH)
    values = np.random.default_rng(7).normal(size=(len(times), POINTS))
    values += 281 + 4 * np.cos(2 * np.pi * (np.arange(len(times)) - 1) / 12)[:, None]
    if gaps:
        values[np.random.default_rng(8).random(values.shape) < 0.1] = np.nan
    return xr.Dataset({"x": (("time", "point"), values)}, {"time": times, "point": np.arange(POINTS)})


def chunks(data: xr.Dataset, shards: int, history: int, of: Domain) -> list[Chunk]:
    edges = [len(data["time"]) * i // shards for i in range(shards + 1)]
    before = [max(edge - history + 1, 0) for edge in edges[:-1]]
    parts = zip(edges, edges[1:], before, strict=False)
    return [Chunk(data.isel(time=slice(b, e + int(max(LEADS)))), of, s - b, e - b, s == 0) for s, e, b in parts]


def learnt(model: Model[Any, Any], data: xr.Dataset, shards: int = 1, of: Domain | None = None) -> Any:
    of = domain() if of is None else of
    return fit(model, [[each] for each in chunks(data, shards, model.history, of)], of, Serial(), 0)


def issued(model: Model[Any, Any], state: Any, data: xr.Dataset, starts: Times, leads: Array = LEADS) -> xr.DataArray:
    first = shift(starts[0], -model.history, MONTH)
    whole = data.reindex(time=shift(first, np.arange(12 * 30), MONTH))
    initial = windows(whole, domain(), starts, model.history)
    made: xr.DataArray = model.forecast(state, initial, leads, known_ahead(domain(), starts, leads), 0)["x"]
    return made


def pairs(model: Wrong, data: xr.Dataset) -> list[tuple[int, int, int, int, float, float]]:
    """(start month, lead, point, year, mean of the members, truth) of all that is there; starts are counted from the first month."""
    found, truth = [], data["x"].values
    for start in range(model.past, len(truth) - int(LEADS[-1]) + 1):
        if model.every and start % model.every:
            continue
        mean = model.one(shift([FIRST], start, MONTH)[0], LEADS).mean(1)
        for (i, lead), p in itertools.product(enumerate(LEADS), range(POINTS)):
            f, y = float(mean[i, p]), float(truth[start + lead - 1, p])
            if np.isfinite(f) and np.isfinite(y):
                found.append((start % 12, i, p, 1990 + start // 12, f, y))
    return found


def by_hand(how: str, window: int, model: Wrong, past: list[Any], start: np.datetime64) -> Array:
    """(lead_time, member, point): what the formulas say, month by month and point by point."""
    m, year = int(month(start)), 1970 + int(start.astype("datetime64[Y]").astype(int))
    made = model.one(start, LEADS)
    out = np.full(made.shape, np.nan)
    for i, p in itertools.product(range(len(LEADS)), range(POINTS)):
        own = [each for each in past if each[1:3] == (i, p)]
        months = sorted({(m + k) % 12 for k in range(-window, window + 1)})
        groups = [np.array([each[3:] for each in own if each[0] == k]) for k in months]
        groups = [(k, g) for k, g in zip(months, groups, strict=True) if len(g)]
        pooled = np.concatenate([g for _, g in groups])
        error = pooled[:, 1] - pooled[:, 2]
        value = made[i, :, p]
        if how == "mean":
            out[i, :, p] = value - error.mean()
        if how == "variance":
            here = next(g for k, g in groups if k == m)
            s_f, s_y = (np.sqrt(sum(((g[:, c] - g[:, c].mean()) ** 2).sum() for _, g in groups)) for c in (1, 2))
            out[i, :, p] = here[:, 1].mean() - error.mean() + s_y / s_f * (value - here[:, 1].mean())
        if how == "drift":
            # least squares with a level for each month and one slope; the line goes through the mean of all pairs
            when = np.concatenate([g[:, 0] + k / 12 for k, g in groups])
            levels = np.concatenate([np.tile([float(k == j) for j, _ in groups], (len(g), 1)) for k, g in groups])
            slope = np.linalg.lstsq(np.column_stack([when - 1995, levels]), error, rcond=None)[0][0]
            out[i, :, p] = value - error.mean() - slope * (year + m / 12 - when.mean())
    return out


LATER = shift(FIRST, [12 * YEARS + 4, 12 * YEARS + 10, 12 * YEARS + 4], MONTH)  # two Mays of one year, and November


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(("window", "model"), [
    (0, Wrong()), (1, Wrong()), (2, Wrong(every=2, gaps=True)), (1, Wrong(every=6, past=0)), (7, Wrong(every=0, past=1)),
])  # fmt: skip
def test_it_is_what_the_formulas_say(how: Any, window: int, model: Wrong) -> None:
    data = record(gaps=model.gaps)
    starts = LATER if not model.every or model.every == 1 else shift(FIRST, 12 * YEARS + np.array([6, 12, 6]), MONTH)
    whole = Corrected(model, how, window)
    past, made = pairs(model, data), issued(whole, learnt(whole, data), data, starts)
    assert made.dims == ("init_time", "lead_time", "member", "point")
    expected = np.stack([by_hand(how, window, model, past, start) for start in starts])
    np.testing.assert_allclose(made.values, expected, rtol=0, atol=1e-9)
    some = issued(whole, learnt(whole, data), data, starts, LEADS[[2, 0]])
    np.testing.assert_array_equal(some.values, made.values[:, [2, 0]])


def test_a_hindcast_that_begins_with_the_record_is_learnt_from_its_first_start() -> None:
    counts = [learnt(Corrected(Wrong(past=past, every=6), window=0), record()).drift.pairs[0].tolist() for past in (0, 1)]
    assert counts == [[YEARS] * 3, [YEARS - 1] * 3]  # one that looks back misses the January before which there is nothing


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("past", [0, 3])
def test_neither_shards_nor_memory_change_it(how: Any, past: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data, model = record(gaps=True), Corrected(Wrong(past=past, gaps=True), how)
    whole = issued(model, learnt(model, data), data, LATER)
    np.testing.assert_allclose(issued(model, learnt(model, data, 4), data, LATER), whole, rtol=0, atol=1e-10)
    np.testing.assert_allclose(issued(model, learnt(model, data, 60), data, LATER), whole, rtol=0, atol=1e-10)
    monkeypatch.setattr(corrected, "TOGETHER", 5000)
    np.testing.assert_allclose(issued(model, learnt(model, data), data, LATER), whole, rtol=0, atol=1e-10)


def test_members_keep_their_distances_or_all_grow_alike() -> None:
    data, model = record(), Wrong()
    raw = np.stack([model.one(start, LEADS) for start in LATER])
    apart = raw - raw.mean(2, keepdims=True)
    for how in HOWS:
        whole = Corrected(model, how)
        made = issued(whole, learnt(whole, data), data, LATER).values
        ratio = learnt(whole, data).drift.ratio
        grown = 1.0 if ratio is None else ratio[month(LATER)][:, :, None]
        np.testing.assert_allclose(made - made.mean(2, keepdims=True), grown * apart, atol=1e-9)


def test_errors_are_those_of_full_fields_and_none_is_left_in_the_mean_of_the_training_period() -> None:
    study = basin_study(model=Corrected(Persistence(), window=0))
    framed = study.framed["model"]
    assert isinstance(framed, Corrected)
    assert isinstance(framed.model, Then)
    chunk = Chunk(study.data.read(study.train.times(study.data.step)), study.domain, 0, 60, True)  # type: ignore[union-attr]  # it has one
    state = fit(framed, [[chunk]], study.domain, Serial(), 0)
    known: Pairs = chunk.pairs(framed.history)
    error = framed.forecast(state, known.initial, study.lead_times, known.forcing, 0)["sst"] - known.targets["sst"]
    mean = error.groupby(known.targets["init_time"].dt.month).mean("init_time")
    before = framed.model.forecast(state.inner, known.initial, study.lead_times, known.forcing, 0)["sst"] - known.targets["sst"]
    assert float(abs(before.groupby(known.targets["init_time"].dt.month).mean("init_time")).max()) > 0.05
    assert float(abs(mean).max()) < 1e-12


def long_study() -> Study:
    """A sea of twelve years to learn from: a line needs five of them, after those of which the past is looked at."""
    source = Basin(months=192)
    train, validate, test = (Period(source.times[first], source.times[last]) for first, last in ((0, 143), (144, 161), (162, 191)))
    return replace(basin_study(model=Damping()), data=source, train=train, validate=validate, test=test)


@pytest.mark.parametrize("model", [
    Corrected(Lim(modes=5)), Corrected(Persistence(), "variance"), Corrected(Damping(), "drift"),
    Corrected(Corrected(Damping(), "drift", 0), "variance", 2),
], ids=lambda each: f"{type(each.bare).__name__}-{each.how}")  # fmt: skip
def test_it_keeps_the_promises_of_a_model(model: Corrected) -> None:
    check_model(model, long_study(), others=[Lim(modes=5)], shards=(3,), tolerance=1e-9)


def test_an_estimator_is_corrected_like_any_other() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    check_model(Corrected(Estimator(linear_model.Ridge(alpha=10.0), modes=5), "variance"), plain_state=False, shards=(3,))
    with pytest.raises(ValueError, match=r"Ridge\(\) is no Model; an estimator goes into ensemble.parts.Estimator"):
        Corrected(linear_model.Ridge())


def test_it_speaks_for_the_model_inside() -> None:
    inner = Wrong(members=5, past=4, every=3)
    whole = Corrected(inner, "drift")
    for name in ("kind", "multivariate", "may_lack", "effort", "history", "ensemble_size", "notes", "leads"):
        assert getattr(whole, name) == getattr(inner, name), name
    np.testing.assert_array_equal(whole.issued, inner.issued)
    assert Corrected(whole).bare is inner
    assert Corrected(Wrong(past=0)).history == 1
    assert whole.framed(lambda model: Then(Climatology(), model)) == Corrected(Then(Climatology(), inner), "drift")
    assert Corrected(Archived(path="a.nc")).kind == "external"
    assert hash(whole) == hash(Corrected(Wrong(5, 4, 3), "drift"))


def test_its_state_is_written_and_read(tmp_path: Path) -> None:
    data, model = record(), Corrected(Wrong(), "variance")
    state = learnt(model, data)
    write_state(tmp_path, "model", state)
    again = read_state(tmp_path, "model")
    np.testing.assert_array_equal(issued(model, again, data, LATER), issued(model, state, data, LATER))


def test_the_table_says_from_how_many_pairs() -> None:
    model = Corrected(Wrong(every=6), "mean", 0)
    (line,) = model.found(learnt(model, record()))
    assert line.found == f"learnt from {YEARS - 1} to {YEARS} pairs for a start month and lead"
    (line,) = Corrected(Wrong(every=0)).found(learnt(Corrected(Wrong(every=0)), record()))
    assert line.found.endswith("in-sample: the model was fitted on them")


def test_forecasts_that_do_not_vary_are_not_blown_up() -> None:
    """Nor divided by nothing: they become the truth's mean of their month and lead."""

    @dataclass(frozen=True)
    class Still(Wrong):
        def one(self, start: np.datetime64, lead_times: Array) -> Array:
            return np.full((len(lead_times), self.members, POINTS), 300.1)

    data, model = record(), Corrected(Still(), "variance", 0)
    state = learnt(model, data)
    assert (state.drift.ratio == 1).all()
    made = issued(model, state, data, LATER)
    assert made.attrs == {}
    mays = data["x"].sel(time=data["time"].dt.month == 5).mean("time")
    np.testing.assert_allclose(made[0, 0], np.broadcast_to(mays, (3, POINTS)), rtol=1e-12)


@pytest.mark.parametrize(("how", "years", "need"), [("drift", 5, "pairs of 5 years"), ("variance", 5, "5 pairs")])
def test_too_few_years_are_an_error_with_the_cure(how: Any, years: int, need: str) -> None:
    """Of five years a model that looks at two months has four Januaries, and five of every other month that leads allow."""
    data, of = record(years=years), domain(years=years)
    model = Corrected(Wrong(), how, 0)
    state = learnt(model, data, of=of)
    good, bad = shift(FIRST, [100, 96], MONTH)
    assert np.isfinite(issued(model, state, data, np.array([good]))).all()
    said = rf"starts of January cannot be corrected at lead 1: `{how}` needs {need}, the training period has 4 pairs of it .*`correct: m"
    with pytest.raises(ValueError, match=said):
        issued(model, state, data, np.array([bad]))
    short, of = record(years=4), domain(years=4)
    with pytest.raises(ValueError, match="no start month can be corrected at any lead"):
        learnt(model, short, of=of)
    assert learnt(Corrected(Wrong(), "mean", 0), short, of=of).drift.known.all()


def test_a_line_is_not_drawn_through_many_starts_of_two_years() -> None:
    """Pooling months brings pairs, and no more years."""
    with pytest.raises(ValueError, match="`drift` needs pairs of 5 years, the training period has"):
        learnt(Corrected(Wrong(), "drift", 6), record(years=2), of=domain(years=2))


def test_a_start_month_that_was_never_seen_is_an_error_where_there_is_a_forecast_of_it() -> None:
    data, model = record(), Corrected(Wrong(every=6), "mean", 2)  # January and July
    state = learnt(model, data)
    assert np.isfinite(issued(model, state, data, shift(FIRST, [12 * YEARS + 2], MONTH))).all()  # March has January near
    with pytest.raises(ValueError, match=r"starts of April cannot be corrected at lead 1: `mean` needs a pair.*has no pairs of it"):
        issued(model, state, data, shift(FIRST, [12 * YEARS + 3], MONTH))


def test_a_point_that_was_never_seen_is_missing() -> None:
    data = record()
    data["x"][:, 1] = np.nan
    model = Corrected(Wrong())
    made = issued(model, learnt(model, data), data, LATER)
    assert np.isnan(made.values).any((0, 1, 2)).tolist() == [False, True, False]


def test_a_hindcast_outside_the_training_period_is_an_error_that_names_it() -> None:
    early = domain()._replace(period=Period(np.datetime64("1950-01-01", "s"), np.datetime64("1979-12-01", "s")))
    said = (
        r"Wrong: correct: no forecast of it \(issued 1990-01-01 to 2003-07-01\) verifies inside the training period, "
        r"1950-01-01 to 1979-12-01, .*let `train:` reach into its years"
    )
    with pytest.raises(InputError, match=said):
        Corrected(Wrong(every=6)).check(early)
    with pytest.raises(InputError, match=said):
        Corrected(Wrong(every=6)).start(early, 0)
    Corrected(Wrong(every=0)).check(early)


def test_a_model_that_breaks_on_its_training_data_says_so() -> None:
    with pytest.raises(ValueError, match=r"1 forecast values of training starts are not finite, the first in that issued 1992-07-01"):
        learnt(Corrected(Wrong(broken=True)), record())


@pytest.mark.parametrize(("settings", "said"), [({"how": "median"}, "how: 'median' is unknown"), ({"window": -1}, "window: -1 months")])
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Corrected(Wrong(), **settings)


@dataclass(frozen=True)
class Nothing(Untrained, Model[None, Any]):
    """Forecasts of nothing, whose error is the truth with its sign turned."""

    def forecast(self, state: None, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        zeros = np.zeros((initial.sizes["init_time"], len(lead_times), POINTS))
        coords = {"init_time": initial["init_time"], "lead_time": lead_times}
        return xr.Dataset({"x": (("init_time", "lead_time", "point"), zeros)}, coords)


def test_days_belong_to_the_month_of_their_start() -> None:
    day = np.timedelta64(1, "D")
    times = shift(np.datetime64("2001-01-01"), np.arange(730), day)
    values = np.random.default_rng(3).normal(size=(730, POINTS)) + month(times)[:, None]
    data = xr.Dataset({"x": (("time", "point"), values)}, {"time": times, "point": np.arange(POINTS)})
    of = domain()._replace(step=day, period=Period(times[0], times[-1]))
    found = learnt(Corrected(Nothing(), window=0), data, 3, of).drift
    for lead, column in zip(LEADS, range(3), strict=True):
        first = np.arange(1, 730 - LEADS[-1] + 1)  # as days of the record; one has been seen before
        for m in range(12):
            starts = first[month(times[first]) == m]
            np.testing.assert_allclose(found.error[m, column], -values[starts + lead - 1].mean(0), rtol=1e-12)
            assert found.pairs[m, column] == len(starts)
