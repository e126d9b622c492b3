# SPDX-License-Identifier: Apache-2.0
"""The name of the specification for ``regimeter.suite.hta``."""

from .hta import HTAAnalyzer, HTAReport

__all__ = ["HTAAnalyzer", "HTAReport"]
