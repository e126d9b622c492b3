#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Take what names a machine or its folders out of a collection, and nothing else.

    python3 tools/keep_evidence.py FROM TO

Copies evidence.json, evidence.txt and contact.jsonl from one folder to the other, as far as they are there.
Identifiers of devices, serial numbers, host names and process ids go, and the folders of the checkout, of the
interpreter and of temporary files become words.
"""

import re
import sys
from pathlib import Path

FILES = ("evidence.json", "evidence.txt", "contact.jsonl")
IDENTIFIER = re.compile(r"(GPU-)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# Lines of `nvidia-smi -q` that name one card or board.
NAMES_A_CARD = re.compile(r"( *(?:Serial Number|GPU PDI|GPU UUID|Board Part Number|Product Serial)\s*: )[^\\\n]*")
TEMPORARY = re.compile(r"/tmp/[\w.-]+")
ENVIRONMENTS = re.compile(r"/[\w./-]*?/(?=lib/python3\.\d+/site-packages|bin/python)")


def folders_of(text: str) -> list[str]:
    """Return the folders that tests/gpu is said to lie in, the longest first."""
    found = set(re.findall(r"(/[\w./-]*?/)(?=tests/gpu/|build/gpu/|python/regimeter/)", text))
    found |= {f"{folder}/" for folder in re.findall(r'"directory": "(/[^"]*)"', text)}
    return sorted(found, key=len, reverse=True)


def cleaned(text: str) -> str:
    """Return the text without what names a machine."""
    for folder in folders_of(text):
        text = text.replace(folder, "").replace(folder.rstrip("/") + '"', '."')
    text = ENVIRONMENTS.sub("", TEMPORARY.sub("TEMPORARY", text))
    text = NAMES_A_CARD.sub(r"\1-", IDENTIFIER.sub(r"\1-", text))
    return re.sub(r'"(host|pid)": ("[^"]*"|\d+)', r'"\1": null', text)


def main() -> int:
    """Copy."""
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    source, target = map(Path, sys.argv[1:])
    target.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        if (source / name).exists():
            (target / name).write_text(cleaned((source / name).read_text(encoding="utf-8")), encoding="utf-8")
            print(target / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
