# Two commands: `make run` shows the product at work, `make test` runs every check.
VENV ?= .venv
PYTHON ?= python3
JOBS ?= 2
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: run test check lint types tests bench lock clean

run: $(VENV)/.run
	@$(BIN)/vacancy demo

test: check tests

check: lint types

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/deptry .

types: $(VENV)/.dev
	$(BIN)/mypy

tests: $(VENV)/.dev
	$(BIN)/pytest -n $(JOBS)

bench: $(VENV)/.bench
	$(BIN)/python -m bench

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Vacancy needs Python 3.11 or newer: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "No virtual environment could be made; on Debian or Ubuntu: apt-get install python3-venv"; exit 1; }
	@touch $@

$(VENV)/.run: $(VENV)/.made requirements.lock
	@echo "Installing what Vacancy needs into $(VENV) (once; about half a minute) ..."
	@$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements-dev.lock
	@echo "Installing what the tests need, a PostgreSQL among it (once) ..."
	@$(BIN)/pip install --quiet --require-hashes -r requirements-dev.lock
	@touch $@

$(VENV)/.bench: $(VENV)/.dev requirements-bench.lock
	@echo "Installing the queues that ours is measured beside (once) ..."
	@$(BIN)/pip install --quiet --require-hashes -r requirements-bench.lock
	@touch $@

# Versions and hashes only: where they are fetched from is the machine's business.
COMPILE = uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-header --no-annotate --quiet --extra postgres --extra build

lock:
	$(COMPILE) --extra apprise --extra bot --extra dev -o requirements-dev.lock
	$(COMPILE) --constraint requirements-dev.lock -o requirements.lock
	$(COMPILE) --extra apprise --extra bot --extra dev --extra bench -o requirements-bench.lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis .import_linter_cache
