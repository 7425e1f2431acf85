"""Maps of how far a model is from a baseline, with a dot wherever that is no chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ensemble.errors import InputError
from ensemble.report import words
from ensemble.report.leads import Leads
from ensemble.report.look import INK, LAND, LARGE, MEDIUM, QUIET, SMALL
from ensemble.report.maps import drawable, framed, in_one_piece, mesh
from ensemble.report.standing import spread_out

if TYPE_CHECKING:
    from ensemble.results import Run

Panels = np.ndarray[Any, np.dtype[Any]]  # of Axes


class Difference(NamedTuple):
    """(lead_time, latitude, longitude): the mean squared error of a model less that of the baseline, in percent of the latter."""

    percent: xr.DataArray
    significant: xr.DataArray
    model: str
    baseline: str
    blocks: int

    @classmethod
    def of(cls, run: Run, model: str, baseline: str | None = None) -> Difference:
        """From the baseline, or the best of the references; raises InputError where a run has no such maps."""
        if not drawable(run):
            raise InputError(f"maps: {run.study.target} has not the dimensions latitude and longitude; only these can be drawn")
        made = run.significant_maps(baseline)
        against = str(made.attrs["baseline"])
        if model not in made["model"].values:
            raise InputError(f"maps: {model} cannot be held against {against}; take one of {', '.join(map(str, made['model'].values))}")
        mse = run.maps["rmse"].sel(model=against, drop=True) ** 2
        percent = 100 * made["difference"].sel(model=model, drop=True) / mse.where(mse > 0)
        order = ("lead_time", "latitude", "longitude")
        shown = [each.sortby(["latitude", "longitude"]).transpose(*order) for each in (percent, made["significant"].sel(model=model))]
        return cls(in_one_piece(shown[0]), in_one_piece(shown[1]), model, against, int(made.attrs["blocks"]))

    def share(self, lead: int, run: Run) -> tuple[float, float]:
        """Of the area on which the model is significantly better, and worse, at the `lead`-th lead."""
        field = run.study.domain.fields[run.study.target]
        area = xr.DataArray(field.area, dims=field.dims, coords=dict(field.coords)).sortby(["latitude", "longitude"])
        percent, found = (each[lead].sortby(["latitude", "longitude"]).values for each in (self.percent, self.significant))
        weight = area.transpose("latitude", "longitude").values
        whole = weight[np.isfinite(percent)].sum()
        better, worse = (float(weight[found & side].sum() / whole) for side in (percent < 0, percent > 0))
        return better, worse


def draw_differences(make: Callable[[tuple[float, float]], Figure], run: Run, shown: Difference) -> Panels:
    """A map a lead, the first, the middle and the last."""
    leads, named = spread_out(shown.percent), Leads.of(run).said
    values = shown.percent
    spans = [float(np.ptp(values[dim].values)) + float(np.diff(values[dim].values).mean()) for dim in ("latitude", "longitude")]
    height, between, above, below = 8.2 * float(np.clip(spans[0] / spans[1], 0.2, 1.5)), 0.38, 0.95, 0.8  # inches, as all that follows
    total = below + len(leads) * (height + between) - between + above
    figure, panels = make((9, total)), np.empty(len(leads), dtype=object)
    limit = float(np.nanquantile(np.abs(values.values[leads]), 0.98)) if np.isfinite(values.values[leads]).any() else 1.0
    for row, lead in enumerate(leads):
        bottom = (below + (len(leads) - 1 - row) * (height + between)) / total
        panels[row] = ax = figure.add_axes((0.5 / 9, bottom, 8.2 / 9, height / total))
        image = mesh(ax, values[lead], cmap="PuOr", vmin=-limit, vmax=limit)
        ax.set_facecolor(LAND)
        i, j = np.nonzero(shown.significant[lead].values)
        ax.scatter(values["longitude"].values[j], values["latitude"].values[i], s=5, color=INK, linewidths=0)
        better, worse = shown.share(lead, run)
        title = f"{named[lead]}: significantly better on {words.share(better)} of the area, worse on {words.share(worse)}"
        framed(ax, values[lead], title[:1].upper() + title[1:], bottom=row == len(leads) - 1)
    bar = figure.colorbar(image, cax=figure.add_axes((2.5 / 9, 0.42 / total, 4 / 9, 0.13 / total)), orientation="horizontal", extend="both")
    bar.set_label("difference of the mean squared error [%]; below 0 the model is better", fontsize=SMALL)
    bar.ax.tick_params(labelsize=SMALL)
    head = f"{shown.model} against {shown.baseline}"
    figure.text(0.5 / 9, 1 - 0.28 / total, head, fontsize=LARGE + 1, fontweight="bold", color=INK)
    note = f"{words.sample(run)}; dots: significant, {shown.blocks} blocks of starts"
    figure.text(0.5 / 9, 1 - 0.52 / total, note, fontsize=MEDIUM, color=QUIET)
    return panels
