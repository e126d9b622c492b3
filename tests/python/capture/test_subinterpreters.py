# SPDX-License-Identifier: Apache-2.0
"""A subinterpreter gets one sentence, whatever it asks for, and the main interpreter goes on and ends as ever."""

import subprocess
import sys
import textwrap

import pytest

from regimeter import load

# Runs each code in a subinterpreter of its own and prints the error. Isolated ones are those that share least.
ASKING = """
    import sys
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    isolated, main_first, *codes = sys.argv[1:]
    if main_first == "True":
        import regimeter
        with regimeter.profile("before", device="cpu"):
            pass
    for code in codes:
        if sys.version_info >= (3, 13):
            interpreter = interpreters.create("isolated" if isolated == "True" else "legacy")
        else:
            interpreter = interpreters.create(isolated=isolated == "True")
        try:
            found = interpreters.run_string(interpreter, code)  # from 3.13 on it returns what was raised
            print(getattr(found, "formatted", found))
        except Exception as error:
            print(error)
        interpreters.destroy(interpreter)
    import regimeter
    with regimeter.profile("after", device="cpu"):
        pass
    print("after" in regimeter.get_profiler().run().strings)
"""
CODES = (
    "import regimeter; regimeter.GPUProfiler()",
    "import regimeter\nwith regimeter.profile('x'): pass",
    "from regimeter import load",
    "import regimeter._core",
)


@pytest.mark.parametrize("main_first", [True, False])
@pytest.mark.parametrize("isolated", [True, False])
def test_one_sentence_says_where_to_record(run_python, isolated, main_first):
    done = run_python(ASKING, isolated, main_first, *CODES)
    *answers, recorded = done.stdout.splitlines()
    assert len(answers) == len(CODES)
    for answer in answers:
        assert "ImportError" in answer
        assert "main interpreter" in answer or "subinterpreter" in answer
    assert recorded == "True"
    assert done.stderr == ""


# What the program runs in subinterpreters is not recorded, and does not see that the rest is.
PROGRAM = """
    import sys
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    interpreter = interpreters.create()
    interpreters.run_string(interpreter, "import time; print('inside', flush=True); time.sleep(0.5)")
    interpreters.destroy(interpreter)
"""


def test_a_recorded_program_may_have_subinterpreters(tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    words = ["record", "--stacks", "100", "-q", "-o", "run.rgm", "program.py"]
    done = subprocess.run(
        [sys.executable, "-m", "regimeter", *words], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("inside\n")
    assert "subinterpreter" not in done.stderr
    assert "Traceback" not in done.stderr
    run = load(tmp_path / "run.rgm")
    assert "program.py" in run.strings
    assert "more than one interpreter" in run.environment["stacks"]["reason"]
