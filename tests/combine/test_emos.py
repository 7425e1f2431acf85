"""Ensemble model output statistics: known coefficients, the least loss, and what distributions promise."""

import importlib
import warnings
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import xarray as xr
from scipy.stats import logistic, norm

from ensemble.chunk import Chunk
from ensemble.combine import Bma, Emos, Predictive
from ensemble.combine.closed import Loss, crps, crps_loss, likelihood_loss
from ensemble.combine.emos import Regression
from ensemble.combine.family import FAMILIES
from ensemble.combine.predictive import SHARES, levels
from ensemble.combine.regression import distribution
from ensemble.errors import InputError
from ensemble.execute import Serial
from ensemble.fitting import fit
from ensemble.recipe.resolve import configured
from ensemble.score import Values
from ensemble.score.statistics import EnsembleCrps, FairCrps
from ensemble.task import Array
from ensemble.testing import check_combine
from ensemble.testing.models import same_bits
from tests.combine.past import domain_of, labelled, learnt, names
from tests.combine.test_rules import Threads

SHAPES = [
    Emos(shrink=0.0),
    Emos(shrink=0.0, link="log"),
    Emos(shrink=0.0, family="logistic"),
    Emos(shrink=0.0, censored=True),
    Emos(shrink=0.0, loss="likelihood"),
    Emos(shrink=0.0, family="logistic", censored=True, link="log", loss="likelihood"),
    Emos(shrink=0.4),
    Emos(shrink=1.0, loss="likelihood"),
]
BY_SHAPE = pytest.mark.parametrize("rule", SHAPES, ids=repr)
EVERY_LOSS = pytest.mark.parametrize(
    ("function", "family", "censored"), [(f, n, c) for f in (crps_loss, likelihood_loss) for n in FAMILIES for c in (False, True)]
)


def oracle() -> ModuleType:
    pytest.importorskip("scoringrules", reason="closed forms of another hand")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("scoringrules")


def drawn(starts: int, *, models: int = 3, seed: int = 0, mean: float = 1.0) -> tuple[Array, Array]:
    """Forecasts of which the last is noise, and truths of location 0.4 + 0.6 f_0 + 0.3 f_1 and variance 0.3 + 0.5 S^2; two leads."""
    random = np.random.default_rng(seed)
    shape = (starts, 2, 40)
    forecast = mean + random.standard_normal(shape) + np.exp(0.5 * random.standard_normal(shape)) * random.standard_normal((models, *shape))
    scale = np.sqrt(0.3 + 0.5 * forecast.var(0, ddof=1))
    return forecast, 0.4 + 0.6 * forecast[0] + 0.3 * forecast[1] + scale * random.standard_normal(shape)


def coefficients(state: Regression) -> Array:
    """(a, b, c, d) of the variance (parameter, lead_time), in the unit of the variable."""
    c, d = state.at[-2:] * state.frame.unit**2
    return np.concatenate([state.intercept[None], state.slope, c[None], (d / state.frame.spread)[None]])


def test_coefficients_that_truths_were_drawn_with_are_found_again() -> None:
    for rule in (Emos(shrink=0.0), Emos(shrink=0.0, loss="likelihood")):
        state, domain = learnt(rule, *drawn(600), pieces=4)
        expected = np.array([0.4, 0.6, 0.3, 0.0, 0.3, 0.5])
        assert coefficients(state) == pytest.approx(np.stack([expected, expected], 1), abs=0.05)
        assert rule.weights(state, domain)[:, 0] == pytest.approx([2 / 3, 1 / 3, 0], abs=0.03)


def by_hand(rule: Emos, forecast: Array, truth: Array, lead: int) -> tuple[Callable[[Array], float], list[tuple[float | None, None]]]:
    """The loss of (a, b, c, d) as a plain mean over cases, by scipy's distributions, and the bounds of these."""
    f, y = forecast[:, :, lead].reshape(len(forecast), -1), truth[:, lead].ravel()
    s2, wears = f.var(0, ddof=1), norm if rule.family == "normal" else logistic

    def loss(at: Array) -> float:
        location = at[0] + at[1:-2] @ f
        scale = np.sqrt(at[-2] + at[-1] * s2) if rule.link == "variance" else np.exp(at[-2] + at[-1] * np.log(s2) / 2)
        if rule.loss == "crps":
            return float(np.mean(crps(FAMILIES[rule.family], y, location, scale, censored=rule.censored)))
        hidden = wears.logcdf(0, location, scale)
        likely: Array = np.where(rule.censored & (y <= 0), hidden, wears.logpdf(y, location, scale))
        return -float(likely.mean())

    return loss, [(None, None), *[(0.0, None)] * len(f), (1e-6 if rule.link == "variance" else None, None), (0.0, None)]


@pytest.mark.parametrize("rule", [each for each in SHAPES if each.shrink == 0], ids=repr)
def test_no_parameters_have_less_loss(rule: Emos) -> None:
    forecast, truth = drawn(30, seed=5)
    state, _ = learnt(rule, forecast, np.maximum(truth, 0) if rule.censored else truth, pieces=3)
    for lead in range(2):
        loss, bounds = by_hand(rule, forecast, np.maximum(truth, 0) if rule.censored else truth, lead)
        a, d, unit, spread = state.intercept[lead], state.at[-1, lead], state.frame.unit[lead], state.frame.spread[lead]
        if rule.link == "variance":
            width = [unit**2 * state.at[-2, lead], unit**2 * d / spread]
        else:
            width = [np.log(unit) + state.at[-2, lead] - d * np.log(spread) / 2, d]
        mine = np.array([a, *state.slope[:, lead], *width])
        start = np.array([0.0, 0.3, 0.3, 0.3, 0.5, 0.5])
        found = scipy.optimize.minimize(loss, start, bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 2000})
        assert loss(mine) <= found.fun + 1e-12
        assert mine == pytest.approx(found.x, abs=2e-5)
        assert loss(mine) == pytest.approx(found.fun, rel=1e-6)


@pytest.mark.parametrize("shrink", [0.3, 0.9])
def test_shrinking_adds_the_cost_that_is_said(shrink: float) -> None:
    """In units of the error: shrink / (1 - shrink) / sqrt(pi) times the variance of what models say beyond their means."""
    forecast, truth = drawn(20, seed=6)
    state, _ = learnt(Emos(shrink=shrink), forecast, truth)
    loss, bounds = by_hand(Emos(shrink=0.0), forecast, truth, 0)
    beyond = forecast - forecast.mean((1, 3), keepdims=True)
    unit = (forecast.mean(0) - truth)[:, 0].std()
    apart = (forecast.var(0, ddof=1).mean((0, 2)) - forecast.mean((1, 3)).var(0, ddof=1))[0]
    assert apart == pytest.approx(beyond.var(0, ddof=1).mean((0, 2))[0])

    def drawn_together(at: Array) -> float:
        b = at[1:-2]
        return float(loss(at) / unit + shrink / (1 - shrink) / np.sqrt(np.pi) * apart / unit**2 * ((b - b.mean()) ** 2).sum() / 2)

    found = scipy.optimize.minimize(drawn_together, np.full(6, 0.4), bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-9})
    assert coefficients(state)[:, 0] == pytest.approx(found.x, abs=2e-5)


def test_shrinking_draws_weights_together_until_all_share_one() -> None:
    forecast, truth = drawn(40)
    made = [learnt(Emos(shrink=each), forecast, truth) for each in (0.0, 0.3, 0.6, 0.99, 1 - 1e-7, 1.0)]
    apart = [np.ptp(state.slope[:, 0]) for state, _ in made]
    assert apart == sorted(apart, reverse=True)
    assert Emos(shrink=0.0).weights(*made[-1]) == pytest.approx(1 / 3, rel=1e-15)
    assert made[-1][0].slope == pytest.approx(made[-2][0].slope, abs=1e-5)
    of_mean, _ = learnt(Emos(shrink=1.0), np.stack([forecast.mean(0) + e * np.sqrt(forecast.var(0, ddof=1) / 2) for e in (-1, 1)]), truth)
    assert coefficients(of_mean)[[0, -2, -1]] == pytest.approx(coefficients(made[-1][0])[[0, -2, -1]], abs=1e-6)


def test_it_scores_better_than_models_as_they_are_and_than_one_width_for_all() -> None:
    forecast, truth = drawn(200)
    ahead, after = drawn(200, seed=9)
    score = {}
    for rule in (Emos(shrink=0.0), Bma(regress=True)):
        state, domain = learnt(rule, forecast, truth)
        members = rule.sample(state, domain, labelled(ahead)).values
        score[rule.name] = EnsembleCrps().at(Values(members, after)).mean()
    raw = EnsembleCrps().at(Values(np.moveaxis(ahead, 0, 2), after)).mean()
    assert score["emos"] < 0.97 * score["bma"]
    assert score["emos"] < 0.8 * raw


@BY_SHAPE
def test_every_shape_keeps_the_promises_of_a_combination(rule: Emos) -> None:
    check_combine(rule)


@BY_SHAPE
def test_the_same_to_the_last_bit_however_pieces_are_shared_out(rule: Emos) -> None:
    forecast, truth = drawn(24, seed=3)
    forecast[1, 3:9, 1, 4:20], truth[20, 0, 3] = np.nan, np.nan
    domain = domain_of(names(forecast), 2, 40)
    whole, _ = learnt(rule, forecast, truth, pieces=8)
    pieces = _pieces(forecast, truth, 8)
    for each in (1, 2, 8):
        shards = [pieces[i : i + 8 // each] for i in range(0, 8, 8 // each)]
        for executor in (Serial(), Threads()):
            state = fit(rule, shards, domain, executor, 0)
            assert same_bits(state.at, whole.at), each
    in_one, _ = learnt(rule, forecast, truth)
    assert whole.at == pytest.approx(in_one.at, abs=1e-7)


def _pieces(forecast: Array, truth: Array, count: int) -> list[Chunk]:
    data = xr.Dataset({"forecast": labelled(forecast), "truth": (("init_time", "lead_time", "point"), truth)})
    parts = np.array_split(np.arange(len(truth)), count)
    return [Chunk(data.isel(init_time=index), domain_of(names(forecast), *truth.shape[1:]), 0, len(index), True) for index in parts]


@BY_SHAPE
def test_gaps_are_as_if_the_points_were_not_there(rule: Emos) -> None:
    forecast, truth = drawn(25, seed=4)
    gappy, without = forecast.copy(), truth.copy()
    gappy[1, ..., 3:7], without[..., 12:15] = np.nan, np.nan
    left = np.r_[0:3, 7:12, 15:40]
    expected, _ = learnt(rule, forecast[..., left], truth[..., left])
    assert learnt(rule, gappy, without)[0].at == pytest.approx(expected.at, abs=1e-7)


@BY_SHAPE
def test_models_that_never_differ_leave_a_width_without_spread(rule: Emos) -> None:
    forecast, truth = drawn(25)
    state, domain = learnt(rule, forecast[[0, 0]], truth)
    alone, _ = learnt(rule, forecast[:1], truth)
    assert (state.frame.spread == 0).all()
    ours, theirs = (rule.quantiles(s, labelled(forecast[[0] * n]), [0.2, 0.9]).values for s, n in ((state, 2), (alone, 1)))
    assert ours == pytest.approx(theirs, abs=1e-5)
    assert rule.weights(state, domain) == pytest.approx(0.5, abs=1e-9)


@EVERY_LOSS
def test_slopes_are_finite_differences(function: Callable[..., Loss], family: str, censored: bool) -> None:
    random = np.random.default_rng(0)
    y, m, s = 2 * random.standard_normal(300), random.standard_normal(300), np.exp(0.5 * random.standard_normal(300))
    y = np.maximum(y, 0) if censored else y

    def of(m: Array, s: Array) -> Loss:
        return function(FAMILIES[family], y, m, s, censored=censored)

    made, h = of(m, s), 1e-5
    by_m, by_s = [(up, down) for up, down in ((of(m + h, s), of(m - h, s)), (of(m, s + h), of(m, s - h)))]
    for slope, (up, down) in ((made.location, by_m), (made.scale, by_s)):
        assert slope == pytest.approx((up.value - down.value) / (2 * h), abs=1e-7, rel=1e-6)
    assert made.whole.location == pytest.approx((by_m[0].location - by_m[1].location) / (2 * h), abs=1e-6, rel=1e-5)
    assert made.whole.both == pytest.approx((by_m[0].scale - by_m[1].scale) / (2 * h), abs=1e-6, rel=1e-5)
    assert made.whole.scale == pytest.approx((by_s[0].scale - by_s[1].scale) / (2 * h), abs=1e-5, rel=1e-5)
    sure = made.sure
    assert (sure.location >= 0).all()
    assert (sure.location * sure.scale - sure.both**2 >= -1e-12 * sure.location * sure.scale).all()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("censored", [False, True])
def test_the_score_is_the_integral_it_stands_for(family: str, censored: bool) -> None:
    wears = norm if family == "normal" else logistic
    for y, m, s in ((0.0, 0.3, 1.0), (1.7, -0.5, 2.0), (3.0, 2.0, 0.4)):

        def apart(x: float, y: float = y, m: float = m, s: float = s) -> float:
            cdf = 0.0 if censored and x < 0 else wears.cdf(x, m, s)
            return float((cdf - (x >= y)) ** 2)

        expected = scipy.integrate.quad(apart, -60, 60, points=[0.0, y], limit=500)[0]
        assert crps(FAMILIES[family], np.array(y), np.array(m), np.array(s), censored=censored) == pytest.approx(expected, rel=1e-7)


def test_closed_forms_are_those_of_another_hand() -> None:
    peer, random = oracle(), np.random.default_rng(1)
    y, m, s = np.abs(random.standard_normal(200)), random.standard_normal(200), 0.4 + random.exponential(size=200)
    for family, name in (("normal", "normal"), ("logistic", "logistic")):
        plain, censored = getattr(peer, f"crps_{name}"), getattr(peer, f"crps_c{name}")
        np.testing.assert_allclose(crps(FAMILIES[family], y, m, s), plain(y, m, s), rtol=1e-10)
        theirs = censored(y, m, s, 0.0, 200.0)  # at infinity it has no value for every case
        np.testing.assert_allclose(crps(FAMILIES[family], y, m, s, censored=True), theirs, rtol=1e-9, atol=1e-12)
        surprise = likelihood_loss(FAMILIES[family], y, m, s).value
        np.testing.assert_allclose(surprise, getattr(peer, f"logs_{name}")(y, m, s), rtol=1e-10)


@BY_SHAPE
def test_quantiles_hold_their_share_of_truths(rule: Emos) -> None:
    forecast, truth = drawn(150, seed=2, mean=3.0)  # so that few are censored
    state, _ = learnt(rule, forecast, truth)
    made = rule.quantiles(state, labelled(forecast), [0.1, 0.5, 0.9])
    assert made.dims == ("quantile", "init_time", "lead_time", "point")
    slack = 0.015 if (rule.family, rule.censored) == ("normal", False) else 0.035  # as truths were drawn
    assert (truth < made.values).mean((1, 2, 3)) == pytest.approx([0.1, 0.5, 0.9], abs=slack)
    location, scale = distribution(state.frame, state.at, forecast, rule.shape)
    wears = norm if rule.family == "normal" else logistic
    expected = wears.ppf([[[[0.1]]], [[[0.5]]], [[[0.9]]]], location, scale)
    assert made.values == pytest.approx(np.maximum(expected, 0) if rule.censored else expected, rel=1e-12)


@pytest.mark.parametrize("family", ["normal", "logistic"])
def test_the_forecast_is_the_mean_of_the_distribution_censored_or_not(family: str) -> None:
    forecast, truth = drawn(20, mean=0.0)
    for censored in (False, True):
        rule = Emos(shrink=0.0, family=family, censored=censored)  # type: ignore[arg-type]
        state, domain = learnt(rule, forecast, np.maximum(truth, 0) if censored else truth)
        many = rule.quantiles(state, labelled(forecast[:, :2]), levels(4000)).values.mean(0)
        assert rule.combine(state, domain, labelled(forecast[:, :2])).values == pytest.approx(many, abs=2e-3)


@pytest.mark.parametrize(
    "rule",
    [Emos(shrink=0.0), Bma(), Emos(shrink=0.0, members=1), Bma(regress=True, members=5), Emos(shrink=0.0, censored=True, members=7)],
    ids=repr,
)
def test_members_are_as_many_as_asked_and_their_mean_is_near_the_forecast(rule: Predictive) -> None:  # type: ignore[type-arg]
    forecast, truth = drawn(20, mean=3.0)
    state, domain = learnt(rule, forecast, truth)
    made = rule.sample(state, domain, labelled(forecast))
    assert made.dims == ("init_time", "lead_time", "member", "point")
    assert made.sizes["member"] == rule.members
    mean = rule.combine(state, domain, labelled(forecast)).values
    scale = made.std("member").values.mean() if rule.members > 1 else 1.0
    assert np.abs(made.values.mean(2) - mean).max() < (0.3 if rule.name == "bma" or rule.censored else 1e-9) * scale  # type: ignore[attr-defined]
    assert (np.diff(made.values, axis=2) >= 0).all()


def test_what_is_said_of_twenty_members_is_so() -> None:
    """The standard score is that of the distribution, the fair one 5 % too low, and the variance 1.2 %."""
    quantile = FAMILIES["normal"].quantile
    truth = quantile(np.array(levels(20_000))).reshape(-1, 1, 1)
    members = np.broadcast_to(quantile(np.array(levels(20)))[:, None], (20_000, 1, 20, 1))
    exact = crps(FAMILIES["normal"], truth, np.array(0.0), np.array(1.0)).mean()
    standard, fair = (each.at(Values(members, truth)).mean() for each in (EnsembleCrps(), FairCrps()))
    assert standard == pytest.approx(exact, rel=5e-3)
    assert fair - standard == pytest.approx(-2 / np.sqrt(np.pi) / 40, rel=0.05)
    assert fair == pytest.approx(0.95 * exact, rel=1e-2)
    assert members[0].var(ddof=1) == pytest.approx(1.0 - 0.012, abs=1e-3)
    assert (truth[:, 0] < members[0, 0, 0]).mean() == pytest.approx(1 / 40, abs=1e-3)


@pytest.mark.parametrize("rule", [Emos(shrink=0.0), Emos(shrink=1.0), Emos(shrink=0.0, link="log"), Bma(), Bma(regress=True)], ids=repr)
def test_a_combination_of_some_of_the_models_rescales_weights(rule: Predictive) -> None:  # type: ignore[type-arg]
    forecast, truth = drawn(60)
    forecast += np.array([0.0, 5.0, -3.0])[:, None, None, None]  # each with a bias of its own
    state, domain = learnt(rule, forecast, truth)
    everyone, some = np.arange(3), np.array([0, 1])
    whole = rule.combine(state, domain, labelled(forecast)).values
    assert rule.combine_some(state, domain, labelled(forecast), everyone).values == pytest.approx(whole, rel=1e-12)
    assert rule.weights(rule.some(state, some), domain).sum(0) == pytest.approx(1.0)
    made = rule.combine_some(state, domain, labelled(forecast[some]), some).values
    if isinstance(rule, Emos):
        assert (made - truth).mean() == pytest.approx((whole - truth).mean(), abs=1e-9)
        assert rule.some(state, some).slope.sum(0) == pytest.approx(state.slope.sum(0))
    members = rule.sample_some(state, domain, labelled(forecast[some]), some)
    assert members.dims == ("init_time", "lead_time", "member", "point")
    assert np.isfinite(members.values).all()
    one = rule.sample_some(state, domain, labelled(forecast[[2]]), np.array([2])).values
    assert np.isfinite(one).all()


def test_a_forecast_is_missing_where_a_model_is() -> None:
    forecast, truth = drawn(20)
    for rule in (Emos(shrink=0.0), Emos(shrink=0.0, link="log", censored=True)):
        state, domain = learnt(rule, forecast, truth)
        gappy = forecast.copy()
        gappy[2, 3, 1, 7] = np.nan
        for made in (rule.combine(state, domain, labelled(gappy)).values, rule.sample(state, domain, labelled(gappy)).values[:, :, 0]):
            assert np.isnan(made[3, 1, 7])
            assert np.isnan(made).sum() == 1


def test_rounds_end_where_they_are_told_to() -> None:
    forecast, truth = drawn(10)
    for rounds in range(1, 6):
        state, _ = learnt(Emos(shrink=0.0, rounds=rounds), forecast, truth)
        assert state.rounds == rounds + 1
        assert (state.at == state.refuge).all()
    assert learnt(Emos(shrink=0.0), forecast, truth)[0].rounds < 20


def test_settings_are_checked_at_the_door() -> None:
    for settings, words in (
        ({"shrink": 1.5}, "outside 0 .* to 1"),
        ({"members": 0}, "members 0 must be at least 1"),
        ({"rounds": 0}, "rounds 0 at least 1"),
        ({"family": "gamma"}, "normal"),
        ({"famly": "normal"}, "did you mean family"),
    ):
        with pytest.raises(InputError, match=words):
            configured(Emos, settings, "combine.emos")
    with pytest.raises(ValueError, match="link 'square' must be variance or log"):
        Emos(link="square")  # type: ignore[arg-type]


@pytest.mark.parametrize(("rule", "alike"), [(Emos(), True), (Emos(), False), (Bma(), False)], ids=repr)
def test_rolling_origins_choose_how_far_weights_are_shrunk(rule: Predictive, alike: bool) -> None:  # type: ignore[type-arg]
    """All the way where models are as good as one another and the record is short; not at all where one is far the best."""
    random = np.random.default_rng(11)
    truth = random.standard_normal((16, 1, 6))
    forecast = truth + random.standard_normal((5, *truth.shape)) * (1.0 if alike else np.array([0.2, 3, 3, 3, 3])[:, None, None, None])
    pieces, domain = _pieces(forecast, truth, 4), domain_of(names(forecast), 1, 6)
    folds = [[piece] for piece in pieces]
    made = rule.tuned(folds, domain)
    assert made.share >= 0.9 if alike else made.share == 0.0
    by_hand = {share: sum(replace(rule, shrink=share).ahead(folds[:i], folds[i], domain) for i in (1, 2, 3)) for share in SHARES}
    assert by_hand[made.share] == min(by_hand.values())
    assert rule.tuned(folds[:1], domain) == rule
    assert replace(rule, shrink=0.3).tuned(folds, domain).share == 0.3
