# Everything a developer types. `make` alone lists it. Python 3.11 and make are all that must be there.

VENV := .venv
BIN := $(VENV)/bin
SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help serve test lint types messages bench bench-pages bench-policy bench-login bench-export bench-kill \
  attacks faults growth campaigns profile wheel clean

help: ## this list
	@grep -E '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):.*## /\1\t/' | \
	  while IFS="$$(printf '\t')" read -r name text; do printf '  make %-13s %s\n' "$$name" "$$text"; done

serve: $(VENV)/gatepost.stamp ## install, make an instance if there is none, serve on 127.0.0.1:8000
	@$(BIN)/gatepost init
	@exec $(BIN)/gatepost serve

test: lint types ## lint, types, then every test on SQLite and Postgres
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile $(PYTEST_ARGS)

lint: $(VENV)/test.stamp ## style and likely mistakes
	$(BIN)/ruff check .

types: $(VENV)/test.stamp ## static types of models, policies and settings
	$(BIN)/mypy

messages: $(VENV)/test.stamp ## bring blueprints/translations/*.po up to date with the texts in the code
	$(BIN)/python -m tests.texts

bench: $(VENV)/test.stamp ## requests a second by workload (needs wrk); PEERS=1 adds PocketBase, POSTGRES=1 Postgres
	$(BIN)/python -m benchmarks.run $(if $(PEERS),--peers) $(if $(POSTGRES),--postgres) $(BENCH_ARGS)

bench-pages: $(VENV)/test.stamp ## what one page costs at any depth, for whom, beside OFFSET
	$(BIN)/python -m benchmarks.pages

bench-export: $(VENV)/gatepost.stamp ## rows a second and memory of an export of a million articles, and of an import
	$(BIN)/python -m benchmarks.export $(BENCH_ARGS)

bench-kill: $(VENV)/test.stamp ## kill a server under load, again and again: what was acknowledged and lost
	$(BIN)/python -m benchmarks.durability $(BENCH_ARGS)

bench-policy: $(VENV)/gatepost.stamp ## microseconds of one policy decision and one plan
	$(BIN)/python -m benchmarks.policy

bench-login: $(VENV)/gatepost.stamp ## what a login costs, and whom a crowd of them or of refusals disturbs
	$(BIN)/python -m benchmarks.login

attacks: $(VENV)/test.stamp ## what honest clients notice while others attack; BENCH_ARGS="--before COMMIT"
	$(BIN)/python -m benchmarks.attacks $(BENCH_ARGS)

faults: $(VENV)/test.stamp ## what clients notice of a silent database, a held lock, a broken policy file
	$(BIN)/python -m benchmarks.faults $(BENCH_ARGS)

growth: $(VENV)/test.stamp ## gigabytes a day that one address or account can leave within the limits
	$(BIN)/python -m benchmarks.growth $(BENCH_ARGS)

campaigns: attacks faults growth bench-kill ## what is too long for `make test`: attacks, faults, growth, kills

profile: $(VENV)/gatepost.stamp ## where the time of one request goes, stage by stage
	$(BIN)/python -m benchmarks.profile

wheel: $(VENV)/gatepost.stamp ## build dist/gatepost-….whl
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .

clean: ## remove what was built and installed; the instance stays
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The first interpreter that is new enough; `make serve PYTHON=…` chooses another.
PYTHON ?= $(shell for name in python3.11 python3 python3.12 python3.13 python; do \
	  "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$name" && break; done)

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Gatepost needs Python 3.11 or later; none was found." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Gatepost needs Python 3.11 or later; $(PYTHON) is older, or does not run." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "This Python cannot make a virtual environment (Debian: apt install python3-venv)." >&2; exit 1; }

NOT_INSTALLED = { echo "The libraries were not installed: pip says why above. This once, a network is needed." >&2; exit 1; }

$(VENV)/gatepost.stamp: setup.cfg pyproject.toml | $(VENV)/bin/python
	@echo "Installing into $(VENV) …"
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable . || $(NOT_INSTALLED)
	@touch $@

$(VENV)/test.stamp: setup.cfg pyproject.toml | $(VENV)/bin/python
	@echo "Installing into $(VENV) …"
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test,fast,redis]' || $(NOT_INSTALLED)
	@touch $@ $(VENV)/gatepost.stamp
