"""Units of measure: what a file says its numbers are in, brought to what is wanted.

The dimensions of found / wanted decide, once both are in SI units. None left: a factor. Mass over volume left: rain as a mass and
as a depth, 1 kg m-2 of liquid water being 1 mm. Time left: an amount against a rate, and the factor holds the length of the step.
Months and years are dimensions of their own, because "mm/month" of February is not that of March. What is left after that is
refused. Temperatures on a scale have an offset, differences of temperatures have none; the numbers themselves tell a label that
cannot be right. `pint` does the algebra; it costs a quarter of a second and is loaded when two units differ.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ensemble.errors import InputError
from ensemble.findings import Finding
from ensemble.prepare.time.calendars import day_number
from ensemble.task import unit_of

DAY = 86400.0  # [s]
YEAR = {"noleap": 365.0, "all_leap": 366.0, "360_day": 360.0, "julian": 365.25}  # mean length [days]; else 365.2425
WATER = 1000.0  # density of the liquid [kg m-3], by convention of all who write rain in mm
SCALES = {"K": (1.0, 0.0), "degC": (1.0, 273.15), "degF": (5 / 9, 459.67 * 5 / 9)}  # value * a + b is in kelvin
KELVIN_ON_EARTH = 100.0, 423.15  # no air, water or soil is colder or hotter [K]

_TEMPERATURES = {
    "degC": r"c|celsius|°c|º ?c|℃|deg(ree)?s?[ _.]?c(elsius)?|° ?celsius|celsius degrees?",
    "degF": r"f|fahrenheit|°f|deg(ree)?s?[ _.]?f(ahrenheit)?",
    "K": r"k|kelvins?|deg(ree)?s?[ _.]?k(elvin)?",
}
_SPELLINGS = (  # what people write -> what pint reads; order matters
    (r"^\(?0 ?- ?1\)?$|^(unitless|dimensionless|non-?dimensional|fraction|proportion|none|-)$", "1"),
    (r"\s*(\(?of )?(liquid )?water( equivalent)?\)?|\s*\bw\.? ?e\.?(?![a-z])", ""),
    (r"%", " percent"),
    (r"\bmb\b", "mbar"),
    (r"\bSv\b", "sverdrup"),
    (r"\bppmv\b", "ppm"),
    (r"\bgpm\b", "m"),
    (r"\b(deg(ree)?s?_?C|deg_?K)(?![A-Za-z])", "K"),  # inside a larger unit only differences make sense
    (r"\b(months?|mon|mo)(?=\b|[-\d])", "civilmonth"),
    (r"\b(years?|yrs?|a)(?=\b|[-\d])", "civilyear"),
    (r"(?<=[A-Za-z\d])[.·](?=[A-Za-z])", " "),  # kg.m-2.s-1
    (r"/\s*(\d+)\s*([A-Za-z]+)", r"/(\1 \2)"),  # mm/6h
    (r"(?<=[A-Za-z])(?<!\d[eE])(-?\d+)", r"**\1"),  # m-2, but not 1e-3
)
_AMOUNTS = (  # what is summed over a step where it is no rate: depth, mass and energy an area, momentum an area, mass
    {"[length]": 1}, {"[mass]": 1, "[length]": -2}, {"[mass]": 1, "[time]": -2}, {"[mass]": 1, "[length]": -1, "[time]": -1}, {"[mass]": 1},
)  # fmt: skip
_DIFFERENCE = re.compile(r"anom|difference|departure|deviation|spread|error|trend|change|(?<![a-z])range(?![a-z])", re.IGNORECASE)


class Conversion(NamedTuple):
    """value * scale * step**a * month**b * year**c + offset, with the lengths of the step, its month and a year in seconds."""

    scale: float
    offset: float = 0.0
    step: int = 0
    month: int = 0
    year: int = 0
    water: bool = False

    @property
    def constant(self) -> bool:
        return not (self.step or self.month or self.year)


def factor(found: str, wanted: str, *, difference: bool = False, name: str, where: str) -> tuple[float, float]:
    """(scale, offset) of `wanted` = `found` * scale + offset; InputError where there is none, or none without the length of a step."""
    conversion = conversion_of(found, wanted, difference=difference, name=name, where=where)
    if not conversion.constant:
        raise InputError(f"{name} in {where}: from {found!r} to {wanted!r} takes the length of a step, which is not known here")
    return conversion.scale, conversion.offset


def converted(
    field: xr.DataArray, wanted: str | None, *, where: str, notes: list[Finding], assumed: str | None = None,
    step: np.timedelta64 | None = None, calendar: str = "standard",
) -> xr.DataArray:  # fmt: skip
    """`field` in the units `wanted`, or in its own; single precision stays so. InputError where its units are missing or cannot be right.

    `assumed` are the units that the numbers are in whatever the file says. A conversion between an amount and a rate needs the
    `step` and, where that is a month or a year, the `calendar` and the field's coordinate `valid_time` or `time`.
    """
    found = str(assumed or field.attrs.get("units", "")).strip()
    if not found:
        raise InputError(f"{field.name} in {where} has no units; write what its numbers are in, as in `units_are: {wanted or 'degC'}`")
    label = f"{field.attrs.get('units') or 'none'}, taken as {found}" if assumed and assumed != field.attrs.get("units") else found
    conversion = conversion_of(found, wanted or found, difference=is_difference(field), name=str(field.name), where=where)
    _believe(field, found, conversion, where)
    notes.append(Finding("units", where, label, "" if conversion == Conversion(1.0) else _said(conversion, wanted or found)))
    if conversion == Conversion(1.0):
        return field.assign_attrs(units=wanted or found)
    made = field.astype(np.float64) * _scale(conversion, field, step, calendar, found, where) + conversion.offset
    kept = field.dtype if field.dtype.kind == "f" else np.float64
    return made.transpose(*field.dims).astype(kept).assign_attrs({**field.attrs, "units": wanted or found}).rename(field.name)


@cache
def conversion_of(found: str, wanted: str, *, difference: bool, name: str, where: str) -> Conversion:
    """How numbers in `found` become numbers in `wanted`; InputError where they are of another kind."""
    if found == wanted:
        return Conversion(1.0)
    warm = _temperature(found), _temperature(wanted)
    if warm[0] and warm[1]:
        (a, b), (c, d) = SCALES[warm[0]], SCALES[warm[1]]
        return Conversion(a / c, 0.0 if difference else (b - d) / c)
    ratio = _ratio(found, wanted, name, where)
    dims = {key: round(power) for key, power in ratio.dimensionality.items() if power}
    month, year = dims.pop("[civilmonth]", 0), dims.pop("[civilyear]", 0)
    time, mass = dims.pop("[time]", 0) + month + year, dims.pop("[mass]", 0)
    water = mass != 0 and dims.pop("[length]", 0) == -3 * mass
    if dims or (mass and not water) or abs(time) > 1 or (time and not _is_amount(found if time > 0 else wanted)):
        raise InputError(
            f"{name} in {where}: {found!r} cannot be brought to {wanted!r}, which is of another kind; mend `units:`, or write what the "
            f"numbers are in with `units_are:`"
        )
    return Conversion(float(ratio.to_base_units().magnitude) / WATER ** (mass if water else 0), 0.0, -time, month, year, water)


def is_difference(field: xr.DataArray) -> bool:
    """Whether the numbers are differences (anomalies, errors, spreads), by the attribute of CF 1.11 or by what they are called."""
    attrs = field.attrs
    if "units_metadata" in attrs:
        return "difference" in str(attrs["units_metadata"])
    words = (field.name, *(attrs.get(key) for key in ("standard_name", "long_name", "cell_methods")))
    return any(_DIFFERENCE.search(str(word)) for word in words if word)


def _believe(field: xr.DataArray, found: str, conversion: Conversion, where: str) -> None:
    """InputError where no temperature on Earth has these numbers in these units, all of them."""
    scale = SCALES.get(_temperature(found) or "")
    if scale is None or is_difference(field) or not field.size:
        return
    low, high = (float(reduce(field.values, axis=None)) * scale[0] + scale[1] for reduce in (np.fmin.reduce, np.fmax.reduce))
    if conversion.offset and high < KELVIN_ON_EARTH[0]:
        cure = "write `units_are: degC` if they are on the Celsius scale, or keep `units: K` if they are differences"
    elif scale[1] and low > KELVIN_ON_EARTH[1]:  # potential temperatures [K] have no bound
        cure = "write `units_are: K` if that is what they are"
    else:
        return
    first, last = (f"{(each - scale[1]) / scale[0]:.4g}" for each in (low, high))
    raise InputError(f"{field.name} in {where}: values from {first} to {last} cannot be temperatures in {found}; {cure}")


def _scale(
    conversion: Conversion, field: xr.DataArray, step: np.timedelta64 | None, calendar: str, label: str, where: str
) -> float | xr.DataArray:
    """What to multiply by; along the time of the field where months or years differ in length."""
    unit, count = unit_of(step) if step is not None else ("", 1)
    year = conversion.year if unit == "Y" else 0
    scale = conversion.scale * (YEAR.get(calendar, 365.2425) * DAY) ** (conversion.year - year)
    if not (conversion.step or conversion.month or year):
        return scale
    if step is None:
        raise InputError(f"{field.name} in {where}: {label!r} is counted by the step of the data, which is not known; write `step: month`")
    if conversion.month and unit != "M":
        raise InputError(f"{field.name} in {where}: {label!r} has no fixed length at steps of {step}; write `units_are:` per day or second")
    length = _seconds(field, step, calendar, where)
    return scale * length**conversion.step * (length / count) ** (conversion.month + year)


def _seconds(field: xr.DataArray, step: np.timedelta64, calendar: str, where: str) -> float | xr.DataArray:
    """The length of a step [s]; of months and years, of each, in a calendar."""
    unit, count = unit_of(step)
    if unit not in ("M", "Y"):
        return float(step / np.timedelta64(1, "s"))
    name = next((each for each in ("valid_time", "time") if each in field.coords), None)
    if name is None:
        raise InputError(f"{field.name} in {where}: an amount of a month becomes a rate only where it is known which month")
    first = field[name].values.astype(f"datetime64[{unit}]").astype("datetime64[M]").astype(int) + 12 * 1970
    ends = (first, first + count * (1 if unit == "M" else 12))
    start, end = (day_number(each // 12, each % 12 + 1, np.ones_like(each), calendar) for each in ends)
    return xr.DataArray((end - start) * DAY, dims=field[name].dims)


@cache
def _temperature(text: str) -> str | None:
    """The scale of temperature that a unit is, whatever its spelling."""
    return next((name for name, spelt in _TEMPERATURES.items() if re.fullmatch(spelt, text.strip().lower())), None)


def _ratio(found: str, wanted: str, name: str, where: str) -> Any:
    """found / wanted as a quantity of pint; InputError where either is no unit."""
    measures = []
    for text, key in ((found, "units_are"), (wanted, "units")):
        try:
            measures.append(_measure(text))
        except Exception as error:  # pint raises whatever the parts of its parser do
            raise InputError(f"{name} in {where}: the units {text!r} are not understood; write `{key}:` as in 'mm day-1'") from error
    return measures[0] / measures[1]


def _measure(text: str) -> Any:
    spelt = "K" if _temperature(text) in ("K", "degC") else text.strip()
    for pattern, plain in _SPELLINGS:
        spelt = re.sub(pattern, plain, spelt)
    try:
        return _registry().Quantity(_registry().parse_expression(spelt))
    except Exception:
        return _registry().Quantity(_registry().parse_expression(spelt.lower()))  # Pascal, Meter


@cache
def _registry() -> Any:
    import pint

    registry: Any = pint.UnitRegistry()
    for definition in ("civilmonth = [civilmonth]", "civilyear = [civilyear]", "practical_salinity_unit = [salinity] = psu = PSU"):
        registry.define(definition)
    return registry


def _is_amount(text: str) -> bool:
    dims = {key: power for key, power in _measure(text).dimensionality.items() if power}
    return dims in _AMOUNTS


def _said(conversion: Conversion, wanted: str) -> str:
    """What was done, in words."""
    words = [f"times {conversion.scale:.9g}"] if conversion.scale != 1 else []
    words += [f"{'divided by' if conversion.step < 0 else 'times'} the length of a step"] if conversion.step else []
    words += [f"a {each} being as long as it is" for each in ("month", "year") if getattr(conversion, each)]
    words += [f"{conversion.offset:+.7g}"] if conversion.offset else []
    words += ["1 kg m-2 of water being 1 mm"] if conversion.water else []
    return f"to {wanted}: {', '.join(words)}"
