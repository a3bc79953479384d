# Everything here works from an empty directory with Python >= 3.11 and make.
#   make test LATEST=1   with the newest releases instead of those in constraints.txt
#   make test-oldest     with the oldest releases that pyproject.toml admits
PYTHON ?= python3
WHICH  := $(if $(LATEST),-latest)$(if $(OLDEST),-oldest)
VENV   := .venv$(WHICH)
BIN    := $(VENV)/bin
PINS   := $(if $(LATEST),,constraints$(if $(OLDEST),-oldest).txt)
JOBS   ?= 2

# Tests start hundreds of Python processes: compile the modules that they import once.
unexport PYTHONDONTWRITEBYTECODE

# pip itself and what builds the package are pinned too.
PIP    := PIP_BUILD_CONSTRAINT=$(PINS) $(BIN)/python -m pip install --quiet $(if $(PINS),-c $(PINS))

.PHONY: demo lab test pytest test-oldest test-portable test-integrations test-slurm test-browser lint format evidence bench soak mutate docs notebooks dist constraints clean

demo: $(VENV)/.base
	$(BIN)/firstlight demo

# The web lab at http://127.0.0.1:8765, opened in a browser; Ctrl-C stops it.
lab: $(VENV)/.lab
	$(BIN)/firstlight lab

# Both at once: the type checker needs one core for a minute.
test: $(VENV)/.test
	$(MAKE) --no-print-directory --jobs 2 lint pytest

pytest: $(VENV)/.test
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not soak and not slurm and not browser"

# Linters and the type checker judge one set of releases, those of constraints.txt.
test-oldest:
	$(MAKE) OLDEST=1 pytest

# The numerical tests and quick claims under other instruction sets, BLAS kernels and numbers of cores; it resumes.
# make test-portable ONLY=AVX runs the settings with that name, PYTHONS="3.12 3.13" adds versions of Python.
test-portable: $(VENV)/.test
	$(if $(PINS),PIP_CONSTRAINT=$(PINS)) $(BIN)/python -m tools.portable --jobs $(JOBS) $(if $(ONLY),--only "$(ONLY)") $(if $(PYTHONS),--pythons $(PYTHONS)) $(if $(FRESH),--fresh)

# sweeps on a real Slurm of one node, which the tests start and end; needs root and Debian's slurm-wlm and munge
test-slurm: $(VENV)/.slurm
	@command -v slurmctld >/dev/null || PATH=$$PATH:/usr/sbin command -v slurmctld >/dev/null || { apt-get update -q && apt-get install -y --no-install-recommends slurm-wlm munge; } || true
	$(BIN)/python -m pytest -m "slurm and not soak" tests/slurm --timeout 1200

# the probes inside Lightning, the Hugging Face Trainer, accelerate and DDP, and on models of torchvision, timm,
# transformers and peft; runs in TensorBoard and MLflow; the transformer
# against TransformerLens
test-integrations: $(VENV)/.integrations
	FIRSTLIGHT_INTEGRATIONS=1 $(BIN)/python -m pytest tests/probes/test_integrations.py tests/probes/test_libraries.py tests/probes/test_distributed.py tests/records/test_dashboards.py tests/models/test_transformer_lens.py

# The rooms of the lab in a real browser: Debian's chromium and chromium-driver, or it is skipped with the reason.
test-browser: $(VENV)/.browser
	SE_OFFLINE=true $(BIN)/python -m pytest -m "browser and not soak" tests/browser -rs

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Record the verdicts that are missing or stale, cheapest first: make evidence SCALE=paper HOURS=3 DATA=folder ONLY='li2.*'
evidence: $(VENV)/.test
	$(BIN)/firstlight reproduce $(ONLY) --scale $(or $(SCALE),quick) --record --missing --resume --store .firstlight/evidence.sqlite $(if $(HOURS),--hours $(HOURS)) $(if $(DATA),--data $(DATA)) $(if $(ACCEPT),--accept)

# make bench ONLY=name runs one
bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks $(if $(ONLY),--only $(ONLY))

# hours; FIRSTLIGHT_SOAK_SECONDS=300 shortens the hour of the lab
soak: $(VENV)/.test $(VENV)/.browser
	SE_OFFLINE=true $(BIN)/python -m pytest -m soak --timeout 7200

# change the numerics in 100 places, one at a time, and see whether a test fails; make mutate COUNT=20 tries fewer
mutate: $(VENV)/.mutate
	$(BIN)/python -m tools.mutate --jobs $(JOBS) $(if $(COUNT),--count $(COUNT))

# The documentation in build/site, which opens without a server; it fails on a warning, a broken link, or anything loaded
# from outside. Examples run again only if they have changed; make docs FRESH=1 runs all of them.
docs: $(VENV)/.docs
	$(BIN)/python -m tools.docs $(if $(FRESH),--fresh)

# the notebooks of the gallery, each in a kernel of its own
notebooks: docs
	$(BIN)/python -m tools.docs --notebooks

# Wheel and source archive, the wheel installed into an empty environment and tried.
dist: $(VENV)/.test
	rm -rf dist
	$(PIP) build
	PIP_CONSTRAINT=$(PINS) $(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv dist/empty
	dist/empty/bin/python -m pip install --quiet $(if $(PINS),-c $(PINS)) dist/*.whl
	cd dist && empty/bin/firstlight --version && empty/bin/firstlight reproduce cogo.lemma-3 --store try.sqlite
	rm -rf dist/empty dist/try.sqlite*

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
	@touch $@ $(VENV)/.base $(VENV)/.lab

$(VENV)/.lab: $(VENV)/.python pyproject.toml $(PINS)
	$(PIP) -e '.[lab]'
	@touch $@ $(VENV)/.base

$(VENV)/.browser: $(VENV)/.python pyproject.toml $(PINS)
	$(PIP) -e '.[test,browser]'
	@touch $@ $(VENV)/.base $(VENV)/.lab $(VENV)/.test

$(VENV)/.integrations: $(VENV)/.python pyproject.toml $(PINS)
	$(PIP) -e '.[test,integrations]'
	@touch $@ $(VENV)/.base $(VENV)/.test

$(VENV)/.slurm: $(VENV)/.python pyproject.toml $(PINS)
	$(PIP) -e '.[test,slurm]'
	@touch $@ $(VENV)/.base $(VENV)/.test

$(VENV)/.bench: $(VENV)/.python pyproject.toml $(PINS)
	$(PIP) -e '.[test,bench]'
	@touch $@ $(VENV)/.base $(VENV)/.test

$(VENV)/.docs: $(VENV)/.python pyproject.toml $(PINS)
	$(PIP) -e '.[test,docs]'
	@touch $@ $(VENV)/.base $(VENV)/.lab $(VENV)/.test

$(VENV)/.mutate: $(VENV)/.python pyproject.toml $(PINS)
	$(PIP) -e '.[test,mutate]'
	@touch $@ $(VENV)/.base $(VENV)/.test

clean:
	rm -rf .venv .venv-latest .venv-oldest .portable .mutate build docs/reference docs/gallery dist .pytest_cache .ruff_cache .hypothesis
