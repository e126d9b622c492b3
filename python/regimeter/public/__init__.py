# SPDX-License-Identifier: Apache-2.0
"""What users hold: a run with every question that can be put to it, and the optimizer of the specification.

The rooms below know tables and environments; here their parts are joined.
"""
