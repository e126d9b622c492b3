# SPDX-License-Identifier: Apache-2.0
"""Write what follows from the schema: docs/schema.md and the tables of python/regimeter/_core.pyi.

Usage: describe_schema.py [--check]; with --check nothing is written and a difference is an error.
Needs an installed regimeter, whose core is asked for its schema.
"""

import sys
import textwrap
from pathlib import Path
from typing import Any

from generated import settle

from regimeter import _core

ROOT = Path(__file__).resolve().parent.parent
STUB = ROOT / "python/regimeter/_core.pyi"
TABLE = ROOT / "docs/schema.md"
BEGIN = "# --- begin of generated tables\n"
END = "# --- end of generated tables\n"


def class_name(table: str) -> str:
    """Return the stub's class of a table."""
    return "".join(word.capitalize() for word in table.split("_")) + "Table"


def stub_classes(schema: dict[str, dict[str, Any]]) -> str:
    """Return one class per table, with an attribute per column."""
    lines = []
    for group in schema.values():
        for table, description in group.items():
            lines += [
                "",
                "@type_check_only",
                f"class {class_name(table)}(Table):",
                f'    """{description["doc"]}"""',
                "",
            ]
            for column in description["columns"]:
                lines.append(f"    {column['name']}: NDArray[np.{column['dtype']}]")
                unit = f" [{column['unit']}]" if column["unit"] else ""
                lines += textwrap.wrap(
                    f'"""{column["doc"]}{unit}"""', width=120, initial_indent="    ", subsequent_indent="    "
                )
    return "\n".join(lines).lstrip("\n") + "\n"


def code_lists() -> list[str]:
    """Return the names of the core's lists of codes, each a tuple of texts."""
    return [name for name in dir(_core) if name.isupper() and isinstance(getattr(_core, name), tuple)]


def stub_constants() -> str:
    """Return the stubs of the lists of codes and of the flags."""
    flags = [name for name in dir(_core) if name.startswith("FLAG_")]
    lines = [f"{name}: Final[tuple[str, ...]]" for name in code_lists()]
    return "\n".join(lines + [f"{name}: Final[int]" for name in flags]) + "\n"


def document(schema: dict[str, dict[str, Any]]) -> str:
    """Return the documentation table."""
    lines = [
        "# Data model",
        "",
        "Written by `tools/describe_schema.py` from `csrc/model/schema.h`; change the header, then run the tool.",
        "A `name` column holds ids of the run's string table; every other type is NumPy's.",
    ]
    titles = {"run": "Tables of a run", "results": "Result tables"}
    for group, tables in schema.items():
        lines += ["", f"## {titles[group]}"]
        for table, description in tables.items():
            lines += [
                "",
                f"### {table}",
                "",
                description["doc"],
                "",
                "| column | type | unit | meaning |",
                "|---|---|---|---|",
            ]
            lines += [f"| `{c['name']}` | {c['type']} | {c['unit']} | {c['doc']} |" for c in description["columns"]]
    lines += ["", "## Thresholds", "", "| name | default | unit | source |", "|---|---|---|---|"]
    lines += [
        f"| `{name}` | {row['default']:g} | {row['unit']} | {row['source']} |" for name, row in _core.policy().items()
    ]
    lines += ["", "## Options of a recording", "", "| name | default | unit | meaning |", "|---|---|---|---|"]
    lines += [
        f"| `{name}` | {row['default']} | {row['unit']} | {row['doc']} |" for name, row in _core.options().items()
    ]
    lines += ["", "## Names of codes", ""]
    for constant in code_lists():
        lines.append(f"- `{constant}`: {', '.join(f'{i} {name}' for i, name in enumerate(getattr(_core, constant)))}")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the files, or compare them."""
    schema = _core.schema()
    stub = STUB.read_text(encoding="utf-8")
    head, rest = stub.split(BEGIN)
    tail = rest.split(END)[1]
    wanted = {STUB: head + BEGIN + stub_constants() + stub_classes(schema) + END + tail, TABLE: document(schema)}
    return settle(wanted, check="--check" in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
