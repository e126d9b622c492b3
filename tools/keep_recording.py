#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Take what names a machine or its folders out of recordings, and nothing else, and pack them for tests.

    python3 tools/keep_recording.py FOLDER FILE ...

Each FILE becomes FOLDER/NAME.rgm.xz. Paths of installed packages begin with `lib/python`, those of the program with its
folder's last part; host, process ids and identifiers of devices go.
"""

import json
import lzma
import re
import sys
import tempfile
from pathlib import Path

from keep_evidence import cleaned

from regimeter import Run, load
from regimeter.public.tables import Tables

INSTALLED = re.compile(r"^/.*?/(?=lib/python3\.\d+/)")
OURS = re.compile(r"^/.*?/(?=regimeter/)")


def moved(text: str) -> str:
    """Return a string of a run with the folders of the machine cut off."""
    if text.startswith('{"file": "/'):  # what a scope says of its place
        return re.sub(r'"/[^"]*/', '"/program/', text, count=1)
    if not text.startswith("/") or text.startswith(("/usr/lib/python", "/proc")):
        return text
    shorter = OURS.sub("/site/", INSTALLED.sub("", text))
    return shorter if shorter != text else f"/program/{Path(text).name}"


def without_machine(run: Run) -> Run:
    """Return the run with other strings and another environment, and the same columns."""
    tables = {
        name: {column: getattr(table, column) for column in table.columns}
        for name, table in ((name, run.table(name)) for name in Tables.__annotations__)
        if len(table)
    }
    environment = json.loads(cleaned(json.dumps(run.environment)))
    environment["directory"] = "/program"
    made: Run = Run._build(
        [moved(text) for text in run.strings], tables, json.dumps(environment), "record",
        run.start_ns, run.end_ns, run.start_unix_ns, True,
    )  # fmt: skip
    return made


def main() -> int:
    """Pack."""
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for path in map(Path, sys.argv[2:]):
        run = load(path)
        with tempfile.TemporaryDirectory() as temporary:
            file = Path(temporary) / "run.rgm"
            without_machine(run).save(str(file))
            packed = folder / f"{path.stem}.rgm.xz"
            packed.write_bytes(lzma.compress(file.read_bytes(), preset=9))
            print(packed, packed.stat().st_size)
    return 0


if __name__ == "__main__":
    sys.exit(main())
