"""EOFs are the singular vectors of the area-weighted field, by whichever way they are found."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from ensemble.chunk import Chunk
from ensemble.execute import Serial
from ensemble.fitting import fit
from ensemble.parts import Damping, Eof, eof
from ensemble.parts.eof import Patterns
from ensemble.prepare import chunk_of
from ensemble.task import Array
from ensemble.testing import basin_study

STUDY = basin_study(model=Damping())
FIELD = STUDY.domain.fields["sst"]


def chunks(shards: int = 1) -> list[Chunk]:
    return [chunk_of(STUDY.data, STUDY.domain, STUDY.train, shards, i, 1) for i in range(shards)]


def learnt(modes: int, shards: int = 1) -> Patterns:
    return fit(Eof(modes), [[chunk] for chunk in chunks(shards)], STUDY.domain, Serial(), 0)


def singular_vectors(modes: int) -> Array:
    """Of the record times the root of the area, by numpy."""
    x = STUDY.data.read(STUDY.train.times(STUDY.data.step))["sst"].values[:, FIELD.mask] * np.sqrt(FIELD.area[FIELD.mask])
    vectors: Array = np.linalg.svd(x, full_matrices=False)[2][:modes]
    return vectors


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize(("largest", "tolerance"), [(4096, 1e-10), (0, 1e-3)])
def test_patterns_are_singular_vectors(monkeypatch: pytest.MonkeyPatch, largest: int, tolerance: float, shards: int) -> None:
    monkeypatch.setattr(eof, "LARGEST_COVARIANCE", largest)  # 0: by the rows, in single precision
    vectors = learnt(5, shards).vectors
    expected = singular_vectors(5)
    np.testing.assert_allclose(np.abs((vectors * expected).sum(1)), 1.0, atol=tolerance)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(5), atol=tolerance)


def test_the_largest_loading_is_positive_so_that_signs_do_not_turn() -> None:
    vectors = learnt(6).vectors
    assert (vectors[np.arange(6), np.abs(vectors).argmax(1)] > 0).all()


def test_what_is_outside_the_patterns_is_the_rest() -> None:
    (chunk,) = chunks()
    state = learnt(4)
    made = Eof(4).apply(state, chunk.data)
    assert made["pc"].dims == ("time", "mode")
    restored = Eof(4).restore(state, made, chunk.data)["sst"]
    np.testing.assert_allclose(restored.values, chunk.data["sst"].values, rtol=1e-12)
    rest = made["residual"].values[:, FIELD.mask] * FIELD.area[FIELD.mask] ** 0.5
    assert np.abs(rest @ state.vectors.T).max() < 1e-11
    assert np.isnan(restored.values[:, ~FIELD.mask]).all()


def test_components_have_the_variance_of_the_field_in_the_unit_of_the_variable() -> None:
    """The squares of all components add up to the area-weighted squares of the field, times the number of points."""
    points = int(FIELD.mask.sum())
    (chunk,) = chunks()
    pc = Eof(points).apply(learnt(points), chunk.data)["pc"].values
    squares = (np.nan_to_num(chunk.data["sst"].values) ** 2 * FIELD.area).sum((1, 2)) * points
    np.testing.assert_allclose((pc**2).sum(1), squares, rtol=1e-10)


def test_components_live_in_a_domain_of_their_own() -> None:
    domain = Eof(3).domain(learnt(3), STUDY.domain)
    assert set(domain.fields) == {"pc", "residual"}
    assert domain.fields["pc"].mask.tolist() == [True] * 3
    assert domain.fields["pc"].area.sum() == pytest.approx(1.0)


def test_a_number_of_modes_that_cannot_be_had_is_refused() -> None:
    with pytest.raises(ValueError, match="modes=0; at least one is needed"):
        Eof(0)
    with pytest.raises(ValueError, match="modes=1000, but the field has 42 points"):
        Eof(1000).start(STUDY.domain, 0)


def test_more_modes_than_steps_are_refused_over_large_grids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eof, "LARGEST_COVARIANCE", 0)
    (chunk,) = chunks()
    few = Chunk(chunk.data.isel(time=slice(0, 10)), STUDY.domain, 0, 10, True)
    with pytest.raises(ValueError, match="hold only 10 steps"):
        fit(Eof(12), [[few]], STUDY.domain, Serial(), 0)


def test_missing_points_are_never_looked_at() -> None:
    (chunk,) = chunks()
    wild = chunk.data.assign(sst=chunk.data["sst"].where(xr.DataArray(FIELD.mask, dims=FIELD.dims), 1e6))
    other = replace(chunk, data=wild).fresh()
    assert np.array_equal(fit(Eof(3), [[other]], STUDY.domain, Serial(), 0).vectors, learnt(3).vectors)
