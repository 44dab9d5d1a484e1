# Settings: make serve PORT=8001, make setup PYTHON=python3.12, make test CHROMIUM=/path/to/chromium
PORT ?= 8000
PYTHON ?=
CHROMIUM ?=
export PYTHON CHROMIUM

RUN = .venv/bin/python
SETUP = @sh scripts/setup.sh

.DEFAULT_GOAL := help
.PHONY: help setup build serve lint test bench oracle mutation hardware recordgpu clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

setup: ## put all that the build needs into .venv and node_modules, once
	$(SETUP) packages node

build: setup ## build the site into dist
	@$(RUN) build.py --out dist

serve: build ## build the site and serve it on this machine, port 8000 or PORT=
	@$(RUN) scripts/serve.py dist --port $(PORT)

lint: setup ## check style and types
	@$(RUN) -m ruff check
	@$(RUN) -m ruff format --check
	@$(RUN) -m mypy

test: lint ## check everything, in a real browser too
	$(SETUP) chromium
	@$(RUN) -m pytest

bench: setup ## measure the simulator, beside the real scheduler with ORACLE_VENV=, an hour of AZURE=
	@$(RUN) -m benchmarks.scheduler $(if $(AZURE),--azure "$(AZURE)")

oracle: setup ## compare N=5000 random scenarios from SEED=0 on with the real scheduler; it may be in ORACLE_VENV=
	$(if $(ORACLE_VENV),,@sh oracle/setup.sh)
	@$(RUN) -m oracle.search --venv "$(or $(ORACLE_VENV),oracle/.venv)" --count $(or $(N),5000) --seed $(or $(SEED),0)

mutation: setup ## take rules of the simulator away, one at a time, and show which recorded traces notice
	@$(RUN) tests/mutation/check.py

hardware: ## test the executor and its kernel in the Python of HARDWARE_PYTHON=, which has torch
	@TRITON_INTERPRET=$(if $(GPU),0,1) $(or $(HARDWARE_PYTHON),python3) -m pytest tests/unit/test_hardware.py

recordgpu: ## record the whole plan on one GPU in under five minutes into OUT=recordings-gpu, part by part
	@$(or $(HARDWARE_PYTHON),python3) scripts/record_gpu.py --output "$(or $(OUT),recordings-gpu)" $(FLAGS)

clean: ## remove all that was made here
	rm -rf .venv node_modules dist .setup.log .hypothesis .mypy_cache .pytest_cache .ruff_cache oracle/.venv oracle/report.json
