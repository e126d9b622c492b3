# SPDX-License-Identifier: Apache-2.0
"""JSON Schemas of the documents that regimeter writes.

    from regimeter.schemas import find_schema, names

``find_schema("show")`` is what `regimeter show --json` prints, as JSON Schema 2020-12 (docs/schemas.md).
"""

from .catalog import find_schema, names

__all__ = ["find_schema", "names"]
