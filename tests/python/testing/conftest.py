# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the sessions within tests."""

from plugin_session import faked, saved, settled  # noqa: F401
