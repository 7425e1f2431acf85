"""One thread for BLAS, XLA and numba, wherever a unit runs.

Two BLAS threads change the last bits of X'X, eigh and svd, and two threads on each of the workers of one machine fight for
its cores. XLA sizes its pool once, from the variable NPROC, when its first client is made; the often advised XLA_FLAGS do
not hold it.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache

from threadpoolctl import ThreadpoolController

ONE_THREAD = dict.fromkeys(("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def hold_one_thread() -> None:
    """Hold this process to one thread for each library; raises where XLA has already taken more."""
    if os.environ.get("NPROC") != "1" and _xla_has_begun():
        raise RuntimeError("JAX has been used here with threads of its own, which results may depend on; set NPROC=1 and start again")
    os.environ.update({name: value for name, value in ONE_THREAD.items() if name == "NPROC" or name not in os.environ})
    _limit(len(sys.modules))


def _xla_has_begun() -> bool:
    """Whether JAX has made its client; importing it does not."""
    bridge = sys.modules.get("jax._src.xla_bridge")  # JAX has no public question for this
    return bridge is not None and bool(getattr(bridge, "_backends", True))


@lru_cache(maxsize=1)
def _limit(modules: int) -> None:
    """Limit the thread pools loaded so far; looked at again only once more modules, and perhaps pools, were imported."""
    del modules
    ThreadpoolController().limit(limits=1)
