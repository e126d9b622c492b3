# SPDX-License-Identifier: Apache-2.0
"""Schemas of the analyses, made from their tables: `regimeter VERB TRACE --json`."""

from typing import Any

from .. import _core
from ..analysis.result import CODE
from ..analysis.verb import Verb
from .json_schema import Schema, schema_of
from .runs import File, LostAnomaly


def body_of(verb: Verb) -> Schema:
    """Return the schema of an analysis's document, without its head."""
    described = _core.schema()["results"][verb.analysis]
    codes = {c.name: c.unit.removeprefix(CODE) for c in verb.columns if c.unit.startswith(CODE)}
    row = {
        "type": "object",
        "description": described["doc"],
        "properties": {column["name"]: _cell(column, codes.get(column["name"])) for column in described["columns"]},
        "required": [column["name"] for column in described["columns"]],
    }
    rows: Schema = {"type": "array", "items": {"$ref": "#/$defs/Row"}}
    properties: dict[str, Schema] = {"file": schema_of(File, {}), "shares": _texts(), "rows": rows}
    parts: dict[str, Schema] = {"Row": row}
    anomalies = schema_of(list[LostAnomaly], parts)
    properties |= {"anomalies": anomalies, "left_out": {"type": "integer"}, "others": {"type": ["object", "null"]}}
    required = ["file", "rows", "anomalies"]
    if verb.keyed:
        keys = list(verb.keyed([]))
        del properties["rows"]
        properties |= {key: {"type": "object", "additionalProperties": rows["items"]} for key in keys}
        required = ["file", *keys, "anomalies"]
    if verb.headline:
        properties["headline"] = {"type": "array", "items": {"type": "string"}}
        required.append("headline")
    if verb.other:
        properties |= {"baseline": {"type": "string"}, "baseline_anomalies": anomalies}
        required.append("baseline_anomalies")
    found: Schema = {"description": f"`regimeter {verb.name} TRACE --json`: {verb.help}", "properties": properties}
    return found | {"type": "object", "required": required, "$defs": parts}


def _texts() -> Schema:
    return {"type": "object", "additionalProperties": {"type": "string"}}


def _cell(column: dict[str, Any], code: str | None) -> Schema:
    unit = f" [{column['unit']}]" if column["unit"] else ""
    if code:
        kind: Schema = {"enum": [*getattr(_core, code), None]}
    elif column["type"] == "name":
        kind = {"type": "string"}
    else:
        kind = {"type": ["number", "null"] if column["type"].startswith("float") else "integer"}
    return kind | {"description": f"{column['doc']}{unit}"}
