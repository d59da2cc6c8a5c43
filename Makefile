# make demo   sets up and archives an example, offline
# make test   sets up and runs the short suite; TESTS=tests/papers for a room
# make test-all  runs all tests: those that need a server, the long forms of faults, more examples
# make test-beyond  runs what test-all has beyond test
# make test-rare  runs what test-all leaves out: the forms of faults that take longest
# make warc-wheel  builds the WARC library alone into dist/, and runs its tests against it
# make try-docs  runs the shell lines of README, how-tos and tutorial with a wheel in an environment
# make docs   builds the site over docs/ into build/site, with a search and an API reference
# make drawings  draws the pictures of the documentation; the terminal's from docs/tutorial.md
# make services  installs the servers that some tests start; without them these are skipped
# make coverage  runs what make test does, and holds each room to its floor; of a room it tells the lines not reached
# make faults kills crawls by the thousand; FAULTS="--phases kills --kills 100" for less
# make mutants  changes modules that matter, and tells what tests do not notice; MUTANTS="--count 40"

PYTHON ?= python3
VENV ?= .venv
TESTS ?=
# Two more than there are cores: of a test that crawls, a third is waiting.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 2)')
FAULTS ?= --write
MUTANTS ?=
BIN = $(VENV)/bin
READY = $(VENV)/.ready
COMPILED = $(VENV)/.compiled
TESTED = $(VENV)/.tested
DOCUMENTED = $(VENV)/.documented
PIP = $(BIN)/python -m pip --disable-pip-version-check install --quiet --retries 8 --timeout 30

.PHONY: demo docs drawings test test-all test-beyond test-rare try-docs warc-wheel services coverage lint types check format \
	benchmarks faults mutants clean

demo: $(COMPILED)
	$(BIN)/lafka demo

docs: $(DOCUMENTED)
	$(BIN)/python -m mkdocs build --strict --quiet

drawings: $(READY)
	$(BIN)/python docs/drawings/make.py

test: $(TESTED) $(COMPILED)
	$(BIN)/python -m pytest --workers $(WORKERS) $(TESTS)

test-all: $(TESTED) $(COMPILED)
	$(BIN)/python -m pytest --workers $(WORKERS) --suite all $(TESTS)

test-beyond: $(TESTED) $(COMPILED)
	$(BIN)/python -m pytest --workers $(WORKERS) --suite beyond $(TESTS)

test-rare: $(TESTED) $(COMPILED)
	$(BIN)/python -m pytest --workers $(WORKERS) --suite rare $(TESTS)

try-docs: $(TESTED)
	rm -rf build/try && $(PYTHON) -m venv build/try
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir build/try .
	build/try/bin/pip install --quiet "$$(echo build/try/lafka-*.whl)[text,web,report,parquet,metrics,mongo]"
	$(BIN)/python -m pytest --workers $(WORKERS) --suite all --programs build/try/bin \
		tests/test_shell_lines.py tests/test_how_to_lines.py tests/test_tutorial.py

warc-wheel: $(TESTED)
	$(BIN)/python -m tests.warc.wheel

services: $(TESTED)
	$(PIP) -r requirements-services.txt || { sleep 10; $(PIP) -r requirements-services.txt; }
	$(BIN)/python -m tests.services

coverage: $(TESTED)
	$(BIN)/python -m pytest --workers $(WORKERS) --floors $(TESTS)

lint: $(TESTED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(TESTED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(TESTED)
	$(BIN)/mypy

check: lint types test

benchmarks: $(TESTED) $(COMPILED)
	for name in crawl read memory verify durable recovery list; do $(BIN)/python benchmarks/run.py $$name --write || exit 1; done

faults: $(TESTED)
	$(BIN)/python -m tests.faults.long $(FAULTS)

mutants: $(TESTED)
	$(BIN)/python -m tests.faults.mutations $(MUTANTS)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis build dist *.egg-info

# A package index that stumbles is asked a second time.
$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Lafka needs Python 3.11 or later: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements.txt || { sleep 10; $(PIP) -r requirements.txt; }
	$(PIP) --no-deps --editable . || { sleep 10; $(PIP) --no-deps --editable .; }
	@touch $@

# Else the first command of each user compiles, and each one where the folder is not theirs.
$(COMPILED): $(READY) $(shell find lafka -name '*.py')
	$(BIN)/python -m compileall -q -j 0 lafka
	@touch $@

$(TESTED): requirements-test.txt $(READY)
	$(PIP) -r requirements-test.txt || { sleep 10; $(PIP) -r requirements-test.txt; }
	@touch $@

$(DOCUMENTED): requirements-docs.txt $(READY)
	$(PIP) -r requirements-docs.txt || { sleep 10; $(PIP) -r requirements-docs.txt; }
	@touch $@
