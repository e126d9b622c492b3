# SPDX-License-Identifier: Apache-2.0
"""Measurements on a CUDA device, one file each, and the runner that keeps what each of them found.

Needs Python, torch, NumPy and regimeter, nothing else and no network. A measurement is a module with ``measure()``,
which runs in a process of its own and returns what JSON can hold, and ``judge(found)``, which compares it with the
limits that the project set itself before it measured.
"""
