# SPDX-License-Identifier: Apache-2.0
"""The dashboard, the rules, the unit and the container of examples/, against what the monitor exports and takes."""

import json
import re
import shlex
from pathlib import Path

import fakes
import pytest
from places import ROOT
from watching import SCOPES, Watched

from regimeter.cli import make_parser
from regimeter.cli.watching import watch_of
from regimeter.cli.words import split_program

EXAMPLES = ROOT / "examples"
NAME = re.compile(r"\b(?:regimeter|DCGM)_\w+")
LABELS = re.compile(r"(\w+)\{([^}]*)\}")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """What a monitor exports with everything it has: the labels of each name."""
    pytest.importorskip("prometheus_client")
    environment = {**fakes.environment(nvml=""), "REGIMETER_LIBCUDA": "off"}
    watched = Watched(tmp_path_factory.mktemp("watched"), "--alert", "all", **environment)
    try:
        found = watched.until(SCOPES)
    finally:
        watched.end()
    names: dict[str, set[str]] = {}
    for name, labels in found:
        names.setdefault(name, set()).update(dict(labels))
    return {**names, "regimeter_anomalies_total": {"code"}}  # it has a sample where something was lost


def check(expressions: list[str], exported: dict[str, set[str]]) -> None:
    for text in expressions:
        used = NAME.findall(text)
        assert used, text
        for name in used:
            assert name in exported, f"{name} in {text}"
        for name, labels in LABELS.findall(text):
            asked = set(re.findall(r"(\w+)\s*(?:=|!)~?", labels)) - {"instance", "job"}
            assert asked <= exported[name], text


def test_the_dashboard_asks_for_what_is_exported(exported: dict[str, set[str]]) -> None:
    board = json.loads((EXAMPLES / "grafana-dashboard.json").read_text())
    check([target["expr"] for panel in board["panels"] for target in panel["targets"]], exported)
    queries = [row["query"] for row in board["templating"]["list"] if row["type"] == "query"]
    check(queries, exported)
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    legends = [
        (label, name)
        for panel in board["panels"]
        for target in panel["targets"]
        for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])
        for name in NAME.findall(target["expr"])
    ]
    assert all(label == "instance" or label in exported[name] for label, name in legends)


def test_the_rules_ask_for_what_is_exported(exported: dict[str, set[str]]) -> None:
    yaml = pytest.importorskip("yaml")
    document = yaml.safe_load((EXAMPLES / "prometheus-alerts.yml").read_text())
    rules = [rule for group in document["groups"] for rule in group["rules"]]
    check([rule["expr"] for rule in rules], exported)
    assert all({"alert", "expr", "labels", "annotations"} <= set(rule) for rule in rules)


def commands() -> list[list[str]]:
    unit = (EXAMPLES / "regimeter-monitor.service").read_text()
    container = (EXAMPLES / "Containerfile").read_text()
    started = re.findall(r"^ExecStart=(.*)$", unit, re.M)
    entries = re.findall(r"^ENTRYPOINT (.*)$", container, re.M)
    return [*map(shlex.split, started), *([*json.loads(entry), "train.py"] for entry in entries)]


@pytest.mark.parametrize("words", commands(), ids=["unit", "container"])
def test_the_commands_are_ours(words: list[str], tmp_path: Path) -> None:
    assert words[0].endswith("regimeter")
    ours, program = split_program(words[1:])
    arguments = make_parser().parse_args(ours)
    arguments.program, arguments.output = program, str(tmp_path / "run.rgm")
    watch = watch_of(arguments, None)
    assert watch.keep_s == 600
    assert len(watch.rules) == 5
    assert len(program) == 1
