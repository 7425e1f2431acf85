"""Truth 10: a linear inverse model of an Ornstein-Uhlenbeck process is that process.

dx/dt = L x + noise of covariance Q, sampled once a step: G = exp(L), and with L C0 + C0 L' + Q = 0 the error of the best
forecast has the variance tr(C0 - G^n C0 G^n'), and its first component the correlation sqrt((G^n C0 G^n')_00 / C0_00) with
what comes (Penland and Sardeshmukh 1995, doi 10.1175/1520-0442(1995)008<1999:TOGOTS>2.0.CO;2).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
import scipy.linalg
import xarray as xr

from ensemble import Model, Period, Source, Times, load
from ensemble.execute import Done
from ensemble.hindcast import Problem, forecast, verifying
from ensemble.plugins import definition
from ensemble.prepare import domain_of, survey
from ensemble.task import Array, shift
from ensemble.units import fit_model

L = np.array([[-0.1, 0.25, 0.0], [-0.05, -0.15, 0.3], [0.0, 0.0, -0.3]])
Q = np.diag([0.2, 0.1, 0.3])
C0 = scipy.linalg.solve_continuous_lyapunov(L, -Q)
CORRELATION = {1: 0.9604, 3: 0.8927, 6: 0.7897, 12: 0.5151}  # of the best forecast of the first component with what comes
VARIANCE = {1: 0.5006, 3: 1.1797, 6: 1.9204, 12: 2.9750}  # of its error, all components together
LEADS = np.arange(1, 13)
DAYS = 160_000


@dataclass(frozen=True)
class Process(Source):
    """The process, once a day."""

    @property
    def step(self) -> np.timedelta64:
        return np.timedelta64(1, "D")

    @property
    def times(self) -> Times:
        return shift(np.datetime64("1700-01-01"), np.arange(DAYS), self.step)

    @cached_property
    def values(self) -> Array:
        step = scipy.linalg.expm(L)
        noise = np.random.default_rng(0).standard_normal((DAYS, 3)) @ np.linalg.cholesky(C0 - step @ C0 @ step.T).T
        x = [np.linalg.cholesky(C0) @ noise[0]]
        for each in noise[1:]:
            x.append(step @ x[-1] + each)
        return np.stack(x)

    def read(self, times: Times) -> xr.Dataset:
        data = xr.Dataset({"x": (("time", "component"), self.values)}, {"time": self.times, "component": np.arange(3)})
        return data.sel(time=times)


@pytest.fixture(scope="module")
def problem() -> Problem:
    source = Process()
    train = Period(source.times[0], source.times[DAYS // 2 - 1])
    return Problem(
        source,
        domain_of(survey(source, ("x",), source.times), source.step, LEADS, train, "refuse"),
        (train,),
        shards=4,
        history=1,
        size=DAYS // 2 - 20,
        seed=0,
    )


def fitted(problem: Problem, window: int | None) -> tuple[Model, Done]:  # type: ignore[type-arg]
    model = definition(load("lim"), Model)(modes=3, window=window, shrink=20.0)
    return model, Done(fit_model(problem, model), ())


def operators(state: Done) -> Array:  # type: ignore[type-arg]
    """(month, component, component): those of the model, back in the variables of the process."""
    vectors = state.value.first.vectors
    turned: Array = vectors.T @ state.value.second["pc"].state.step @ vectors
    return turned


def test_the_closed_forms_are_those_of_the_reference() -> None:
    powers = [scipy.linalg.expm(L * lead) for lead in CORRELATION]
    assert [np.sqrt((g @ C0 @ g.T)[0, 0] / C0[0, 0]) for g in powers] == pytest.approx(list(CORRELATION.values()), abs=1e-4)
    assert [np.trace(C0 - g @ C0 @ g.T) for g in powers] == pytest.approx(list(VARIANCE.values()), abs=1e-4)


def test_one_operator_for_all_the_year_is_that_of_the_process(problem: Problem) -> None:
    step = operators(fitted(problem, None)[1])
    assert (step == step[0]).all()
    np.testing.assert_allclose(step[0], scipy.linalg.expm(L), atol=0.01)


def test_operators_by_month_of_a_process_without_a_year_are_all_the_same(problem: Problem) -> None:
    np.testing.assert_allclose(operators(fitted(problem, 2)[1]), np.tile(scipy.linalg.expm(L), (12, 1, 1)), atol=0.03)


def test_forecasts_are_as_good_as_the_best_forecast(problem: Problem) -> None:
    model, state = fitted(problem, None)
    starts = problem.source.times[-problem.size - 12 : -12]
    made, truth = forecast(problem, model, state, starts)[:, :, 0].values, verifying(problem, starts)
    for lead, variance in VARIANCE.items():
        assert ((made - truth)[:, lead - 1] ** 2).sum(1).mean() == pytest.approx(variance, rel=0.03)
        assert np.corrcoef(made[:, lead - 1, 0], truth[:, lead - 1, 0])[0, 1] == pytest.approx(CORRELATION[lead], abs=0.015)
