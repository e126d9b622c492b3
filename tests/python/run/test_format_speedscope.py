# SPDX-License-Identifier: Apache-2.0
"""speedscope's JSON, read back by speedscope's own importer (through node) and checked against its schema."""

import json
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from naive_stacks import Layout, naive_stacks
from needed import need, package
from places import ROOT
from run_strategies import runs
from runs import build_run
from traces import load_trace

from regimeter import Run

PACKAGE = "speedscope@1.25.0"
TRACES = ["a100_alexnet_cuda_sync.json.gz", "h100_qwen_orphans.json.gz", "mi300_vllm_decode_graph.json.gz"]
FORMATS = ["speedscope", "speedscope-sampled"]
HERE = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="session")
def release() -> Path:
    """The folder of speedscope's published build: REGIMETER_SPEEDSCOPE, or installed once into the build folder."""
    given = os.environ.get("REGIMETER_SPEEDSCOPE")
    folder = Path(given) if given else ROOT / "build" / "speedscope"
    if not given and not (folder / "node_modules").exists():
        npm = shutil.which("npm")
        need("speedscope", npm, "npm is not here to install it")
        command = [npm, "install", "--prefix", str(folder), "--ignore-scripts", "--no-save", "--no-audit", PACKAGE]
        try:
            subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
        except subprocess.SubprocessError as problem:
            shutil.rmtree(folder, ignore_errors=True)
            need("speedscope", False, f"it cannot be installed: {problem}")
    found = sorted(folder.glob("**/dist/release/file-format-schema.json"))
    need("speedscope", found, f"no build below {folder}")
    return found[0].parent


def read_by_speedscope(paths: list[Path], release: Path) -> list[list[dict[str, Any]]]:
    """Return the profiles of each file."""
    node = shutil.which("node")
    need("speedscope", node, "node is not here to run its importer")
    (bundle,) = release.glob("speedscope-*.js")
    command = [node, str(Path(__file__).with_name("read_speedscope.js")), str(bundle), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def expected_profiles(run: Run) -> list[tuple[Counter[str], Counter[str]]]:
    """Per track: the sum of durations and the self time by name."""
    layout, profiles = Layout(run), []
    for rows in layout.tracks.values():
        total: Counter[str] = Counter()
        own: Counter[str] = Counter()
        for i in rows:
            total[layout.names[i]] += layout.duration[i]
            own[layout.names[i]] += layout.duration[i]
            if layout.above[i]:
                own[layout.names[layout.above[i][-1]]] -= layout.duration[i]
        profiles.append((+total, +own))
    return profiles


def key(pair: tuple[Counter[str], Counter[str]]) -> list[Any]:
    return [sorted(counter.items()) for counter in pair]


@pytest.mark.parametrize("name", TRACES)
def test_real_traces_are_read_by_speedscope(name, release, tmp_path):
    """In both forms of its own, and as collapsed stacks."""
    run = load_trace(name)
    files = [tmp_path / f"{chosen}.json" for chosen in FORMATS]
    for file in files:
        run.export(file, file.stem)
    run.export(tmp_path / "x.folded")
    *both, (collapsed,) = read_by_speedscope([*files, tmp_path / "x.folded"], release)
    assert collapsed["weight"] == sum(naive_stacks(run)[0].values())
    span = int((run.spans.start_ns + run.spans.duration_ns).max() - run.spans.start_ns.min())
    expected = sorted(map(key, expected_profiles(run)))
    for profiles in both:
        found = []
        for profile in profiles:
            assert profile["unit"] == "nanoseconds"
            total: Counter[str] = Counter()
            for called, _, duration in profile["calls"]:
                total[called] += duration
            found.append((+total, +Counter({frame: own for frame, (own, _) in profile["frames"].items()})))
            assert profile["weight"] <= span
        # A track of nothing but spans without length is there, too.
        assert sorted(map(key, found)) == expected


# --- without node -------------------------------------------------------------------------------------------------


def replay(profile: dict[str, Any], names: list[str]) -> tuple[Counter[str], Counter[str]]:
    """Sums of durations and self times by name, and the rules of the format on the way."""
    total: Counter[str] = Counter()
    own: Counter[str] = Counter()
    assert profile["startValue"] == 0
    if profile["type"] == "sampled":
        assert len(profile["samples"]) == len(profile["weights"])
        assert sum(profile["weights"]) == profile["endValue"]
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
            assert weight > 0
            for frame in stack:
                total[names[frame]] += weight
            if stack:
                own[names[stack[-1]]] += weight
        return total, own
    stack: list[tuple[int, int]] = []
    at = 0
    for event in profile["events"]:
        assert at <= event["at"] <= profile["endValue"]
        if stack:
            own[names[stack[-1][0]]] += event["at"] - at
        at = event["at"]
        if event["type"] == "O":
            stack.append((event["frame"], at))
        else:
            frame, start = stack.pop()
            assert frame == event["frame"]
            total[names[frame]] += at - start
    assert not stack
    return +total, +own


@pytest.mark.parametrize("chosen", FORMATS)
@HERE
@given(run=runs())
def test_hostile_runs_replay(chosen, run, tmp_path):
    run.export(tmp_path / "x.speedscope.json", chosen)
    document = json.loads((tmp_path / "x.speedscope.json").read_bytes().decode("utf-8"))
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    names = [frame["name"] for frame in document["shared"]["frames"]]
    found = [replay(profile, names) for profile in document["profiles"]]
    assert sorted(map(key, found)) == sorted(map(key, expected_profiles(run)))


@pytest.mark.parametrize("chosen", FORMATS)
def test_the_published_schema_accepts_it(chosen, release, tmp_path):
    jsonschema = package("jsonschema")
    schema = json.loads((release / "file-format-schema.json").read_text())
    for run in (load_trace("diff_small_base.json.gz"), build_run([], [])):
        run.export(tmp_path / "x.speedscope.json", chosen)
        jsonschema.validate(json.loads((tmp_path / "x.speedscope.json").read_text()), schema)


def test_tracks_are_named(tmp_path):
    lanes = [{"process": 1, "thread": 2, "name": "worker", "process_name": "python"}]
    spans = [{"start_ns": i, "duration_ns": 3, "name": "f"} for i in (0, 2)]
    build_run(spans, lanes).export(tmp_path / "x.speedscope.json")
    document = json.loads((tmp_path / "x.speedscope.json").read_text())
    assert [p["name"] for p in document["profiles"]] == ["python worker", "python worker (overlapping 1)"]
