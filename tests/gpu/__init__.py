# SPDX-License-Identifier: Apache-2.0
"""Tests on a real device; a package, so that a file here may be called like one in tests/python."""
