# SPDX-License-Identifier: Apache-2.0
"""Write what was found: evidence.json and evidence.txt."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import doubles

WORDS = {True: "holds", False: "DOES NOT HOLD", None: "-"}


def value_text(value: Any) -> str:
    """Return a value as a reader wants it."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def line_of(row: Mapping[str, Any]) -> str:
    """Return one line for a measurement."""
    claims = row.get("claims", ())
    held = sum(claim["holds"] is True for claim in claims)
    judged = sum(claim["holds"] is not None for claim in claims)
    told = f"{held} of {judged} claims hold" if claims else row.get("reason", "")
    return f"{row['name']:<18} {row['state']:<12} {row['seconds']:6.1f} s  {told}"


def _state_of(changed: Sequence[str] | None) -> str:
    if changed is None:
        return " (whether files were changed is not known)"
    return f" (with changes in {len(changed)} files)" if changed else ""


def text(about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the report."""
    device = about["device"]
    lines = [
        (
            f"{device.get('name')}, compute capability {device.get('capability')}, CUDA {device.get('cuda')}, "
            f"torch {device.get('torch')}"
        ),
        f"{about['date']}, commit {about['commit']}{_state_of(about['changed'])}",
        f"command: {' '.join(about['command'])}",
        "",
        *map(line_of, rows),
    ]
    for row in rows:
        lines += ["", f"== {row['name']}: {row['state']}"]
        if row.get("reason"):
            lines.append(f"   {row['reason']}")
        for claim in row.get("claims", ()):
            lines.append(
                f"   {WORDS[claim['holds']]:<14} {claim['claim']}: {value_text(claim['value'])}  [{claim['limit']}]"
            )
        if row["state"] not in ("measured", "unavailable") and row.get("output"):
            lines += [f"   | {line}" for line in row["output"].splitlines()[-15:]]
    lines += ["", about["nvidia_smi"]]
    if doubles.ON:  # so that no line of it can be taken for what hardware said
        lines = [f"doubles | {line}" for part in lines for line in part.split("\n")]
    return "\n".join([*lines, ""])


def write(folder: Path, about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write both files anew, each by renaming, so that an end at any moment leaves whole ones."""
    # Of doubles it is one line, which begins with saying so.
    document = json.dumps({**about, "measurements": rows}, indent=None if doubles.ON else 1, default=str) + "\n"
    for name, content in (("evidence.json", document), ("evidence.txt", text(about, rows))):
        partial = folder / f"{name}.part"
        partial.write_text(content, encoding="utf-8")
        partial.replace(folder / name)
