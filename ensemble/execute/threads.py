"""What a process that runs units needs of its libraries: one thread for each, and no compiling twice.

Two BLAS threads change the last bits of X'X, eigh and svd, and two threads on each of the workers of one machine fight for
its cores. XLA sizes its pool once, from the variable NPROC, when its first client is made; the often advised XLA_FLAGS do
not hold it. (While it compiles, LLVM may use a second core all the same; that changes no bit.)

What XLA has compiled is kept for later processes of the same user on the same kind of processor, unless JAX's own variable
says where else, or nowhere.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path

from platformdirs import user_cache_dir
from threadpoolctl import ThreadpoolController

ONE_THREAD = dict.fromkeys(("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
# Dask has glibc give every freed array back at once, and each new one then costs a page fault per 4 KiB; a third of the time of
# a run went there. A worker may keep 256 MiB, takes no block however large from the system by itself (those go back at once too;
# a fifth of the time of a neural fit), and asks for large pages where the system has them: Linux and glibc alone read these, as a
# process starts, before Python could set them.
KEEP_MEMORY = {
    "MALLOC_TRIM_THRESHOLD_": str(2**28),
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_ARENA_MAX": os.environ.get("MALLOC_ARENA_MAX", "1"),
    "GLIBC_TUNABLES": os.environ.get("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"),
}


def environment() -> dict[str, str]:
    """The variables of a process that is about to be started, where the user has not set them."""
    compiled = Path(user_cache_dir("ensemble")) / f"xla-{_processor()}"
    keep = {"JAX_COMPILATION_CACHE_DIR": str(compiled), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1"}
    keep["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "0"
    wanted = {**ONE_THREAD, **({} if "JAX_COMPILATION_CACHE_DIR" in os.environ else keep)}
    return {name: value for name, value in wanted.items() if name == "NPROC" or name not in os.environ}


@cache
def _processor() -> str:
    """A digest of the kind of processor: code compiled for one may not run on another that shares the folder."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
        kind = [line for line in lines if line.startswith(("model name", "flags", "Features"))]
    except OSError:
        kind = [platform.machine(), platform.processor()]
    return hashlib.sha256("\n".join(kind).encode()).hexdigest()[:12]


def hold_one_thread() -> None:
    """Hold this process to one thread for each library from now on; raises where XLA has already taken more."""
    _before_xla()
    os.environ.update(environment())
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
