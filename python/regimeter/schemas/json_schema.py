# SPDX-License-Identifier: Apache-2.0
"""JSON Schema of a Python type: what JSON-ready dictionaries hold is stated as TypedDicts and dataclasses."""

import dataclasses
import enum
import inspect
import types
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

Schema = dict[str, Any]
SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}


def schema_of(kind: Any, parts: dict[str, Schema]) -> Schema:
    """Return the schema of a type. parts: takes the objects in it by the name of their class, which it refers to.

    A figure of a dataclass that is no number (nan, infinite) is null in JSON, so its floats may be null.
    TypeError for a type that JSON has no form for.
    """
    if kind is Any or kind is object:
        return {}
    if kind in SIMPLE:
        return {"type": SIMPLE[kind]}
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, types.UnionType):
        return _either([schema_of(one, parts) for one in inner])
    if inspect.isclass(origin) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(inner[1], parts)}
    if inspect.isclass(origin) and issubclass(origin, Sequence):
        return {"type": "array", "items": schema_of(inner[0], parts)}
    if inspect.isclass(kind) and issubclass(kind, enum.Enum):
        return {"enum": [one.value for one in kind]}
    if inspect.isclass(kind) and issubclass(kind, date):
        return {"type": "string"}
    if is_typeddict(kind) or dataclasses.is_dataclass(kind):
        if kind.__name__ not in parts:
            parts[kind.__name__] = {}  # it may hold others of its kind
            parts[kind.__name__] = object_of(kind, parts)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    raise TypeError(f"JSON has no form for {kind!r}")


def object_of(kind: Any, parts: dict[str, Schema]) -> Schema:
    """Return the schema of a TypedDict, or of a dataclass.

    Of a dataclass what it neither shows nor compares is left out, and what its class says of all is there.
    """
    if is_typeddict(kind):
        fields, required = get_type_hints(kind), kind.__required_keys__
    else:
        hints = get_type_hints(kind)
        fields = {f.name: hints[f.name] for f in dataclasses.fields(kind) if f.repr or f.compare}
        fields = {name: hint | None if hint is float else hint for name, hint in fields.items()}
        fields |= {name: get_args(hint)[0] for name, hint in hints.items() if get_origin(hint) is ClassVar}
        required = frozenset(fields)
    return {
        "type": "object",
        "description": inspect.cleandoc(kind.__doc__ or ""),
        "properties": {name: schema_of(hint, parts) for name, hint in fields.items()},
        "required": [name for name in fields if name in required],
    }


def _either(schemas: Sequence[Schema]) -> Schema:
    if all(set(one) == {"type"} for one in schemas):
        return {"type": [one["type"] for one in schemas]}
    return {"anyOf": list(schemas)}
