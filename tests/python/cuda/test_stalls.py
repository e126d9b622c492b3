# SPDX-License-Identifier: Apache-2.0
"""Why kernels stall: PC sampling of the doubles, from the recorded program to the table, the text and the page."""

import functools
import json

import kernel_programs
import pytest
from places import TESTS

from regimeter import GPUProfiler, _core, load
from regimeter.report.trace_data import trace_data

RECORD = ["-m", "regimeter", "record", "-o", "run.rgm", "--no-structure", "--stacks", "0"]
# gemm in one scope, relu in two; the double finds a warp every microsecond, 6 of 10 times for long_scoreboard.
PROGRAM = """
import regimeter
with regimeter.profile("start"):
    pass
with regimeter.profile("matmul"):
    launch(b"_Z4gemmPf")
    launch(b"relu")
with regimeter.profile("activation"):
    launch(b"relu")
"""
KERNEL_US = 1000
CUDA = f"ready=1,kernel_ns={KERNEL_US}000"


def recorded(run_program, tmp_path, *options, **doubles):
    done = run_program(PROGRAM, arguments=[*RECORD, *options], **{"cuda": CUDA, **doubles})
    return load(tmp_path / "run.rgm"), done


def rows_of(run, **how):
    return {(row["name"], row["reason"]): row for row in run.result("stalls", **how)}


@pytest.fixture(scope="module")
def stalled(tmp_path_factory):
    """The program with its stalls and its kernels."""
    folder = tmp_path_factory.mktemp("stalled")
    return recorded(functools.partial(kernel_programs.run_program, folder), folder, "--stalls", "--kernels")[0]


def test_a_row_of_a_kernel_and_a_reason(stalled):
    run, rows = stalled, rows_of(stalled)
    gemm, relu = rows["gemm(float*)", "long_scoreboard"], rows["relu", "long_scoreboard"]
    assert (gemm["samples"], gemm["not_issued"]) == (600, 600)
    assert relu["samples"] == 1200
    assert gemm["share"] == pytest.approx(600 / 3000)
    assert gemm["name_share"] == relu["name_share"] == pytest.approx(0.6)
    assert rows["relu", "wait"]["not_issued_share"] == pytest.approx(0.5)
    assert rows["relu", "selected"]["not_issued"] == 0
    assert len(rows) == 6
    # A sample knows its kernel by name alone, so a scope is told only where it is the only one.
    assert (gemm["scope"], gemm["scopes"], gemm["launches"]) == ("matmul", 1, 1)
    assert (relu["scope"], relu["scopes"], relu["launches"]) == ("", 2, 2)
    described = run.environment["device"]
    assert described["stalls_reason"] == ""
    assert described["stalls"]["samples"] == described["stalls"]["total"] == 3000
    assert described["stalls"]["dropped"] == 0
    assert described["stalls"]["period_cycles"] == 1 << 17
    assert int(run.tables.stalls.samples.sum()) == 3000


def test_other_groupings(stalled):
    run = stalled
    assert [row["reason"] for row in run.result("stalls", by="reason")] == ["long_scoreboard", "selected", "wait"]
    by_scope = rows_of(run, by="scope")
    assert by_scope["matmul", "selected"]["samples"] == 300
    assert by_scope["", "selected"]["samples"] == 600
    instructions = list(run.result("stalls", by="instruction"))
    assert {row["offset"] for row in instructions} == {0x10, 0x50, 0x80}
    assert all(row["cubin"] == 0xC0FFEE for row in instructions)
    assert sum(row["samples"] for row in instructions) == 3000


def test_lines_of_source(run_program, tmp_path):
    """Of a kernel whose binary has line information; of others it is said that there is none."""
    folder = TESTS / "data" / "cubins"
    code = PROGRAM.replace(
        'with regimeter.profile("matmul"):',
        f"""binary = ctypes.create_string_buffer(open("{folder / "add_with_lines.cubin"}", "rb").read())
plain, module = module, made("cuModuleLoadData", binary)
with regimeter.profile("lines"):
    launch(b"add")
module = plain
with regimeter.profile("matmul"):""",
    )
    assert "add_with_lines" in code
    run_program(code, arguments=[*RECORD, "--stalls"], cuda=CUDA)
    run = load(tmp_path / "run.rgm")
    rows = {(row["name"], row["line"]): row for row in run.result("stalls", by="line")}
    assert {line for name, line in rows if name == "add"} == {4, 5, 6}
    line = rows["add", 6]
    assert (line["file"], line["reason"], line["samples"]) == ("/tmp/kernels/add.cu", "long_scoreboard", 600)
    assert rows["relu", 0]["file"] == ""
    told = run.environment["device"]["stalls"]
    assert (told["lines"], told["samples"], told["lines_reason"]) == (1000, 4000, "")
    assert (told["binaries"], told["binaries_with_lines"]) == (1, 1)
    run, _ = recorded(run_program, tmp_path, "--stalls")
    assert "told of no binary" in run.environment["device"]["stalls"]["lines_reason"]


@pytest.mark.parametrize("options", [[], ["--kernels"], ["--no-kernels"]])
def test_a_context_of_the_program_from_its_first_kernel_on(run_program, tmp_path, options):
    """It is made after the start, and sampled by the call that makes it; kernels are traced at once for that."""
    arguments = ["-m", "regimeter", "record", "-o", "run.rgm", "--stalls", *options]
    run_program("launch(b'first')\nlaunch(b'second')", arguments=arguments, cuda=f"kernel_ns={KERNEL_US}000")
    run = load(tmp_path / "run.rgm")
    described = run.environment["device"]
    assert described["stalls_reason"] == ""
    assert (described["stalls"]["samples"], described["stalls"]["missed"]) == (2000, 0)
    assert {row["name"] for row in run.result("stalls")} == {"first", "second"}
    assert "kernels_awaited" not in described
    assert len(run.tables.launches) == (0 if options == ["--no-kernels"] else 2)


def test_beside_another_tool(run_program, tmp_path):
    """What is there is sampled; what is made later cannot be seen."""
    run, _ = recorded(run_program, tmp_path, "--stalls", "--no-kernels", cupti="taken=1")
    assert run.environment["device"]["stalls"]["samples"] == 3000
    arguments = ["-m", "regimeter", "record", "-o", "late.rgm", "--stalls", "--no-kernels"]
    done = run_program("launch(b'unseen')", arguments=arguments, cuda=f"kernel_ns={KERNEL_US}000", cupti="taken=1")
    assert "callbacks belong to another tool" in load(tmp_path / "late.rgm").environment["device"]["stalls_reason"]
    assert "callbacks belong to another tool" in done.stderr


def test_without_the_records_of_kernels(run_program, tmp_path):
    """Samples need no tracing; then nothing is known of scopes."""
    run, _ = recorded(run_program, tmp_path, "--no-kernels", "--stall-period", "12")
    assert run.environment["device"]["stalls"]["period_cycles"] == 4096
    rows = rows_of(run)
    assert rows["gemm(float*)", "selected"]["samples"] == 300
    assert all(row["scopes"] == row["launches"] == -1 for row in rows.values())


def test_text_page_and_export(stalled, command, tmp_path):
    stalled.save(tmp_path / "run.rgm")
    text = command("stalls", "run.rgm", "--by", "reason").stdout
    assert "3,000 samples of warps: long_scoreboard 60 %" in text
    assert "waiting for data from global" in text
    document = json.loads(command("stalls", "run.rgm", "--json").stdout)
    assert len(document["rows"]) == 6
    assert command("export", "run.rgm", "--table", "stalls", "-o", "stalls.csv").returncode == 0
    assert len((tmp_path / "stalls.csv").read_text().splitlines()) == 7
    assert "stalls" in {panel["name"] for panel in trace_data(stalled)["panels"]}


def test_lost_samples_are_told(run_program, tmp_path):
    run, _ = recorded(run_program, tmp_path, "--stalls", cupti="pc_dropped=3,pc_no_record=2")
    told = run.environment["device"]["stalls"]
    assert told["dropped"] > 0
    assert told["dropped"] % 3 == 0
    assert told["total"] == told["samples"] + told["dropped"] + told["no_record"]
    anomalies = run.tables.anomalies
    at = anomalies.code.tolist().index(_core.ANOMALY_CODES.index("dropped_counters"))
    assert anomalies.count[at] == told["dropped"]


@pytest.mark.parametrize(
    ("cupti", "words"),
    [
        ("refuse_PCSamplingEnable=35", "NVreg_RestrictProfilingToAdminUsers=0"),
        ("refuse_PCSamplingEnable=26", "another profiler"),
        ("version=21", "needs CUPTI 12.4 or later"),
        ("version=25", "either records kernels or samples them"),
    ],
)
def test_a_reason_where_there_are_none(run_program, tmp_path, cupti, words):
    run, done = recorded(run_program, tmp_path, "--stalls", "--kernels", cupti=cupti)
    assert words in run.environment["device"]["stalls_reason"]
    assert words in done.stderr
    assert len(run.tables.stalls) == 0
    assert len(run.tables.launches) == 3  # the kernels are there all the same


def test_a_program_without_a_context(run_program, tmp_path):
    code = "import regimeter\nwith regimeter.profile('x'): pass"
    run_program("", arguments=[*RECORD, "--stalls", "-c", code], cuda="ready=0", started=True)
    run = load(tmp_path / "run.rgm")
    assert "no context of CUDA" in run.environment["device"]["stalls_reason"]


def test_off_unless_asked_for(run_program, tmp_path):
    run, _ = recorded(run_program, tmp_path, "--kernels")
    assert run.environment["device"]["stalls_reason"] == "stalls is off"
    assert list(run.result("stalls")) == []


@pytest.mark.parametrize("wrong", [4, 32, "yes", 1.5])
def test_a_wrong_period(wrong):
    with pytest.raises(ValueError, match="5 to 31"):
        GPUProfiler(stalls=wrong)
