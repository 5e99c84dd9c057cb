# SPDX-License-Identifier: GPL-2.0-or-later
# Entry points for users and developers. scripts/setup, cargo and pip do the work.

SHELL := /bin/bash
BIN := .venv/bin
CARGO := scripts/cargo
# Two tests at a time, which two cores are busy with. Whoever has more can say PYTEST_ARGS="-n 8".
SIDE_BY_SIDE := -n 2 --dist worksteal
# Compiled modules are kept, so that commands, of which tests start hundreds, begin sooner.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup wheel drivers demo test test-drivers test-long test-debug test-hosts bench papers foreign corpus mutants lint fmt clean distclean

help: ## print this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

setup: ## fetch and build everything: tools, libraries, tester, agent, DUT kernel; installs nothing on the host
	@scripts/setup

wheel: setup ## build a wheel in build/wheel that needs no checkout, compiler or QEMU on its host
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/wheel .

drivers: setup ## build our drivers for the DUT's kernel, in the cache (irqlab does this when needed)
	$(BIN)/python -m irqlab.setup.drivers

demo: setup ## measure the first paper's six variants and two kernel drivers (minutes)
	./irqlab demo

test: setup ## run the tests (minutes)
	$(CARGO) test --quiet --locked --workspace
	$(BIN)/pytest $(SIDE_BY_SIDE) -m "not long and not debug" $(PYTEST_ARGS)

test-drivers: setup ## run all tests of our drivers in the DUT (an hour); KERNEL=7.3: on another kernel
	$(BIN)/pytest $(SIDE_BY_SIDE) tests/drivers $(if $(KERNEL),--kernel $(KERNEL)) $(PYTEST_ARGS)

test-long: setup ## run all tests but those on debug kernels, including the long ones
	$(CARGO) test --quiet --locked --workspace
	$(BIN)/pytest $(SIDE_BY_SIDE) -m "not debug" $(PYTEST_ARGS)

test-debug: setup ## run drivers on 4 processors under KASAN, lockdep, DMA debugging, KCSAN and PREEMPT_RT (hours)
	$(BIN)/pytest tests/debug $(PYTEST_ARGS)

test-hosts: setup ## run the wheel on hosts that have nothing, and DKMS in Debian 12 and 13, in namespaces (20 minutes)
	$(BIN)/pytest tests/hosts $(PYTEST_ARGS)

bench: setup ## measure the lab's own speed (BENCH_ARGS=--all: demo and reproductions, too)
	$(BIN)/python -m tools.bench $(BENCH_ARGS)

papers: setup ## measure all papers; show what moved since the run kept in docs/papers; write their documents (two hours or more)
	$(BIN)/python -m tools.papers

foreign: setup ## build our drivers for i386 and PowerPC (needs gcc-powerpc-linux-gnu; minutes)
	$(BIN)/python -m tools.foreign_build $$($(BIN)/python -c 'from irqlab.setup import kernel_sources; print(kernel_sources.debian("6.12").path)')

corpus: setup ## build drivers of the kernel in which a fix is undone, and see whether `irqlab check` finds it (CORPUS_ARGS=--budget 2m; hours)
	$(BIN)/python -m tools.corpus --check all $(CORPUS_ARGS)

mutants: setup ## mutate what computes results, in Python and Rust; fails if the tests notice fewer than 90 % (hours)
	$(CARGO) mutants --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-mutants
	@failed=0; scripts/mutants-python || failed=1; $(BIN)/python -m tools.mutants_rust || failed=1; exit $$failed

lint: setup ## check style and types of Python, Rust and shell, and figures in documents; drivers: checkpatch, and W=1 and sparse for three kernels
	@$(MAKE) --no-print-directory --keep-going --output-sync=target --jobs=$$(nproc) $(LINTS)

# Those that take longest come first.
LINTS := lint-rust lint-7.3 lint-6.12 lint-6.1 lint-checkpatch lint-types lint-figures lint-python lint-shell
.PHONY: $(LINTS)
lint-rust:
	$(CARGO) fmt --check
	$(CARGO) clippy --quiet --locked --workspace --all-targets -- -D warnings

lint-6.1 lint-7.3: lint-%:
	$(BIN)/python -m irqlab.setup.drivers --lint --kernel $*

lint-6.12: lint-%:
	$(BIN)/python -m irqlab.setup.drivers --lint --kernel $* --no-instruments

lint-checkpatch:
	$(BIN)/python -m irqlab.setup.checkpatch

lint-types:
	$(BIN)/mypy

lint-figures:
	$(BIN)/python -m tools.figures --check

lint-python:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

lint-shell:
	$(BIN)/python -m irqlab.setup.developing shellcheck $$(git ls-files | xargs grep -lE '^#!.*\b(ba)?sh\b')

fmt: setup ## format Python and Rust
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
	$(CARGO) fmt

clean: ## remove build results
	rm -rf target build mutants irqlab .mypy_cache .ruff_cache .pytest_cache
	find . -name .venv -prune -o -name __pycache__ -print0 | xargs -0 rm -rf
	find drivers \( -name '*.o' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' -o -name '.*.cmd' \
		-o -name Module.symvers -o -name modules.order \) -delete

distclean: clean ## also remove libraries and downloads (in ~/.cache/irqlab)
	if [ -x .venv/bin/irqlab ]; then .venv/bin/irqlab cache clear --all; fi
	rm -rf .venv
