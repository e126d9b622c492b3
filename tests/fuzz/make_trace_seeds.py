# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of fuzz_trace_import: head, a few events of every kind, and tail of real traces.

``python tests/fuzz/make_trace_seeds.py COLLECTION tests/fuzz/seeds/fuzz_trace_import``. The text of each event
stays as its writer printed it.
"""

import gzip
import json
import re
import sys
from pathlib import Path

TRACES = (
    "v100_2021_01_bare_array.json.gz",
    "v100_2021_gpu_metrics.json",
    "diff_small_base.json.gz",
    "diff_v100_test.json.gz",
    "a100_cupti_counters.json.gz",
    "a100_event_sync.json.gz",
    "v100_2024_04_absolute_ns.json.gz",
    "a100_nccl_2024.json.gz",
    "a100_triton.json.gz",
    "mi250_rocm62.json.gz",
    "mtia_inference.json.gz",
    "cpu_only_no_schema.json.gz",
    "h100_bert_small.json.gz",
    "mi300_vllm_decode_graph.json.gz",
    "h100_2026_04_writer_mock.json",
)
FIRST, PER_KIND, MAX_BYTES = 6, 2, 10_000
OWNER = re.compile(r'("(?:host_name|username|tw_\w+|mast_\w+|trace_id|group_trace_id)": )"[^"]*"')


def events_of(text: str) -> tuple[int, list[tuple[str, dict[str, object]]], int]:
    """Return where the first event begins, all events as text and value, and where the last one ends."""
    decoder = json.JSONDecoder()
    at = text.index("[", text.index('"traceEvents"')) + 1 if '"traceEvents"' in text else text.index("[") + 1
    begin, found = 0, []
    while True:
        at = re.compile(r"[\s,]*").match(text, at).end()  # type: ignore[union-attr]
        if text[at] == "]":
            return begin, found, at
        value, end = decoder.raw_decode(text, at)
        begin = begin or at
        found.append((text[at:end], value))
        at = end


def excerpt(text: str) -> str:
    """Return head, chosen events and tail, without the long lists of the head."""
    begin, events, end = events_of(text)
    seen: dict[tuple[object, ...], int] = {}
    chosen, size = [], 0
    for i, (piece, event) in enumerate(events):
        kind = (event.get("ph"), event.get("cat"), str(event.get("name"))[:6] if event.get("ph") in "iM" else "")
        seen[kind] = seen.get(kind, 0) + 1
        wanted = i < FIRST or seen[kind] <= PER_KIND or i >= len(events) - 2
        if wanted and size + len(piece) < MAX_BYTES:
            chosen.append(piece)
            size += len(piece) + 2
    head, tail = text[:begin], text[end:]
    head = re.sub(r'"metadata": \{.*?"__ignore_me": \{\}\s*\},', '"metadata": {"num_errors": 0},', head, flags=re.S)
    head = re.sub(r'(\{\s*"id": 0,.*?\n    \}),.*?\n  \]', r"\1\n  ]", head, count=1, flags=re.S)
    tail = re.sub(r'"INFO": \[.*\]', '"INFO": ["INFO:2024 [x] y"]', tail)
    whole = OWNER.sub(r'\1"x"', head) + ",\n  ".join(chosen) + OWNER.sub(r'\1"x"', tail)
    json.loads(whole)
    return whole


def main() -> int:
    """Write one seed a trace, without their compression."""
    collection, target = Path(sys.argv[1]), Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    for name in TRACES:
        data = (collection / name).read_bytes()
        text = (gzip.decompress(data) if name.endswith(".gz") else data).decode("utf-8", "replace")
        seed = excerpt(text)
        (target / name.split(".")[0]).write_text(seed)
        print(f"{name}: {len(seed)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
