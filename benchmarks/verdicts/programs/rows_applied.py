# SPDX-License-Identifier: Apache-2.0
"""Cause: python. A data frame is worked on row by row."""

import pandas

frame = pandas.DataFrame({"price": range(60_000), "count": range(60_000)})
for _ in range(3):
    frame["total"] = frame.apply(lambda row: row["price"] * row["count"] + 1, axis=1)
