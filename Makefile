# Every target does its own set-up. Start with `make demo` or `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Empty means unset: without bytecode every worker, and every command that a test starts, would
# compile the package and the tests again.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help demo test test-journeys test-browser test-all test-real test-version test-day test-containers test-lowest check bench docs golden requirements clean test-faults fuzz

help:
	@echo "Begin with one of these two; each sets itself up:"
	@echo "  demo       the main job on an embedded sandbox, each command shown"
	@echo "  test       the tests of every minute: functions, outputs and laws, in about two minutes"
	@echo "More:"
	@echo "  test-journeys  what operators do, the pages, what fails halfway, and the sandbox compared with ProxySQL"
	@echo "  test-browser  the site and the report of digests in Chromium"
	@echo "  test-all   test, test-journeys and the sweeps: every test that needs neither a ProxySQL binary nor the browser"
	@echo "  test-real  the tests that need a ProxySQL binary (PATH or PROXYCTL_TEST_PROXYSQL)"
	@echo "  test-version  is proxyctl right about a ProxySQL? PROXYSQL=/path/to/proxysql or IMAGE=proxysql/proxysql:3.0.12; ends with a table"
	@echo "  test-day   a day of a watched fleet on a real ProxySQL, in DAY_MINUTES=20 minutes; needs mariadbd and sysbench; ends with a table"
	@echo "  test-containers  PXC and ProxySQL in containers (Docker; PROXYCTL_TEST_PXC_IMAGE, PROXYCTL_TEST_PROXYSQL_IMAGE)"
	@echo "  test-faults  every fault at every statement of an apply, and every promise of tests/faults/promises.toml"
	@echo "  test-lowest  the tests, the checks and the site on the lowest versions that pyproject.toml allows"
	@echo "  check      format, lint, types, import contracts"
	@echo "  fuzz       every reader fed with damaged and hostile input, for hours; INPUTS=100000"
	@echo "  bench      speed on a real ProxySQL, as ratios"
	@echo "  docs       write the generated reference pages again, and build the documentation site into site/"
	@echo "  golden     record expected outputs again; then read the difference"
	@echo "  requirements  the newest dependencies with their hashes, into requirements/; then read the difference"
	@echo "  clean      remove .venv, .venv-lowest and the caches"

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "proxyctl needs Python 3.11 or newer; set PYTHON="; exit 1; }
	@echo "setting up $(VENV): about half a minute, this once"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(READY)
	@$(BIN)/proxyctl demo

# How many tests run at once: more than there are cores, since many of them wait for a server.
WORKERS ?= 4
REAL_WORKERS ?= 4

# Tests that run commands and servers, and wait for them.
JOURNEYS := tests/journeys tests/docs tests/faults tests/real tests/golden/test_pages.py
NO_BINARY := not real and not containers

test: $(READY)
	@echo "not run: make test-journeys, sweeps (make test-all), the browser (make test-browser), tests that need a ProxySQL binary (make test-real)"
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m "$(NO_BINARY) and not sweep" $(JOURNEYS:%=--ignore=%)

test-journeys: $(READY)
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m "$(NO_BINARY) and not sweep" $(JOURNEYS) --ignore tests/docs/browser

test-browser: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs,browser]'
	$(BIN)/python -m pytest -q tests/docs/browser

test-all: $(READY)
	@echo "not run: the browser (make test-browser), tests that need a ProxySQL binary (make test-real)"
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m "$(NO_BINARY)" --ignore tests/docs/browser --hypothesis-profile all

test-real: $(READY)
	$(BIN)/python -m pytest -q -n $(REAL_WORKERS) --dist worksteal -m "real and not alone"
	$(BIN)/python -m pytest -q -m "real and alone"

test-version: $(READY)
	@$(BIN)/python -m tests.real.versions $(if $(IMAGE),--image $(IMAGE)) $(PROXYSQL)

DAY_MINUTES ?= 20
test-day: $(READY)
	DAY_MINUTES=$(DAY_MINUTES) $(BIN)/python -m pytest -q tests/real/day

test-containers: $(READY)
	$(BIN)/python -m pytest -q tests/real/containers

# Direct dependencies at their lower bounds, their own dependencies at the newest. Set PYTHON=python3.11
# where python3 is newer: google-re2 at its bound has no wheel for Python 3.13.
LOWEST := .venv-lowest
test-lowest: $(READY)
	@$(BIN)/uv venv --quiet --clear --no-python-downloads --python $(PYTHON) $(LOWEST)
	@$(BIN)/uv pip install --quiet --python $(LOWEST) --resolution lowest-direct --editable '.[dev,docs,rsa]'
	$(LOWEST)/bin/python -m pytest -q -n $(WORKERS) --dist worksteal -m "$(NO_BINARY) and not sweep" --ignore tests/docs/browser
	@$(MAKE) --no-print-directory check BIN=$(LOWEST)/bin
	$(LOWEST)/bin/python -m sphinx --quiet --fail-on-warning --builder html --conf-dir docs . $(LOWEST)/site

test-faults: $(READY)
	$(BIN)/python -m tests.faults

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

INPUTS ?= 100000
fuzz: $(READY)
	nice $(BIN)/python -m tests.properties.fuzz --inputs $(INPUTS)

bench: $(READY)
	$(BIN)/python -m tests.bench

docs: $(READY)
	$(BIN)/python -m docs.generate
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]'
	$(BIN)/python -m sphinx --quiet --fail-on-warning --builder html --conf-dir docs . site

golden: $(READY)
	$(BIN)/python -m pytest -q tests/golden tests/docs --ignore tests/docs/browser --update-golden
	$(BIN)/python -m tests.real.conformance.record
	@echo "recorded; now read: git diff"

# For every Python and platform. Wheels only: the tools that build another file would have no hash.
COMPILE = $(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --only-binary :all: \
	--emit-build-options --no-annotate --custom-compile-command "make requirements" --no-emit-package proxyctl-proxysql

requirements: $(READY)
	$(COMPILE) pyproject.toml --extra metrics --group build --output-file requirements/run.txt
	$(COMPILE) --group release --python-version 3.13 --output-file requirements/release.txt

clean:
	rm -rf $(VENV) $(LOWEST) .mypy_cache .ruff_cache .pytest_cache .hypothesis .fuzz
