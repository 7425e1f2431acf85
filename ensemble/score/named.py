"""Regions that have a name in the field, each with who defined it. All are boxes with their bounds inside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ensemble.errors import unknown
from ensemble.score.region import Region

WMO = "WMO-No. 485, Manual on the Global Data-processing and Forecasting System, appendix 2.2.34"
WEATHERBENCH = "Rasp et al. (2024), WeatherBench 2, doi 10.1029/2023MS004019, after the scorecards of ECMWF"
NOAA = "NOAA Climate Prediction Center"
TRENBERTH = "Trenberth (1997), doi 10.1175/1520-0477(1997)078<2771:TDOENO>2.0.CO;2"
SAJI = "Saji et al. (1999), doi 10.1038/43854"
ENFIELD = "Enfield et al. (1999), doi 10.1029/1998JC900109"


class Named(NamedTuple):
    """A region and the source of its definition."""

    region: Region
    source: str


def _box(south: float, north: float, west: float, east: float, source: str) -> Named:
    return Named(Region((south, north), (west, east)), source)


NAMED: Mapping[str, Named] = {
    "nino12": _box(-10, 0, 270, 280, NOAA),
    "nino3": _box(-5, 5, 210, 270, TRENBERTH),
    "nino34": _box(-5, 5, 190, 240, TRENBERTH),
    "nino4": _box(-5, 5, 160, 210, NOAA),
    "iod_west": _box(-10, 10, 50, 70, SAJI),
    "iod_east": _box(-10, 0, 90, 110, SAJI),
    "atlantic_nino": _box(-3, 3, 340, 360, "Zebiak (1993), doi 10.1175/1520-0442(1993)006<1567:AIITEA>2.0.CO;2"),
    "tropical_north_atlantic": _box(5.5, 23.5, 302.5, 345, ENFIELD),
    "tropical_south_atlantic": _box(-20, 0, 330, 370, ENFIELD),
    "amo": _box(0, 60, 280, 360, "Trenberth and Shea (2006), doi 10.1029/2006GL026894; of the sea surface, its mean minus the global one"),
    "tropics": _box(-20, 20, 0, 360, WMO),
    "northern_extratropics": _box(20, 90, 0, 360, WMO),
    "southern_extratropics": _box(-90, -20, 0, 360, WMO),
    "arctic": _box(60, 90, 0, 360, WMO),
    "antarctic": _box(-90, -60, 0, 360, WMO),
    "europe_north_africa": _box(25, 70, 350, 388, WMO),
    "asia": _box(25, 65, 60, 145, WMO),
    "australia_new_zealand": _box(-55, -10, 90, 180, WMO),
    "europe": _box(35, 75, 347.5, 402.5, WEATHERBENCH),
    "north_america": _box(25, 60, 240, 285, WEATHERBENCH),
    "north_atlantic": _box(25, 65, 290, 350, WEATHERBENCH),
    "north_pacific": _box(25, 60, 145, 230, WEATHERBENCH),
    "east_asia": _box(25, 60, 102.5, 150, WEATHERBENCH),
}


def named(name: str, *, where: str = "regions") -> Region:
    """The region of that name; InputError with the nearest names where there is none."""
    if name not in NAMED:
        raise unknown(where, name, NAMED)
    return NAMED[name].region
