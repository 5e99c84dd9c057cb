# SPDX-License-Identifier: GPL-2.0-or-later
# What a person runs. The work is in scripts/setup (bash), cargo and pip.

SHELL := /bin/bash
CACHE = $(or $(IRQLAB_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/irqlab)
BIN := .venv/bin
CARGO := scripts/cargo

.PHONY: help setup drivers demo test test-drivers test-long lint fmt clean distclean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: ## everything irqlab needs: Debian packages (with sudo), libraries, tester, agent, the DUT's kernel
	@scripts/setup

drivers: setup ## our own drivers, for the DUT's kernel, in the cache (irqlab does that by itself)
	$(BIN)/python -m irqlab.setup.drivers

demo: setup ## the first paper's six variants, beside drivers of the kernel (minutes)
	./irqlab demo

test: setup ## the tests that take minutes together
	$(CARGO) test --quiet --locked --workspace
	$(BIN)/pytest -m "not long" $(PYTEST_ARGS)

test-drivers: setup ## all tests of our own drivers in the DUT: every scheme, every switch (an hour)
	$(BIN)/pytest tests/drivers $(PYTEST_ARGS)

test-long: setup ## all tests, the ones that take minutes each included
	$(CARGO) test --quiet --locked --workspace
	$(BIN)/pytest $(PYTEST_ARGS)

lint: setup ## style and types of Python, Rust and shell; our drivers with W=1 and sparse
	scripts/check-spdx
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(CARGO) fmt --check
	$(CARGO) clippy --quiet --locked --workspace --all-targets -- -D warnings
	$(BIN)/python -m irqlab.setup.drivers --lint
	shellcheck $$(git ls-files | xargs grep -lE '^#!.*\b(ba)?sh\b')

fmt: setup ## lays out Python and Rust
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
	$(CARGO) fmt

clean: ## removes what was built here
	rm -rf target build irqlab .mypy_cache .ruff_cache .pytest_cache
	find . -name .venv -prune -o -name __pycache__ -print0 | xargs -0 rm -rf
	find drivers \( -name '*.o' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' -o -name '.*.cmd' \
		-o -name Module.symvers -o -name modules.order \) -delete

distclean: clean ## removes the libraries and the downloads (in ~/.cache/irqlab) too
	rm -rf .venv $(addprefix $(CACHE)/,debs drivers headers images kernel locks snapshots tools trials)
