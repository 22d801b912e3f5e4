# The verbs of this project. `make run` and `make test` need nothing but Python 3.11 or later with its venv module
# (Debian: apt install python3 python3-venv make); each makes the virtual environment it needs, once.
#   make run PYTHON=python3.12    another interpreter for a new environment

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DOCUMENTED := $(VENV)/.documented

# Without files of bytecode every process of the tests compiles every module that it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run quick test soak fuzz faults lint mutants page bench bench-reference accuracy operators golden docs clean

help:  ## say what each verb does
	@sed -nE 's/^([a-z-]+):.*## (.*)/make \1\t\2/p' Makefile | expand -t 22

setup: $(INSTALLED)  ## make the virtual environment and install everything into it

run: $(INSTALLED)  ## sweep a GEMM over the default machine: a progress bar, a table, a plot
	$(BIN)/kernbench sweep sweeps/quickstart.yaml

# The first tier: the layers between a file and a run, and every shipped bench on the smallest machine. Not the command line, sweeps,
# collectives, the viewer, whole programs of other front-ends, nor random programs against the interpreter: `make test` has those.
QUICK := $(addprefix tests/,limits machine oplog parts program replay runs schema tl trace)

quick: $(INSTALLED)  ## run the first tier of tests, under a minute on two quiet cores, for every change
	$(BIN)/python -m pytest -q -n auto --maxprocesses 8 --dist worksteal -m "not slow" $(QUICK) tests/test_*.py

test: $(INSTALLED)  ## run all tests, as CI does, on up to eight processors
	$(BIN)/python -m pytest -n auto --maxprocesses 8 --dist worksteal

soak: $(INSTALLED)  ## an hour of random programs: the compiled loop against the interpreter
	$(BIN)/python -m tests.engine.soak --seconds 3600

fuzz: $(INSTALLED)  ## an hour of odd inputs of every kind: one sentence each, no crash, no hang
	$(BIN)/python -m tests.fuzz --seconds 3600

faults: $(INSTALLED)  ## an hour of killed processes, full disks and flipped bits, at random moments and places
	$(BIN)/python -m pytest -m faults --faults 60

lint: $(INSTALLED)  ## check style, formatting, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright
	$(BIN)/lint-imports

mutants: $(INSTALLED)  ## put thirty mistakes into the loops, one at a time: random programs notice each
	$(BIN)/python -m tests.mutants --most 30

page:  ## build the pages of the viewer and of reports from kernbench/web/page; needs node 20 and npm
	cd kernbench/web/page && npm ci --no-fund --no-audit && npm run --silent check && npm run --silent build

bench: $(INSTALLED)  ## measure how fast the simulator itself is, against results/reference
	$(BIN)/python -m benches.perf

bench-reference: $(INSTALLED)  ## measure and make that the reference
	$(BIN)/python -m benches.perf --rewrite

accuracy: $(INSTALLED)  ## compare with what others measured, and write docs/accuracy.md; read the difference before you keep it
	$(BIN)/python -m benches.accuracy

operators: $(INSTALLED)  ## run steps of networks, and write docs/operators.md with the share of peak of each operator
	$(BIN)/python -m benches.operators

golden: $(INSTALLED)  ## renew op-log digests, outputs that pages show and reference pages; read the difference before you keep it
	$(BIN)/python -m tests.golden
	$(BIN)/python -m tests.readme
	$(BIN)/python -m tests.reference

docs: $(DOCUMENTED)  ## build the pages as a site in build/docs, with a search and the Python API
	$(BIN)/sphinx-build -q -W -c docs . build/docs
	@echo "open build/docs/index.html"

clean:  ## remove what was built, the environment too; results stay
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .benchmarks .import_linter_cache
	find kernbench kernels_jit tests benches -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment is made anew when pyproject.toml changes; uv does it in seconds where there is one.
$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: KernBench needs Python 3.11 or later and $(PYTHON) is not; try make PYTHON=python3.11" >&2; exit 2; }
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --seed --allow-existing --python "$$(command -v $(PYTHON))" $(VENV) && \
	  uv pip install --quiet --python $(BIN)/python --editable '.[dev]'; \
	else \
	  echo "making $(VENV) and installing into it (a minute or two, once) ..." && \
	  $(PYTHON) -m venv $(VENV) && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'; \
	fi
	@touch $@

$(DOCUMENTED): $(INSTALLED)
	@if command -v uv >/dev/null 2>&1; then uv pip install --quiet --python $(BIN)/python --editable '.[docs]'; \
	else $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'; fi
	@touch $@
