"""What is counted: common starts, those of each model, pairs and valid times, windows of leads, and several truths."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ensemble.errors import InputError
from ensemble.sample import Sample
from ensemble.scoring import Scored, score_files
from ensemble.task import Array, Period, Times, shift
from tests.front.manner import PLAIN, agree, but, count, score, value, world, written
from tests.front.test_times import DAY, MONTH, record
from tests.prepare.layouts import numbers

FIRST = np.datetime64("2000-01-01", "s")
TRUTH = np.random.default_rng(0).normal(size=48)  # monthly from 2000 to 2003


def truth_file(values: Array = TRUTH, step: np.timedelta64 = MONTH) -> xr.Dataset:
    return record(values, shift(FIRST, np.arange(len(values)), step))


def hindcast(starts: Array, leads: int, members: int = 1, seed: int = 1, step: np.timedelta64 = MONTH) -> tuple[xr.Dataset, Array]:
    """Forecasts issued `starts` steps after the first, and their values (init_time, lead_time, member)."""
    values = np.random.default_rng(seed).normal(size=(len(starts), leads, members))
    return of_values(values, shift(FIRST, starts, step), step), values


def of_values(values: Array, init_time: Times, step: np.timedelta64) -> xr.Dataset:
    begins = shift(init_time[:, None], np.arange(values.shape[1]), step)
    bounds = np.stack([numbers(each, "hours since 1990-01-01") for each in (begins, shift(begins, 1, step))], -1)
    coords = {
        "init_time": ("init_time", numbers(init_time, "hours since 1990-01-01"), {"units": "hours since 1990-01-01"}),
        "lead_time": np.arange(1, values.shape[1] + 1),
        "valid_time": (("init_time", "lead_time"), bounds.mean(-1), {"units": "hours since 1990-01-01", "bounds": "valid_time_bnds"}),
    }
    fields = {"tas": (("init_time", "lead_time", "member"), values, {"units": "K"})}
    return xr.Dataset({**fields, "valid_time_bnds": (("init_time", "lead_time", "bnds"), bounds)}, coords)


def rmse(values: Array, starts: Array, lead: int, kept: Array | None = None, truth: Array = TRUTH) -> float:
    """Of the mean of the members at one lead, over the starts whose lead verifies inside the truth, or those `kept`."""
    inside = starts + lead - 1 < len(truth) if kept is None else np.isin(starts, kept)
    return float(np.sqrt(np.mean((values[inside, lead - 1].mean(-1) - truth[starts[inside] + lead - 1]) ** 2)))


def at(found: Scored, name: str, model: str, lead: int) -> float:
    return float(found.scores[name].isel(truth=0).sel(region="all", model=model).isel(lead_time=lead - 1))


LATE = np.arange(12, 48)  # every month of 2001 to 2003


@pytest.mark.parametrize(
    ("align", "n"),
    [
        ("starts", {1: 33, 2: 33, 4: 33}),  # all four leads verify by the end of 2003: starts up to September
        ("pairs", {1: 36, 2: 35, 4: 33}),  # each lead until the record ends
        ("valid_times", {1: 33, 2: 33, 4: 33}),  # April 2001 to December 2003, which every lead reaches
    ],
)
def test_alignments_count_what_they_say(align: str, n: dict[int, int], tmp_path: Path) -> None:
    data, values = hindcast(LATE, 4)
    found = score(tmp_path, truth_file(), model=data, more=(f"sample.align={align}",))
    for lead, right in n.items():
        assert (at(found, "n", "model", lead), at(found, "n_starts", "model", lead)) == (right, right)
        kept = {
            "starts": LATE[LATE <= 44],
            "pairs": LATE[LATE + lead - 1 <= 47],
            "valid_times": LATE[(LATE + lead - 1 >= 15) & (LATE + lead - 1 <= 47)],
        }[align]
        assert len(kept) == right
        assert at(found, "rmse", "model", lead) == pytest.approx(rmse(values, LATE, lead, kept))


def test_models_with_other_calendars_years_and_members_are_compared_on_their_common_starts(tmp_path: Path) -> None:
    """One issued every month of 2001-2003, one in May and November of 2001 and 2002: they share four starts."""
    one, values_one = hindcast(LATE, 3, members=5, seed=1)
    common = seasonal = np.array([16, 22, 28, 34])
    two, values_two = hindcast(seasonal, 4, members=2, seed=2)
    found = score(tmp_path, truth_file(), one=one, two=two)
    assert found.scores.sizes["lead_time"] == 3
    for lead in (1, 3):
        assert at(found, "rmse", "one", lead) == pytest.approx(rmse(values_one, LATE, lead, common))
        assert at(found, "rmse", "two", lead) == pytest.approx(rmse(values_two, seasonal, lead, common))
        assert [at(found, "n_starts", name, lead) for name in ("one", "two", "mean")] == [4, 4, 4]
        pooled = (values_one[np.isin(LATE, common), lead - 1].mean(-1) + values_two[:, lead - 1].mean(-1)) / 2
        assert at(found, "rmse", "mean", lead) == pytest.approx(np.sqrt(np.mean((pooled - TRUTH[common + lead - 1]) ** 2)))
    assert [at(found, "n_starts_had", name, 3) for name in ("one", "two", "mean")] == [34, 4, 4]
    assert found.scores["members"].sel(model=["one", "two", "mean"]).values.tolist() == [5, 2, 1]


def test_each_on_its_own_starts_where_that_is_asked_for(tmp_path: Path) -> None:
    one, values_one = hindcast(LATE, 3, seed=1)
    seasonal = np.array([4, 10, 16, 22, 28, 34])
    two, values_two = hindcast(seasonal, 3, seed=2)
    found = score(tmp_path, truth_file(), one=one, two=two, more=("sample.mask=own",))
    for lead, n in ((1, 36), (3, 34)):
        assert (at(found, "n", "one", lead), at(found, "n_starts", "one", lead), at(found, "n_had", "one", lead)) == (n, n, n)
        assert (at(found, "n", "two", lead), at(found, "n_had", "two", lead)) == (6, 6)
        assert at(found, "rmse", "one", lead) == pytest.approx(rmse(values_one, LATE, lead))
        assert at(found, "rmse", "two", lead) == pytest.approx(rmse(values_two, seasonal, lead))


def test_an_empty_sample_is_an_error(tmp_path: Path) -> None:
    may, november = (hindcast(np.arange(first, 48, 12), 3)[0] for first in (4, 10))
    with pytest.raises(InputError, match=r"^test: the models share no start that verifies in it \(each alone: may 4, november 4\)"):
        score(tmp_path, truth_file(), may=may, november=november)
    later = of_values(np.zeros((3, 2, 1)), shift(FIRST, np.arange(60, 63), MONTH), MONTH)
    with pytest.raises(InputError, match=r"^test: the models share no start that verifies in it \(each alone: late 0\)"):
        score(tmp_path, truth_file(), late=later)


def test_a_shrunken_sample_is_an_error_unless_it_is_allowed(tmp_path: Path) -> None:
    """Each has twelve starts and more, and they share six."""
    one, values = hindcast(np.arange(0, 18), 1, seed=1)
    two, _ = hindcast(np.arange(12, 24), 1, seed=2)
    said = r"share 6 starts, fewer than any has alone \(one 18, two 12\); .*`sample: \{fewer: true\}`.*`sample: \{mask: own\}`"
    with pytest.raises(InputError, match=said):
        score(tmp_path, truth_file(), one=one, two=two)
    found = score(tmp_path, truth_file(), one=one, two=two, more=("sample.fewer=true",))
    assert at(found, "n", "one", 1) == 6
    assert at(found, "rmse", "one", 1) == pytest.approx(rmse(values, np.arange(18), 1, np.arange(12, 18)))


def test_leads_that_models_do_not_share_are_an_error(tmp_path: Path) -> None:
    one, _ = hindcast(LATE, 2, seed=1)
    two = hindcast(LATE, 4, seed=2)[0].isel(lead_time=[2, 3])
    with pytest.raises(InputError, match=r"^leads: the models have none in common: one \[1, 2\]; two \[3, 4\]"):
        score(tmp_path, truth_file(), one=one, two=two)


@pytest.mark.parametrize("how", ["mean", "sum"])
def test_windows_are_the_same_as_files_that_were_averaged_before(how: str, tmp_path: Path) -> None:
    """Leads 1 to 3 and 2 to 6 of days, as one number each: as if forecasts and truth had been put together first."""
    days = np.random.default_rng(3).normal(size=80)
    starts = np.arange(0, 60, 5)
    data, values = hindcast(starts, 7, members=4, step=DAY)
    recipe = tmp_path / "windows.yaml"
    windows = f"  early: {{from: 1, to: 3, how: {how}}}\n  later: {{from: 2, to: 6, how: {how}}}\n"
    recipe.write_text(f"data: {{files: {{}}}}\nmodels: []\nleads:\n windows:\n{windows}scores: [rmse, bias, crps, spread]\n")
    found = with_recipe(tmp_path, truth_file(days, DAY), recipe, model=data)
    put = np.mean if how == "mean" else np.sum
    for i, (first, last) in enumerate([(1, 3), (2, 6)]):
        model = put(values[:, first - 1 : last], axis=1)
        truth = np.array([put(days[start + first - 1 : start + last]) for start in starts])
        one = found.scores.isel(truth=0, lead_time=i).sel(model="model", region="all")
        assert float(one["rmse"]) == pytest.approx(np.sqrt(np.mean((model.mean(1) - truth) ** 2)))
        assert float(one["bias"]) == pytest.approx(np.mean(model.mean(1) - truth))
        assert float(one["spread"]) == pytest.approx(np.sqrt(np.mean(model.var(1, ddof=1))))
        pairs = np.abs(model[:, :, None] - model[:, None, :]).sum((1, 2)) / (2 * 4 * 3)
        assert float(one["crps"]) == pytest.approx(np.mean(np.abs(model - truth[:, None]).mean(1) - pairs))
        assert int(one["n"]) == 12


STARTS = st.lists(st.integers(-3, 50), min_size=1, max_size=12, unique=True).map(sorted)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    starts=st.tuples(STARTS, STARTS), leads=st.tuples(st.integers(1, 4), st.integers(1, 4)), seed=st.integers(0, 99),
    align=st.sampled_from(["starts", "pairs", "valid_times"]), mask=st.sampled_from(["common", "own"]),
)  # fmt: skip
def test_any_two_hindcasts_are_counted_as_by_hand(
    starts: tuple[list[int], list[int]], leads: tuple[int, int], seed: int, align: str, mask: str, tmp_path: Path
) -> None:
    """Values are missing here and there; what counts is found by going through all starts and leads one by one."""
    rng, files, values, last = np.random.default_rng(seed), {}, {}, min(leads)
    for name, begin, many in zip("ab", starts, leads, strict=True):
        each = rng.normal(size=(len(begin), many, 2))
        each[1:][rng.random(each[1:].shape[:2]) < 0.1] = np.nan
        files[name] = of_values(each, shift(FIRST, np.array(begin), MONTH), MONTH)
        values[name] = {(start, lead): each[i, lead - 1].mean() for i, start in enumerate(begin) for lead in range(1, many + 1)}
    possible = [start for start in range(-3, 51) if start >= 0 and start + (last - 1 if align == "starts" else 0) < 48]
    issued = {name: [start for start in begin if start in possible] for name, begin in zip("ab", starts, strict=True)}
    shared = [start for start in possible if all(start in each for each in issued.values())]
    used = shared if mask == "common" else [start for start in possible if any(start in each for each in issued.values())]
    reached = [t for t in range(48) if align != "valid_times" or all(t - lead + 1 in used for lead in range(1, last + 1))]
    more = ("leads.from=1", f"leads.to={last}", f"sample.align={align}", f"sample.mask={mask}", "sample.fewer=true", "combine=[]")
    if not used:
        with pytest.raises(InputError, match="the models share no start"):
            score(tmp_path, truth_file(), more=more, **files)
        return
    found = score(tmp_path, truth_file(), more=more, **files)
    for name, lead in itertools.product("ab", range(1, last + 1)):
        own = {n: [s for s in used if s + lead - 1 in reached and np.isfinite(values[n].get((s, lead), np.nan))] for n in "ab"}
        kept = [s for s in own["a"] if s in own["b"]] if mask == "common" else own[name]
        errors = [values[name][s, lead] - TRUTH[s + lead - 1] for s in kept]
        assert (at(found, "n", name, lead), at(found, "n_had", name, lead)) == (len(kept), len(own[name]))
        right = np.sqrt(np.mean(np.square(errors))) if errors else np.nan
        assert at(found, "rmse", name, lead) == pytest.approx(right, nan_ok=True)


def with_recipe(folder: Path, truth: xr.Dataset, recipe: Path, **models: xr.Dataset) -> Scored:
    for name, data in {"obs": truth, **models}.items():
        data.to_netcdf(folder / f"{name}.nc")
    return score_files({name: str(folder / f"{name}.nc") for name in models}, {"obs": str(folder / "obs.nc")}, recipe=recipe, show=False)


def test_the_shortest_way_to_write_a_window(tmp_path: Path) -> None:
    starts = np.arange(0, 36)
    data, values = hindcast(starts, 7)
    found = score(tmp_path, truth_file(), model=data, more=("leads.windows.season=[2, 4]",))
    truth = np.array([TRUTH[start + 1 : start + 4].mean() for start in starts])
    assert float(found.scores["rmse"].squeeze()) == pytest.approx(np.sqrt(np.mean((values[:, 1:4, 0].mean(1) - truth) ** 2)))
    with pytest.raises(InputError, match=r"^leads\.windows\.late: 0 to 4; begin at 1 or later"):
        score(tmp_path, truth_file(), model=data, more=("leads.windows.late=[0, 4]",))


def test_several_truths_are_side_by_side_and_changes_of_the_order_are_told(tmp_path: Path) -> None:
    of = world(6)
    places = {}
    for name, values in {"obs": of.truth, "other": of.truth + 2.0, "same": of.truth + 0.1}.items():
        places[name] = str(tmp_path / f"{name}.nc")
        written(values, of, PLAIN).to_netcdf(places[name])
    models = {}
    for name, more in {"cold": 0.25, "warm": 1.5}.items():
        models[name] = str(tmp_path / f"{name}.nc")
        written(of.truth + more, of, but(PLAIN, kelvin=False)).to_netcdf(models[name])
    found = score_files(models, places, show=False, out=tmp_path / "out")
    assert found.scores["rmse"].dims[0] == "truth"
    assert found.scores["truth"].values.tolist() == ["obs", "other", "same"]
    table = found.scores["rmse"].sel(region="all", model=["cold", "warm"]).squeeze()
    np.testing.assert_allclose(table, [[0.25, 1.5], [1.75, 0.5], [0.15, 1.4]])
    assert "cold is ahead by obs and same; warm is ahead by other" in found.changes()
    with xr.open_dataset(tmp_path / "out" / "scores.nc") as kept:
        np.testing.assert_allclose(kept["rmse"].sel(region="all", model=["cold", "warm"]).squeeze(), table)
    assert all((tmp_path / "out" / name / "report.html").exists() for name in places)


def test_truths_of_other_years_and_units_are_each_counted_for_themselves(tmp_path: Path) -> None:
    of = world(12)
    written(of.truth, of, PLAIN).to_netcdf(tmp_path / "long.nc")
    written(of.truth[:7], of._replace(truth=of.truth[:7]), but(PLAIN, kelvin=False, calendar="noleap")).to_netcdf(tmp_path / "short.nc")
    written(of.model, of, PLAIN).to_netcdf(tmp_path / "m.nc")
    found = score_files([str(tmp_path / "m.nc")], [str(tmp_path / "long.nc"), str(tmp_path / "short.nc")], show=False)
    assert found.scores["n_starts"].squeeze().values.tolist() == [12, 7]
    short = of._replace(truth=of.truth[:7], model=of.model[:7])
    for truth, right in (("long", of), ("short", short)):
        assert float(found.scores["rmse"].sel(truth=truth).squeeze()) == pytest.approx(right.scores["rmse"])


def test_starts_before_the_truth_begins_and_after_it_ends_are_left_out(tmp_path: Path) -> None:
    of = world(14)
    short = of._replace(truth=of.truth[3:9], model=of.model[3:9])
    truth = written(of.truth, of, PLAIN).isel(time=slice(3, 9))
    found = score(tmp_path, truth, model=written(of.model, of, PLAIN))
    agree(found, short)
    assert count(found, "n_starts") == 6
    assert value(found, "rmse") == pytest.approx(short.scores["rmse"])


def files_of(folder: Path, **data: xr.Dataset) -> dict[str, str]:
    for name, each in data.items():
        each.to_netcdf(folder / f"{name}.nc")
    return {name: str(folder / f"{name}.nc") for name in data}


def test_a_period_of_a_recipe_is_what_is_scored(tmp_path: Path) -> None:
    data, values = hindcast(LATE, 2)
    recipe = tmp_path / "r.yaml"
    recipe.write_text("data: {files: {}}\nmodels: []\ntest: [2002-01, 2002-12]\n")
    found = with_recipe(tmp_path, truth_file(), recipe, model=data)
    assert at(found, "n", "model", 1) == 12
    assert at(found, "n", "model", 2) == 12
    assert at(found, "rmse", "model", 2) == pytest.approx(rmse(values, LATE, 2, np.arange(23, 35)))


def test_a_period_shorter_than_the_leads_are_apart_lacks_no_start() -> None:
    period = Period(np.datetime64("2000-01", "s"), np.datetime64("2000-03", "s"))
    month = np.timedelta64(1, "M")
    starts = Sample(align="pairs").starts(period, np.arange(1, 13), month)
    assert starts.astype("datetime64[M]").tolist() == np.arange("1999-02", "2000-04", dtype="datetime64[M]").tolist()
