"""How numbers, units, periods and sample sizes are written, in figures and on the page alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from ensemble.score import Region
from ensemble.task import Array, Period, shift

if TYPE_CHECKING:
    from ensemble.results import Run

MISSING = "–"
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_PHASES = {"fit": "in its fit", "hindcast": "while forecasting", "learn": "while learning its weights", "score": "while it was scored"}


def unit(attrs: dict[Any, Any]) -> str:
    """The unit of a score; scores are made of differences, and a difference of temperatures is in kelvin."""
    text = str(attrs.get("units", "1"))
    for celsius in ("degrees_Celsius", "degree_Celsius", "celsius", "degC", "deg_C", "°C"):
        if text.startswith(celsius):
            return "K" + text.removeprefix(celsius).translate(_SUPERSCRIPT)
    return "" if text == "1" else text


def title(values: xr.DataArray, region: str) -> str:
    """`Root mean squared error, all points`."""
    text = str(values.attrs.get("long_name", values.name)).removesuffix(" (models with members)")
    against = f" against {values['reference'].item()}" if "reference" in values.coords else ""
    return f"{text[:1].upper()}{text[1:]}{against}, {place(region)}"


def axis(values: xr.DataArray) -> str:
    """`rmse [K]`."""
    return f"{values.name} [{unit(values.attrs)}]" if unit(values.attrs) else str(values.name)


def decimals(values: Any) -> int:
    """How many decimals show three significant digits of what is typical among `values`."""
    sizes = np.abs(np.asarray(values, dtype=float))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    return 3 if not sizes.size else int(np.clip(2 - np.floor(np.log10(np.median(sizes))), 0, 3 if np.median(sizes) > 0.01 else 6))


def number(value: float, places: int) -> str:
    """A number with a real minus sign; a dash where it is undefined."""
    return f"{value:.{places}f}".replace("-", "−") if np.isfinite(value) else MISSING


def seconds(value: float) -> str:
    """A wall time [s] to two significant digits or so."""
    return MISSING if not value else "< 0.01" if value < 0.01 else f"{value:.2f}" if value < 10 else f"{value:,.0f}".replace(",", " ")


def count(value: float) -> str:
    """A whole number, its thousands apart."""
    return f"{int(value):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def listed(names: list[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def leads(values: xr.DataArray) -> tuple[Array, str]:
    """Lead times as numbers, and their unit."""
    if values.dtype.kind != "m":
        return values.values, str(values.attrs.get("units", "steps"))
    hours = values.values / np.timedelta64(1, "h")
    return (hours / 24, "days") if not (hours % 24).any() else (hours, "hours")


def short(value: float) -> str:
    """A lead time without decimals it does not need."""
    return f"{value:g}"


def lead(value: float, unit: str) -> str:
    """`lead 1 month`, `lead 3 months`."""
    return f"lead {value:g} {unit.removesuffix('s') if value == 1 else unit}"


def share(value: float) -> str:
    """A share in per cent."""
    return "< 1 %" if 0 < value < 0.01 else f"{100 * value:.0f} %"


def day(time: np.datetime64, step: np.timedelta64) -> str:
    """`January 2014`, or `2014-01-31` where steps are shorter than months."""
    if np.datetime_data(step)[0] not in "YM":
        return str(time.astype("datetime64[D]"))
    names = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
    month = time.astype("datetime64[M]").astype(int)
    return f"{names[month % 12]} {1970 + month // 12}"


def span(period: Period, step: np.timedelta64) -> str:
    """`January 2014 to December 2021`."""
    return f"{day(period.first, step)} to {day(period.last, step)}"


def years(period: Period, step: np.timedelta64) -> float:
    """How long a period is [a]."""
    return float((shift(period.last, 1, step) - shift(period.first, 0, step)) / np.timedelta64(1, "D")) / 365.25


def box(region: Region) -> str:
    """`5°S to 5°N, 170°W to 120°W`."""
    south, north = (f"{abs(each):g}°{'N' if each > 0 else 'S' if each < 0 else ''}" for each in region.latitude)
    west, east = region.longitude
    if east - west >= 360:
        return f"{south} to {north}"
    ends = [((each + 180) % 360) - 180 for each in (west, east)]
    return f"{south} to {north}, " + " to ".join(f"{abs(each):g}°{'E' if each >= 0 else 'W'}" for each in ends)


def place(region: str) -> str:
    """What a region is called in a title."""
    return "all points" if region == "all" else region


def starts(run: Run, region: str = "all") -> str:
    """`85 starts`, or `80 to 85 starts` where leads differ."""
    n = run.scores["n_starts"].sel(region=region).values
    return f"{count(n.min())} starts" if n.min() == n.max() else f"{count(n.min())} to {count(n.max())} starts"


def sample(run: Run, region: str = "all") -> str:
    """What stands behind the scores of a region."""
    return f"n = {starts(run, region)}; verifying {span(run.study.test, run.study.data.step)}"


def failing(phase: str) -> str:
    """In what a model failed."""
    return _PHASES.get(phase, f"in {phase}")
