#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fails where the benchmarks of the working tree are slower than those of a base, both timed here and now.
#
#     examples/pre-merge.sh origin/main [arguments of pytest]
#
# For any CI, and for a desk. PYTHON: the interpreter. INSTALL: what installs a checkout, run inside it; empty where the
# tests import the checkout itself. LAUNCHES: processes for each benchmark and side. REPORT: what --perf-report takes.
# Ends with 0 for a pass, 1 for a regression or a failed test, else as pytest does, or git where BASE is no commit.
set -eu

base=${1:?usage: pre-merge.sh BASE [arguments of pytest]}
shift
python=${PYTHON:-python3}
install=${INSTALL-"$python -m pip install --quiet ."}
work=$(mktemp -d)
trap 'git worktree remove --force "$work/base" || true; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

measure() {
    if [ -n "$install" ]; then sh -c "$install"; fi
    # With = , because pytest takes a word that is a folder for tests, and looks for the root there.
    "$python" -m pytest --perf-only --perf-launches="${LAUNCHES:-5}" --perf-storage="$work/perf" "$@"
}

git worktree add --quiet --detach "$work/base" "$base"
# A base without benchmarks, or one that fails, leaves tests without a baseline, which pass.
(cd "$work/base" && measure --perf-save=base "$@") || echo "the base gave no full baseline (pytest ended with $?)" >&2
measure --perf-compare=base ${REPORT:+"--perf-report=$REPORT"} "$@"
