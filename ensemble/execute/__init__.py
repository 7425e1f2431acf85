"""Where work runs. The engine knows one verb of a fit, fold, and one of a run, dispatch."""

from ensemble.execute.cost import Cost, Done
from ensemble.execute.dispatch import Here, OnDask
from ensemble.execute.executor import Executor, Serial
from ensemble.execute.unit import Dispatcher, Failure, Unit, Watcher, failure_of, merged

__all__ = [
    "Cost", "Dispatcher", "Done", "Executor", "Failure", "Here", "OnDask", "Serial", "Unit", "Watcher", "failure_of", "merged",
]  # fmt: skip
