#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What limits a training loop, where the time of an H100 went, and whether a program got slower; `make demo` calls it.
# Needs no network.
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-.venv/bin/python}
regimeter() { "$PYTHON" -m regimeter "$@"; }
title() { printf '\n=== %s\n\n' "$1"; }
# Recorded by others on their hardware; whose it is and its licence: tests/data/traces/README.md.
trace=tests/data/traces/h100_bert_small.json.gz

rm -f demo/*.rgm* demo/report.html demo/numpy.html demo/trace.html demo/comparison.html
rm -rf demo/ab

title 'What limits this program? A small transformer learns to count, on the processor'
regimeter record --interval 2 -o demo/run.rgm demo/train.py
regimeter report --quiet demo/run.rgm -o demo/report.html --title 'Training loop: a small transformer on the CPU'

title 'Where did the device time go? A trace of torch.profiler: a small BERT on an H100'
regimeter breakdown --quiet "$trace"
regimeter report --quiet "$trace" -o demo/trace.html --title 'Trace: bert-small on an H100'

title 'Did it get slower? Ten pairs of two versions; `normalise` does 30 % more work in the second'
cpu=$("$PYTHON" -c 'import os; print(max(os.sched_getaffinity(0)))')
regimeter ab --quiet --base demo/steps.py --current 'demo/steps.py --slow' --pairs 10 --all-pairs --cpus "$cpu" \
    --fail-on never -o demo/ab

# Without a word: a second recording, with threads and asyncio tasks, and two single runs as a page.
regimeter record --quiet --interval 2 -o demo/numpy.rgm demo/numpy_work.py >/dev/null
regimeter report --quiet demo/numpy.rgm -o demo/numpy.html --title 'NumPy workload: threads and asyncio tasks'
regimeter record --quiet --interval 0 -o demo/before.rgm demo/steps.py >/dev/null
regimeter record --quiet --interval 0 -o demo/after.rgm demo/steps.py --slow >/dev/null
regimeter compare demo/before.rgm demo/after.rgm --fail-on never --format html -o demo/comparison.html

title 'Where to look: pages that need no network'
printf '%s\n' \
    'demo/report.html      the training loop' \
    'demo/trace.html       the trace: timeline, kernels, idle time, critical path, flame graph' \
    'demo/numpy.html       a NumPy program with threads and asyncio tasks' \
    'demo/comparison.html  two single runs side by side, and what they cannot tell' \
    "Next: $PYTHON -m regimeter suggest $trace" \
    "      $PYTHON -m regimeter serve demo"
