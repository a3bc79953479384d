# Everything here works from an empty directory with Python >= 3.11 and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
JOBS   ?= 2

.PHONY: demo test test-integrations lint format bench soak clean

demo: $(VENV)/.base
	$(BIN)/firstlight demo

test: lint
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not soak"

# the probes' callbacks inside PyTorch Lightning and the Hugging Face Trainer
test-integrations: $(VENV)/.integrations
	FIRSTLIGHT_INTEGRATIONS=1 $(BIN)/python -m pytest tests/probes/test_integrations.py

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# make bench ONLY=name runs one
bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks $(if $(ONLY),--only $(ONLY))

soak: $(VENV)/.test
	$(BIN)/python -m pytest -m soak --timeout 3600

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(f"firstlight needs Python >= 3.11, found {sys.version.split()[0]}; run make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

$(VENV)/.base: $(VENV)/.python pyproject.toml
	$(BIN)/python -m pip install --quiet -e .
	@touch $@

$(VENV)/.test: $(VENV)/.python pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[test]'
	@touch $@ $(VENV)/.base

$(VENV)/.integrations: $(VENV)/.python pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[test,integrations]'
	@touch $@ $(VENV)/.base $(VENV)/.test

$(VENV)/.bench: $(VENV)/.python pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[test,bench]'
	@touch $@ $(VENV)/.base $(VENV)/.test

clean:
	rm -rf $(VENV) dist .pytest_cache .ruff_cache .hypothesis
