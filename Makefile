VENV := .venv
PY := $(VENV)/bin/python
# more arguments for the command behind a target: make test ARGS="tests/sql -x"
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo test check bench stress clean

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Make .venv with everything Weft needs; done by all other targets when needed
	@bash scripts/setup.sh

demo: setup ## Run the demo
	$(VENV)/bin/weft demo $(ARGS)

test: setup ## Run the tests, but for the slow ones
	$(PY) -m pytest -m "not slow" --numprocesses 2 --dist worksteal --durations 25 $(ARGS)

check: setup ## Everything that must be green before a merge: lint, types, tests
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(MAKE) test

bench: setup ## Run the benchmarks
	$(PY) -m benchmarks $(ARGS)
	$(PY) -m benchmarks.optimizer
	$(PY) -m benchmarks.diverse
	$(PY) -m benchmarks.weave
	$(PY) -m benchmarks.rows

stress: setup ## Run the slow tests: crashes, limits, long random runs
	$(PY) -m pytest -m slow --durations 25 $(ARGS)

clean: ## Remove caches, build output and what Spark left behind; .venv stays
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log
	find . -name .git -prune -o -name $(VENV) -prune -o -type d -name __pycache__ -exec rm -rf {} +
