# Everything a newcomer needs: `make demo`, `make test`. `make help` lists the rest.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST_SOURCES := $(shell find rust -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
INSTALLED := $(VENV)/.installed
# Wheels are built without the editable package, which takes as long as a wheel.
RELEASE_VENV := target/release-venv
RELEASE_BIN := $(RELEASE_VENV)/bin
RELEASE_TOOLS := $(RELEASE_VENV)/.installed
# Old versions use what newer versions of their own dependencies deprecate.
OLD_WARNINGS := DeprecationWarning PendingDeprecationWarning FutureWarning
MINUTES ?= 30
SEED ?= 0
SCALE ?= 1
NOTEBOOKS ?= auto

.DEFAULT_GOAL := help
.PHONY: help demo test test-rust test-python test-slow test-overflow lint bench bench-million bench-rust results format clean fuzz
.PHONY: reliability audit docs wheel licences release lint-workflows test-oldest

help: ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

# The package itself is rebuilt when the Rust sources or its metadata change; Python sources are used in place.
$(INSTALLED): $(RUST_SOURCES) pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

$(RELEASE_TOOLS): Makefile
	test -x $(RELEASE_BIN)/python || $(PYTHON) -m venv $(RELEASE_VENV)
	$(RELEASE_BIN)/python -m pip install --quiet --upgrade pip
	$(RELEASE_BIN)/python -m pip install --quiet 'maturin>=1.10,<2' ziglang 'twine>=6.1' abi3audit
	touch $@

demo: $(INSTALLED) ## the main job on bundled data
	$(BIN)/mdt-fast demo --output demo-output

test: test-rust test-python ## all tests, cargo and pytest

test-rust:
	cargo test --release --workspace --locked --quiet

test-overflow: ## the Rust tests with checks of overflow
	cargo test --profile overflow --workspace --locked --quiet

test-python: $(INSTALLED)
	$(BIN)/python -m pytest

test-oldest: ## the tests with the oldest versions that pyproject.toml allows
	test -x target/oldest-venv/bin/python || $(PYTHON) -m venv target/oldest-venv
	target/oldest-venv/bin/python -m pip install --quiet uv
	target/oldest-venv/bin/python -m uv pip install --quiet --python target/oldest-venv/bin/python \
		--resolution lowest-direct --editable '.[test]'
	target/oldest-venv/bin/python -m pytest $(addprefix -W ignore::,$(OLD_WARNINGS))

test-slow: $(INSTALLED) ## the tests that take minutes
	$(BIN)/python -m pytest -m slow -o timeout=0

lint: $(INSTALLED) ## rustfmt, clippy, ruff, mypy --strict, import-linter, stub check
	$(BIN)/python -m pip install --quiet --editable '.[lint]'
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets --locked --quiet -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/stubtest mdt_fast._core

docs: $(INSTALLED) ## the documentation site in docs/_build/html (NOTEBOOKS=force executes all tutorials)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	MDT_FAST_NOTEBOOKS=$(NOTEBOOKS) $(BIN)/python -m sphinx -n -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html

lint-workflows: $(RELEASE_TOOLS) ## schema and security of the workflows
	$(RELEASE_BIN)/python -m pip install --quiet check-jsonschema zizmor
	$(RELEASE_BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(RELEASE_BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(RELEASE_BIN)/zizmor --offline --pedantic .github

fuzz: $(INSTALLED) ## random calls and changed files for MINUTES=30, from SEED=0
	$(BIN)/python -m tests.fuzz.files --minutes $$(( $(MINUTES) / 5 + 1 )) --seed $(SEED); files=$$?; \
	$(BIN)/python -m tests.fuzz.api --minutes $(MINUTES) --seed $(SEED) && exit $$files

reliability: $(INSTALLED) ## the figures of docs/reliability.md (about an hour; SCALE=0.01 for a short run)
	$(BIN)/python -m tests.reliability.report --scale $(SCALE)

audit: $(INSTALLED) ## licences, duplicates, bans and known faults of the dependencies
	$(BIN)/python -m pip install --quiet pip-audit
	command -v cargo-deny >/dev/null || cargo install cargo-deny --locked
	$(BIN)/python -m tests.reliability.audit

wheel: $(RELEASE_TOOLS) ## wheel and sdist in dist/, checked, installed and tested (SHORT=1: no build from the sdist)
	$(RELEASE_BIN)/python release/distributions.py $(if $(SHORT),--short)

licences: ## THIRD-PARTY-LICENSES.txt, after a change of Cargo.lock
	command -v cargo-about >/dev/null || cargo install cargo-about --locked --features cli
	cargo about generate --locked --fail --config release/about.toml --output-file THIRD-PARTY-LICENSES.txt \
		--manifest-path rust/bindings/Cargo.toml release/about.hbs

release: ## set the version, date the changelog, commit and tag (VERSION=0.2.0)
	$(PYTHON) release/tag.py $(VERSION)

bench: $(INSTALLED) ## benchmarks against peers, as ratios of one run
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python benches/run.py

bench-million: $(INSTALLED) ## the whole job at up to a million samples (about ten minutes)
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python benches/bench_million.py

results: $(INSTALLED) ## the published study, as docs/results.md (takes an hour; what is in study-output is not run again)
	$(BIN)/mdt-fast study --output study-output
	mkdir -p docs/images/study
	cp study-output/results.md docs/results.md
	cp study-output/images/study/*.png docs/images/study/

bench-rust: ## criterion benchmarks of the kernels alone
	cargo bench --package mdt-core

format: $(INSTALLED) ## rewrite the sources in the project's format
	cargo fmt --all
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove everything that was built
	rm -rf $(VENV) target python/mdt_fast/*.so docs/_build docs/api/generated
