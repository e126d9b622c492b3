# SPDX-License-Identifier: Apache-2.0
"""The published schemas, against documents of the real producers; what takes long is checked where it is made."""

import json
import re
from pathlib import Path

import pytest
from needed import package
from published import check
from traces import load_trace, trace_path

import regimeter
from regimeter import GPUProfiler, ProfilerComparison
from regimeter.analysis.catalog import find_verbs
from regimeter.cli import main
from regimeter.schemas import find_schema, names

TRACES = ("a100_simple_add.json.gz", "h100_bert_small.json.gz")
# The data inside a page, which only the page reads. What the server answers beyond the verbs is in its description.
INTERNAL = {"report", "document", "history"}  # data of pages


@pytest.fixture(scope="module")
def run_file(tmp_path_factory):
    """A recording with nested, failed and marked scopes, and memory."""
    file = tmp_path_factory.mktemp("runs") / "run.rgm"
    with GPUProfiler(path=file, track_memory=True) as profiler:
        for number in range(3):
            with profiler.profile("step", device="cpu", number=number), profiler.profile("inner"):
                sum(range(1000))
    return file


@pytest.fixture
def printed(capsys):
    """Run a verb and return the document that it prints."""

    def call(*words, code=0):
        assert main([*map(str, words), "--json"]) == code
        return json.loads(capsys.readouterr().out)

    return call


def test_every_schema_is_one():
    validator = package("jsonschema").Draft202012Validator
    for name in names():
        schema = find_schema(name)
        validator.check_schema(schema)
        version = name if "/" in name else f"{name}/v1"
        assert schema["$id"] == f"regimeter.{version}"
        assert find_schema(schema["$id"]) == schema


def test_the_schemas_are_there_with_the_package(run_python):
    assert "show" in run_python("import regimeter; print(regimeter.schemas.names())").stdout


def test_every_format_of_the_package_has_a_schema():
    stated = set()
    package_folder = Path(regimeter.__file__).parent
    for file in set(package_folder.rglob("*.py")) - set(package_folder.glob("server/*.py")):
        text = file.read_text(encoding="utf-8")
        stated |= set(re.findall(r'(?:"format": |FORMAT(?:, VERSION)? = )"regimeter\.([\w.]+)"', text))
    assert len(stated) > 30
    assert stated - INTERNAL <= set(names())


@pytest.mark.parametrize("verb", [name for name in find_verbs() if name not in ("diff", "ranks")])
def test_analyses(verb):
    for trace in TRACES:
        result = load_trace(trace).result(verb)
        check(result.to_document(trace))
        check(load_trace(trace).result(verb, top=1).to_document([trace]))


def test_verbs_that_compare_and_join(printed):
    check(printed("diff", *(trace_path(name) for name in TRACES)))
    check(printed("ranks", trace_path(TRACES[1])))


@pytest.mark.parametrize("of", ["recording", "trace"])
@pytest.mark.parametrize("verb", ["show", "suggest", "explain", "regime", "doctor", "timeline", "hta"])
def test_verbs_of_a_run(verb, of, run_file, printed):
    check(printed(verb, run_file if of == "recording" else trace_path(TRACES[1])))


def test_verbs_of_a_recording(run_file, printed):
    check(printed("memory", run_file))
    check(printed("top", run_file, "--once"))
    check(printed("query", run_file, "SELECT name, duration_ns FROM spans"))


def test_flame_graphs_state_no_format(printed):
    assert "format" not in check(printed("flame", trace_path(TRACES[0])), "flame")


def test_what_is_exported_and_compared(run_file, tmp_path, printed):
    out = tmp_path / "run.json"
    assert main(["export", str(run_file), "-o", str(out), "-q"]) == 0
    check(json.loads(out.read_text()))
    check(printed("show", out))
    assert main(["export", str(run_file), "-o", str(out), "--table", "spans", "-q"]) == 0
    check(json.loads(out.read_text()))
    check(printed("recover", run_file, "-o", tmp_path / "again.rgm"))
    check(ProfilerComparison(str(run_file), str(run_file)).to_dict())


def test_the_machine(printed, monkeypatch):
    monkeypatch.setattr("regimeter.cli.selftest.BURSTS", 2)
    check(printed("selftest", "overhead"))
    check(printed("doctor"))
    check(printed("workloads", "list"))


def test_the_verb_lists_and_prints(printed, capsys, refused):
    assert printed("schema") == names()
    assert main(["schema", "show"]) == 0
    assert json.loads(capsys.readouterr().out) == find_schema("show")
    refused(["schema", "shows"], "did you mean show")
