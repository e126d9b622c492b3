# SPDX-License-Identifier: Apache-2.0
"""The name of the specification for ``regimeter.suite.flame``."""

from .flame import FlameGraphGenerator

__all__ = ["FlameGraphGenerator"]
