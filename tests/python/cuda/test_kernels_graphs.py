# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs of a live program: nodes, the calls that made them, and which scopes their work is booked on."""

import json

from kernel_programs import kind_rows, scopes_of

from regimeter import load

# `capture` makes a node and its copy in the graph that is launched, `replay` launches that.
GRAPHS = """
import time
from regimeter import GPUProfiler
library = ctypes.CDLL(os.environ["REGIMETER_LIBCUPTI"])
library.fake_cupti_capture.restype = library.fake_cupti_clone.restype = ctypes.c_uint64
def capture():
    node = library.fake_cupti_capture(b"node_kernel", ctypes.c_uint64(1))
    return library.fake_cupti_clone(ctypes.c_uint64(node), ctypes.c_uint64(2))
def replay(*nodes):
    library.fake_cupti_graph_launch(3, (ctypes.c_uint64 * len(nodes))(*nodes), ctypes.c_size_t(len(nodes)))
    time.sleep(0.001)  # longer than the nodes take, so that replays do not overlap
"""

# Nodes start 100 ns after one another and take 150 ns: a and b cover 250 ns, c and d 150 ns each, all of them 450 ns.
CAPTURED = (
    GRAPHS
    + """
profiler = GPUProfiler(profile_kernels={"graph_nodes": 1}, path="run.rgm", enable_detailed_metrics=False)
early = library.fake_cupti_clone(ctypes.c_uint64(1), ctypes.c_uint64(2))  # of a node that nobody has seen
with profiler.profile("capture"):
    with profiler.profile("attention"):
        a, b = capture(), capture()
    with profiler.profile("mlp"):
        c = capture()
d = capture()
for _ in range(3):
    with profiler.profile("step"):
        replay(a, b, c, d)
with profiler.profile("late"):
    replay(early)
    launch(b"plain")
"""
)
NODE_NS = "node_ns=150,copy_node=2"


def test_graph_nodes(run_program, tmp_path):
    """A node of a graph names the call that made it, inside the scopes of the capture."""
    run_program(
        GRAPHS
        + """
profiler = GPUProfiler(profile_kernels={"graph_nodes": 1}, path="run.rgm", enable_detailed_metrics=False)
with profiler.profile("capture"):
    node = capture()
with profiler.profile("replay"):
    replay(node)
"""
    )
    run = load(tmp_path / "run.rgm")
    (row,) = kind_rows(run, "kernel")
    assert scopes_of(run, row) == ["replay"]
    (capture,) = run.tables.launches.capture
    assert run.strings[run.spans.name[run.spans.parent[capture]]] == "capture"


def scopes(run, graphs):
    rows = run.result("scopes", choices={"graphs": graphs}).rows()
    names = ("work", "kernels", "busy_ns", "idle_ns", "graph_work", "graph_ns", "captured")
    return {row["operation"]: tuple(row[name] for name in names) for row in rows}


def test_work_of_graphs_by_launch(run_program, tmp_path):
    """By default a node is booked where its graph was launched."""
    run_program(CAPTURED, cuda="kernel_ns=1000", cupti=NODE_NS)
    found = scopes(load(tmp_path / "run.rgm"), "launch")
    assert found["step"] == (12, 9, 1350, 0, 12, 1350, 0)
    assert found["capture"] == found["attention"] == found["mlp"] == (0, 0, 0, 0, 0, 0, 0)
    work, kernels, _, _, graph_work, graph_ns, captured = found["late"]
    assert (work, kernels, graph_work, graph_ns, captured) == (2, 2, 1, 150, 0)


def test_work_of_graphs_by_capture(run_program, tmp_path):
    """Each replay of a node is booked on the scopes of its capture, and on nothing else.

    Node d was captured outside of any scope and stays with the launch, as does the node that was made before. The
    idle time of a scope that had ended before its work ran is not known.
    """
    run_program(CAPTURED, cuda="kernel_ns=1000", cupti=NODE_NS)
    run = load(tmp_path / "run.rgm")
    found = scopes(run, "capture")
    assert found["attention"] == (6, 6, 750, None, 6, 750, 6)
    assert found["mlp"] == (3, 0, 450, None, 3, 450, 3)
    assert found["capture"] == (9, 6, 3 * 350, None, 9, 3 * 350, 9)
    assert found["step"] == (3, 3, 450, 0, 3, 450, 0)
    assert found["late"] == scopes(run, "launch")["late"]
    outermost = ("capture", "step", "late")
    assert sum(found[name][0] for name in outermost) == 14  # every piece once


def test_replay_inside_the_scope_of_the_capture(run_program, tmp_path):
    """A scope that holds capture and replays has its work once, and an idle time."""
    run_program(
        GRAPHS
        + """
profiler = GPUProfiler(profile_kernels={"graph_nodes": 1}, path="run.rgm", enable_detailed_metrics=False)
with profiler.profile("train"):
    with profiler.profile("capture"):
        node = capture()
    for _ in range(2):
        with profiler.profile("step"):
            replay(node)
""",
        cupti="node_ns=150",
    )
    run = load(tmp_path / "run.rgm")
    for graphs in ("launch", "capture"):
        train = scopes(run, graphs)["train"]
        start = run.spans.start_ns[kind_rows(run, "kernel")]
        assert train == (2, 2, 300, start[1] - start[0] - 150, 2, 300, 2 if graphs == "capture" else 0)
    assert scopes(run, "capture")["step"][0] == 0


def test_the_command(run_program, command):
    run_program(CAPTURED, cupti=NODE_NS)
    rows = {}
    for graphs in ("launch", "capture"):
        done = command("--json", "scopes", "run.rgm", "--graphs", graphs)
        rows[graphs] = {row["operation"]: row["graph_work"] for row in json.loads(done.stdout)["rows"]}
    assert (rows["launch"]["step"], rows["capture"]["step"]) == (12, 3)
