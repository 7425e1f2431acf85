"""Maps of the best model: which one has the best score at each point, and the score it has there. Land is what has no data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ensemble.errors import InputError, unknown
from ensemble.report import words
from ensemble.report.leads import Leads
from ensemble.report.look import INK, LAND, LARGE, MEDIUM, QUIET, SMALL, Look, entitled, measured, size
from ensemble.report.standing import badness, mean_of, names_of, picked
from ensemble.task import Array

if TYPE_CHECKING:
    from ensemble.results import Run

Panels = np.ndarray[Any, np.dtype[Any]]  # of Axes


class BestMap(NamedTuple):
    """(latitude, longitude): the number of the best of `models`, -1 on land, and its `score`.

    `shares` of the area on which each is the best, the largest first.
    """

    title: str
    models: tuple[str, ...]
    winner: xr.DataArray
    score: xr.DataArray
    shares: dict[str, float]

    @classmethod
    def of(cls, run: Run, score: str, lead_time: Any = None) -> BestMap:
        """At one lead time, or in the mean over all; raises InputError where there is no map of the score."""
        if not drawable(run):
            sizes = {dim: len(each) for dim, each in run.study.domain.fields[run.study.target].coords.items()}
            raise InputError(f"maps: {run.study.target} has the dimensions {sizes or 'none'}; only latitude and longitude can be drawn")
        flat = {"model", "lead_time", "latitude", "longitude"}
        known = [name for name in names_of(run.maps) if set(run.maps[name].dims) == flat]
        if score not in known:
            raise unknown("map", score, known)
        values = run.maps[score].sortby(["latitude", "longitude"]).transpose("model", "lead_time", "latitude", "longitude")
        when = _when(run, values["lead_time"].values, lead_time)
        values = mean_of(values) if lead_time is None else values.sel(lead_time=lead_time)
        bad = badness(values).fillna(np.inf)
        winner = bad.argmin("model").where(values.notnull().any("model"), -1)
        best = values.isel(model=winner.clip(0)).where(winner >= 0).drop_vars(["model", "kind", "members"], errors="ignore")
        field = run.study.domain.fields[run.study.target]
        area = xr.DataArray(field.area, dims=field.dims, coords=dict(field.coords)).sel(
            latitude=best["latitude"], longitude=best["longitude"]
        )
        names = tuple(str(name) for name in values["model"].values)
        shares = _shares(names, winner.values, area.transpose(*best.dims).values)
        return cls(when, names, in_one_piece(winner), in_one_piece(best.assign_attrs(values.attrs)), shares)

    @property
    def aspect(self) -> float:
        """Height by width of the map, a degree of latitude being as long as one of longitude."""
        spans = [float(np.ptp(self.winner[name].values)) + _spacing(self.winner[name]) for name in ("latitude", "longitude")]
        return float(np.clip(spans[0] / spans[1], 0.2, 1.5))


def in_one_piece(values: xr.DataArray) -> xr.DataArray:
    """A region over Greenwich from its western end on, rather than as two ends with nothing between them."""
    east = values["longitude"].values
    gaps = np.append(np.diff(east), east[0] + 360 - east[-1])
    widest = int(gaps.argmax())
    if gaps[widest] <= gaps[-1] * (1 + 1e-6):
        return values
    return values.assign_coords(longitude=np.where(east > east[widest], east - 360, east)).sortby("longitude")


def drawable(run: Run) -> bool:
    """Whether the data have latitude and longitude, several of each, and nothing else."""
    field = run.study.domain.fields[run.study.target]
    return set(field.dims) == {"latitude", "longitude"} and min(field.mask.shape) > 1


def draw_winners(ax: Axes, best: BestMap, looks: Mapping[str, Look], *, note: str | None = None, bottom: bool = True) -> Axes:
    """The best model of each point in its colour; with a `note`, alone in its figure and with a legend of its own."""
    colours = ListedColormap([LAND, *(looks[name].colour for name in best.models)])
    mesh(ax, best.winner, cmap=colours, vmin=-1.5, vmax=len(best.models) - 0.5)
    shares = best.shares
    first, share = next(iter(shares.items()), ("none", 0.0))
    title = f"Best model, {best.title}: {first} on {words.share(share)} of the area"
    framed(ax, best.winner, title if note is None else "", bottom=bottom)
    if note is not None:
        entitled(ax, title, note)
        handles = [Patch(color=looks[name].colour, label=f"{name} {words.share(share)}") for name, share in shares.items()]
        below = -0.32 / size(ax)[1]
        ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(-0.01, below), ncols=4, fontsize=SMALL, frameon=False, handlelength=1)
    return ax


def draw_maps(
    make: Callable[[tuple[float, float]], Figure], run: Run, score: str, looks: Mapping[str, Look], lead_times: Sequence[Any] | None
) -> Panels:
    """A row a lead: the best model of each point on the left, its score on the right, on one scale for all leads."""
    chosen = run.maps["lead_time"].values[picked(run.maps)] if lead_times is None else lead_times
    maps = [BestMap.of(run, score, lead) for lead in chosen]
    seen = [name for name in looks if any(name in best.shares for best in maps)]
    height, between, above = 6.0 * maps[0].aspect, 0.33, 0.9  # inches, as all that follows
    below = 0.45 + max(0.2 * -(-(len(seen) + 1) // 4), 0.55)
    total = below + len(maps) * (height + between) - between + above
    figure = make((13, total))
    panels = np.empty((len(maps), 2), dtype=object)
    low, high = _range([best.score for best in maps])
    for row, best in enumerate(maps):
        bottom = (below + (len(maps) - 1 - row) * (height + between)) / total
        left, right = (figure.add_axes((x / 13, bottom, 6.0 / 13, height / total)) for x in (0.55, 6.8))
        last = row == len(maps) - 1
        panels[row] = draw_winners(left, best, looks, bottom=last), right
        image = mesh(right, best.score, cmap="cividis", vmin=low, vmax=high)
        right.set_facecolor(LAND)
        framed(right, best.score, f"{score} of the best model, {best.title}", left=False, bottom=last)
    scale = figure.add_axes((7.8 / 13, (below - 0.6) / total, 4 / 13, 0.13 / total))
    bar = figure.colorbar(image, cax=scale, orientation="horizontal", extend="both")
    measured(bar.ax.xaxis, maps[0].score)
    bar.ax.tick_params(labelsize=SMALL)
    handles = [*(Patch(color=looks[name].colour, label=name) for name in seen), Patch(color=LAND, label="no data")]
    corner = (0.47 / 13, (below - 0.33) / total)
    spare = {"fontsize": SMALL, "frameon": False, "handlelength": 1, "columnspacing": 1.2}
    figure.legend(handles=handles, loc="upper left", bbox_to_anchor=corner, ncols=4, **spare)
    figure.text(0.55 / 13, 1 - 0.28 / total, "Best model at each point", fontsize=LARGE + 1, fontweight="bold", color=INK)
    figure.text(0.55 / 13, 1 - 0.5 / total, words.sample(run), fontsize=MEDIUM, color=QUIET)
    return panels


def _range(scores: Sequence[xr.DataArray]) -> tuple[float, float]:
    """Limits of a colour scale that one odd point does not stretch."""
    values = np.concatenate([each.values[np.isfinite(each.values)] for each in scores])
    return (float(np.quantile(values, 0.01)), float(np.quantile(values, 0.99))) if values.size else (0.0, 1.0)


def _shares(names: tuple[str, ...], winner: Array, area: Array) -> dict[str, float]:
    """The share of the area on which each is the best, the largest first; those that are nowhere are left out."""
    sums = np.bincount(winner.ravel().astype(int) + 1, np.where(winner >= 0, area, 0.0).ravel(), len(names) + 1)[1:]
    return {names[i]: float(sums[i] / sums.sum()) for i in np.argsort(-sums, kind="stable") if sums[i] > 0}


def mesh(ax: Axes, values: xr.DataArray, **colours: Any) -> Any:
    """(latitude, longitude) in colour; what is missing shows the ground."""
    shown = np.ma.masked_invalid(values.values)
    return ax.pcolormesh(values["longitude"], values["latitude"], shown, shading="nearest", rasterized=True, **colours)


def framed(ax: Axes, values: xr.DataArray, title: str, *, left: bool = True, bottom: bool = True) -> None:
    """A title, and degrees at the `left` and the `bottom` where no other map beside or below has them."""
    ax.set_title(title, loc="left", fontsize=MEDIUM + 0.5, color=INK, pad=5, y=1.0)
    for axis, dim, (minus, plus), shown in ((ax.xaxis, "longitude", "WE", bottom), (ax.yaxis, "latitude", "SN", left)):
        ticks = _ticks(values[dim].values) if shown else np.empty(0)
        signed = (ticks + 180) % 360 - 180 if dim == "longitude" else ticks
        axis.set_ticks(ticks, [f"{abs(t):g}°{minus if t < 0 else plus if t > 0 else ''}" for t in signed])
    ax.tick_params(labelsize=SMALL, length=3)
    ax.spines[:].set(linewidth=0.6, color="#777777")


def _ticks(values: Array) -> Array:
    """Round degrees, about five of them."""
    step = next(each for each in (1, 2, 5, 10, 15, 30, 60, 90) if np.ptp(values) / each <= 6)
    ticks: Array = np.arange(np.ceil(values.min() / step), np.floor(values.max() / step) + 1) * step
    return ticks


def _spacing(values: xr.DataArray) -> float:
    return float(np.diff(values.values).mean()) if values.size > 1 else 1.0


def _when(run: Run, leads: Array, lead_time: Any) -> str:
    """What a lead is called, or the mean over all; raises InputError where the run has none of that number."""
    named = Leads.of(run)
    if lead_time is None:
        return "mean over all leads" if len(leads) > 1 else named.said[0]
    at = np.flatnonzero(leads == lead_time)
    if not at.size:
        raise InputError(f"lead_time: there is no lead {lead_time}; the run has {', '.join(map(str, leads))}")
    return named.said[int(at[0])]
