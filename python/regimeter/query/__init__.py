# SPDX-License-Identifier: Apache-2.0
"""SQL over a run or a data set of a job, by DuckDB: nothing is written, nothing but the tables can be read."""

from .answer import Answer, query

__all__ = ["Answer", "query"]
