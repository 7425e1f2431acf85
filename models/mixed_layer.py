"""Mixed layer: temperature anomalies that the sea damps, carries along and spreads, by fields learnt from what followed.

dT/dt = -lambda T - u dT/dx - v dT/dy + div(k grad T): the damping of Frankignoul and Hasselmann (1977,
doi 10.1111/j.2153-3490.1977.tb00740.x) with horizontal advection and diffusion; lambda, u and v have a mean and an annual
harmonic at each point. First-order upwind, forward in time, nothing through land or over the rim. Gauss-Newton finds ten
numbers for the whole sea, and from there the gradient of the error of all leads moves those of each point, held smooth and
stopped early. Units: lambda [month-1], u and v [m s-1], k [m2 s-1], T that of the variable. Assumes that the anomaly and the
season tell all: no wind, no depth, no El Nino. The u and v are those of anomalies, not of the water.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import xarray as xr

from ensemble import Array, Chunk, Composed, Domain, Learner, Learnt, Model, Sum
from ensemble.gradient import Descent, Gradient, Samples, Training
from ensemble.parts import Scaled, Then
from ensemble.task import month, shift

RADIUS = 6.371e6  # [m]
MONTH = 30.4375 * 86400.0  # [s]
EDDIES = 1e4  # [m2 s-1], the size of k
COURANT = (0.4, 0.3, 0.075)  # bounds of u dt/dx, v dt/dy and k dt/dx2; as 0.4 + 0.3 + 4 x 0.075 = 1, no weight is ever negative
REST = np.array([-1.7, 0, 0, 0, 0, 0, 0, 0, 0, -0.5])[:, None, None]  # ten terms: lambda, u, v (mean, cosine, sine) and k
SEASON = np.stack([np.ones(12), np.cos(np.arange(12) * np.pi / 6), np.sin(np.arange(12) * np.pi / 6)], axis=1)  # (month, harmonic)

By = Literal["point", "latitude", "uniform"]


class Grid(NamedTuple):
    """Points stand in one row, longitude outermost; neighbours are those to the east, west, north and south."""

    mask: Array  # (latitude, longitude)
    area: Array  # (point,)
    distance: Array  # (neighbour, point) [m]
    gradient: Array  # 1 / distance, 0 through land and over the rim [m-1]
    exchange: Array  # length of the face / (distance x area of the cell), 0 through land and over the rim [m-2]
    neighbour: Array  # (neighbour, point): its index
    lead_times: Array
    months: Array  # in one step of the record


def grid(domain: Domain) -> Grid:
    """The geometry of a domain; longitude closes upon itself where it spans the globe."""
    field = domain.fields[domain.target]
    if field.dims != ("latitude", "longitude"):
        raise ValueError(f"a mixed layer needs latitude and longitude; {domain.target} has {', '.join(field.dims)}: leave this model out")
    mask, (latitude, longitude) = field.mask, (np.deg2rad(np.asarray(each, dtype=float)) for each in field.coords.values())
    (south, north), (west, east) = _spacing(latitude), _spacing(longitude)
    height, width, cosine = (south + north) / 2, (west + east) / 2, np.maximum(np.cos(latitude), 0.01)
    rows, columns = np.ones(len(latitude)), np.ones(len(longitude))
    distance = [np.outer(cosine, east), np.outer(cosine, west), np.outer(north, columns), np.outer(south, columns)]
    faces = [np.outer(np.maximum(np.cos(latitude + half), 0), width) for half in (north / 2, -south / 2)]
    length = [np.outer(height, columns)] * 2 + faces
    opened = np.stack([np.roll(mask, move, axis) for move, axis in ((-1, 1), (1, 1), (-1, 0), (1, 0))]) & mask
    opened[2, -1] = opened[3, 0] = False
    if np.ptp(longitude) + 1.5 * width[-1] < 2 * np.pi:
        opened[0, :, -1] = opened[1, :, 0] = False
    apart, side, cell = RADIUS * np.stack(distance), RADIUS * np.stack(length), RADIUS**2 * np.outer(cosine * height, width)
    parts = field.area, apart, opened / apart, opened * side / apart / cell
    area, metres, gradient, exchange = (flat(each).astype(np.float32) for each in parts)
    neighbour = (np.arange(mask.size) + np.array([[len(rows)], [-len(rows)], [1], [-1]])) % mask.size
    epoch = np.datetime64("2000-01-01", "ns")
    months = (shift(epoch, 48, domain.step) - epoch) / np.timedelta64(1, "s") / MONTH / 48  # of 48 months, one is a leap February
    return Grid(mask, area, metres, gradient, exchange, neighbour, np.asarray(domain.lead_times), np.asarray(months))


def _spacing(x: Array) -> tuple[Array, Array]:
    """From the coordinate before and to the one after; beyond the ends as beside them."""
    apart = np.pad(np.diff(x), 1, mode="edge") if len(x) > 1 else np.deg2rad([5.0, 5.0])
    return apart[:-1], apart[1:]


def flat(field: Any) -> Any:
    """(..., latitude, longitude) -> (..., point)."""
    return field.swapaxes(-1, -2).reshape(*field.shape[:-2], -1)


def unflat(points: Any, where: Grid) -> Any:
    """(..., point) -> (..., latitude, longitude)."""
    return points.reshape(*points.shape[:-1], *where.mask.shape[::-1]).swapaxes(-1, -2)


@partial(jax.jit, static_argnames="substeps")
def stencil(terms: jax.Array, where: Grid, substeps: int) -> jax.Array:
    """(term, latitude or 1, longitude or 1) -> (month, 5, point): what a substep takes of a point and its neighbours."""
    terms = flat(jnp.broadcast_to(terms, (len(REST), *where.mask.shape)))
    damping, east, north = jnp.einsum("ms,ksp->kmp", SEASON, terms[:9].reshape(3, 3, -1))
    dt = where.months * MONTH / substeps
    u = COURANT[0] / dt * jnp.minimum(where.distance[0], where.distance[1]) * jnp.tanh(east)
    v = COURANT[1] / dt * jnp.minimum(where.distance[2], where.distance[3]) * jnp.tanh(north)
    k = EDDIES * jax.nn.softplus(terms[9])
    spread = jnp.minimum((k + k[where.neighbour]) / 2 * where.exchange * dt, COURANT[2])
    weights = spread + jnp.maximum(jnp.stack([-u, u, -v, v], axis=1), 0) * where.gradient * dt  # from where the flow comes
    kept = flat(where.mask) * jnp.exp(-jax.nn.softplus(damping) * where.months / substeps)
    taken: jax.Array = jnp.concatenate([1 - weights.sum(1, keepdims=True), weights], axis=1) * kept[:, None]
    return taken


def transposed(weights: jax.Array, where: Grid) -> jax.Array:
    """The stencil of the adjoint: a point takes from each neighbour what that one has taken from it."""
    size = weights.shape[-1]
    taken = jnp.concatenate([jnp.arange(size)[None], where.neighbour + size * np.array([[2], [1], [4], [3]])])
    return weights.reshape(len(weights), -1)[:, taken]


def here_and_around(x: jax.Array, rows: int) -> tuple[jax.Array, ...]:
    """(..., point) -> it and its neighbours; over the rim stands something finite."""
    wide = jnp.concatenate([x[..., -rows:], x, x[..., :rows]], axis=-1)
    return tuple(wide[..., rows + offset : rows + offset + x.shape[-1]] for offset in (0, rows, -rows, 1, -1))


def substep(weights: jax.Array, x: jax.Array, rows: int) -> jax.Array:
    """(..., 5, point), (..., point) -> (..., point)."""
    terms = [weights[..., i, :] * each for i, each in enumerate(here_and_around(x, rows))]
    return terms[0] + terms[1] + terms[2] + terms[3] + terms[4]


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def advance(weights: jax.Array, adjoint: jax.Array, x: jax.Array, rows: int) -> jax.Array:
    """A `substep` that knows its adjoint, which is a stencil too: XLA's own transpose of it takes three times as long."""
    del adjoint
    return substep(weights, x, rows)


def _forward(weights: jax.Array, adjoint: jax.Array, x: jax.Array, rows: int) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return substep(weights, x, rows), (adjoint, x)


def _backward(rows: int, kept: tuple[jax.Array, jax.Array], y: jax.Array) -> tuple[jax.Array, None, jax.Array]:
    adjoint, x = kept
    return jnp.stack([y * each for each in here_and_around(x, rows)], axis=-2), None, substep(adjoint, y, rows)


advance.defvjp(_forward, _backward)


def step(weights: jax.Array, adjoint: jax.Array, x: jax.Array, rows: int, substeps: int) -> jax.Array:
    """(start, 5, point), the same, (start, point) -> (start, point): one step of the record."""
    for _ in range(substeps):
        x = advance(weights, adjoint, x, rows)
    return x


@partial(jax.jit, static_argnames="substeps")
def path(weights: jax.Array, where: Grid, x: Any, months: Any, substeps: int, push: Any = None) -> jax.Array:
    """(start, point) through `months` (start, step), `push` (step, start, point) added -> (step, start, point)."""
    adjoint = jax.lax.stop_gradient(transposed(weights, where))

    def on(x: jax.Array, now: Any) -> tuple[jax.Array, jax.Array]:
        at, more = now
        x = step(weights[at], adjoint[at], x, len(where.mask), substeps)
        x = x if more is None else x + more
        return x, x

    return jax.lax.scan(on, x, (months.T, push))[1]


def last_seen(initial: xr.Dataset) -> Array:
    """(init_time, point): the last field seen, 0 on land."""
    (name,) = initial.data_vars
    seen: Array = np.nan_to_num(flat(initial[name].values[:, -1])).astype(np.float32)
    return seen


def calendar(where: Grid, initial: xr.Dataset, steps: int) -> Array:
    """(init_time, step): the months that the steps verify in."""
    passed = np.floor(np.arange(steps) * float(where.months) + 1e-6).astype(int)
    months: Array = (month(initial["init_time"].values)[:, None] + passed) % 12
    return months


def observed(chunk: Chunk, where: Grid) -> tuple[Array, Array, Array]:
    """First states (start, point), months (start, step) and what followed (start, lead_time, point)."""
    initial, targets, _ = chunk.pairs()
    followed = np.nan_to_num(flat(targets[chunk.domain.target].values)).astype(np.float32)
    return last_seen(initial), calendar(where, initial, int(max(where.lead_times))), followed


def forecast_of(values: Any, where: Grid, initial: xr.Dataset, lead_times: Array) -> xr.Dataset:
    """(init_time, lead_time, [member,] point) as a forecast, NaN on land."""
    (name,) = initial.data_vars
    member = {"member": np.arange(values.shape[2])} if values.ndim == 4 else {}
    coords = {"init_time": initial["init_time"], "lead_time": lead_times, **member}
    field = np.where(where.mask, unflat(np.asarray(values, dtype=np.float64), where), np.nan)
    return xr.Dataset({name: ((*coords, *initial[name].dims[2:]), field)}, coords)


class Guess(NamedTuple):
    """Terms common to all points (term, 1, 1), after so many rounds."""

    terms: Array
    grid: Grid
    round: int


@dataclass(frozen=True)
class GaussNewton(Learner[Guess, Sum]):
    """Ten numbers for the whole sea: (J'J + ridge) move = J'r, summed over all starts and leads."""

    substeps: int
    rounds: int
    ridge: float = 1e-3  # of the mean of the diagonal of J'J

    def start(self, domain: Domain, seed: int) -> Learnt[Guess]:
        del seed
        return Learnt(Guess(REST, grid(domain), 0), finished=self.rounds == 0)

    def summarise(self, state: Guess, chunk: Chunk) -> Sum:
        x, months, y = chunk.once((self, "observed"), None, lambda: [_filled(each) for each in observed(chunk, state.grid)])
        sums = _sensitivities(state.terms.astype(np.float32), state.grid, x, months, y, self.substeps)
        return Sum(tuple(np.asarray(each, dtype=np.float64) for each in sums))

    def update(self, state: Guess, total: Sum) -> Learnt[Guess]:
        jj, jr = total.tree
        move = np.linalg.solve(jj + self.ridge * np.diag(jj).mean() * np.eye(len(jj)), jr)
        moved = state._replace(terms=state.terms + np.clip(move, -1, 1)[:, None, None], round=state.round + 1)
        return Learnt(moved, finished=moved.round >= self.rounds)


def _filled(x: Array) -> Array:
    """Zeros, which add nothing, up to a multiple of eight, so that chunks of nearly the same size share compiled code."""
    return np.concatenate([x, np.zeros((-len(x) % 8, *x.shape[1:]), x.dtype)])


@partial(jax.jit, static_argnames="substeps")
def _sensitivities(terms: Any, where: Grid, x: Any, months: Any, y: Any, substeps: int) -> tuple[jax.Array, jax.Array]:
    """J'J and J'r by the tangent linear model dx' = A dx + dA x, one tangent a term."""
    rows, size, steps = len(where.mask), len(REST), months.shape[1]
    weights = stencil(terms, where, substeps)
    turns = jnp.moveaxis(jax.jacfwd(lambda each: stencil(each, where, substeps))(terms)[..., 0, 0], -1, 0)
    wanted = jnp.zeros(steps).at[where.lead_times - 1].set(1)
    truth = jnp.zeros((steps, *x.shape)).at[where.lead_times - 1].set(y.swapaxes(0, 1))

    def on(carry: Any, now: Any) -> tuple[Any, None]:
        x, dx, jj, jr = carry
        at, want, true = now
        here, turn = weights[at], turns[:, at]
        for _ in range(substeps):
            x, dx = substep(here, x, rows), substep(here, dx, rows) + substep(turn, x, rows)
        heavy = want * where.area * dx
        return (x, dx, jj + jnp.einsum("anp,bnp->ab", heavy, dx), jr + jnp.einsum("anp,np->a", heavy, true - x)), None

    first = (x, jnp.zeros((size, *x.shape)), jnp.zeros((size, size)), jnp.zeros(size))
    (_, _, jj, jr), _ = jax.lax.scan(on, first, (months.T, wanted, truth))
    return jj, jr


@dataclass(frozen=True)
class Fields(Gradient):
    """What each point, or each latitude, adds to the common terms."""

    by: By
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
        return Learnt(state._replace(fixed={"common": guess.terms.astype(np.float32), "grid": guess.grid}), finished)

    def parameters(self, domain: Domain, key: jax.Array) -> Any:
        del key
        latitudes, longitudes = domain.fields[domain.target].mask.shape
        space = {"point": (latitudes, longitudes), "latitude": (latitudes, 1), "uniform": (1, 1)}
        return jnp.zeros((len(REST), *space[self.by]))

    def samples(self, chunk: Chunk) -> Samples:
        return Samples(chunk.pairs().initial["init_time"].values, observed(chunk, grid(chunk.domain)))

    def loss(self, parameters: Any, fixed: Any, inputs: Any, keys: Any) -> jax.Array:
        x, months, y = inputs
        where = fixed["grid"]
        made = path(stencil(fixed["common"] + parameters, where, self.substeps), where, x, months, self.substeps)
        return squared_error(made, where, y) + self.smoothness * roughness(parameters, where)

    def forecast(self, state: Training, initial: xr.Dataset, lead_times: Array, forcing: xr.Dataset, seed: int) -> xr.Dataset:
        where = state.fixed["grid"]
        months = calendar(where, initial, int(max(lead_times)))
        weights = stencil(state.fixed["common"] + state.best[0], where, self.substeps)
        made = np.asarray(path(weights, where, last_seen(initial), months, self.substeps))
        return forecast_of(made.swapaxes(0, 1)[:, lead_times - 1], where, initial, lead_times)


def squared_error(made: jax.Array, where: Grid, y: jax.Array) -> jax.Array:
    """(step, start, point), (start, lead_time, point) -> (start,): the mean over area and leads."""
    wrong = made[where.lead_times - 1].swapaxes(0, 1) - y
    return jnp.mean(jnp.sum(where.area * wrong**2, axis=-1), axis=1)


def roughness(terms: jax.Array, where: Grid) -> jax.Array:
    """The squared differences between neighbours, all terms together, the mean over points."""
    points = flat(jnp.broadcast_to(terms, (len(REST), *where.mask.shape)))
    return jnp.sum((where.gradient > 0) * (points[:, where.neighbour] - points[:, None]) ** 2) / jnp.sum(where.mask)


class Turns(NamedTuple):
    """What the learners that are done know, the state of the one whose turn it is, and what the next will begin with."""

    known: tuple[Any, ...]
    now: Any
    domain: Domain | None  # none once the last has begun
    seed: int


@dataclass(frozen=True)
class InTurn(Model[Turns, Any]):
    """`last`, a model that `begin`s with what each of `first` has learnt from the same data, one after the other."""

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
            return Learnt(Turns((), state, None, seed), finished)
        state, finished = self.first[len(known)].start(domain, seed)
        return self._go_on((*known, state), domain, seed) if finished else Learnt(Turns(known, state, domain, seed), False)

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


def learnt(state: Turns) -> tuple[Array, Grid]:
    """The terms (term, latitude, longitude or 1) and the grid, of what `MixedLayer.core` has learnt."""
    return state.now.fixed["common"] + state.now.best[0], state.now.fixed["grid"]


@dataclass(frozen=True)
class MixedLayer(Composed):
    """Settings.

    fields: whether lambda, u, v and k are learnt for each point, each latitude, or only one for all.
    guesses: rounds of Gauss-Newton. rounds: steps of Adam after it, none where `fields` is uniform. rate: its learning rate.
    smoothness: weight of the roughness of the fields, beside the squared error in units of the variance.
    substeps: time steps in a step of the record; more allow for faster flow: in each it passes less than half a cell.
    """

    fields: By = "point"
    guesses: int = 3
    rounds: int = 15
    rate: float = 0.05
    smoothness: float = 1e-3
    substeps: int = 2

    kind = "physics"

    def build(self) -> Model[Any, Any]:
        return Then(Scaled(), self.core())

    def core(self) -> InTurn:
        """The model of a variable of order one."""
        rounds = 0 if self.fields == "uniform" else self.rounds
        fields = Fields(self.fields, self.substeps, rounds, self.rate, self.smoothness)
        return InTurn((GaussNewton(self.substeps, self.guesses),), fields)
