# SPDX-License-Identifier: Apache-2.0
# `make help` lists the targets. Everything happens in .venv (environment) and build/ (build trees).

VENV := .venv
PY := $(VENV)/bin/python
# The interpreter that a new environment is made with; by default the first fitting one that is found.
BASE_PYTHON ?=
# The interpreter of the GPU targets: that of the machine, where a driver's own torch is installed.
GPU_PYTHON ?= $(if $(wildcard $(PACKAGE)),$(PY),python3)
FUZZ_SECONDS ?= 600
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# Three workers more than processors: most of its time a test waits, for what it has started or for the clock.
WORKERS ?= $(shell expr $(JOBS) + 3)
# The order of the Python tests is drawn from this number; pytest's first lines show it.
SEED ?= random

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory

# What Python has compiled is kept, whatever the shell says: pytest alone spends half of its start on the asserts of all
# tests, in each worker.
export PYTHONDONTWRITEBYTECODE :=

# The environment brings cmake and ninja for machines that have none.
export PATH := $(PATH):$(CURDIR)/$(VENV)/bin
CMAKE = $(firstword $(wildcard $(VENV)/bin/cmake) cmake)
CTEST = $(firstword $(wildcard $(VENV)/bin/ctest) ctest)
PIP = $(PY) -m pip --disable-pip-version-check
CLANG_FORMAT ?= $(shell command -v clang-format-19)
CLANG_TIDY ?= $(shell command -v clang-tidy-19)
# ThreadSanitizer cannot map its shadow where the kernel randomises addresses too widely.
NO_ASLR = $(shell setarch -R true 2>/dev/null && echo setarch -R)

# Stamps live in the environment, so that they go when it goes. BASE has what building and the demo need.
BASE := $(VENV)/.base-stamp
ENVIRONMENT := $(VENV)/.environment-stamp
PACKAGE := $(VENV)/.package-stamp
# Folders are listed too: their time changes when a file is removed.
SOURCES := $(shell find csrc python cmake -not -path '*__pycache__*' 2>/dev/null)
C_FILES = $(shell find csrc tests/core tests/fakes tests/fuzz benchmarks/core -name '*.[ch]' 2>/dev/null)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- environment and package ---------------------------------------------------------------------

.PHONY: env package
env: $(ENVIRONMENT) ## create or update .venv from constraints.txt
package: $(ENVIRONMENT) $(PACKAGE) ## build regimeter and install it into .venv

# torch goes first and alone, so that no other package chooses a build of it.
$(BASE): constraints.txt pyproject.toml
	@if ! $(PY) -c '' 2>/dev/null; then \
	    base='$(BASE_PYTHON)'; \
	    for python in $${base:-python3 python3.14 python3.13 python3.12 python3.11}; do \
	        if $$python -c 'import sys, ensurepip, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null; \
	        then break; else python=; fi; \
	    done; \
	    [ -n "$$python" ] || { echo 'make: no Python 3.11 to 3.14 with venv found; name one: make BASE_PYTHON=...' >&2; exit 1; }; \
	    echo "creating $(VENV) with $$($$python -V)"; \
	    $$python -m venv --clear $(VENV); \
	fi
	@$(PY) -m pip --version >/dev/null 2>&1 || $(PY) -m ensurepip --upgrade
	$(PIP) install --quiet --constraint constraints.txt pip
	$(PIP) install --quiet --constraint constraints.txt torch
	$(PIP) install --quiet --constraint constraints.txt --group build --group demo
	@touch $@

$(ENVIRONMENT): $(BASE)
	$(PIP) install --quiet --constraint constraints.txt --group test --group lint --group bench
	@touch $@

# Not editable: what is tested is what a user gets. The build tree is kept, so a rebuild compiles what changed.
$(PACKAGE): $(BASE) CMakeLists.txt pyproject.toml README.md LICENSE docs/regimeter.1 $(SOURCES)
	$(PIP) install --quiet --no-deps --no-build-isolation --force-reinstall \
	    -Cbuild-dir='build/{wheel_tag}' -Ccmake.define.REGIMETER_DEV=ON .
	@touch $@

# --- what users run ------------------------------------------------------------------------------

.PHONY: demo test test-alone bench
demo: $(PACKAGE) ## record a real training loop, import a real trace; leaves demo/report.html and trace.html
	PYTHON=$(PY) bash demo/run.sh

# CORE_TESTS=test-asan runs the C tests under the sanitizers instead; CORE_TESTS= runs none of them.
CORE_TESTS ?= test-core
test: $(ENVIRONMENT) $(PACKAGE) $(CORE_TESTS) ## C tests, then the Python tests that need no GPU, in random order (SEED)
	$(PY) -m pytest -n $(WORKERS) --dist worksteal -m 'not gpu' --shuffle $(SEED)

test-alone: $(ENVIRONMENT) $(PACKAGE) ## every file of Python tests in a process of its own
	$(PY) tools/test_alone.py

bench: $(ENVIRONMENT) $(PACKAGE) ## measure regimeter against its peers (benchmarks/)
	@if compgen -G 'benchmarks/core/bench_*.c' >/dev/null; then \
	    $(CMAKE) --preset bench >/dev/null; \
	    $(CMAKE) --build --preset bench --parallel $(JOBS); \
	    for program in build/bench/bench_*; do echo "== $$program"; $$program; done; \
	fi
	@for script in benchmarks/[a-z]*.py; do [ -e "$$script" ] || continue; echo "== $$script"; \
	    $(PY) $$script $$([ "$$script" != benchmarks/scaling.py ] || echo --quick); done

.PHONY: dist
dist: $(BASE) ## what a release has, checked: source distribution, wheel, list of materials (SOURCE_DATE_EPOCH)
	$(PIP) install --quiet --constraint constraints.txt --group release
	$(PY) tools/make_dist.py
	$(PY) tools/check_wheel.py $$(ls -t dist/*.whl | head -n 1)

# --- checks --------------------------------------------------------------------------------------

.PHONY: lint tidy fix test-js
lint: $(ENVIRONMENT) $(PACKAGE) ## ruff, mypy, include layers, generated documents, stubs, clang-format
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	$(PY) tools/check_layers.py
	$(PY) tools/draw_rooms.py --check
	$(PY) tools/describe_docs.py --check
	$(PY) tools/describe_manual.py --check
	$(PY) tools/evidence_table.py --check
	@if [ -e tools/check_stubs.py ]; then echo '$(PY) tools/check_stubs.py'; $(PY) tools/check_stubs.py; fi
	@if [ -n '$(CLANG_FORMAT)' ]; then echo '$(notdir $(CLANG_FORMAT)) --dry-run -Werror'; \
	    $(CLANG_FORMAT) --dry-run -Werror $(C_FILES); \
	else echo 'clang-format-19 not found: C formatting not checked'; [ -z "$${CI:-}" ]; fi

# TIDY_SINCE=COMMIT: only what changed since; TIDY_MOST=FILES: of it the analyser looks at so many, the last ones.
TIDY_SINCE ?=
TIDY_MOST ?=
tidy: $(BASE) ## clang-tidy over the core
	$(CMAKE) --preset debug >/dev/null
	$(PY) tools/tidy.py --tool $(or $(CLANG_TIDY),clang-tidy-19) --jobs $(JOBS) $(addprefix --since ,$(TIDY_SINCE)) $(addprefix --most ,$(TIDY_MOST))

fix: $(ENVIRONMENT) ## let ruff and clang-format mend what they can
	$(PY) -m ruff check --fix
	$(PY) -m ruff format
	@if [ -n '$(CLANG_FORMAT)' ]; then $(CLANG_FORMAT) -i $(C_FILES); else echo 'clang-format-19 not found'; fi

test-js: ## syntax and unit tests of the report page's JavaScript (needs node)
	@find python -path '*/web/*.js' -not -path '*/vendor/*' | while read -r file; do \
	    if grep -qE '^(import|export) ' "$$file"; then node --input-type=module --check <"$$file"; \
	    else node --check "$$file"; fi || { echo "in $$file" >&2; exit 1; }; \
	done
	@tests=$$(find tests -path '*/web/js/*test*.*js'); \
	if [ -n "$$tests" ]; then node --test $$tests; else echo 'no JavaScript tests'; fi

.PHONY: screenshots
screenshots: $(ENVIRONMENT) $(PACKAGE) ## renew the pictures that pages are compared with (tests/web/screenshots; needs chromium)
	$(PY) tests/web/screenshots.py

.PHONY: pictures
pictures: $(ENVIRONMENT) $(PACKAGE) ## take the pictures of README and docs anew (needs chromium and a quiet machine)
	$(PY) tools/take_pictures.py

# --- C tests -------------------------------------------------------------------------------------

.PHONY: test-core test-asan test-tsan fuzz fuzz-python
test-core: ## C tests, debug build
	$(CMAKE) --preset debug >/dev/null
	$(CMAKE) --build --preset debug --parallel $(JOBS)
	$(CTEST) --preset debug

test-asan: ## C tests under AddressSanitizer and UndefinedBehaviorSanitizer
	$(CMAKE) --preset asan >/dev/null
	$(CMAKE) --build --preset asan --parallel $(JOBS)
	$(CTEST) --preset asan

# A program that neither starts a thread nor loads a double, which may, has no races.
test-tsan: ## C tests under ThreadSanitizer, those that have threads
	$(CMAKE) --preset tsan >/dev/null
	$(CMAKE) --build --preset tsan --parallel $(JOBS)
	@alone=$$(for program in build/tsan/test_*; do \
	    [ ! -f "$$program" ] || grep -qE ' (pthread_create|dlopen)(@|$$)' <<<"$$(nm -u "$$program")" || basename "$$program"; \
	done); \
	echo "left out, without threads: $$(echo $$alone)"; \
	$(NO_ASLR) $(CTEST) --preset tsan -E "^($$(echo $$alone | tr ' ' '|'))$$"

.PHONY: site
site: $(ENVIRONMENT) $(PACKAGE) ## the documentation as a site, its links checked: build/site/html
	$(PIP) install --quiet --constraint constraints.txt --group docs
	$(PY) tools/make_site.py

# COVERAGE_TESTS: arguments for pytest, to look at some of the tests.
COVERAGE_TESTS ?= tests
.PHONY: coverage
coverage: $(ENVIRONMENT) ## lines and branches that the tests run, of C and Python: build/coverage/report
	$(PIP) install --quiet --constraint constraints.txt --group coverage
	$(PY) tools/measure_coverage.py --jobs $(JOBS) $(COVERAGE_TESTS)

# FUZZ_SECONDS is the whole time of the processors; the targets share it evenly. The corpus stays in build/fuzz/corpus.
fuzz: ## fuzz the parsers with libFuzzer for FUZZ_SECONDS in all (needs clang-19)
	$(CMAKE) --preset fuzz >/dev/null
	$(CMAKE) --build --preset fuzz --parallel $(JOBS)
	@targets=$$(find build/fuzz -maxdepth 1 -name 'fuzz_*' -type f -executable | sort); \
	count=$$(wc -w <<<"$$targets"); \
	[ "$$count" -gt 0 ] || { echo 'no fuzz targets in tests/fuzz'; exit 0; }; \
	fuzz_one() { \
	    target=$$1 name=$$(basename $$1); \
	    mkdir -p build/fuzz/corpus/$$name; \
	    seeds=tests/fuzz/seeds/$$name; [ -d "$$seeds" ] || seeds=; \
	    words=tests/fuzz/$$name.dict; [ -e "$$words" ] && words=-dict=$$words || words=; \
	    echo "== $$name, $$(( $(FUZZ_SECONDS) / count + 1 )) s"; \
	    $$target -max_total_time=$$(( $(FUZZ_SECONDS) / count + 1 )) -timeout=20 -rss_limit_mb=2048 \
	        -print_final_stats=1 -verbosity=0 -artifact_prefix=build/fuzz/ $$words build/fuzz/corpus/$$name $$seeds; \
	}; \
	export count; export -f fuzz_one; \
	printf '%s\n' $$targets | xargs -n 1 -P $(JOBS) bash -euo pipefail -c 'fuzz_one "$$1"' fuzz

# FUZZ_RUNS=N: so many inputs, the same each time, instead of a time.
FUZZ_RUNS ?=
fuzz-python: $(ENVIRONMENT) $(PACKAGE) ## fuzz what Python reads for FUZZ_SECONDS, with atheris
	$(PIP) install --quiet --constraint constraints.txt --group fuzz
	@mkdir -p build/fuzz
	$(PY) tests/fuzz/fuzz_python.py build/fuzz/corpus/fuzz_python \
	    $(if $(FUZZ_RUNS),-runs=$(FUZZ_RUNS) -seed=1,-max_total_time=$(FUZZ_SECONDS)) \
	    -timeout=20 -rss_limit_mb=2048 -verbosity=0 -artifact_prefix=build/fuzz/

# --- GPU: on a machine with a device, which may have no network and no environment ----------------

# REGIMETER_DOUBLES=1: all of it is rehearsed on doubles of the libraries (docs/gpu/doubles.md), with the package of the
# environment. What only hardware can show is then counted as not judged, and nothing is written under evidence/.
.PHONY: gpu-site contact test-gpu evidence-gpu
ifeq ($(REGIMETER_DOUBLES),1)
GPU_PYTHON = $(PY)
GPU_READY = $(ENVIRONMENT) $(PACKAGE)
GPU_PATH =
EVIDENCE_OUT = $(or $(EVIDENCE),$(OUT),build/rehearsal/evidence)
else
GPU_READY = gpu-site
# Packages that the machine's Python lacks can be brought along in build/gpu/packages (CONTRIBUTING.md).
GPU_PATH = build/gpu/site:build/gpu/packages
EVIDENCE_OUT = $(or $(EVIDENCE),$(OUT),build/evidence)
endif

# A lent machine may have a compiler and no cmake or ninja, so this needs the compiler alone.
gpu-site:
	$(GPU_PYTHON) tools/build_site.py build/gpu/site --jobs $(JOBS)

contact: $(filter $(PACKAGE),$(GPU_READY)) ## the first three minutes on a CUDA device, written to CONTACT (build/contact)
	$(GPU_PYTHON) tests/gpu/contact.py --out $(or $(CONTACT),$(OUT),build/contact)

test-gpu: $(GPU_READY) ## tests that need a CUDA device, with GPU_PYTHON; REGIMETER_DOUBLES=1 without one
	@PYTHONPATH=$(GPU_PATH) $(GPU_PYTHON) -c 'import pytest' 2>/dev/null || { echo 'make: $(GPU_PYTHON) has no pytest;' \
	    'bring it: pip install --target build/gpu/packages pytest (CONTRIBUTING.md), or run make evidence-gpu' >&2; exit 1; }
	PYTHONPATH=$(GPU_PATH) $(GPU_PYTHON) tests/gpu/suite.py --out $(or $(OUT),build/gpu/tests)

evidence-gpu: $(GPU_READY) ## measurements on a CUDA device, written to EVIDENCE (OUT, build/evidence)
	PYTHONPATH=$(GPU_PATH) $(GPU_PYTHON) tests/gpu/evidence --out $(EVIDENCE_OUT)

.PHONY: clean
clean: ## remove build trees and what the demo left; keeps .venv
	rm -rf build dist demo/*.rgm demo/*.json demo/*.html demo/ab .pytest_cache .mypy_cache .ruff_cache
	rm -f $(PACKAGE)
