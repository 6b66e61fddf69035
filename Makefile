# Everything runs in .venv, made on first use from Python 3.11 or later: make PYTHON=python3.11 demo

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# The tested versions, for what is installed and (the second name, from pip 25.3 on) for what builds it.
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: install demo test bench gpu-check lint format clean

# Learns to read handwritten formulas from their answers alone, twice: as in the paper, and by exact posteriors.
demo: $(VENV)/.installed
	$(BIN)/ngs train hwf --method m-bs --out runs/demo-m-bs --overwrite
	$(BIN)/ngs train hwf --method posterior --out runs/demo-posterior --overwrite
	$(BIN)/ngs compare runs/demo-m-bs runs/demo-posterior
	$(BIN)/ngs report runs/demo-m-bs
	$(BIN)/ngs report runs/demo-posterior

install: $(VENV)/.installed

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 --dist loadgroup # tests of one group share what they train

bench: $(VENV)/.installed
	$(BIN)/ngs bench
	$(BIN)/python benchmarks/speed.py training formulas
	$(BIN)/python benchmarks/speed.py training questions
	$(BIN)/python benchmarks/speed.py questions

# Trains with and without the kernels for GPUs, where there is a GPU, and says how much faster they make its steps.
gpu-check: $(VENV)/.installed
	$(BIN)/python benchmarks/speed.py kernels

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Leaves .venv and runs: the one is slow to make again, the other is someone's work.
clean:
	rm -rf build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# venv links python first and installs pip last, so a half-made environment has no pip.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("NGS needs Python 3.11 or later, not %d.%d; name one: make PYTHON=python3.11" % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Installing NGS and PyTorch into $(VENV); the first time takes a few minutes."
	$(BIN)/python -m pip install -q -c constraints.txt -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Installing NGS, PyTorch and the development tools into $(VENV); the first time takes a few minutes."
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[dev]'
	@touch $(VENV)/.installed $@
