# SPDX-License-Identifier: Apache-2.0
"""A comparison that was written as JSON, as a decision again."""

import dataclasses
import json
import math
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from ..run.format_error import format_error
from .decide import Decision
from .environments import Difference
from .floors import UNSTATED, Floors
from .options import Options
from .result import ChangeType, OperationComparison
from .side import Side

Made = TypeVar("Made")
REMEDY = "expected what export_comparison or `regimeter compare --format json` wrote"


def read(path: str | os.PathLike[str], make: Callable[[dict[str, Any]], Made]) -> Made:
    """Return what `make` makes of the document of a file. FormatError, which names the file, where it is none."""
    try:
        return make(parse(Path(path).read_bytes()))
    except ValueError as error:
        raise format_error(f"{os.fspath(path)}: {error}") from None


def parse(text: str | bytes) -> dict[str, Any]:
    """Return the JSON object of a text. FormatError where it is none."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise format_error(f"not valid JSON: {error}; {REMEDY}") from None
    if not isinstance(document, dict):
        raise format_error(f"a JSON {type(document).__name__}; {REMEDY}")
    return document


def decision_of(document: Mapping[str, Any], form: str, version: int) -> Decision:
    """Return the decision that a document describes. FormatError names the place of what is wrong."""
    if document.get("format") != form:
        raise format_error(f"format {document.get('format')!r}, expected {form!r}; {REMEDY}")
    stated = document.get("version")
    if not isinstance(stated, int) or stated > version:
        raise format_error(f"version {stated!r} of the format, this regimeter reads up to {version}")
    try:
        return _decision(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise format_error(f"a damaged comparison: {what}; {REMEDY}") from None


def _decision(document: Mapping[str, Any]) -> Decision:
    sides = []
    for label in ("baseline", "current"):
        environments = document["environments"][label]
        sides.append(Side(label, environments=[dict(one) for one in environments]))
    floors = document.get("run_floors") or {}
    return Decision(
        options=_options(document),
        baseline=sides[0],
        current=sides[1],
        policy={str(name): float(value) for name, value in (document.get("policy") or {}).items()},
        floors=Floors(
            dict(floors.get("by_operation") or {}), str(floors.get("source", UNSTATED)), str(floors.get("machines", ""))
        ),
        differences=tuple(_made(Difference, one) for one in document.get("environment_differences", ())),
        comparisons=[_row(number, one) for number, one in enumerate(document["comparisons"])],
        wholes=[_row(number, one) for number, one in enumerate(document["wholes"])],
        facts=_facts(document["facts"]),
        warnings=[str(text) for text in document["warnings"]],
    )


def _options(document: Mapping[str, Any]) -> Options:
    names = {one.name for one in dataclasses.fields(Options)} - {"policy", "row_rule", "run_floor", "wholes"}
    known = {name: document[name] for name in names if name in document}
    return Options(significance_threshold=document["threshold_percent"], policy=document.get("policy"), **known)


def _row(number: int, values: Mapping[str, Any]) -> OperationComparison:
    try:
        row: OperationComparison = _made(
            OperationComparison, {**values, "change_type": ChangeType(values["change_type"])}
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"row {number}: {error}") from None
    return row


def _made(kind: type[Any], values: Mapping[str, Any]) -> Any:
    """Return an instance from the fields that this version knows. TypeError for a value of another type."""
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name in values}
    for name, hint in hints.items():
        if not _fits(values[name], hint):
            raise TypeError(f"{name} is {values[name]!r}")
    return kind(**{name: values[name] for name in hints})


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the simple type of a field, or of one of several."""
    kinds = get_args(hint) or (hint,)
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return isinstance(value, kinds) or (float in kinds and type(value) is int and abs(value) <= sys.float_info.max)


def _facts(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what holds for all rows: numbers, the interval of the common change whole or not at all, and a name."""
    worst, common = values.get("worst_operation"), [values.get(f"common_{end}") for end in ("mode", "low", "high")]
    numbers = {name: value for name, value in values.items() if name != "worst_operation"}
    if not isinstance(worst, str | None) or not all(_fits(value, float | bool | None) for value in numbers.values()):
        raise TypeError("a fact that is no number")
    if None in common and common != [None] * len(common):
        raise ValueError("a part of the common change's interval")
    return dict(values)
