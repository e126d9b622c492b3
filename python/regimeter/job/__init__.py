# SPDX-License-Identifier: Apache-2.0
"""Many ranks: each is read into small tables, by processes or by a Dask cluster, and these are joined."""

from .analysis import RankAnalysis, analyze_ranks

__all__ = ["RankAnalysis", "analyze_ranks"]
