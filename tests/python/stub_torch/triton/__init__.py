# SPDX-License-Identifier: Apache-2.0
"""A Triton that compiles nothing; `triton.profiler` has the calls of Proton."""
