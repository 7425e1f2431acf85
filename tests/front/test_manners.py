"""The same two records, each written in any manner of calendar, stamp, space, type and unit: the same scores."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ensemble.errors import InputError
from tests.front.manner import CALENDARS, PLAIN, STAMPS, Manner, agree, but, compared, counted, edges, score, value, world, written

SINCE = (
    "days since 1850-01-01",
    "hours since 1900-01-01 00:00:00",
    "days since 2101-01-01",
    "minutes since 1970-1-1",
    "seconds since 2000-01-01",
)
NAMES = (("time", "lat", "lon"), ("T", "Y", "X"), ("time_counter", "latitude", "longitude"), ("t", "nav_lat", "nav_lon"))
MANNERS = st.builds(
    Manner,
    calendar=st.sampled_from(CALENDARS),
    units=st.sampled_from(SINCE),
    stamp=st.sampled_from(STAMPS),
    bounds=st.booleans(),
    west=st.sampled_from([0.0, -180.0, -300.0, 60.0]),
    wrap=st.booleans(),
    north_first=st.booleans(),
    order=st.permutations(["time", "lat", "lon"]).map(tuple),
    names=st.sampled_from(NAMES),
    dtype=st.sampled_from(["f8", "f4", "i2"]),
    single=st.booleans(),
    kelvin=st.booleans(),
)
few = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@few
@given(truth=MANNERS, model=MANNERS)
def test_however_both_are_written_the_scores_are_the_same(truth: Manner, model: Manner) -> None:
    of = world()
    with tempfile.TemporaryDirectory() as folder:
        agree(compared(Path(folder), of, truth, model), of, rel=1e-9 if truth.exact and model.exact else 1e-4)


@pytest.mark.parametrize(
    ("truth", "model"), [*zip(CALENDARS, reversed(CALENDARS), strict=True), ("noleap", "noleap"), ("julian", "360_day")]
)
def test_a_truth_of_one_calendar_and_a_model_of_another(truth: str, model: str, tmp_path: Path) -> None:
    of = world(3)
    agree(compared(tmp_path, of, but(PLAIN, calendar=truth, stamp="last"), but(PLAIN, calendar=model, stamp="first")), of)


@pytest.mark.parametrize(
    ("year", "calendar"),
    [(1, "noleap"), (1400, "360_day"), (1582, "noleap"), (1676, "julian"), (2262, "standard"), (2500, "360_day"), (9000, "noleap")],
)
def test_years_far_away(year: int, calendar: str, tmp_path: Path) -> None:
    of = world(14, year=year)
    found = compared(tmp_path, of, but(PLAIN, calendar="proleptic_gregorian"), but(PLAIN, calendar=calendar, units="days since 0001-01-01"))
    agree(found, of)


@pytest.mark.parametrize(("calendar", "stamp"), [("360_day", "first"), ("360", "middle"), ("standard", "middle"), ("standard", "first")])
def test_months_since(calendar: str, stamp: str, tmp_path: Path) -> None:
    of = world()
    agree(compared(tmp_path, of, PLAIN, but(PLAIN, calendar=calendar, units="months since 1960-01-01", stamp=stamp)), of)


def test_stamps_on_the_edge_are_not_guessed_silently(tmp_path: Path) -> None:
    """Without bounds the first of a month begins it: what was done is told, with the setting for the other."""
    of = world()
    late = compared(tmp_path, of, PLAIN, but(PLAIN, stamp="first"))
    (run,) = late.runs.values()
    assert any("`stamp: end` if they are the end" in each.done for each in run.notes)


def test_bounds_that_contradict_their_stamps_are_refused(tmp_path: Path) -> None:
    of = world()
    truth, model = written(of.truth, of, PLAIN), written(of.model, of, but(PLAIN, bounds=True))
    model["time_bnds"] = model["time_bnds"].copy(data=np.stack([counted(edges(of, after), PLAIN) for after in (2, 3)], -1))
    with pytest.raises(
        InputError, match=r"^model\.nc: the bounds 2001-03-01 to 2001-04-01 do not enclose their stamp 2001-01-15; .*stamp:"
    ):
        score(tmp_path, truth, model=model)


@pytest.mark.parametrize("found", ["C", "degrees_Celsius", "°C", "kelvin", "degK"])
def test_temperatures_by_any_name(found: str, tmp_path: Path) -> None:
    of = world(2)
    model = written(of.model, of, but(PLAIN, kelvin=found.lower().endswith("k") or found == "kelvin"))
    model["tas"].attrs["units"] = found
    made = score(tmp_path, written(of.truth, of, PLAIN), model=model)
    assert value(made, "rmse") == pytest.approx(of.scores["rmse"], rel=1e-9)
