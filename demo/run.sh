#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Records a training loop and a NumPy workload, imports a trace of an H100, reports on all three, and compares a program
# with itself after 30 % more work in one of its steps; `make demo` calls it. Needs no network.
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-.venv/bin/python}
regimeter() { "$PYTHON" -m regimeter "$@"; }
title() { printf '\n=== %s\n\n' "$1"; }
# Recorded by others on their hardware; whose it is and its licence: tests/data/traces/README.md.
trace=tests/data/traces/h100_bert_small.json.gz

rm -f demo/run.rgm* demo/numpy.rgm* demo/report.html demo/numpy.html demo/trace.html
rm -rf demo/before.rgm demo/after.rgm demo/comparison.html demo/ab

title 'Recording a training loop: a small transformer on the CPU'
regimeter record --quiet --interval 2 -o demo/run.rgm demo/train.py

title 'Recording a NumPy workload with threads and asyncio tasks'
regimeter record --quiet --interval 2 -o demo/numpy.rgm demo/numpy_work.py

title 'Where the time of the NumPy workload went'
regimeter show --quiet --top 6 demo/numpy.rgm

title 'Where the time of the training loop went'
regimeter show --quiet --top 12 demo/run.rgm

regimeter report --quiet demo/run.rgm -o demo/report.html --title 'Training loop: a small transformer on the CPU'
regimeter report --quiet demo/numpy.rgm -o demo/numpy.html --title 'NumPy workload: threads and asyncio tasks'

title 'A trace of torch.profiler: inference of a small BERT on an H100, where the device time went'
regimeter breakdown --quiet "$trace"

title 'The kernels with most time'
regimeter kernels --quiet --top 5 "$trace"

regimeter report --quiet "$trace" -o demo/trace.html --title 'Trace: bert-small on an H100'

title 'Did it get slower? Two runs, one process each; `normalise` does 30 % more work in the second'
regimeter record --quiet --interval 0 -o demo/before.rgm demo/steps.py
regimeter record --quiet --interval 0 -o demo/after.rgm demo/steps.py --slow
compared=0
regimeter compare demo/before.rgm demo/after.rgm || compared=$?
printf '\nexit code %s (1: a regression)\n' "$compared"
regimeter compare demo/before.rgm demo/after.rgm --fail-on never --format html -o demo/comparison.html

title 'The same as five pairs in random order: what processes differ by is measured, not taken for granted'
printf '%s\n' \
    'Five pairs are the fewest that are compared as pairs. On a loaded machine intervals are wide, rows are undecided,' \
    'and one experiment in twenty may call some unchanged operation slower or faster; `--pairs 10` narrows both.' \
    'Both sides run on one processor (`--cpus`), because two may differ in speed.'
cpu=$("$PYTHON" -c 'import os; print(max(os.sched_getaffinity(0)))')
regimeter ab --quiet --base demo/steps.py --current 'demo/steps.py --slow' --pairs 5 --cpus "$cpu" --fail-on never -o demo/ab

title 'Where to look'
printf '%s\n' \
    'demo/report.html   the training loop: open it in a browser, it needs no network' \
    'demo/numpy.html    the NumPy workload' \
    'demo/trace.html    the trace: timeline, kernels, idle time, critical path, flame graph' \
    'demo/comparison.html  both runs of the comparison side by side' \
    "Next: $PYTHON -m regimeter export demo/run.rgm -o demo/run.json" \
    "      $PYTHON -m regimeter idle $trace"
