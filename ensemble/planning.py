"""What a run is made of: units that wait for one another, from the fits to the sums that scores are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple

import xarray as xr

from ensemble.execute import Unit
from ensemble.hindcast import forecast, forecast_partly, mean_forecast, problem_of
from ensemble.making import Maker, Piece, columns_of, learns_of, makers, references_of, worn_of
from ensemble.origins import Fold
from ensemble.study import Study
from ensemble.task import Times


class Plan(NamedTuple):
    """The units of a run by what they are for; each list in the order of the study."""

    fits: dict[str, Unit]
    past: list[Unit]  # fits at earlier origins, and forecasts of the validation period
    forecasts: list[Unit]
    learns: dict[str, Unit]
    more: list[Unit]  # how models are dressed, and what combinations learn for a part of the starts alone
    references: list[Unit]  # what scores are made against
    columns: list[Unit]
    sums: list[Unit]  # of columns, each of what stands before it
    scores: list[Unit]  # the few of both that are left

    @property
    def units(self) -> list[Unit]:
        """All of them, none before what it needs."""
        fits, learns = self.fits.values(), self.learns.values()
        return [*self.references, *fits, *self.past, *self.forecasts, *learns, *self.more, *self.columns, *self.sums]


def plan(study: Study, *, keep_forecasts: bool = False, fail_fast: bool = False) -> Plan:
    """What is to be done; unless it shall `fail_fast`, a model that fails at some starts of the test period hands over the others."""
    function = forecast if fail_fast else forecast_partly
    made = _crossed if study.leave_out else _split
    return made(study, function, keep=keep_forecasts)


def _split(study: Study, function: Callable[..., xr.DataArray], *, keep: bool) -> Plan:
    """Models learn from the training period, combinations from the validation period, and both are scored in the test period."""
    past = [(fold, study.cut(fold.starts)) for fold in study.folds] if study.combinations or study.dress else []
    test = study.cut(study.starts(study.test))
    size = max(len(piece) for piece in chain(test, *(pieces for _, pieces in past)))
    problem, known = problem_of(study, size), study.verifies(study.validate) if study.validate else study.data.times[:0]
    making = makers(study, size)
    fits = {name: maker.fit() for name, maker in making.items()}
    before = [_hindcasts(maker, fits[name], past) for name, maker in making.items()]
    by_model = {name: hindcasts for name, (_, hindcasts) in zip(making, before, strict=True)}
    present = [{name: maker.forecast(fits[name], piece, function) for name, maker in making.items()} for piece in test]
    learns = learns_of(study, problem, by_model, [i for i, (_, pieces) in enumerate(past) for _ in pieces], known)
    worn, references = worn_of(study, problem, by_model, known), references_of(study, problem)
    pieces = [Piece(starts, made, learns, worn, *references) for starts, made in zip(test, present, strict=True)]
    columns, sums, left = columns_of(study, problem, pieces, keep=keep)
    by_piece = chain.from_iterable(zip(*by_model.values(), strict=True))
    again = [*(unit for each, _ in before for unit in each), *by_piece]
    now = [unit for made in present for unit in made.values()]
    return Plan(fits, again, now, learns, [*worn.values()], [each for each in references if each], columns, sums, left)


def _crossed(study: Study, function: Callable[..., xr.DataArray], *, keep: bool) -> Plan:
    """For the forecasts of each part all is learnt from what lies around it; what the run hands on is learnt from everything."""
    cuts = [(part, study.cut(part.starts)) for part in study.parts]
    size = max(len(piece) for _, pieces in cuts for piece in pieces)
    problem, known, making = problem_of(study, size), study.verifies(study.test), makers(study, size)
    fits = {name: maker.fit() for name, maker in making.items()}
    refits = [{name: maker.refit(*part.train) for name, maker in making.items()} for part, _ in cuts]
    present = [
        [{name: maker.forecast(fit[name], piece, function) for name, maker in making.items()} for piece in pieces]
        for fit, (_, pieces) in zip(refits, cuts, strict=True)
    ]
    means = [[{name: making[name].mean(unit) for name, unit in made.items()} for made in part] for part in present]

    def without(left: int | None) -> tuple[dict[str, list[Unit]], list[int]]:
        """Forecasts of all parts but one, by model, and the part that each is of."""
        some = [(i, made) for i, part in enumerate(means) if i != left for made in part]
        return {name: [made[name] for _, made in some] for name in making}, [i for i, _ in some]

    learns = learns_of(study, problem, *without(None), known)
    pieces, more, references = [], [], []
    for i, (part, starts) in enumerate(cuts):
        others, of = without(i)
        learnt, worn = learns_of(study, problem, others, of, known, keep=False), worn_of(study, problem, others, known)
        against = references_of(study, problem.learning(*part.train), keep=False)
        pieces += [Piece(each, made, learnt, worn, *against) for each, made in zip(starts, present[i], strict=True)]
        more += [*learnt.values(), *worn.values()]
        references += [each for each in against if each]
    columns, sums, left = columns_of(study, problem, pieces, keep=keep)
    again = [unit for each in refits for unit in each.values()]
    now = list(dict.fromkeys(unit for part in (*present, *means) for made in part for unit in made.values()))
    return Plan(fits, again, now, learns, more, references, columns, sums, left)


def _hindcasts(maker: Maker, fit: Unit, past: Sequence[tuple[Fold, list[Times]]]) -> tuple[list[Unit], list[Unit]]:
    """A model's fits at earlier origins, and its forecasts of the validation period, piece by piece."""
    anew: dict[int, Unit] = {}
    hindcasts = []
    for i, (fold, pieces) in enumerate(past):
        last = fold.fitted(i, maker.effort)
        if last is not None and last not in anew:
            anew[last] = maker.refit(*fold.train)
        hindcasts += [maker.forecast(fit if last is None else anew[last], piece, mean_forecast) for piece in pieces]
    return list(anew.values()), hindcasts
