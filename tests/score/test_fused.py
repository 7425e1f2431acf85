"""The compiled passes give what numpy gives, and what the formulas say where members are missing."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ensemble.score import Region, Statistic, Tally, Values, fused, tally
from ensemble.score.fused import ERRORS, MEMBERS, STANDARD, Fused
from ensemble.score.plain import Grid
from ensemble.task import Array, Field

REGIONS = {"all": Region(), "north": Region((1.0, 90.0)), "box": Region((-20.0, 20.0), (30.0, 100.0)), "none": Region((88.0, 89.0))}


class Cubed(Statistic):
    """One of a user's own."""

    def at(self, values: Values) -> Array:
        return values.error**3


def field(*shape: int) -> Field:
    names = ("latitude", "longitude") if len(shape) == 2 else ("station",)
    coords = {"latitude": np.linspace(-60, 60, shape[0]), "longitude": np.linspace(0, 350, shape[-1]), "station": np.arange(shape[-1])}
    random = np.random.default_rng(1)
    return Field({name: coords[name] for name in names}, random.random(shape) < 0.9, random.random(shape) + 0.1, {})


def values(random: np.random.Generator, kind: type, members: int, space: tuple[int, ...], *, normal: bool, gaps: float) -> Values:
    made = random.standard_normal((7, 3, members, *space)).astype(kind)
    made[random.random(made.shape) < gaps / members] = np.nan
    truth = random.standard_normal((7, 3, *space)).astype(kind)
    truth[random.random(truth.shape) < gaps] = np.nan
    return Values(made, truth, random.standard_normal(truth.shape) + 0.5 if normal else None)


def both(
    monkeypatch: pytest.MonkeyPatch, models: Sequence[Values], where: Field, statistics: Sequence[Statistic], *, common: bool = True
) -> tuple[Tally, Tally]:
    times = np.datetime64("2000-01", "s") + np.arange(len(models[0].truth)) * np.timedelta64(1, "D")
    made = []
    for much in (np.inf, 0):
        monkeypatch.setattr(fused, "MUCH", much)
        made.append(tally(times, models, where, REGIONS, statistics, common=common))
    return made[0], made[1]


def assert_the_same(plain: Tally, quick: Tally, rtol: float = 1e-12) -> None:
    for name in ("weight", "count", "had", "starts"):
        np.testing.assert_allclose(getattr(quick, name), getattr(plain, name), rtol=rtol, err_msg=name)
    assert list(quick.by_start) == list(plain.by_start)
    counted = plain.count > 0
    for name in plain.by_start:
        scale = np.abs(np.nan_to_num(plain.by_start[name])).max() + 1e-300
        np.testing.assert_allclose(
            quick.by_start[name][counted] / scale, plain.by_start[name][counted] / scale, rtol=rtol, atol=rtol, err_msg=name
        )
        np.testing.assert_allclose(quick.at_points[name], plain.at_points[name], rtol=rtol, atol=rtol, err_msg=name)


@pytest.mark.parametrize("common", [True, False])
@pytest.mark.parametrize("normal", [True, False])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("space", [(5, 8), (1, 1), (700,), (23, 41)])
def test_the_passes_agree_with_numpy(
    monkeypatch: pytest.MonkeyPatch, space: tuple[int, ...], kind: type, normal: bool, common: bool
) -> None:
    random = np.random.default_rng(2)
    models = [values(random, kind, members, space, normal=normal, gaps=0.2) for members in (1, 4, 11)]
    models = [replace(each, truth=models[0].truth, normal=models[0].normal) for each in models]
    assert_the_same(*both(monkeypatch, models, field(*space), (*STANDARD, Cubed()), common=common))


@pytest.mark.parametrize("statistic", STANDARD, ids=lambda each: each.name)
def test_each_by_itself_is_what_it_is_among_all(monkeypatch: pytest.MonkeyPatch, statistic: Statistic) -> None:
    model = [values(np.random.default_rng(3), np.float64, members, (5, 8), normal=True, gaps=0.1) for members in (1, 4)]
    model[1] = replace(model[1], truth=model[0].truth, normal=model[0].normal)
    (_, alone), (_, among) = both(monkeypatch, model, field(5, 8), [statistic]), both(monkeypatch, model, field(5, 8), STANDARD)
    assert np.array_equal(alone.by_start[statistic.name], among.by_start[statistic.name], equal_nan=True)
    assert np.array_equal(alone.at_points[statistic.name], among.at_points[statistic.name], equal_nan=True)


def test_what_does_not_count_is_chosen_away_whatever_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(4)
    model = values(random, np.float64, 3, (5, 8), normal=False, gaps=0.3)
    wild = replace(model, members=np.where(np.isnan(model.truth)[:, :, None], 1e9, model.members))
    (_, one), (_, two) = (both(monkeypatch, [each], field(5, 8), STANDARD) for each in (model, wild))
    for name in one.by_start:
        assert np.isfinite(one.by_start[name]).all()
        assert np.array_equal(one.by_start[name], two.by_start[name])
        assert np.array_equal(one.at_points[name], two.at_points[name])


def test_bits_do_not_depend_on_how_starts_are_cut_into_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    model, where = values(np.random.default_rng(5), np.float32, 4, (23, 41), normal=False, gaps=0.1), field(23, 41)
    (_, whole) = both(monkeypatch, [model], where, STANDARD)
    monkeypatch.setattr(sys.modules[tally.__module__], "CACHE", 1)
    (_, cut) = both(monkeypatch, [model], where, STANDARD)
    for name in whole.by_start:
        assert np.array_equal(whole.by_start[name], cut.by_start[name])
        assert np.array_equal(whole.at_points[name], cut.at_points[name])


def present(members: Array, truth: Array) -> list[float]:
    """Mean, variance, standard and fair CRPS of the members that are there, by the double sum."""
    x = members[~np.isnan(members)]
    m, pairs, near = len(x), np.abs(x[:, None] - x).sum(), np.abs(x - truth).mean()
    return [x.mean(), x.var(ddof=1), near - pairs / (2 * m**2), near - pairs / (2 * m * (m - 1))]


@pytest.mark.parametrize("compiled", [True, False])
def test_missing_members_are_counted_and_never_imputed(compiled: bool) -> None:
    random = np.random.default_rng(6)
    members, truth = random.standard_normal((2, 1, 9, 5)), random.standard_normal((2, 1, 5))
    members[random.random(members.shape) < 0.4] = np.nan
    assert (np.isnan(members).sum(2) < 8).all()
    expected = np.array([[present(members[n, 0, :, i], truth[n, 0, i]) for i in range(5)] for n in range(2)])
    given = Values(members, truth)
    found = [given.forecast, *(each.at(given) for each in MEMBERS)]
    if compiled:
        sums = Fused.of(given, STANDARD, Grid.of(list(np.eye(5, dtype=bool)), np.ones(5)))
        sums.add(given, slice(0, 2), np.ones(truth.shape, bool))
        area, _ = sums.done(np.ones((2, 1, 5)), np.ones((1, 5)))
        found = [area[name] for name in ("Forecast", *(each.name for each in MEMBERS))]
    for i, each in enumerate(found):
        np.testing.assert_allclose(each[:, 0], expected[:, :, i], rtol=1e-12, atol=1e-14)


def test_with_too_few_members_left_nothing_is_defined() -> None:
    members = np.array([1.0, np.nan, np.nan]).reshape(1, 1, 3)
    given = Values(members, np.array([[3.0]]))
    assert [each.at(given)[0, 0] for each in MEMBERS] == pytest.approx([np.nan, 2.0, np.nan], nan_ok=True)
    none = Values(np.full((1, 1, 3), np.nan), np.array([[3.0]]))
    assert all(np.isnan(each.at(none)).all() for each in (*ERRORS[:4], *MEMBERS))


ROOT = str(Path(fused.__file__).parents[2])
NOWHERE = """
import numba.core.caching as caching
for each in (caching.CacheImpl, *caching.CacheImpl.__subclasses__()):
    each._locator_classes = []
import numpy as np
from ensemble.score import fused, kernels
from ensemble.score.plain import Grid
where = Grid.of([np.ones(4, bool)], np.ones(4))
assert fused.count(np.ones((1, 1, 4), bool), where, np.zeros((1, 4), np.int64))[0].item() == 4.0
assert kernels.add_counts.stats.cache_path is None
"""


@pytest.mark.parametrize("code", [NOWHERE, "import ensemble.units, sys; assert 'numba' not in sys.modules"], ids=["nowhere", "lazy"])
def test_the_compiler_needs_no_folder_and_is_not_loaded_before_it_is_needed(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
