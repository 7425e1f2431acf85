"""Mixed layer: temperature anomalies that the sea damps, carries along and spreads, by fields learnt from what followed.

dT/dt = -lambda T - u dT/dx - v dT/dy + div(k grad T): the damping of Frankignoul and Hasselmann (1977,
doi 10.1111/j.2153-3490.1977.tb00740.x) with horizontal advection and diffusion, first-order upwind, nothing passing through
land; lambda, u and v have a mean and one annual harmonic at each point. Gauss-Newton gives values common to all points, from
which the gradient of the error of every lead moves those of each point, held smooth and stopped early.
Units: T that of the variable, lambda [month-1], u and v [m s-1], k [m2 s-1]. Assumes that nothing but the anomaly itself and
the season matters: there is no wind, no depth and no El Nino. What it learns is an effective motion of anomalies, not a current.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import xarray as xr

from ensemble import Array, Chunk, Composed, Domain, Learner, Learnt, Model, Sum, dataset
from ensemble.gradient import Descent, Gradient, Samples, Training
from ensemble.parts import Scaled, Then
from ensemble.task import month, shift

RADIUS = 6.371e6  # [m]
MONTH = 30.4375 * 86400.0  # [s]
EDDIES = 1e4  # [m2 s-1], the size of k
COURANT = (0.4, 0.3, 0.075)  # bounds of u dt/dx, v dt/dy, k dt/dx2 in a substep; as 0.4 + 0.3 + 4 x 0.075 = 1, no weight is negative
REST = np.array([-1.7, 0, 0, 0, 0, 0, 0, 0, 0, -0.5])[:, None, None]  # the ten terms: lambda, u, v (mean, cosine, sine), k


class Grid(NamedTuple):
    """Points stand in one row, longitude outermost, so that the four neighbours are `rows` and one step away."""

    mask: Array  # (latitude, longitude)
    area: Array  # (point,)
    distance: Array  # (neighbour, point): east, west, north, south [m]
    gradient: Array  # 1 / distance, 0 through land and over the rim [m-1]
    exchange: Array  # length of the face / (distance x area of the cell), 0 through land and over the rim [m-2]
    lead_times: Array
    months: Array  # in one step of the record
    neighbour: Array  # (neighbour, point): its index


def flat(field: Any) -> Any:
    """(..., latitude, longitude) -> (..., point)."""
    return field.swapaxes(-1, -2).reshape(*field.shape[:-2], -1)


def unflat(points: Any, where: Grid) -> Any:
    """(..., point) -> (..., latitude, longitude)."""
    return points.reshape(*points.shape[:-1], *where.mask.shape[::-1]).swapaxes(-1, -2)


def around(x: Any, rows: int) -> list[Any]:
    """(..., point) -> the values to the east, west, north and south; over the rim stands something finite."""
    wide = jnp.concatenate([x[..., -rows:], x, x[..., :rows]], -1)
    return [wide[..., rows + offset : rows + offset + x.shape[-1]] for offset in (rows, -rows, 1, -1)]


def grid(domain: Domain) -> Grid:
    """The geometry of a domain; longitude closes upon itself where it spans the globe."""
    field = domain.fields[domain.target]
    if field.dims != ("latitude", "longitude"):
        raise ValueError(f"a mixed layer needs latitude and longitude, and {domain.target} has {', '.join(field.dims)}; use another model")
    latitude, longitude = (np.deg2rad(np.asarray(field.coords[dim], dtype=float)) for dim in field.dims)
    (south, north), (west, east) = _spacing(latitude), _spacing(longitude)
    height, width = (south + north) / 2, (west + east) / 2
    cosine = np.maximum(np.cos(latitude), 0.01)
    zonal, meridional = RADIUS * cosine, RADIUS * np.ones(len(longitude))
    distance = np.stack([np.outer(zonal, east), np.outer(zonal, west), np.outer(north, meridional), np.outer(south, meridional)])
    faces = [np.maximum(np.cos(latitude + side / 2), 0) for side in (north, -south)]
    length = RADIUS * np.stack([np.outer(height, np.ones(len(width)))] * 2 + [np.outer(face, width) for face in faces])
    cell = RADIUS**2 * np.outer(cosine * height, width)
    mask = field.mask
    opened = np.stack([np.roll(mask, move, axis) for axis, move in ((1, -1), (1, 1), (0, -1), (0, 1))]) & mask
    opened[2, -1] = opened[3, 0] = False
    if np.ptp(longitude) + 1.5 * width[-1] < 2 * np.pi:
        opened[0, :, -1] = opened[1, :, 0] = False
    epoch = np.datetime64("2000-01-01", "ns")
    months = (shift(epoch, 1200, domain.step) - epoch) / np.timedelta64(1, "s") / MONTH / 1200
    parts = (field.area, distance, opened / distance, opened * length / distance / cell)
    point, rows = np.arange(mask.size), len(latitude)
    neighbour = np.stack([point + rows, point - rows, point + 1, point - 1]) % mask.size
    return Grid(mask, *(flat(each).astype(np.float32) for each in parts), np.asarray(domain.lead_times), np.asarray(months), neighbour)


def _spacing(x: Array) -> tuple[Array, Array]:
    """From each coordinate to the one before and the one after; beyond the ends as beside them."""
    apart = np.diff(x) if len(x) > 1 else np.full(1, np.deg2rad(5.0))
    return np.r_[apart[:1], apart], np.r_[apart, apart[-1:]]


def stencil(terms: jax.Array, where: Grid, substeps: int) -> jax.Array:
    """(term, latitude or 1, longitude or 1) -> (month, 5, point): weights of a point and its neighbours in a substep."""
    terms = flat(jnp.broadcast_to(terms, (len(REST), *where.mask.shape)))
    angle = 2 * np.pi * np.arange(12) / 12
    season = np.stack([np.ones(12), np.cos(angle), np.sin(angle)], axis=1)
    damping, east, north = jnp.einsum("ms,ksp->kmp", season, terms[:9].reshape(3, 3, -1))
    dt = where.months * MONTH / substeps
    u = COURANT[0] / dt * jnp.minimum(where.distance[0], where.distance[1]) * jnp.tanh(east)
    v = COURANT[1] / dt * jnp.minimum(where.distance[2], where.distance[3]) * jnp.tanh(north)
    k = EDDIES * jax.nn.softplus(terms[9])
    spread = jnp.minimum((k + k[where.neighbour]) / 2 * where.exchange * dt, COURANT[2])
    carried = jnp.maximum(jnp.stack([-u, u, -v, v], axis=1), 0) * where.gradient * dt  # from where the water comes
    weights = spread + carried
    kept = flat(where.mask) * jnp.exp(-jax.nn.softplus(damping) * where.months / substeps)
    return jnp.concatenate([1 - weights.sum(1, keepdims=True), weights], axis=1) * kept[:, None]


def apply(weights: jax.Array, x: jax.Array, rows: int) -> jax.Array:
    """(..., 5, point), (..., point) -> (..., point): a substep."""
    moved: jax.Array = sum(weights[..., i, :] * each for i, each in enumerate((x, *around(x, rows))))  # type: ignore[assignment]
    return moved


def transposed(weights: jax.Array, where: Grid) -> jax.Array:
    """The weights of the adjoint: what a point gives to its neighbours, it takes from them."""
    size = weights.shape[-1]
    opposite = jnp.concatenate([jnp.arange(size)[None], where.neighbour + size * np.array([[2], [1], [4], [3]])])
    return weights.reshape(len(weights), -1)[:, opposite]


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def advance(weights: jax.Array, adjoint: jax.Array, x: jax.Array, rows: int) -> jax.Array:
    """`apply` with its adjoint given, which is then a stencil too: XLA's own transpose takes thrice as long."""
    del adjoint
    return apply(weights, x, rows)


def _forward(weights: jax.Array, adjoint: jax.Array, x: jax.Array, rows: int) -> tuple[jax.Array, Any]:
    return apply(weights, x, rows), (adjoint, x)


def _backward(rows: int, kept: Any, y: jax.Array) -> tuple[jax.Array, None, jax.Array]:
    adjoint, x = kept
    return jnp.stack([y * each for each in (x, *around(x, rows))], axis=-2), None, apply(adjoint, y, rows)


advance.defvjp(_forward, _backward)


def step(weights: jax.Array, adjoint: jax.Array, x: jax.Array, rows: int, substeps: int) -> jax.Array:
    """(start, 5, point), its adjoint, (start, point): one step of the record."""
    for _ in range(substeps):
        x = advance(weights, adjoint, x, rows)
    return x


def path(weights: jax.Array, x: jax.Array, months: jax.Array, where: Grid, substeps: int) -> jax.Array:
    """(start, point) carried through `months` (start, step) -> (step, start, point)."""
    adjoint, rows = jax.lax.stop_gradient(transposed(weights, where)), len(where.mask)

    def on(x: jax.Array, at: jax.Array) -> tuple[jax.Array, jax.Array]:
        x = step(weights[at], adjoint[at], x, rows, substeps)
        return x, x

    return jax.lax.scan(on, x, months.T)[1]


def calendar(where: Grid, initial: xr.Dataset, steps: int) -> Array:
    """(init_time,) -> (init_time, step): the month that each step verifies in."""
    passed = np.floor(np.arange(steps) * float(where.months) + 1e-6).astype(int)
    return (month(initial["init_time"].values)[:, None] + passed) % 12


def state_of(initial: xr.Dataset, name: str, lag: int = -1) -> Array:
    """(init_time, point): the field last seen, 0 on land."""
    return np.nan_to_num(flat(initial[name].values[:, lag])).astype(np.float32)


def observed(chunk: Chunk, where: Grid) -> tuple[Array, Array, Array]:
    """First states (start, point), months (start, step) and what followed (start, lead_time, point)."""
    initial, targets, _ = chunk.pairs()
    name = chunk.domain.target
    followed = np.nan_to_num(flat(targets[name].values)).astype(np.float32)
    return state_of(initial, name), calendar(where, initial, int(max(where.lead_times))), followed


class Guess(NamedTuple):
    """Terms common to all points (term, 1, 1), and the round."""

    terms: Array
    grid: Grid
    round: int


@dataclass(frozen=True)
class GaussNewton(Learner[Guess, Sum]):
    """Ten numbers for the whole ocean, from J'J and J'r of all leads."""

    substeps: int
    rounds: int = 4
    ridge: float = 1e-3

    def start(self, domain: Domain, seed: int) -> Learnt[Guess]:
        del seed
        return Learnt(Guess(REST, grid(domain), 0), finished=self.rounds == 0)

    def summarise(self, state: Guess, chunk: Chunk) -> Sum:
        x, months, y = chunk.once((self, "observed"), None, lambda: observed(chunk, state.grid))
        sums = _sensitivities(state.terms, state.grid, x, months, y, self.substeps)
        return Sum((*(np.asarray(each, dtype=float) for each in sums), len(x)))

    def update(self, state: Guess, total: Sum) -> Learnt[Guess]:
        jj, jr, count = total.tree
        prior = self.ridge * count * np.diag(jj).mean() / np.maximum(count, 1)
        move = np.linalg.solve(jj + prior * np.eye(len(jj)), jr + prior * (REST - state.terms)[:, 0, 0] * 0)
        moved = state._replace(terms=state.terms + move[:, None, None], round=state.round + 1)
        return Learnt(moved, finished=moved.round >= self.rounds)


@partial(jax.jit, static_argnames="substeps", compiler_options={"xla_backend_optimization_level": 1})
def _sensitivities(terms: Any, where: Grid, x: Any, months: Any, y: Any, substeps: int) -> tuple[jax.Array, jax.Array]:
    """J'J and J'r by the tangent linear model: dx' = A dx + dA x, a tangent for each term."""
    rows = len(where.mask)
    terms = jnp.asarray(terms, jnp.float32)
    weights = stencil(terms, where, substeps)
    tangents = jnp.moveaxis(jax.jacfwd(lambda t: stencil(t, where, substeps))(terms)[..., 0, 0], -1, 0)
    wanted = jnp.zeros(months.shape[1]).at[where.lead_times - 1].set(1.0)
    truth = jnp.zeros((months.shape[1], *x.shape)).at[where.lead_times - 1].set(y.swapaxes(0, 1))

    def step(carry: Any, at: Any) -> tuple[Any, None]:
        x, dx, jj, jr = carry
        m, want, true = at
        here, turn = weights[m], tangents[:, m]
        for _ in range(substeps):
            x, dx = apply(here, x, rows), apply(here, dx, rows) + apply(turn, x, rows)
        heavy = want * where.area * dx
        return (x, dx, jj + jnp.einsum("anp,bnp->ab", heavy, dx), jr + jnp.einsum("anp,np->a", heavy, true - x)), None

    size = len(REST)
    begin = (x, jnp.zeros((size, *x.shape)), jnp.zeros((size, size)), jnp.zeros(size))
    (_, _, jj, jr), _ = jax.lax.scan(step, begin, (months.T, wanted, truth))
    return jj, jr


@dataclass(frozen=True)
class Fields(Gradient):
    """What each point, or each latitude, adds to the common terms."""

    by: Literal["point", "latitude", "uniform"]
    substeps: int
    rounds: int
    rate: float
    smoothness: float

    @property
    def descent(self) -> Descent:
        return Descent(rounds=self.rounds)

    def optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.rate)

    def begin(self, known: tuple[Any, ...], domain: Domain, seed: int) -> Learnt[Training]:
        """The start, from a Guess."""
        (guess,) = known
        state, finished = self.start(domain, seed)
        return Learnt(state._replace(fixed={"grid": guess.grid, "common": guess.terms.astype(np.float32)}), finished)

    def parameters(self, domain: Domain, key: jax.Array) -> Any:
        del key
        latitudes, longitudes = domain.fields[domain.target].mask.shape
        return jnp.zeros({"point": (10, latitudes, longitudes), "latitude": (10, latitudes, 1), "uniform": (10, 1, 1)}[self.by])

    def samples(self, chunk: Chunk) -> Samples:
        return Samples(chunk.pairs().initial["init_time"].values, observed(chunk, grid(chunk.domain)))

    def loss(self, parameters: Any, fixed: Any, inputs: Any, keys: Any) -> jax.Array:
        x, months, y = inputs
        where = fixed["grid"]
        weights = stencil(fixed["common"] + parameters, where, self.substeps)
        ahead = path(weights, x, months, where, self.substeps)[where.lead_times - 1]
        wrong = jnp.mean(jnp.sum(where.area * (ahead.swapaxes(0, 1) - y) ** 2, axis=-1), axis=1)
        return wrong + self.smoothness * roughness(parameters, where)

    def forecast(self, state: Training, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        (name,) = initial.data_vars
        where = state.fixed["grid"]
        months = calendar(where, initial, int(max(lead_times)))
        ahead = carried(state.fixed["common"] + state.best[0], where, state_of(initial, name), months, self.substeps)
        return as_dataset(ahead[lead_times - 1], where, initial, lead_times)


def learnt(state: Turns) -> tuple[Array, Grid]:
    """The terms at each point, and the grid, of a state of MixedLayer."""
    return state.now.fixed["common"] + state.now.best[0], state.now.fixed["grid"]


def as_dataset(ahead: Any, where: Grid, initial: xr.Dataset, lead_times: Array) -> xr.Dataset:
    (name,) = initial.data_vars
    values = unflat(np.asarray(ahead, dtype=float).swapaxes(0, 1), where)
    dims = ("init_time", "lead_time", *initial[name].dims[2:])
    return xr.Dataset({name: (dims, np.where(where.mask, values, np.nan))}, {"init_time": initial["init_time"], "lead_time": lead_times})


@partial(jax.jit, static_argnames="substeps")
def carried(terms: Any, where: Grid, x: Any, months: Any, substeps: int) -> jax.Array:
    return path(stencil(terms, where, substeps), x, months, where, substeps)


def roughness(terms: jax.Array, where: Grid) -> jax.Array:
    """Mean squared difference of neighbours."""
    terms = flat(jnp.broadcast_to(terms, (len(terms), *where.mask.shape)))
    return jnp.sum((where.gradient > 0) * (terms[:, where.neighbour] - terms[:, None]) ** 2) / where.mask.sum()


class Turns(NamedTuple):
    known: tuple[Any, ...]
    now: Any
    domain: Domain | None
    seed: int


@dataclass(frozen=True)
class InTurn(Model[Turns, Any]):
    """`last`, begun with what each of `first` has learnt, one after the other."""

    first: tuple[Learner[Any, Any], ...]
    last: Any

    @property
    def history(self) -> int:
        return int(self.last.history)

    def start(self, domain: Domain, seed: int) -> Learnt[Turns]:
        return self._go_on((), domain, seed)

    def _go_on(self, known: tuple[Any, ...], domain: Domain, seed: int) -> Learnt[Turns]:
        if len(known) == len(self.first):
            state, finished = self.last.begin(known, domain, seed)
            return Learnt(Turns((), state, None, seed), finished) if True else None
        state, finished = self.first[len(known)].start(domain, seed)
        if finished:
            return self._go_on((*known, state), domain, seed)
        return Learnt(Turns(known, state, domain, seed), False)

    def _learner(self, state: Turns) -> Any:
        return self.last if state.domain is None else self.first[len(state.known)]

    def summarise(self, state: Turns, chunk: Chunk) -> Any:
        return self._learner(state).summarise(state.now, chunk)

    def update(self, state: Turns, total: Any) -> Learnt[Turns]:
        now, finished = self._learner(state).update(state.now, total)
        if finished and state.domain is not None:
            return self._go_on((*state.known, now), state.domain, state.seed)
        return Learnt(state._replace(now=now), finished)

    def forecast(self, state: Turns, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        made: xr.Dataset = self.last.forecast(state.now, initial, lead_times, forcing, seed)
        return made


@dataclass(frozen=True)
class MixedLayer(Composed):
    """Settings.
    """

    fields: Literal["point", "latitude", "uniform"] = "point"
    guesses: int = 3
    rounds: int = 25
    rate: float = 0.03
    smoothness: float = 1e-3
    substeps: int = 3

    kind = "physics"

    def build(self) -> Model[Any, Any]:
        fields = Fields(self.fields, self.substeps, self.rounds, self.rate, self.smoothness)
        return Then(Scaled(), InTurn((GaussNewton(self.substeps, self.guesses),), fields))
