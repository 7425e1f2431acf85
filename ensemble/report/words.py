"""How numbers, units, periods and sample sizes are written, in figures and on the page alike."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from ensemble.origins import Origins
from ensemble.score import Region
from ensemble.task import Array, Period, shift

if TYPE_CHECKING:
    from ensemble.results import Run

MISSING = "–"
POWERS = 99  # places that ask for a power of ten
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_EXPONENT = re.compile(r"(?<![\w.])([^\W\d]+)(-?\d)(?![\w.])")  # in a unit: the -2 of `kg m-2 s-1`, not that of `1e-2 m`
_PHASES = {
    "fit": "in its fit",
    "refit": "in a fit for the validation",
    "hindcast": "while forecasting",
    "learn": "while learning its weights",
    "score": "while it was scored",
}


def unit(attrs: dict[Any, Any]) -> str:
    """The unit of a score; scores are made of differences, and a difference of temperatures is in kelvin."""
    text = str(attrs.get("units", "1"))
    for celsius in ("degrees_Celsius", "degree_Celsius", "celsius", "degC", "deg_C", "°C"):
        if text.startswith(celsius):
            return "K" + text.removeprefix(celsius).translate(_SUPERSCRIPT)
    return "" if text == "1" else _EXPONENT.sub(lambda found: found[1] + found[2].translate(_SUPERSCRIPT), text)


def title(run: Run, values: xr.DataArray, region: str) -> str:
    """`Root mean squared error, all points`."""
    text = str(values.attrs.get("long_name", values.name)).removesuffix(" (models with members)")
    against = f" against {values['reference'].item()}" if "reference" in values.coords else ""
    return f"{text[:1].upper()}{text[1:]}{against}, {place(run, region)}"


def axis(values: xr.DataArray, power: int = 0) -> str:
    """`rmse [K]`, or `rmse [10⁻⁹ K]` where numbers are given in a power of ten."""
    inside = " ".join(each for each in (f"10{str(power).translate(_SUPERSCRIPT)}" if power else "", unit(values.attrs)) if each)
    return f"{values.name} [{inside}]" if inside else str(values.name)


def decimals(values: Any) -> int:
    """How many decimals show three significant digits of what is typical among `values`; `POWERS` for the very small and large."""
    sizes = np.abs(np.asarray(values, dtype=float))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    if not sizes.size:
        return 3
    typical = float(np.median(sizes))
    if not 1e-4 <= typical < 1e7:
        return POWERS
    return int(np.clip(2 - np.floor(np.log10(typical)), 0, 3 if typical > 0.01 else 6))


def number(value: float, places: int) -> str:
    """A number with a real minus sign, as a power of ten where there are `POWERS` places; a dash where it is undefined."""
    if not np.isfinite(value):
        return MISSING
    if places == POWERS and value:
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{mantissa}×10{str(int(exponent)).translate(_SUPERSCRIPT)}".replace("-", "−")
    return f"{value:.{places % POWERS}f}".replace("-", "−")


def quantity(value: float, places: int, unit: str) -> str:
    """A number and its unit."""
    return f"{number(value, places)} {unit}".rstrip()


def seconds(value: float) -> str:
    """A wall time [s] to two significant digits or so."""
    return MISSING if not value else "< 0.01" if value < 0.01 else f"{value:.2f}" if value < 10 else f"{value:,.0f}".replace(",", " ")


def count(value: float) -> str:
    """A whole number, its thousands apart."""
    return f"{int(value):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def counts(values: Array) -> str:
    """`55`, or `50 to 55` where there are several."""
    least, most = values.min(), values.max()
    return count(least) if least == most else f"{count(least)} to {count(most)}"


def listed(names: list[str], last: str = "and") -> str:
    """`a, b and c`."""
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def share(value: float) -> str:
    """A share in per cent."""
    return "< 1 %" if 0 < value < 0.01 else f"{100 * value:.0f} %"


def day(time: np.datetime64, step: np.timedelta64) -> str:
    """`2014-01-31`, `January 2014` or `2014`, as long as a step is."""
    unit = np.datetime_data(step)[0]
    if unit not in "YM":
        return str(time.astype("datetime64[D]"))
    if unit == "Y" and time == time.astype("datetime64[Y]"):
        return str(time.astype("datetime64[Y]"))
    names = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
    month = time.astype("datetime64[M]").astype(int)
    return f"{names[month % 12]} {1970 + month // 12}"


def span(period: Period, step: np.timedelta64) -> str:
    """`January 2014 to December 2021`."""
    if period.first == period.last:
        return day(period.first, step)
    return f"{day(period.first, step)} to {day(period.last, step)}"


def years(period: Period, step: np.timedelta64) -> float:
    """How long a period is [a]."""
    return float((shift(period.last, 1, step) - shift(period.first, 0, step)) / np.timedelta64(1, "D")) / 365.25


def box(region: Region) -> str:
    """`5°S to 5°N, 170°W to 120°W`; of a mask, the file and what it marks."""
    if region.within is not None:
        whole = replace(region, within=None)
        return f"{region.within}" if whole == Region() else f"{region.within}, {box(whole)}"
    south, north = (f"{abs(each):g}°{'N' if each > 0 else 'S' if each < 0 else ''}" for each in region.latitude)
    west, east = region.longitude
    if east - west >= 360:
        return f"{south} to {north}"
    ends = [((each + 180) % 360) - 180 for each in (west, east)]
    return f"{south} to {north}, " + " to ".join(f"{abs(each):g}°{'E' if each >= 0 else 'W'}" for each in ends)


def place(run: Run, region: str) -> str:
    """What a region is called in a title."""
    if region != "all":
        return region
    field = run.study.domain.fields[run.study.target]
    return "all points" if field.mask.sum() > 1 else "the one point" if field.dims else "the one series"


def starts(run: Run, region: str = "all") -> str:
    """`85 starts`, or `80 to 85 starts` where leads or models differ."""
    n = run.scores["n_starts"].sel(region=region).values
    return f"{counts(n)} start{'s' if n.max() != 1 else ''}"


def sample(run: Run, region: str = "all") -> str:
    """What stands behind the scores of a region."""
    return f"n = {starts(run, region)}; verifying {span(run.study.test, run.study.data.step)}"


def learnt(run: Run) -> str:
    """What the weights of combinations were learnt from."""
    period, step = run.study.validate, run.study.data.step
    if run.study.leave_out is not None:
        n = len(run.study.starts(run.study.test))
        return f"learnt from n = {count(n)} starts; for its score, from those of other years alone; verifying {span(run.study.test, step)}"
    if period is None:
        return "not learnt: the study has no validation period"
    n, folds = len(run.study.starts(period)), len(run.study.folds)
    origins = f" at {folds} origin{'s' if folds != 1 else ''}, models fitted anew at each" if isinstance(period, Origins) else ""
    return f"learnt from n = {count(n)} start{'s' if n != 1 else ''}{origins}; verifying {span(period, run.study.data.step)}"


def members(run: Run) -> str:
    """`lim 1, mlp 20`: how many members each model has."""
    return ", ".join(f"{name} {int(each)}" for name, each in zip(run.scores["model"].values, run.scores["members"].values, strict=True))


def failing(phase: str) -> str:
    """In what a model failed."""
    return _PHASES.get(phase, f"in {phase}")
