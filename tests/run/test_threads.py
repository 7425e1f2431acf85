"""One thread for each library, in every process that runs units, and in the caller's only meanwhile."""

from __future__ import annotations

import subprocess
import sys

MEASURE = """
import os, time
for name in ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.pop(name, None)
import numpy as np
from ensemble.execute.threads import hold_one_thread, one_thread
{how}
import jax, jax.numpy as jnp
def ratio(multiply, x):
    multiply(x)
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(8):
        multiply(x)
    return (time.process_time() - cpu) / (time.perf_counter() - wall)
x = np.random.default_rng(0).normal(size=(1500, 1500)).astype(np.float32)
print(ratio(lambda a: a @ a, x), ratio(lambda a: (a @ a).block_until_ready(), jnp.asarray(x)))
"""


def test_blas_and_xla_use_one_core() -> None:
    run = subprocess.run([sys.executable, "-c", MEASURE.format(how="hold_one_thread()")], check=True, capture_output=True, text=True)
    for ratio in map(float, run.stdout.split()):
        assert ratio < 1.25, "the processor was busier than one thread can keep it"


def test_a_process_whose_xla_has_more_threads_is_refused() -> None:
    code = "import os; os.environ.pop('NPROC', None)\nimport jax; jax.numpy.ones(2).sum()\n"
    code += "from ensemble.execute.threads import hold_one_thread\nhold_one_thread()"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode != 0
    assert "set NPROC=1" in run.stderr


def test_the_callers_own_threads_come_back() -> None:
    code = "import os; os.environ.pop('OMP_NUM_THREADS', None); os.environ.pop('OPENBLAS_NUM_THREADS', None)\nimport numpy\n"
    code += "from threadpoolctl import ThreadpoolController\nfrom ensemble.execute.threads import one_thread\n"
    code += "count = lambda: [each['num_threads'] for each in ThreadpoolController().info()]\nbefore = count()\n"
    code += "with one_thread():\n    assert set(count()) == {1}\nassert count() == before"
    subprocess.run([sys.executable, "-c", code], check=True)
