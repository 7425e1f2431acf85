"""Where the cluster comes from, and what every worker is given when it joins, early or late."""

from __future__ import annotations

import gc
import hashlib
import importlib
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import dask
from distributed import Client, LocalCluster, WorkerPlugin

from ensemble import plugins
from ensemble.errors import InputError
from ensemble.execute.threads import KEEP_MEMORY, environment, hold_one_thread


class PluginFiles(WorkerPlugin):
    """Remembers the model and data files of one client.

    Its name carries their digest: under a fixed name a second client would replace the first one's files, and a worker
    that joins after it would hang the first run.
    """

    def __init__(self, files: dict[str, plugins.File]) -> None:
        self.files = files
        self.name = f"ensemble-files-{hashlib.sha256(repr(sorted(files)).encode()).hexdigest()[:16]}"

    def setup(self, worker: Any) -> None:
        """Called by the worker."""
        del worker
        plugins.remember(self.files)


class OneThread(WorkerPlugin):
    """Holds BLAS, XLA and numba to one thread, or refuses a worker where it is too late for that."""

    name = "ensemble-one-thread"

    def setup(self, worker: Any) -> None:
        """Called by the worker."""
        del worker
        hold_one_thread()

    def teardown(self, worker: Any) -> None:
        """Called by the worker as it ends: its process need not look through all memory once more, which takes a second of JAX."""
        del worker
        gc.freeze()


def share(client: Client) -> None:
    """Make every loaded file importable on the cluster: the scheduler unpickles graphs, the workers the rest."""
    files = plugins.loaded()
    client.run_on_scheduler(plugins.remember, files)
    client.register_plugin(PluginFiles(files))
    client.register_plugin(OneThread())


@contextmanager
def connected(*, client: Client | None = None, scheduler: str | None = None, cluster: Mapping[str, Any] | None = None) -> Iterator[Client]:
    """A client of the cluster asked for: one that exists and stays open, a running scheduler's, or a cluster made here.

    `cluster` names a class by import path with its options, `{dask_jobqueue.SLURMCluster: {cores: 16, workers: 4}}`, of which
    `workers` is how far it is scaled; `local` is a process per core with one thread each. Raises InputError where nothing
    answers or no such class is there.
    """
    with ExitStack() as stack:
        if client is None:
            stack.enter_context(_script_stays_here())
            place = scheduler or stack.enter_context(_made(cluster or {"local": {}}))
            client = stack.enter_context(_client(place))
        share(client)
        yield client


@contextmanager
def _script_stays_here() -> Iterator[None]:
    """Keep processes that are started meanwhile from running the user's script once more.

    A spawned process imports the main module of its parent, which it finds by these two attributes; a script without a main
    guard would start processes without end. What a script defines is pickled by value and needs no import.
    """
    main = sys.modules["__main__"]
    file, spec = main.__dict__.pop("__file__", None), main.__spec__
    main.__spec__ = None
    try:
        yield
    finally:
        main.__spec__ = spec
        if file is not None:
            main.__file__ = file


def _client(place: Any) -> Client:
    """A client of a scheduler's address or of a cluster; not the default of this process, which may have one of its own."""
    try:
        return Client(place, timeout="20s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"scheduler: nothing answers at {place}; start `dask scheduler` there, or leave it out to run here") from error


def _made(cluster: Mapping[str, Any]) -> Any:
    """The cluster of a recipe's `cluster:`."""
    ((name, options),) = cluster.items()
    options = dict(options or {})
    if name == "local":
        return _local(**options)
    module, _, attribute = name.rpartition(".")
    workers = options.pop("workers", None)
    try:
        make = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"cluster: {name} cannot be imported ({error}); install its package, or write `local`") from error
    made = make(**options)
    if workers is not None:
        made.scale(workers)
    return made


def _local(workers: int | None = None, **options: Any) -> LocalCluster:
    """Processes on this machine, one thread each; their libraries are held to it before they are imported.

    Dask's own log is quiet: what fails is reported by the run, once, with its reason.
    """
    options = {"dashboard_address": ":0", "threads_per_worker": 1, "env": environment(), "silence_logs": logging.CRITICAL, **options}
    before_spawn = {**dask.config.get("distributed.nanny.pre-spawn-environ"), **KEEP_MEMORY}
    with dask.config.set({"distributed.nanny.pre-spawn-environ": before_spawn}):
        return LocalCluster(n_workers=workers, processes=True, **options)
