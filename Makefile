# Each target does all its set-up itself; only Python 3.11 or newer is needed.
PYTHON ?= python3
BIN := .venv/bin

demo: .venv/installed  ## the main job on the embedded data
	$(BIN)/ensemble run enso

test: .venv/installed  ## all tests but the benchmarks
	$(BIN)/pytest

check: .venv/installed  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy ensemble models data

bench: .venv/installed  ## ratios, measured side by side
	$(BIN)/pytest -m bench -s tests/bench

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

.PHONY: demo test check bench
