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
from ensemble.parts import InTurn, Scaled, Then, Turns
from ensemble.parts.stencil import MONTH, Grid, advance, flat, grid, substep, transposed, unflat
from ensemble.task import month

EDDIES = 1e4  # [m2 s-1], the size of k
COURANT = (0.4, 0.3, 0.075)  # bounds of u dt/dx, v dt/dy and k dt/dx2; as 0.4 + 0.3 + 4 x 0.075 = 1, no weight is ever negative
REST = np.array([-1.7, 0, 0, 0, 0, 0, 0, 0, 0, -0.5])[:, None, None]  # ten terms: lambda, u, v (mean, cosine, sine) and k
SEASON = np.stack([np.ones(12), np.cos(np.arange(12) * np.pi / 6), np.sin(np.arange(12) * np.pi / 6)], axis=1)  # (month, harmonic)


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
    rows, size, steps, weights = len(where.mask), len(REST), months.shape[1], stencil(terms, where, substeps)
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
    return jax.lax.scan(on, first, (months.T, wanted, truth))[0][2:]


@dataclass(frozen=True)
class Fields(Gradient):
    """What each point, or each latitude, adds to the common terms."""

    by: str
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
        shape = domain.fields[domain.target].mask.shape
        space = {"point": shape, "latitude": (shape[0], 1), "uniform": (1, 1)}
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

    fields: Literal["point", "latitude", "uniform"] = "point"
    guesses: int = 3
    rounds: int = 15
    rate: float = 0.05
    smoothness: float = 1e-3
    substeps: int = 2

    kind = "physics"
    effort = 1.4

    def build(self) -> Model[Any, Any]:
        return Then(Scaled(), self.core())

    def core(self) -> InTurn:
        """The model of a variable of order one."""
        rounds = 0 if self.fields == "uniform" else self.rounds
        fields = Fields(self.fields, self.substeps, rounds, self.rate, self.smoothness)
        return InTurn((GaussNewton(self.substeps, self.guesses),), fields)
