# SPDX-License-Identifier: Apache-2.0
"""A run that was read from a file: what it was measured on."""
