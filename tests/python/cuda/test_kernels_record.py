# SPDX-License-Identifier: Apache-2.0
"""`regimeter record --kernels`: kernels of programs with and without profilers of their own."""

from kernel_programs import inferred, kind_rows, scopes_of

from regimeter import load

RECORD = ["-m", "regimeter", "record", "-o", "run.rgm"]
# What a program sees of its surroundings, which must not tell that it is recorded.
LOOK = """
import json, random, sys
seen = {
    "path": sys.path, "argv": sys.argv, "name": __name__, "pythonpath": os.environ.get("PYTHONPATH"),
    "variables": sorted(name for name in os.environ if name.startswith("REGIMETER_RECORD_PYTHON")),
    "depth": len(__import__("inspect").stack()),
    "site": getattr(sys.modules.get("sitecustomize"), "__file__", None),
}
print(json.dumps(seen))
"""


def test_record(run_program, tmp_path):
    """`regimeter record --kernels` traces a program that only marks its scopes."""
    code = """
        import regimeter
        for _ in range(3):
            with regimeter.profile("step"):
                launch()
    """
    run_program(code, arguments=[*RECORD, "--kernels"], started=True)
    run = load(tmp_path / "run.rgm")
    assert len(run.tables.launches) == 3
    assert all(scopes_of(run, row) == ["step"] for row in kind_rows(run, "kernel"))


def test_record_without_kernels(run_program, tmp_path):
    code = """
        import regimeter
        with regimeter.profile("step"):
            launch()
    """
    run_program(code, arguments=[*RECORD, "--no-kernels"])
    run = load(tmp_path / "run.rgm")
    assert len(run.tables.launches) == 0
    assert run.environment["device"]["kernels_reason"] == "profile_kernels is off"


def scopes_but_collections(run):
    """Return the entries without collections of garbage, which come when the interpreter has made enough of it."""
    return [entry for entry in run.get_entries() if not entry.operation.startswith("gc generation")]


def test_a_program_that_knows_nothing_of_us(run_program, tmp_path):
    """Its kernels are recorded under one scope, the program: those of other threads by the time of their launch."""
    run_program(
        """
        import threading
        def work():
            call("cuCtxSetCurrent", made("cuDevicePrimaryCtxRetain", 0))
            launch(b"elsewhere")
        for _ in range(3):
            launch()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        """,
        arguments=[*RECORD, "--kernels"],
    )
    run = load(tmp_path / "run.rgm")
    kernels = kind_rows(run, "kernel")
    assert run.complete
    found = [(run.strings[run.spans.name[row]], scopes_of(run, row)) for row in kernels]
    assert len(found) == 4
    assert {tuple(scopes) for _, scopes in found} == {("program.py",)}
    assert {(name == "elsewhere", inferred(run, row)) for (name, _), row in zip(found, kernels, strict=True)} == {
        (False, False),
        (True, True),
    }
    (entry,) = scopes_but_collections(run)
    assert (entry.operation, entry.device) == ("program.py", "cpu")
    assert run.environment["device"]["kernels_reason"] == ""
    assert [row["count"] for row in run.result("kernels").rows()] == [3, 1]


def test_profilers_of_the_program_take_its_place(run_program, tmp_path):
    """The first profiler has the file, with the kernels that were launched before it; the second has its own."""
    run_program(
        """
        launch(b"before")
        from regimeter import GPUProfiler
        for name in ("first", "second"):
            with GPUProfiler() as profiler:
                with profiler.profile(name):
                    launch()
        """,
        arguments=[*RECORD, "--kernels"],
    )
    for name, file, before in (("first", "run.rgm", [[]]), ("second", "run.rgm.2", [])):
        run = load(tmp_path / file)
        assert [entry.operation for entry in run.get_entries()] == [name]
        assert [scopes_of(run, row) for row in kind_rows(run, "kernel")] == [*before, [name]]
    assert sorted(path.name for path in tmp_path.glob("run.rgm*")) == ["run.rgm", "run.rgm.2"]


def test_the_program_sees_no_difference(run_program, tmp_path):
    """Path, frames and variables are those of a plain start, and a `sitecustomize` of the user is imported."""
    user = tmp_path / "user"
    user.mkdir()
    (user / "sitecustomize.py").write_text("")
    import os

    paths = os.pathsep.join([str(user), *filter(None, [os.environ.get("PYTHONPATH")])])
    plain = run_program(LOOK, PYTHONPATH=paths, started=True).stdout
    assert str(user) in plain
    recorded = run_program(LOOK, PYTHONPATH=paths, arguments=[*RECORD, "--kernels"], started=True)
    assert recorded.stdout == plain


def test_children_of_the_program_are_not_recorded(run_program, tmp_path):
    """Neither forked ones nor other programs; the file holds the kernels of the parent alone."""
    run_program(
        """
        import subprocess, sys
        launch()
        child = os.fork()
        if child == 0:
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        subprocess.run([sys.executable, "-c", "import sys; sys.exit('regimeter' in sys.modules)"], check=True)
        """,
        arguments=[*RECORD, "--kernels", "--stacks", "0"],
        started=True,
    )
    assert len(load(tmp_path / "run.rgm").tables.launches) == 1
    assert [path.name for path in tmp_path.glob("run.rgm*")] == ["run.rgm"]


def test_without_cupti_the_program_is_one_scope(run_program, tmp_path):
    """As without --kernels, with the reason."""
    done = run_program("launch()", arguments=[*RECORD, "--kernels"], REGIMETER_LIBCUPTI="off")
    assert "kernels are not traced" in done.stderr
    run = load(tmp_path / "run.rgm")
    assert [entry.operation for entry in scopes_but_collections(run)] == ["program.py"]
    assert "switched off" in run.environment["device"]["kernels_reason"]


def test_a_program_that_is_killed(run_program, tmp_path):
    """What had reached the file is there, under a scope that is still open."""
    run_program(
        """
        import signal, time
        import regimeter
        launch()
        while not len(regimeter.load("run.rgm", recover=True).tables.launches):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        arguments=[*RECORD, "--kernels"],
        status=-9,
    )
    run = load(tmp_path / "run.rgm", recover=True)
    assert [scopes_of(run, row) for row in kind_rows(run, "kernel")] == [["program.py"]]
