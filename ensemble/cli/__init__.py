"""The command line: `ensemble run`, `score`, `check`, `models`, `data`, `init`. Thin: each command calls what Python users call.

Exit status: 0 when all went well, 1 for an error nobody foresaw, 2 for input that cannot be used, 3 when the run is finished
and a model failed. An error is one line, with its traceback only under `--debug`.
"""

from __future__ import annotations

import gc
import logging
import os
import sys

import typer

from ensemble.cli.look import check, data, models
from ensemble.cli.run import run
from ensemble.cli.score import score
from ensemble.cli.start import init
from ensemble.errors import InputError, RunError

app = typer.Typer(
    name="ensemble",
    help="Run many forecast models on the same data, on one Dask scheduler, and learn which predicts best.",
    epilog="Start with `ensemble run` (the default study, about a minute), then `ensemble init my_study` for one of your own.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (run, score, check, models, data, init):
    app.command()(command)


def main() -> None:
    """The entry point of the `ensemble` command."""
    log = logging.getLogger("ensemble")  # alone: what dask's own loggers say of comms and workers is not for everybody
    handler = logging.StreamHandler()
    handler.setLevel(logging.CRITICAL if sys.stderr.isatty() else logging.INFO)  # a terminal has bars, and failures after them
    log.handlers = [handler]
    log.setLevel(logging.INFO)
    try:
        app()
    except InputError as error:
        _say(error, 2)
    except RunError as error:
        _say(error, 3)
    except KeyboardInterrupt:
        sys.exit("ensemble: interrupted; what was running has been cancelled")
    except Exception as error:
        _say(error, 1)
    finally:
        gc.freeze()  # the interpreter looks through all objects once more as it ends; of JAX and the like that takes a second


def _say(error: Exception, status: int) -> None:
    """One line on stderr, or the whole traceback where it was asked for."""
    if os.environ.get("ENSEMBLE_DEBUG"):
        raise error
    hint = "" if status > 1 else " (--debug shows where)"
    for line in str(error).splitlines() or [type(error).__name__]:
        print(f"ensemble: {line}{hint}", file=sys.stderr)
    sys.exit(status)
