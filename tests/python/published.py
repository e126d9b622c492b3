# SPDX-License-Identifier: Apache-2.0
"""Documents held to their published schemas, strictly: what a schema does not name may not be there either."""

import functools
from typing import Any

from needed import package

from regimeter.schemas import find_schema


def closed(schema: Any) -> Any:
    """Return a copy of a schema whose objects have no properties but those that they name."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(value) for name, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        found.setdefault("additionalProperties", False)
    return found


@functools.cache
def _validator(name: str) -> Any:
    return package("jsonschema").Draft202012Validator(closed(find_schema(name)))


def check(document: dict[str, Any], name: str = "") -> dict[str, Any]:
    """Return a document of a real producer that has the form of its schema; name: of one that states no format."""
    kind = name or f"{document['format']}/v{document['version']}"
    problems = [f"{problem.json_path}: {problem.message[:300]}" for problem in _validator(kind).iter_errors(document)]
    assert not problems, f"{kind}: {problems[:5]}"
    return document
