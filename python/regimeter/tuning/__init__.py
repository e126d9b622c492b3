# SPDX-License-Identifier: Apache-2.0
"""Kernels tuned, memory pooled, devices watched, in the program itself (docs/tuning.md)."""
