# SPDX-License-Identifier: Apache-2.0
"""The analyses of a trace as Python and the command line see them; what is computed is computed in C."""
