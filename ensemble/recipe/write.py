"""A study written back out as the recipe that makes it again, with every setting spelled out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ensemble import plugins
from ensemble.combine import COMBINATIONS, Regional
from ensemble.origins import Origins
from ensemble.parts import Corrected
from ensemble.prepare.together import Together
from ensemble.score import Region, Score
from ensemble.study import Study
from ensemble.task import Period, Source, unit_of


def written(study: Study) -> str:
    """The recipe that makes `study` again, with every setting spelled out."""
    unit = unit_of(study.data.step)[0]
    first, *rest = study.anomalies or (None,)
    anomalies = {"running_normal": settings_of(rest[0])} if rest else first is not None
    resolved = {
        "data": _source(study.data.first if isinstance(study.data, Together) else study.data),
        "target": study.target,
        "predictors": {n: _source(s) for n, s in study.data.others} if isinstance(study.data, Together) else list(study.predictors),
        "anomalies": anomalies,
        **{name: _period(each, unit) for name, each in study.periods.items() if study.leave_out is None or name == "test"},
        "leads": _leads(study),
        "regions": {name: _region(each) for name, each in study.regions.items() if name != "all"},
        "by": list(study.by),
        "models": [_model(name, model) for name, model in study.models.items()],
        "scores": [_score(each) for each in study.scores],
        "combine": [_rule(name, rule) for name, rule in study.combinations.items()],
        "cross_validate": None if study.leave_out is None else {"leave_out": f"{study.leave_out.years} years"},
        "dress": False if study.dress is None else settings_of(study.dress),
        "sample": settings_of(study.sample),
        "seed": study.seed,
        "shards": study.shards,
    }
    note = "".join(f"# {line}\n" for line in [study.note] if line)
    return note + yaml.safe_dump(resolved, sort_keys=False, default_flow_style=None, width=120)


def _period(period: Period, unit: str) -> Any:
    first, last = (str(each.astype(f"datetime64[{unit}]")) for each in (period.first, period.last))
    if isinstance(period, Origins):
        return {"from": first, "to": last, "every": period.every, "costly": period.costly}
    return [first, last]


def _source(source: Source) -> Any:
    return {_origin(source): settings_of(source)} if settings_of(source) else _origin(source)


def _rule(name: str, rule: Any) -> dict[str, Any]:
    if isinstance(rule, Regional):
        return {name: {**_rule(name, rule.rule)[name], "by_region": list(rule.of) or True}}
    known = next((each for each, cls in COMBINATIONS.items() if cls is type(rule)), name)
    return {name: settings_of(rule) if known == name else {"rule": known, **settings_of(rule)}}


def _score(score: Score) -> Any:
    settings, known = settings_of(score), type(score).name
    rule = {} if known == score.name else {"rule": known}
    return {score.name: {**rule, **settings}} if settings else score.name


def _region(region: Region) -> Any:
    within = {} if region.within is None else settings_of(region.within)
    box = {"latitude": list(region.latitude), "longitude": list(region.longitude)}
    mask = {"mask": within["path"], **{name: within[name] for name in ("variable", "value", "regrid")}} if within else {}
    return {**box, **{name: each for name, each in mask.items() if each is not None}}


def _leads(study: Study) -> Any:
    if study.windows:
        return {"windows": {each.name: {"from": each.first, "to": each.last, "how": each.how} for each in study.windows}}
    return [int(lead) for lead in study.lead_times]


def _model(name: str, model: Any) -> Any:
    corrections: list[Any] = []
    while isinstance(model, Corrected):
        corrections.insert(0, {"how": model.how, "window": model.window})
        model = model.model
    origin, settings = _origin(model), settings_of(model)
    if corrections:
        settings["correct"] = corrections if len(corrections) > 1 else corrections[0]
    return {name: settings if origin == name else {"model": origin, **settings}}


def _origin(of: object) -> str:
    """What a recipe calls the class of an object."""
    file = plugins.origin(type(of))
    if file is None:
        return f"{type(of).__module__}:{type(of).__qualname__}"
    if Path(file.path).parent.parent == plugins.shipped("models").parent:
        return Path(file.path).stem
    return f"{file.path}:{type(of).__qualname__}"  # a file of one's own may define several


def settings_of(of: Any) -> dict[str, Any]:
    """The fields of an object as YAML can hold them; one that is no dataclass has none."""
    if not dataclasses.is_dataclass(of):
        return {}
    values = {each.name: getattr(of, each.name) for each in dataclasses.fields(of) if each.init}
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    """A value as YAML can hold it; objects of other libraries by what they print."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    return value if isinstance(value, (bool, int, float, str, type(None))) else repr(value)
