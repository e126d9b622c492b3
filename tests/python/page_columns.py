# SPDX-License-Identifier: Apache-2.0
"""Columns of a page, read back: the counterpart of regimeter/report/pack.py that the page has in columns.js."""

import base64
import gzip
import struct
from typing import Any


def unpacked(column: dict[str, Any], count: int) -> list[Any]:
    """Return the values of a packed column."""
    if column["type"] == "same":
        return [column["value"]] * count
    data = gzip.decompress(base64.b64decode(column["data"]))
    width = int(column["type"][1:]) // 8
    assert len(data) == count * width
    if column["type"] == "f64":
        values: list[Any] = list(struct.unpack(f"<{count}d", data))
    else:
        signed = column["type"][0] == "i"
        values = [int.from_bytes(data[i::count], "little", signed=signed) for i in range(count)]
    if column.get("steps"):
        for i in range(1, count):
            values[i] += values[i - 1]
    return values
