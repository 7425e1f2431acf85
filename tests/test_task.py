"""Time is exact: a month is a month long, and lead 1 is the first step that a forecast has not seen."""

import numpy as np
import pytest

from ensemble.chunk import Chunk, known_ahead, windows
from ensemble.parts import Damping
from ensemble.prepare import canonical, chunk_of
from ensemble.task import Period, month, shift, steps_between
from ensemble.testing import Basin, basin_study

MONTH = np.timedelta64(1, "M")
STUDY = basin_study(model=Damping())


def day(text: str) -> np.datetime64:
    return np.datetime64(text, "s")


@pytest.mark.parametrize(
    ("first", "steps", "step", "last"),
    [
        ("2000-01-01", 13, MONTH, "2001-02-01"),
        ("2000-01-01", -1, MONTH, "1999-12-01"),
        ("2000-02-01", 1, np.timedelta64(3, "M"), "2000-05-01"),
        ("2000-02-28", 2, np.timedelta64(1, "D"), "2000-03-01"),
        ("2000-02-28T18", 2, np.timedelta64(6, "h"), "2000-02-29T06"),
    ],
)
def test_a_step_is_as_long_as_the_calendar_says(first: str, steps: int, step: np.timedelta64, last: str) -> None:
    assert shift(day(first), steps, step) == day(last)
    assert steps_between(day(first), day(last), step) == steps


def test_months_count_from_january() -> None:
    assert month(np.array(["1969-12-01", "1970-01-01", "2021-07-31"], "datetime64[s]")).tolist() == [11, 0, 6]


def test_a_start_belongs_to_the_period_in_which_all_its_leads_verify() -> None:
    period = Period(day("2009-01-01"), day("2009-12-01"))
    starts = period.starts(np.arange(1, 4), MONTH)
    assert starts[0] == day("2009-01-01")  # lead 1 of a forecast issued on 1 January is January
    assert starts[-1] == day("2009-10-01")  # and its lead 3 is December
    assert period.starts(np.array([3]), MONTH)[0] == day("2008-11-01")
    assert len(period.starts(np.arange(1, 14), MONTH)) == 0


def test_valid_time_of_lead_one_is_the_issue_time() -> None:
    valid = STUDY.domain.valid_time(np.array([day("2009-12-01")]), np.array([1, 2]))
    assert valid.tolist() == np.array([["2009-12-01", "2010-01-01"]], "datetime64[s]").tolist()


def pairs_of(shards: int, history: int) -> list[Chunk]:
    return [chunk_of(STUDY.data, STUDY.domain, STUDY.train, shards, i, history) for i in range(shards)]


@pytest.mark.parametrize("shards", [1, 2, 7])
@pytest.mark.parametrize("history", [1, 5])
def test_each_pair_is_whole_in_exactly_one_chunk(shards: int, history: int) -> None:
    starts = np.concatenate([chunk.pairs(history)[0]["init_time"].values for chunk in pairs_of(shards, history)])
    times = STUDY.train.times(MONTH)
    assert starts.tolist() == shift(times[history - 1 : -3], 1, MONTH).tolist()
    own = np.concatenate([chunk.own()["time"].values for chunk in pairs_of(shards, history)])
    assert own.tolist() == times.tolist()


def test_a_pair_holds_what_the_record_holds() -> None:
    record = STUDY.data.read(STUDY.data.times)["sst"]
    for chunk in pairs_of(3, 4):
        initial, targets, forcing = chunk.pairs(4)
        start = initial["init_time"].values[0]
        seen = shift(start, np.arange(-4, 0), MONTH)
        assert initial["time"].values[0].tolist() == seen.tolist()
        assert initial["lag"].values.tolist() == [3, 2, 1, 0]
        assert np.array_equal(initial["sst"].values[0], record.sel(time=seen).values, equal_nan=True)
        valid = shift(start, np.arange(3), MONTH)
        assert forcing["valid_time"].values[0].tolist() == valid.tolist()
        assert np.array_equal(targets["sst"].values[0], record.sel(time=valid).values, equal_nan=True)


def test_nothing_outside_the_training_period_is_in_a_chunk() -> None:
    times = np.concatenate([chunk.data["time"].values for chunk in pairs_of(4, 6)])
    assert times.min() == STUDY.train.first
    assert times.max() == STUDY.train.last


def test_a_window_that_the_record_does_not_hold_is_refused() -> None:
    data = canonical(Basin().read(Basin().times), "sst")
    with pytest.raises(ValueError, match="needs 3 steps before it; the data begin at 2001-01"):
        windows(data, STUDY.domain, Basin().times[2:3], 3)
    with pytest.raises(ValueError, match="needs 3 steps before it"):
        windows(data.isel(time=slice(0, 10)), STUDY.domain, Basin().times[20:21], 3)


def test_what_is_known_ahead_names_the_verifying_times() -> None:
    forcing = known_ahead(STUDY.domain, np.array([day("2009-12-01")]), np.array([1, 3]))
    assert forcing["valid_time"].dims == ("init_time", "lead_time")
    assert forcing["valid_time"].values[0].tolist() == np.array(["2009-12-01", "2010-02-01"], "datetime64[s]").tolist()


def test_area_weights_are_cosines_over_the_sea_and_add_up_to_one() -> None:
    field = STUDY.domain.fields["sst"]
    cosine = np.cos(np.deg2rad(field.coords["latitude"]))[:, None] * field.mask
    np.testing.assert_allclose(field.area, cosine / cosine.sum(), rtol=1e-14)
