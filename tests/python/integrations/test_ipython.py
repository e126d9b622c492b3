# SPDX-License-Identifier: Apache-2.0
"""The magics, in a shell of IPython, and results as a notebook shows them."""

import ast
import atexit
import html.parser
import re
import subprocess
import sys

import pytest
from needed import package

package("IPython")

from IPython.core.interactiveshell import InteractiveShell  # noqa: E402
from IPython.utils.capture import capture_output  # noqa: E402
from traces import load_trace  # noqa: E402
from traitlets.config import Config  # noqa: E402

import regimeter  # noqa: E402
from regimeter import GPUProfiler  # noqa: E402
from regimeter.integrations.ipython import lines_of  # noqa: E402

BUSY = """\
import time
def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(500))
with regimeter.profile("mine", device="cpu"):
    busy(0.3)
"""
HOSTILE = "<script>alert('x')</script>&\x1b[2J"


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """A shell with the extension."""
    config = Config()
    config.HistoryManager.enabled = False
    with pytest.MonkeyPatch.context() as here:
        here.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        here.setitem(sys.modules, "__main__", sys.modules["__main__"])  # where the shell puts a module of its own
        made = InteractiveShell.instance(config=config)
        assert made.run_cell("%load_ext regimeter").success
        yield made
        atexit.unregister(made.atexit_operations)
        made.atexit_operations()
        InteractiveShell.clear_instance()


@pytest.fixture
def shell(started, tmp_path, monkeypatch, fresh_global):
    """The shell in the test's own folder, without variables of other tests."""
    monkeypatch.chdir(tmp_path)
    started.reset(new_session=False)
    assert started.run_cell("import regimeter").success
    return started


class Reader(html.parser.HTMLParser):
    """Tags with their attributes, and the text between them."""

    def __init__(self):
        super().__init__()
        self.tags, self.text, self.cells = [], "", []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def read(found):
    reader = Reader()
    reader.feed(found._repr_html_())
    return reader


def cell(shell, text):
    with capture_output() as shown:
        ran = shell.run_cell(text, store_history=True)
    return ran, shown


def test_a_cell_is_recorded_and_its_last_value_returned(shell, tmp_path):
    ran, shown = cell(shell, f"%%regimeter --stacks 500 --run found\n{BUSY}6 * 7")
    assert ran.success
    assert ran.result == 42
    run = shell.user_ns["found"]
    number = ran.execution_count
    names = [run.string(name) for name in run.spans.name]
    assert names[0] == f"In[{number}]"
    assert "mine" in names  # regimeter.profile() within the cell is the cell's
    assert run.spans.parent[names.index("mine")] == 0
    lines = run.result("lines", top=1000)  # threads of other tests wait in lines of theirs
    own = [row for row in lines if row["file"] == f"In[{number}]"]
    assert own
    seen = {row["line"] for row in own}
    assert seen & {4, 5}
    assert seen <= set(range(1, 8))
    table = lines_of(run, f"In[{number}]")
    assert table.rows[0][0].startswith(f"busy (In[{number}]:")
    below = {row[0]: float(row[2].removesuffix(" %")) for row in table.rows}
    assert below[f"<module> (In[{number}]:7)"] > 90
    assert not any("interactiveshell.py" in line for line in below)
    page = tmp_path / "regimeter-cells" / f"cell-{number}.html"
    assert page.exists()
    [output] = [one for one in shown.outputs if "text/html" in one.data]
    assert f'href="regimeter-cells/cell-{number}.html"' in output.data["text/html"]
    assert "Limit:" in output.data["text/plain"]
    assert "mine" in output.data["text/plain"]


def test_lines_of_other_cells_are_told_by_their_cell(shell):
    define, use = BUSY.split("with ")
    defined, _ = cell(shell, define)
    _, shown = cell(shell, f"%%regimeter --no-page --stacks 500\n{use.splitlines()[1].strip()}")
    assert defined.success
    [output] = [one for one in shown.outputs if "text/html" in one.data]
    for text in (output.data["text/html"], output.data["text/plain"]):
        assert f"busy (In[{defined.execution_count}]:" in text


def test_what_a_cell_raises_comes_out_and_what_was_recorded_is_shown(shell):
    ran, shown = cell(shell, "%%regimeter --no-page --run found\nkept = 1\nraise KeyError('gone')")
    assert isinstance(ran.error_in_exec, KeyError)
    assert shell.user_ns["kept"] == 1
    run = shell.user_ns["found"]
    assert run.string(run.spans.name[0]).startswith("In[")
    assert any("text/html" in one.data for one in shown.outputs)
    assert f"In[{ran.execution_count}]:2" in re.sub("\x1b.*?m", "", shown.stdout)  # the traceback names the cell's line


def test_the_profiler_of_the_process_comes_back(shell):
    before = regimeter.get_profiler()
    cell(shell, "%%regimeter --no-page --stacks 0\npass")
    assert regimeter.get_profiler() is before


def test_the_recording_is_kept_where_asked(shell, tmp_path):
    cell(shell, f"%%regimeter -o kept.rgm --html page.html\n{BUSY}")
    assert (tmp_path / "page.html").exists()
    run = regimeter.load(tmp_path / "kept.rgm")
    assert "mine" in [run.string(name) for name in run.spans.name]


def test_a_page_that_cannot_be_written_is_told(shell, tmp_path):
    (tmp_path / "regimeter-cells").write_text("a file")
    ran, shown = cell(shell, "%%regimeter\n1")
    assert ran.success
    assert "no page: regimeter-cells" in shown.outputs[0].data["text/plain"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%%regimeter --stacks 5000\npass", "rate from 1 to 1000"),
        ("%%regimeter --run 3x\npass", "name of a variable"),
        ("%%regimeter --other\npass", "unrecognized arguments"),
        ("%regimeter_time", "nothing to time"),
        ("%regimeter_time -n 0 pass", "at least 1"),
    ],
)
def test_wrong_options_are_refused(shell, line, said):
    ran, shown = cell(shell, line)
    assert not ran.success
    assert said in str(ran.error_in_exec) + shown.stdout + shown.stderr


def test_a_line_is_timed_with_an_interval(shell):
    ran, shown = cell(shell, "data = list(range(100))\n%regimeter_time -n 30 sum(data)")
    assert ran.success
    assert shown.stdout.startswith("median ")
    assert "95 % interval" in shown.stdout
    assert "30 times of" in shown.stdout
    ran, _ = cell(shell, "found = %regimeter_time -n 30 -o sum(data)")
    times = shell.user_ns["found"].times
    low, high = times.median_interval(0.95)
    assert low <= times.p50_ns <= high
    assert len(times.totals_ns) == 30


def test_a_short_statement_is_timed_often_enough(shell):
    _, shown = cell(shell, "%regimeter_time -o x = 1; y = 'a  b'")
    assert shown.outputs == []
    cell(shell, "found = %regimeter_time -o y = 'a  b'")
    assert 20 <= len(shell.user_ns["found"].times.totals_ns) <= 500


def test_names_are_escaped_in_every_form(make_profiler):
    profiler = make_profiler(stacks=False)
    for name in (HOSTILE, "other"):
        with profiler.profile(name, device="cpu"):
            sum(range(10000))
    run = profiler.run()
    sides = {HOSTILE: [[1.0, 1.1, 1.2], [1.0, 1.1, 1.3]]}, {HOSTILE: [[2.0, 2.1, 2.2], [2.1, 2.2, 2.3]]}
    comparison = regimeter.compare_samples(*sides)
    for found in (run, run.verdict(), comparison, run.result("operators"), run.result("lines")):
        reader = read(found)
        assert {"script", "style", "img"}.isdisjoint(tag for tag, _ in reader.tags)
        frames = [attributes for tag, attributes in reader.tags if tag == "iframe"]
        assert len(frames) == (found is run), "only a run has a page, shut off from the notebook"
        assert all("allow-same-origin" not in frame["sandbox"] for frame in frames)
        assert not any(
            name.startswith("on") or name in ("src", "href") for _, attributes in reader.tags for name in attributes
        )
        assert "\x1b" not in reader.text
    assert "<script>alert('x')</script>&" in read(run).text
    assert "alert" in read(comparison).text
    assert repr(comparison).startswith("<ProfilerComparison: ")
    assert len(repr(comparison)) < 300


def test_a_run_shows_its_verdict_its_scopes_and_its_lines(make_profiler):
    profiler = make_profiler(stacks=500)
    with profiler.profile("outer", device="cpu"):
        total = 0
        for i in range(3_000_000):
            total += i
    run = profiler.run()
    reader = read(run)
    assert run.verdict().sentence in reader.text
    assert "outer" in reader.text
    assert "Operations by exclusive time" in reader.text
    assert "test_ipython.py" in reader.text
    shares = [float(attributes["value"]) for tag, attributes in reader.tags if tag == "meter"]
    assert shares
    assert all(0 <= share <= 1 for share in shares)


def test_an_imported_trace_shows_its_kernels():
    run = load_trace("h100_bert_small.json.gz")
    text = read(run).text
    assert run.result("kernels", top=1)[0]["name"] in text
    assert "more rows" in text


def test_the_package_imports_no_ipython():
    code = "import regimeter, sys; print('IPython' in sys.modules, 'load_ipython_extension' in regimeter.__all__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stdout.replace(" ", ",")) == (False, True)


def test_an_unrecorded_run_has_a_form_too():
    with GPUProfiler(enable_detailed_metrics=False) as profiler:
        pass
    assert "0 spans" in read(profiler.run()).text
