# SPDX-License-Identifier: Apache-2.0
"""The verbs of the suite: profile, memory, compile; S10: each does what it says, or says in one line why not."""

import gc
import json
import sys

import pytest
from needed import package
from page_data import sections_of
from published import check

from regimeter.cli import main

torch = package("torch")

PROGRAM = """
import sys
import torch

def make(size):
    return torch.ones(size, size)

kept = make(int(sys.argv[1]))
print("program", __name__, sys.argv[1:], (kept @ kept).sum().item())
sys.exit(3)
"""
MODEL = """
import torch

model = torch.nn.Linear(4, 2)
make = lambda: torch.ones(3, 4)

def broken(x):
    y = torch.sin(x)
    torch._dynamo.graph_break()
    return torch.cos(y)

number = 3
assert __name__ != "__main__"
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    gc.collect()  # what other tests left in circles would be freed while memory is looked at
    gc.freeze()  # and what they left for good need not be looked through again
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


def test_profile_runs_a_program_and_keeps_its_trace(program, capsys):
    before = sys.argv, sys.path[:]
    assert main(["profile", "-o", "out", "--no-memory", "train.py", "64", "--flag"]) == 3
    assert (sys.argv, sys.path) == before
    out, err = capsys.readouterr()
    assert out == "program __main__ ['64', '--flag'] 262144.0\n"
    assert "aten::mm" in err
    assert "cuda_time_ms: unavailable: no device work was recorded" in err
    traces = list((program / "out").glob("train-*-trace.json"))
    assert len(traces) == 1
    assert str(traces[0].relative_to(program)) in err
    assert main(["flame", str(traces[0]), "-o", "flame.html", "-q"]) == 0, "what it keeps is read by the other verbs"
    assert main(["timeline", str(traces[0]), "-q"]) == 0
    assert main(["hta", str(traces[0]), "-q"]) == 0


def test_profile_prints_the_session_as_json(program, capsys):
    assert main(["profile", "--json", "--no-stack", "--disk-budget-mb", "0", "--", "train.py", "8"]) == 3
    document = check(json.loads(capsys.readouterr().out.partition("\n")[2]))
    assert document["format"] == "regimeter.suite.session"
    assert document["files"]["trace"] is None


def test_a_program_that_raises_fails_as_it_would(program, capsys):
    (program / "bad.py").write_text("import torch\ntorch.ones(2) @ torch.ones(3)\n")
    assert main(["profile", "-q", "bad.py"]) == 1
    err = capsys.readouterr().err
    assert "RuntimeError" in err
    assert "bad.py" in err


def test_memory_prints_the_peak_and_who_asked_for_it(program, capsys):
    assert main(["memory", "--interval", "0", "train.py", "500"]) == 3
    out, err = capsys.readouterr()
    assert out.startswith("program __main__ ['500']")
    assert err.startswith("peak ")
    assert "train.py(5): make" in err


@pytest.mark.parametrize("name", ["m.json", "m.pickle", "m.html"])
def test_memory_is_written_in_each_form(program, name):
    assert main(["memory", "-q", "-o", name, "-m", "train", "100"]) == 3
    content = (program / name).read_bytes()
    if name == "m.json":
        assert json.loads(content)["peak_analysis"]["peak_allocated_mb"] > 0.04
    elif name == "m.html":
        text = content.decode()
        sections = sections_of(text)
        assert any("make" in caller for caller in sections["allocations"]["columns"][0]["values"])
        assert len(sections["levels"]["series"][0]["value"]) > 1
    else:
        assert content.startswith(b"\x80")


def test_compile_prints_breaks_and_writes_pages(program, capsys):
    words = ["compile", "model.py:broken", "--shape", "4,4", "--backend", "eager", "--iterations", "1"]
    assert main([*words, "-o", "c.html"]) == 0
    out = capsys.readouterr().out
    assert "2 graphs, 1 breaks" in out
    assert "model.py:9" in out
    breaks = sections_of((program / "c.html").read_text())["breaks"]
    assert "model.py:9" in breaks["columns"][0]["values"][0]
    words[1:4] = ["model.py:model", "--inputs", "make"]
    assert main([*words, "--mode", "default", "--mode", "reduce-overhead", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["default", "reduce-overhead"]
    assert all(check(one) for one in found.values())
    assert found["default"]["graphs"] == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["profile"], "no program to run"),
        (["profile", "absent.py"], "absent.py: no such file"),
        (["memory", "-c", "pass"], "a script is expected"),
        (["memory", "-o", "x.txt", "train.py"], "x.txt"),
        (["compile", "model.py"], "FILE.py:NAME"),
        (["compile", "model.py:absent"], "has no 'absent'"),
        (["compile", "model.py:number"], "is no function"),
        (["compile", "absent.py:x"], "no such file"),
        (["compile", "model.py:model", "--backend", "no"], "unknown backend 'no'"),
        (["compile", "model.py:model", "--shape", "a"], "expected sizes"),
        (["compile", "model.py:model", "--mode", "a", "-o", "c.html"], "unknown mode 'a'"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(program, refused, words, says):
    """S10: no verb prints a note and does nothing, or ends with its help."""
    refused(words, says)


def test_the_package_has_the_same_verbs(program, run_python):
    done = run_python(
        "import runpy, sys; sys.argv = ['suite', 'hta', '--help']\n"
        "runpy.run_module('regimeter.suite', run_name='__main__')",
        check=False,
    )
    assert done.returncode == 0
    assert "usage: regimeter hta" in done.stdout


def test_without_torch_each_verb_and_class_names_the_extra(program, run_python):
    done = run_python(
        """
        import sys
        sys.modules["torch"] = None
        import regimeter
        from regimeter.cli import main
        for words in (["profile", "train.py"], ["memory", "train.py"], ["compile", "model.py:model"]):
            assert main(words) == 1
        for kind in (regimeter.UnifiedProfiler, regimeter.MemoryProfiler, regimeter.TorchCompileAnalyzer):
            try:
                kind()
            except regimeter.UnavailableError as error:
                print(error)
        """
    )
    assert done.stderr.count("pip install 'regimeter[torch]'") == 3
    told = done.stdout.splitlines()
    assert told[0] == "profiling needs the package torch; install it: pip install 'regimeter[torch]'"
    assert ["pip install 'regimeter[torch]'" in line for line in told] == [True] * 3
