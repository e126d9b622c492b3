# SPDX-License-Identifier: Apache-2.0
"""The parts of the pytest plugin; imported when a test or an option needs them, never before."""
