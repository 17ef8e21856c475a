# Everything a fresh checkout needs. The environment lands in .venv and is made again only when pyproject.toml changes.
#   make PYTHON=python3.12 …   another Python (3.10 or later)      make NO_UV=1 …   pip even where uv is there
#   make demo ARGS="--speed 30"   make test ARGS="-k ladder -x"    more for the command behind the target
#   make test ARGS="-n 0 --pdb"                                    one test after the other, in this process

VENV ?= .venv
PY := $(VENV)/bin/python
ARGS ?=
export VENV PYTHON NO_UV

.DEFAULT_GOAL := help
.PHONY: help demo test lint format bench live lab wheel readme clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.stamp-run ## watch a simulated SGLang host: no GPU, no SSH server, no configuration
	@$(PY) -m eagletui demo $(ARGS)

test: $(VENV)/.stamp-test ## every test but the live ones, two files at a time where there are two cores
	$(PY) -m pytest -m "not live" -n $$($(PY) -m tests.workers) --dist loadfile $(ARGS)

lint: $(VENV)/.stamp-dev ## format, rules, types and the layers between the rooms
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(PY) -c 'from importlinter.cli import lint_imports_command as check; check()'

format: $(VENV)/.stamp-dev ## put the code into shape
	$(PY) -m ruff check --fix --exit-zero -q .
	$(PY) -m ruff format .

bench: $(VENV)/.stamp-dev ## measure what the project promises about speed and memory
	$(PY) -m tests.benchmarks $(ARGS)

lab: ## install the real SGLang that the live tests use (3 GB, once)
	tests/live/lab/setup

live: $(VENV)/.stamp-test ## tests against a real SGLang over a real sshd (make lab first)
	$(PY) -m pytest -m live -n $$($(PY) -m tests.workers) --dist loadgroup tests/live $(ARGS)

wheel: $(VENV)/.stamp-dev ## build dist/*.whl
	$(PY) -m pip --version >/dev/null 2>&1 || $(PY) -m ensurepip >/dev/null
	$(PY) -m pip wheel -q --disable-pip-version-check --no-deps -w dist .

readme: $(VENV)/.stamp-test ## write the README's table of keys from the registry
	$(PY) -m tests.readme

clean: ## remove the environment and everything that was built
	rm -rf "$(VENV)" dist build *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find eagletui tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.stamp-run: GROUPS_ :=
$(VENV)/.stamp-test: GROUPS_ := test
$(VENV)/.stamp-dev: GROUPS_ := dev
$(VENV)/.stamp-%: pyproject.toml .ci/environment
	@echo "Preparing $(VENV) (first time: about half a minute)"
	@sh .ci/environment $(GROUPS_)
	@touch $@
