"""What a run was made of: versions, digests, seeds. Enough to make it again, or to see why it came out otherwise."""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import cloudpickle

from ensemble import plugins
from ensemble.study import Study

PACKAGES = ("mpsd-ensemble", "dask", "distributed", "equinox", "jax", "jaxlib", "numpy", "optax", "scipy", "xarray")


def provenance(study: Study) -> dict[str, Any]:
    """Versions of what the results depend on, and SHA-256 digests of the data and of every model file."""
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": {name: version(name) for name in PACKAGES},
        "seed": study.seed,
        "data": {"source": _made(study.data), "sha256": _joined(study.seen.digests)},
        "models": {name: _made(model.bare, model) for name, model in study.models.items()},
        "starts": {name: list(map(str, study.starts(period))) for name, period in study.periods.items() if name != "train"},
    }


def _made(of: object, whole: object = None) -> dict[str, str]:
    """The digests of the file that defines the class of an object, of the files that one loads, and of the settings of the `whole`."""
    file = plugins.origin(type(of))
    settings = hashlib.sha256(repr(of if whole is None else whole).encode()).hexdigest()
    if file is None:
        code = hashlib.sha256(cloudpickle.dumps(type(of))).hexdigest()
        return {"class": f"{type(of).__module__}:{type(of).__qualname__}", "sha256": code, "settings": settings}
    loads = {f"loads {asked}": module for asked, module in file.loads.items()}
    return {"file": Path(file.path).name, "sha256": file.digest, **loads, "settings": settings}


def _joined(digests: tuple[str, ...]) -> str:
    """One digest of those of all blocks."""
    return hashlib.sha256("".join(digests).encode()).hexdigest()
