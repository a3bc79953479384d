# Everything here works from an empty directory with Python >= 3.11 and make.
#   make test LATEST=1   with the newest releases instead of those in constraints.txt
#   make test-oldest     with the oldest releases that pyproject.toml admits
PYTHON ?= python3
WHICH  := $(if $(LATEST),-latest)$(if $(OLDEST),-oldest)
VENV   := .venv$(WHICH)
BIN    := $(VENV)/bin
PINS   := $(if $(LATEST),,constraints$(if $(OLDEST),-oldest).txt)
JOBS   ?= 2

# pip itself and what builds the package are pinned too.
PIP    := PIP_BUILD_CONSTRAINT=$(PINS) $(BIN)/python -m pip install --quiet $(if $(PINS),-c $(PINS))

.PHONY: demo test pytest test-oldest test-portable test-integrations test-slurm lint format bench soak mutate constraints clean

demo: $(VENV)/.base
	$(BIN)/firstlight demo

test: lint pytest

pytest: $(VENV)/.test
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not soak and not slurm"

# Linters and the type checker judge one set of releases, those of constraints.txt.
test-oldest:
	$(MAKE) OLDEST=1 pytest

# The numerical tests and quick claims under other instruction sets, BLAS kernels and numbers of cores; it resumes.
# make test-portable ONLY=AVX runs the settings with that name, PYTHONS="3.12 3.13" adds versions of Python.
test-portable: $(VENV)/.test
	$(if $(PINS),PIP_CONSTRAINT=$(PINS)) $(BIN)/python -m tools.portable --jobs $(JOBS) $(if $(ONLY),--only "$(ONLY)") $(if $(PYTHONS),--pythons $(PYTHONS)) $(if $(FRESH),--fresh)

# sweeps on a real Slurm of one node, which the tests start and end; needs root and Debian's slurm-wlm and munge
test-slurm: $(VENV)/.test
	@command -v slurmctld >/dev/null || PATH=$$PATH:/usr/sbin command -v slurmctld >/dev/null || apt-get install -y --no-install-recommends slurm-wlm munge
	$(BIN)/python -m pytest -m slurm tests/slurm --timeout 1200

# the probes' callbacks inside PyTorch Lightning and the Hugging Face Trainer
test-integrations: $(VENV)/.integrations
	FIRSTLIGHT_INTEGRATIONS=1 $(BIN)/python -m pytest tests/probes/test_integrations.py

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# make bench ONLY=name runs one
bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks $(if $(ONLY),--only $(ONLY))

soak: $(VENV)/.test
	$(BIN)/python -m pytest -m soak --timeout 7200

# change the numerics in 100 places, one at a time, and see whether a test fails; make mutate COUNT=20 tries fewer
mutate: $(VENV)/.mutate
	$(BIN)/python -m tools.mutate --jobs $(JOBS) $(if $(COUNT),--count $(COUNT))

# The releases that `make` installs, for every system and Python version: commit both files.
constraints: $(VENV)/.python
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile $(COMPILE) --all-extras --output-file constraints.txt
	$(BIN)/uv pip compile $(COMPILE) --extra test --resolution lowest-direct --output-file constraints-oldest.txt

COMPILE := --quiet --upgrade --universal --python-version 3.11 --no-annotate --group build \
           --custom-compile-command "make constraints" pyproject.toml

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(f"firstlight needs Python >= 3.11, found {sys.version.split()[0]}; run make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	@touch $@

$(VENV)/.base: $(VENV)/.python pyproject.toml $(PINS)
	$(PIP) -e .
	@touch $@

$(VENV)/.test: $(VENV)/.python pyproject.toml $(PINS)
	$(PIP) -e '.[test]'
	@touch $@ $(VENV)/.base

$(VENV)/.integrations: $(VENV)/.python pyproject.toml $(PINS)
	$(PIP) -e '.[test,integrations]'
	@touch $@ $(VENV)/.base $(VENV)/.test

$(VENV)/.bench: $(VENV)/.python pyproject.toml $(PINS)
	$(PIP) -e '.[test,bench]'
	@touch $@ $(VENV)/.base $(VENV)/.test

$(VENV)/.mutate: $(VENV)/.python pyproject.toml $(PINS)
	$(PIP) -e '.[test,mutate]'
	@touch $@ $(VENV)/.base $(VENV)/.test

clean:
	rm -rf .venv .venv-latest .venv-oldest .portable .mutate dist .pytest_cache .ruff_cache .hypothesis
