"""One thread for BLAS, XLA and numba, wherever a unit runs.

Two BLAS threads change the last bits of X'X, eigh and svd, and two threads on each of the workers of one machine fight for
its cores. XLA sizes its pool once, from the variable NPROC, when its first client is made; the often advised XLA_FLAGS do
not hold it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController

ONE_THREAD = dict.fromkeys(("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def hold_one_thread() -> None:
    """Hold this process to one thread for each library from now on; raises where XLA has already taken more."""
    _before_xla()
    os.environ.update({name: value for name, value in ONE_THREAD.items() if name not in os.environ})
    _pools(len(sys.modules)).limit(limits=1)


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold this process to one thread meanwhile; XLA, if this is where it begins, for good."""
    _before_xla()
    with _pools(len(sys.modules)).limit(limits=1):
        yield


def _before_xla() -> None:
    """See to it that XLA has, or will have, one thread."""
    bridge = sys.modules.get("jax._src.xla_bridge")  # JAX has no public question for whether it has made its client
    has_begun = bridge is not None and bool(getattr(bridge, "_backends", True))
    if has_begun and os.environ.get("NPROC") != "1":
        raise RuntimeError("JAX has been used here with threads of its own, which results may depend on; set NPROC=1 and start again")
    os.environ["NPROC"] = "1"


@lru_cache(maxsize=1)
def _pools(modules: int) -> ThreadpoolController:
    """The thread pools loaded so far; looked for again only once more modules, and perhaps pools, were imported."""
    del modules
    return ThreadpoolController()
