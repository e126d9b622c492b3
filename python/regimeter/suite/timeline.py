# SPDX-License-Identifier: Apache-2.0
"""The name of the specification for ``regimeter.suite.timeline_data``."""

from .timeline_data import TimelineData, TimelineGenerator

__all__ = ["TimelineData", "TimelineGenerator"]
