# SPDX-License-Identifier: Apache-2.0
"""Planning hardware counters for a chip, and measuring them through doubles of the libraries."""

import json
import os
import shutil
import subprocess
import tempfile
import textwrap
from pathlib import Path
from typing import NamedTuple

import fakes
import pytest
import warm
from needed import need
from places import ROOT
from published import check
from runs import build_run, kernel

from regimeter.capture import counters

DOCUMENT = ROOT / "docs/gpu/counters.md"


def run_python(program: str, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, because a library is loaded once per process."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("REGIMETER_LIB", "FAKE_"))}
    with tempfile.TemporaryDirectory() as folder:
        return warm.program(Path(folder), textwrap.dedent(program), clean | variables)


COMMANDS = """
    import contextlib, io, json
    from regimeter.cli import main
    def run(words):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
        return code, out.getvalue(), err.getvalue()
    print(json.dumps([run(words) for words in {commands!r}]))
"""


class Answer(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def document(self) -> dict:
        assert self.code == 0, self.err
        return check(json.loads(self.out))


def commands(*all_words: str, **variables: str) -> list[Answer]:
    """Run `regimeter counters` with the words of each text, in one process, without a driver but for variables."""
    lists = [["counters", *words.split()] for words in all_words]
    done = run_python(COMMANDS.format(commands=lists), {"REGIMETER_LIBCUDA": "off"} | variables)
    assert done.returncode == 0, done.stderr
    return [Answer(*one) for one in json.loads(done.stdout)]


def command(words: str, **variables: str) -> Answer:
    return commands(words, **variables)[0]


# Words -> exit code and what is said in its one line, with the double of a CUPTI that can plan.
REFUSED = {
    "--chip H100": (2, "this CUPTI knows: GH100"),
    "--chip GH100 --for all": (2, "set of counters 'all'; valid are: pm,"),
    "--chip GV100 --for pm": (1, "no sampling of counters"),
    "": (2, "--chip"),
    "trace.json --chips": (2, "not both"),
}
ASKED = ("--chip GH100 --for pm --json", "--chip GH100 --for speed-of-light", "--chip GV100 --json", "--chips --json",
         "--chips")  # fmt: skip


@pytest.fixture(scope="module")
def answers() -> dict[str, Answer]:
    """What is answered with the double of a CUPTI that can plan, by the words."""
    words = (*ASKED, *REFUSED)
    return dict(zip(words, commands(*words, **fakes.environment(cupti_profiler="")), strict=True))


# --- with the double ---------------------------------------------------------------------------------------------


def test_a_plan_as_json(answers):
    found = answers["--chip GH100 --for pm --json"].document
    assert (found["format"], found["chip"], found["refused"]) == ("regimeter.counter_plan", "GH100", [])
    assert found["library"]["api_version"] == 130000
    assert found["library"]["driver"] is False
    (made,) = found["sets"]
    assert (made["set"], made["profiler"], made["passes"], made["groups"]) == ("pm", "pm_sampling", 1, 1)
    assert [row["role"] for row in made["counters"]] == list(counters.sets()["pm"]["roles"])
    assert all(row["measured"] and row["group"] == 1 and row["reason"] == "" for row in made["counters"])


def test_a_plan_that_needs_several_passes_says_what_is_dropped(answers):
    variables = fakes.environment(cupti_profiler="per_pass=5,tensor=0")
    (made,) = command("--chip GH100 --for pm --json", **variables).document["sets"]
    assert (made["passes"], made["groups"]) == (3, 3)
    rows = {row["role"]: row for row in made["counters"]}
    assert rows["tensor_active"]["metric"] is None
    assert rows["tensor_active"]["reason"] == "the chip has no metric for this"
    assert [row["group"] for row in made["counters"] if row["metric"]] == [1] * 5 + [2] * 5 + [3] * 3
    assert rows["sys_clock"]["reason"] == "does not fit the first pass"
    text = answers["--chip GH100 --for speed-of-light"].out
    assert "needs 8 passes by itself" in text
    assert "speed-of-light on GH100" in text
    assert "8 passes, 2 of 3 counters in the first" in text


def test_every_set_is_planned_and_a_missing_profiler_is_said(answers):
    found = answers["--chip GV100 --json"].document
    assert {made["set"] for made in found["sets"]} == set(counters.sets()) - {"pm"}
    (refused,) = found["refused"]
    assert refused["set"] == "pm"
    assert "GV100 has no sampling of counters" in refused["reason"]


def test_chips(answers):
    assert answers["--chips --json"].document["chips"] == ["GH100", "GA100", "TU104", "GV100"]
    assert answers["--chips"].out.split() == ["GH100", "GA100", "TU104", "GV100"]


def test_what_cannot_be_planned_says_why(answers):
    found = [(answers[words], code, says) for words, (code, says) in REFUSED.items()]
    (older,) = commands("--chip GH100", **fakes.environment(cupti_125=""))
    newer, chips = commands("--chip GH100", "--chips", **fakes.environment(cupti_132=""))
    found += [(older, 1, "need CUPTI 12.6 or later"), (newer, 1, "13.2"), (chips, 1, "only where a CUDA driver is")]
    for answer, code, says in found:
        assert answer.code == code, answer.err
        assert says in answer.err
        assert answer.err.count("\n") == 1


@pytest.mark.parametrize("place", ["nvidia/cu13/lib/libcupti.so.13", "nvidia/cuda_cupti/lib/libcupti.so.12"])
def test_cupti_of_a_wheel_is_found(tmp_path, place):
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    shutil.copy(fakes.library("cupti_profiler"), path)
    shutil.copy(fakes.library("nvperf_host"), path.parent)
    search = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    library = command("--chip GH100 --for pm --json", PYTHONPATH=search).document["library"]
    if place.endswith(".12") and library["path"] != str(path):
        pytest.skip(f"a newer CUPTI is installed here: {library['path']}")
    assert (library["path"], library["origin"]) == (str(path), "pip wheel")


def test_without_its_planner_cupti_says_what_is_missing(tmp_path):
    """libnvperf_host.so lies beside libcupti in NVIDIA's packages; a copy of libcupti alone can plan nothing."""
    alone = shutil.copy(fakes.library("cupti_profiler"), tmp_path / "libcupti.so.13")
    done = command("--chip GH100", REGIMETER_LIBCUPTI=str(alone))
    assert done.code == 1
    assert "libnvperf_host.so" in done.err
    assert done.err.count("\n") == 1


def test_without_cupti():
    done = command("--chip GH100", REGIMETER_LIBCUPTI="off")
    assert done.code == 1
    assert "REGIMETER_LIBCUPTI=off" in done.err


def test_the_verb_still_looks_into_a_trace(tmp_path):
    series = "dram__throughput.avg.pct_of_peak_sustained_elapsed"
    samples = [
        {"time_ns": time, "series": series, "value": value, "device": 0, "span": -1}
        for time, value in ((0, 10.0), (100, 70.0), (200, 90.0), (300, 0.0))
    ]
    run = build_run([kernel(100, 200, lane=0, name="copy")], [{"process": 0, "device": 0}], counters=samples)
    path = tmp_path / "samples.rgm"
    run.save(path)
    done, grouped = commands(f"{path} --json", f"{path} --by kernel", REGIMETER_LIBCUPTI="off")
    assert done.document["format"] == "regimeter.counters"
    (row,) = done.document["rows"]
    assert (row["name"], row["series"], row["mean"]) == ("copy", series, 80.0)  # half of its time each
    assert grouped.code == 0, grouped.err


# --- measuring ---------------------------------------------------------------------------------------------------

MEASURED = """
    import json, time
    from regimeter import UnavailableError; from regimeter.capture import counters
    try:
        with counters.sample(source={source!r}) as measurement:
            time.sleep(0.05)
    except UnavailableError as error:
        print(json.dumps({{"refused": str(error)}}))
    else:
        made = measurement.result
        assert measurement.stop() is made
        times, values = made.series("dram_throughput")
        print(json.dumps({{"source": made.source, "reason": made.reason, "plan": made.plan, "counts": made.counts,
                           "values": values.tolist(), "steps": sorted(set((times[1:] > times[:-1]).tolist())),
                           "roles": made.roles}}))
"""


def measured(source: str, **doubles: str) -> dict:
    variables = fakes.environment(**doubles)
    variables["REGIMETER_LIBCUDA"] = str(fakes.library("cupti_profiler"))
    variables.setdefault("REGIMETER_LIBNVML", "off")
    done = run_python(MEASURED.format(source=source), variables)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_samples():
    found = measured("auto", cupti_profiler="")
    assert (found["source"], found["reason"]) == ("pm", "")
    assert found["plan"]["chip"] == "GH100"
    assert found["counts"]["samples"] == 39
    assert found["counts"]["dropped"] == 0
    # Of sample s in metric m the double makes 1000 s + m; the first sample is left out.
    assert found["values"] == [1000.0 * sample + 1 for sample in range(1, 40)]
    assert found["steps"] == [True]
    assert found["roles"]["dram_throughput"] == "dram__throughput.avg.pct_of_peak_sustained_elapsed"


def test_without_rights_the_fallback_says_why():
    found = measured("auto", cupti_profiler="fail_at=3", gpm="value_step=0")
    assert found["source"] == "gpm"
    assert "CAP_PERFMON" in found["reason"]
    assert found["plan"] is None
    assert found["roles"]["dram_throughput"] == "gpm__dram_throughput.pct"


def test_without_rights_and_without_a_fallback():
    found = measured("auto", cupti_profiler="fail_at=3", gpm="supported=0")
    assert "NVreg_RestrictProfilingToAdminUsers=0" in found["refused"]
    assert "begins with Hopper" in found["refused"]
    assert "CAP_PERFMON" in measured("pm", cupti_profiler="fail_at=3", gpm="")["refused"]


def test_without_a_device():
    done = run_python(
        """
        from regimeter import UnavailableError; from regimeter.capture import counters
        for make in (counters.sample, counters.count):
            try:
                make()
            except UnavailableError as error:
                print(error)
        """,
        {"REGIMETER_LIBCUDA": "off", "REGIMETER_LIBNVML": "off"},
    )
    assert done.returncode == 0, done.stderr
    sampled, counted = done.stdout.splitlines()
    assert "REGIMETER_LIBCUDA=off" in sampled
    assert "REGIMETER_LIBNVML=off" in sampled
    assert "REGIMETER_LIBCUDA=off" in counted


def test_ranges():
    done = run_python(
        """
        from regimeter.capture import counters
        with counters.count("fp", max_ranges=3) as measurement:
            for name in ("a", "b", "a", "c"):
                measurement.push(name)
                measurement.push("inside")
                measurement.pop()
                measurement.pop()
        made = measurement.result
        assert [row[0] for row in made.ranges] == ["a", "b", "a"], made.ranges
        assert made.counts["dropped"] == 1 and made.counts["nested"] == 4, made.counts
        times, values = made.series("ffma")
        assert values.tolist() == [5.0, 1005.0, 2005.0], values
        assert times.tolist() == [row[1] for row in made.ranges]
        assert made.source == "ranges"
        try:
            made.series("loss")
        except KeyError as error:
            assert "there are: smsp__" in str(error)
        else:
            raise AssertionError
        """,
        fakes.environment(cupti_profiler="") | {"REGIMETER_LIBCUDA": str(fakes.library("cupti_profiler"))},
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "ending", ["", "raise SystemExit(3)", "del measurement; import gc; gc.collect()", "measurement.stop()"]
)
def test_a_measurement_ends_with_its_program(ending):
    program = f"""
        from regimeter.capture import counters
        measurement = counters.sample()
        {ending}
    """
    variables = fakes.environment(cupti_profiler="") | {"REGIMETER_LIBCUDA": str(fakes.library("cupti_profiler"))}
    done = run_python(program, variables)
    assert done.returncode == (3 if "3" in ending else 0), done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("counters.sample(source='both')", "unknown source of counters 'both'"),
        ("counters.sample(set='none')", 'unknown set of counters "none"'),
        ("counters.sample(set='fp', source='pm')", "a set of samples"),
        ("counters.sample(interval_ms=0)", "above 0 ms"),
        ("counters.sample(device=-1, source='pm')", "needs a device"),
        ("counters.count('pm')", "a set for ranges"),
        ("counters.count(max_ranges=0)", "room for one"),
        ("counters.plan('GH100', 'all')", "unknown set of counters 'all'"),
    ],
)
def test_nonsense_is_a_value_error(call, says):
    with pytest.raises(ValueError, match=says):
        eval(call, {"counters": counters})


# --- with the real library -----------------------------------------------------------------------------------------


def test_real_plan_of_the_hopper_chip():
    plan, chips = commands("--chip GH100 --json", "--chips --json")
    if plan.code == 1:
        need("cupti", False, plan.err.strip())
    assert {"GH100", "GA100", "AD102", "GB100", "GB202"} <= set(chips.document["chips"])
    found = plan.document
    sets = {made["set"]: made for made in found["sets"]}
    # As others counted them with CUPTI 13.0.1: fourteen samples in a pass, the regime set in one, the nine
    # instruction counters in one, a breakdown metric in 5 to 8.
    assert [sets[name]["passes"] for name in ("pm", "regime", "fp")] == [1, 1, 1]
    assert len([row for row in sets["pm"]["counters"] if row["measured"]]) == 14
    assert len([row for row in sets["fp"]["counters"] if row["measured"]]) == 9
    wide = {row["role"]: row["passes"] for row in sets["speed-of-light"]["counters"]}
    assert 5 <= wide["sm_throughput"] <= 8
    assert 4 <= wide["compute_memory"] <= 8


# --- documentation -------------------------------------------------------------------------------------------------


def test_every_role_set_and_series_is_documented():
    text = DOCUMENT.read_text(encoding="utf-8")
    names = [*counters.roles(), *counters.sets()]
    names += [series for row in counters.roles().values() for series in row["gpm"]]
    assert [name for name in names if f"`{name}`" not in text] == []
