"""What was counted: in words, as a table where models differ, and what that means for their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ensemble.report import words
from ensemble.report.standing import varies
from ensemble.report.tables import Cell, Table, row_of
from ensemble.sample import Sample
from ensemble.study import Study

if TYPE_CHECKING:
    from ensemble.results import Run

_ALIGN = {
    "starts": "A start counts if all its leads verify in the test period.",
    "pairs": "Every lead that verifies in the test period counts, so that short leads may have more starts than long ones.",
    "valid_times": "Only those leads count that verify at times which every lead reaches, so that all leads face the same truth.",
}
_MISSING = "Points that lack data for part of the time are kept: models are handed the gaps, and scores leave them out."
_FEWER = "Models were allowed to share fewer starts than each of them has."


def counted(run: Run) -> str:
    """Which starts and points stand behind the scores, in a sentence."""
    if run.study.sample.mask == "own":
        return "Each model is counted on its own: on the starts and points that it and the truth have, whatever the others lack."
    return "Every model is counted on the starts and points that the truth and all models have."


def rules(sample: Sample) -> list[str]:
    """What else was decided of the sample."""
    return [_ALIGN[sample.align], *([_MISSING] if sample.missing == "keep" else []), *([_FEWER] if sample.fewer else [])]


def differ(run: Run) -> bool:
    """Whether some models are counted on another sample than others."""
    return any(varies(run.scores[name]) for name in ("n", "n_starts"))


def table(run: Run, region: str = "all") -> Table | None:
    """What each model is counted on, and what it has of its own; where that is the same for all, there is nothing to show."""
    starts, n, had = (run.scores[name].sel(region=region) for name in ("n_starts", "n", "n_had"))
    own = {name: _own_starts(run.study, name) for name in run.study.models}
    if not differ(run) and not varies(run.scores["n_had"]) and not (had > n).any() and len(set(own.values())) == 1:
        return None
    rows = []
    for i, name in enumerate(run.scores["model"].values.tolist()):
        numbers = (str(int(run.scores["members"].values[i])), *(words.counts(each.values[i]) for each in (starts, n, had)))
        rows.append(row_of(run, name, [*map(Cell, numbers), Cell(words.count(own[name]) if name in own else words.MISSING)]))
    several = " A range: from the lead that has fewest to that which has most." if n.sizes["lead_time"] > 1 else ""
    caption = f"n: starts times points, {words.place(run, region)}; held: those that the model and the truth have.{several}"
    return Table(caption, ["members", "starts counted", "n counted", "n held", "starts of its own"], rows, [], [])


def _own_starts(study: Study, name: str) -> int:
    """How many starts of the test period a model has by itself."""
    return len(study.sample.held(study.possible(study.test), {name: study.issued[name]}))


def caution(run: Run) -> tuple[str, str] | None:
    """What a reader must know of an order of models that are counted on different samples, as a headline and a text."""
    if not differ(run):
        return None
    starts = run.scores["n_starts"].sel(region="all")
    of = [f"{name} {words.counts(starts.values[i])}" for i, name in enumerate(run.scores["model"].values.tolist())]
    text = (
        f"Starts counted: {', '.join(of)}. Rankings then compare different samples: a model may be ahead because its starts or points were "
        "easier to forecast. With sample: {mask: common} all models are counted on what they share."
    )
    return "Models are counted on different samples", text
