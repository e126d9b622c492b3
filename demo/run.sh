#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Records a training loop and a NumPy workload and reports on both; `make demo` calls it. Needs no network.
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-.venv/bin/python}
regimeter() { "$PYTHON" -m regimeter "$@"; }
title() { printf '\n=== %s\n\n' "$1"; }

rm -f demo/run.rgm* demo/numpy.rgm* demo/report.html demo/numpy.html

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

title 'Where to look'
printf '%s\n' \
    'demo/report.html   the training loop: open it in a browser, it needs no network' \
    'demo/numpy.html    the NumPy workload' \
    "Next: $PYTHON -m regimeter export demo/run.rgm -o demo/run.json"
