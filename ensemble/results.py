"""What a run has found out: scores, maps, weights, fitted states, costs and failures, in memory and as a run folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from ensemble.chunk import known_ahead, windows
from ensemble.combining import Weighted, combined
from ensemble.errors import InputError, unknown
from ensemble.execute import Cost, Failure
from ensemble.execute.threads import one_thread
from ensemble.findings import Finding
from ensemble.grouping import grouped
from ensemble.hindcast import checked, problem_of, windowed
from ensemble.prepare import record
from ensemble.prepare.record import span
from ensemble.provenance import provenance
from ensemble.recipe import written
from ensemble.score.means import Means
from ensemble.significance import BlockMaps, Bootstrap, Case, certainties, significant_maps, usual_baseline
from ensemble.store import labelled, verifiable, write_netcdf, write_state, write_text, write_zarr
from ensemble.study import Study
from ensemble.task import Array, Times, dataset, moment

if TYPE_CHECKING:
    from ensemble.report import Plots


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run.

    `scores` (model, lead_time, region), `maps` (model, lead_time, ...), `weights` (combination, model, lead_time); `forecasts`
    where they were kept, a node per model; `states` and `combinations` are what was learnt; `failures` name what is missing from
    all of these, and why.
    """

    study: Study
    scores: xr.Dataset
    maps: xr.Dataset
    weights: xr.Dataset
    states: Mapping[str, Any]
    combinations: Mapping[str, Weighted]
    costs: tuple[Cost, ...]
    failures: tuple[Failure, ...]
    seconds: float
    workers: int
    forecasts: xr.DataTree | None = None
    folder: Path | None = None
    blocks: BlockMaps | None = None  # maps of the mean squared error by blocks of starts, where these were kept
    by_start: Means | None = None  # the sums of each start, of which significance is made

    @property
    def plot(self) -> Plots:
        """The figures, one method each; every one returns its Matplotlib axes."""
        from ensemble.report import Plots  # Matplotlib is heavy, and wanted by those alone who look

        return Plots(self)

    @property
    def notes(self) -> tuple[Finding, ...]:
        """The data table: what was found in the files that people brought, and what was done about it."""
        fitted = (self.study.models[name].found(state) for name, state in self.states.items())
        return (*self.study.notes, *(each for found in fitted for each in found))

    def best(self, score: str = "rmse", *, region: str = "all", lead_time: int | None = None) -> str:
        """The model that does best by `score`, at one lead time or in the mean over all."""
        if score not in self.scores:
            raise unknown("score", score, map(str, self.scores.data_vars))
        ranked = self.ranking(score, region=region, lead_time=lead_time)
        if not ranked.size:
            raise InputError(f"score: {score} is undefined for every model; {self.scores[score].attrs['long_name']}")
        return str(ranked["model"].values[0])

    def ranking(self, score: str = "rmse", *, region: str = "all", lead_time: int | None = None) -> xr.DataArray:
        """(model,): the score at one lead time, or its mean over all, the best first; models it is undefined for are left out."""
        if region not in self.scores["region"].values:
            raise unknown("region", region, self.scores["region"].values)
        values = self.scores[score].sel(region=region)
        values = values.mean("lead_time", skipna=False) if lead_time is None else values.sel(lead_time=lead_time)
        if values.dims != ("model",):
            raise InputError(f"score: {score} has the dimensions {self.scores[score].dims}, and ranks nobody; look at it in `Run.scores`")
        values = values.dropna("model")
        sign = {"high": -1.0, "low": 1.0}.get(self.scores[score].attrs["best"])
        order = np.argsort(np.abs(values.values) if sign is None else sign * values.values, kind="stable")
        return values.isel(model=order)

    def judged(self, score: str = "rmse", settings: Bootstrap | None = None, *, over_leads: bool = False) -> xr.Dataset:
        """How sure a score is: intervals, which models differ, shared ranks, and the confidence set if the samples allow it.

        (model, lead_time, region), or of the mean over all leads. See `ensemble.significance.judged`.
        """
        return self._case.judged(score, settings, over_leads=over_leads)

    def compare(self, first: str, second: str, score: str = "rmse", settings: Bootstrap | None = None) -> xr.Dataset:
        """Paired tests of two models, (lead_time, region). See `ensemble.significance.compared`."""
        return self._case.compared(first, second, score, settings)

    def significant(self, baseline: str, score: str = "rmse", settings: Bootstrap | None = None) -> xr.Dataset:
        """Each model against one, (model, lead_time, region), and where that is `significant`. See `ensemble.significance.significant`."""
        return self._case.significant(baseline, score, settings)

    def significant_maps(self, baseline: str | None = None, level: float = 0.95) -> xr.Dataset:
        """Where on the map each model differs from one, (model, lead_time, ...), in its mean squared error.

        From the `baseline`, or else from the best of the references. See `ensemble.significance.significant_maps`.
        """
        if self.blocks is None:
            raise InputError("significance: this run holds no maps by blocks of starts; ask for the score rmse, of fewer points")
        return labelled(significant_maps(self.blocks, baseline or usual_baseline(self.blocks), level), self.study.data.step)

    def gain(self, score: str = "rmse", settings: Bootstrap | None = None) -> xr.Dataset:
        """What each combination gains over its best `single` member, (combination, region), in the mean over all leads.

        That member is picked by its validation errors; where no rule of the run knows these, by the test (`hindsight`).
        """
        return self._case.gained(self.combinations, score, settings)

    def stability(self, score: str = "rmse", settings: Bootstrap | None = None) -> xr.Dataset:
        """How well the ranking of single models in the validation period holds in the test. See `ensemble.significance.case`."""
        return self._case.stability(self.combinations, score, settings)

    @cached_property
    def significance(self) -> xr.Dataset:
        """How sure all scores are; what `significance.nc` holds. See `ensemble.significance.table`."""
        if self.by_start is None:
            return xr.Dataset(attrs={"absent": "this run does not hold the sums of each start"})
        units = {str(name): str(each.attrs.get("units", "1")) for name, each in self.scores.items()}
        made = certainties(self._case, units)
        return labelled(made, self.study.data.step) if "lead_time" in made.coords else made

    @property
    def _case(self) -> Case:
        return Case.of(self.study, self._sums())

    def grouped(self, by: str = "start_month") -> xr.Dataset:
        """The scores of groups of starts, (group, model, lead_time, region), with `n` and `n_starts`. See `ensemble.grouping.grouped`.

        `by` is start_month, start_season or start_year, or valid_month, valid_season or valid_year, of the time that each lead verifies.
        """
        return grouped(self.study, self._sums(), by, self.scores)

    def _sums(self) -> Means:
        if self.by_start is None:
            raise InputError("by_start: this run does not hold the sums of each start; run the study again")
        return self.by_start

    def cost(self) -> xr.Dataset:
        """(model, phase): seconds, of which compiling, and the peak memory [bytes] of a worker meanwhile."""
        models = list(dict.fromkeys(cost.model for cost in self.costs))
        phases = list(dict.fromkeys(cost.phase for cost in self.costs))
        shape = (len(models), len(phases))
        sums = {name: np.zeros(shape) for name in ("seconds", "compile_seconds", "peak_bytes", "units")}
        for cost in self.costs:
            at = models.index(cost.model), phases.index(cost.phase)
            sums["seconds"][at] += cost.seconds
            sums["compile_seconds"][at] += cost.compile_seconds
            sums["peak_bytes"][at] = max(sums["peak_bytes"][at], cost.peak_bytes)
            sums["units"][at] += 1
        units = {"seconds": "s", "compile_seconds": "s", "peak_bytes": "byte", "units": "1"}
        variables = {name: (("model", "phase"), each, {"units": units[name]}) for name, each in sums.items()}
        return xr.Dataset(variables, {"model": models, "phase": phases})

    def forecast(self, model: str, init_time: str | np.datetime64 | None = None) -> xr.Dataset:
        """A forecast with a fitted model or a combination, issued at `init_time`; after the last step of the data if none is given.

        The target (init_time, lead_time, member, ...), with `valid_time` and its bounds beside it.
        """
        if model not in self.states and model not in self.combinations:
            raise unknown("model", model, [*self.states, *self.combinations])
        study, step = self.study, self.study.data.step
        last_seen = study.data.times[-1]
        start = moment(last_seen, 1, step) if init_time is None else moment(np.datetime64(init_time), 0, step)
        issued = np.array([start])
        if model in self.combinations:
            weighted, scored = self.combinations[model], problem_of(study).scored
            made = combined(scored, weighted, {name: self._forecast(name, issued) for name in weighted.models if name in self.states})
            if made is None:
                raise InputError(f"{model}: it needs {' or '.join(weighted.models)}, none of which has been fitted")
            values = made
        else:
            values = self._forecast(model, issued)
        coords = {"init_time": issued, "lead_time": study.labels, "member": np.arange(values.shape[2])}
        return labelled(verifiable(dataset(study.domain, {study.target: values}, **coords), study.domain, study.windows), step)

    def _forecast(self, model: str, issued: Times) -> Array:
        study, framed = self.study, self.study.framed[model]
        first, last = span(study.data, issued, framed.history, 0)
        if first < study.data.times[0] or last > study.data.times[-1]:
            held = f"{study.data.times[0]} to {study.data.times[-1]}"
            raise InputError(f"init_time: a forecast issued at {issued[0]} looks at {first} to {last}; the data hold {held}")
        domain = problem_of(study, model=model).domain
        initial = windows(record(study.data, tuple(domain.fields), first, last), domain, issued, framed.history)
        ahead = known_ahead(study.domain, issued, study.lead_times)
        with one_thread():
            made = framed.forecast(self.states[model], initial, study.lead_times, ahead, study.seed)
        return windowed(checked(made, study.domain, issued, gaps=framed.may_lack).values, problem_of(study))

    def save(self, folder: str | Path) -> Path:
        """Write the run folder; `run.json` comes last and marks it complete."""
        folder = Path(folder)
        write_text(folder / "recipe.yaml", written(self.study))
        write_netcdf(folder / "scores.nc", self.scores)
        for by in self.study.by:
            write_netcdf(folder / f"scores_by_{by}.nc", self.grouped(by))
        write_netcdf(folder / "maps.nc", self.maps)
        write_netcdf(folder / "weights.nc", self.weights)
        write_netcdf(folder / "significance.nc", self.significance)
        if self.blocks is not None and self.blocks.testable:
            write_netcdf(folder / "significance_maps.nc", self.significant_maps())
        for name, state in self.states.items():
            write_state(folder / "states", name, state)
        if self.forecasts is not None:
            write_zarr(folder / "forecasts.zarr", self.forecasts)
        from ensemble.report import write_report  # as above

        write_report(self, folder)
        write_text(folder / "run.json", json.dumps(self.described(), indent=1))
        return folder

    def described(self) -> dict[str, Any]:
        """What `run.json` holds."""
        cost = self.cost()
        costs = {
            str(model): {
                str(phase): {name: float(cost[name].sel(model=model, phase=phase)) for name in cost.data_vars}
                for phase in cost["phase"].values if cost["units"].sel(model=model, phase=phase)
            }
            for model in cost["model"].values
        }  # fmt: skip
        failures = [failure._asdict() for failure in self.failures]
        took = {"seconds": self.seconds, "workers": self.workers, "costs": costs}
        table = [each._asdict() for each in self.notes]
        return {**provenance(self.study), **took, "failures": failures, "data_table": table}
