# SPDX-License-Identifier: Apache-2.0
"""What is kept for hardware, rehearsed on doubles: what is wrong fails where that can be judged."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from places import TESTS

GPU = TESTS / "gpu"
DOUBLES = {**os.environ, "REGIMETER_DOUBLES": "1"}


def rehearse(*words, **variables):
    return subprocess.run(
        [sys.executable, *map(str, words)], env={**DOUBLES, **variables},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def evidence(out, *names, **variables):
    """Rehearse measurements; return their rows by name, and the exit status."""
    done = rehearse(GPU / "evidence", "--out", out, "--only", *names, **variables)
    document = json.loads((out / "evidence.json").read_text(encoding="utf-8"))
    return {row["name"]: row for row in document["measurements"]}, done


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The folder of a rehearsal, its rows by name."""
    out = tmp_path_factory.mktemp("sound")
    rows, done = evidence(out, "stream_lanes", "serving", "graphs", "decoding", "frameworks")
    assert done.returncode == 0, done.stdout + done.stderr
    return out, rows


@pytest.fixture(scope="module")
def lossy(tmp_path_factory):
    """The same of one whose CUPTI gives some kernels no end, and how it ended."""
    out = tmp_path_factory.mktemp("paper") / "paper-2026-01-01"
    return out, *evidence(out, "stream_lanes", "attribution", FAKE_CUPTI="zero_every=100")


@pytest.fixture
def claims(monkeypatch):
    """Return the helper, its notes empty, in this process on doubles or not."""
    monkeypatch.syspath_prepend(str(GPU.parent))
    from gpu import hardware

    monkeypatch.setattr(hardware, "noted", [])
    monkeypatch.delenv(hardware.NOTES, raising=False)
    return hardware


def test_a_claim_is_asserted_on_hardware(claims, monkeypatch):
    monkeypatch.setattr(claims.doubles, "ON", False)
    with pytest.raises(AssertionError), claims.claim("two are three"):
        assert len("ab") == 3
    assert claims.noted == []


def test_a_claim_is_noted_on_doubles_whether_it_holds_or_not(claims, monkeypatch):
    monkeypatch.setattr(claims.doubles, "ON", True)
    for number in (2, 3):
        with claims.claim(f"two are {number}"):
            assert len("ab") == number
    assert [text for _, text in claims.noted] == ["two are 2", "two are 3"]
    with pytest.raises(KeyError), claims.claim("an error is no claim"):
        assert {}["value"] == 3


def test_a_file_is_rehearsed_and_what_it_claims_is_counted(tmp_path):
    done = rehearse(GPU / "suite.py", "--out", tmp_path, "--only", "test_memory_pool")
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = map(json.loads, (tmp_path / "doubles" / "suite.jsonl").read_text(encoding="utf-8").splitlines())
    assert (row["on"], row["state"]) == ("doubles", "passed")
    assert [note["text"] for note in row["not_judged"]] == ["the buffer holds what was written to it"]
    assert "1 claims were not judged, 0 tests were not run: these are doubles" in done.stdout


def test_every_file_of_tests_is_in_the_suite():
    named = re.findall(r'File\("(\w+)"', (GPU / "suite.py").read_text(encoding="utf-8"))
    assert sorted(named) == sorted(path.stem for path in GPU.glob("test_*.py"))


def test_every_line_of_rehearsed_evidence_says_so(sound):
    out, rows = sound
    for name in ("evidence.txt", "evidence.json"):
        lines = (out / name).read_text(encoding="utf-8").splitlines()
        assert all(line.startswith(("doubles | ", '{"on": "doubles"')) for line in lines)
    claims = [claim for name in ("stream_lanes", "graphs") for claim in rows[name]["claims"]]
    assert sum("not judged on doubles" in claim["limit"] for claim in claims) == 3
    assert all(claim["holds"] is None for claim in claims if "not judged" in claim["limit"])


def test_a_decoded_token_has_its_kernels_under_its_layers(sound):
    found = sound[1]["decoding"]["found"]
    layer, token = (found["eager"][f"kernels_of_{name}"] for name in ("layer", "token"))
    assert len(layer) == found["layers"] * len(token)
    assert sum(layer) < sum(token) == found["eager"]["kernels"]
    assert found["graph"]["kernels"] == sum(token)  # node by node, since the graph is older than tracing


def test_threads_of_a_server_launch_for_the_scope_that_waits_for_them(sound):
    """Beside their own scopes nothing is inferred, and where nobody has one the kernels belong to none."""
    found = sound[1]["serving"]["found"]
    assert {way: (row["scopes"], row["inferred"], row["threads"]) for way, row in found.items()} == {
        "one": ({"serve": 96}, 96, 4), "requests": ({"request": 96}, 0, 4), "none": ({"None": 96}, 0, 4),
    }  # fmt: skip
    assert {claim["holds"] for claim in sound[1]["serving"]["claims"]} == {True}


def test_doubles_write_no_evidence():
    done = rehearse(GPU / "evidence", "--out", GPU.parent.parent / "evidence" / "paper-2026-01-01")
    assert done.returncode == 2
    assert "what doubles say is no evidence" in done.stderr


def test_lost_records_fail_the_rehearsal(lossy):
    """That no record is lost or wrong is judged, and does not hold."""
    _, rows, done = lossy
    held = {claim["claim"]: claim["holds"] for claim in rows["attribution"]["claims"]}
    assert done.returncode == 2
    assert held["decode: lost or wrong records"] is False
    assert held["decode: kernels without their launch"] is True


def test_frameworks_are_measured_where_they_are_installed(sound):
    """Of the three only CuPy has a stub; kernels of it are judged, and why the others are not is said."""
    claims = {claim["claim"]: claim for claim in sound[1]["frameworks"]["claims"]}
    assert claims["cupy: kernels in the scopes of its calls"]["value"] == 20
    assert claims["cupy: kernels without a scope"]["holds"] is True
    assert "triton.language" in claims["triton: not measured"]["value"]
    assert "jax" in claims["jax: not measured"]["value"]


def table(folder, *words):
    tool = GPU.parent.parent / "tools" / "evidence_table.py"
    return rehearse(tool, "--folder", folder, *words)


def test_the_table_of_claims_follows_from_the_collections(lossy, tmp_path):
    """A collection of doubles is refused; the same, had hardware made it, has a column with what does not hold."""
    made, rows, _ = lossy
    place = tmp_path / made.name
    shutil.copytree(made, place)
    (tmp_path / "README.md").write_text("<!-- claims: tools/evidence_table.py -->\n<!-- end of claims -->\n")
    first = tmp_path / "FIRST.md"
    first.write_text("It is said here: <!-- confirmed: tools/evidence_table.py --><!-- end of confirmed --> And on.")
    done = table(tmp_path, "--readme", first)
    assert done.returncode == 2
    assert f"{place / 'evidence.json'}: it is of doubles" in done.stderr
    document = json.loads((place / "evidence.json").read_text(encoding="utf-8"))
    (place / "evidence.json").write_text(json.dumps(document | {"on": "hardware", "changed": []}), encoding="utf-8")
    assert table(tmp_path, "--readme", first, "--check").returncode == 1
    assert table(tmp_path, "--readme", first).returncode == 0
    assert table(tmp_path, "--readme", first, "--check").returncode == 0
    lines = {line.split("`")[1]: line for line in (tmp_path / "README.md").read_text().splitlines() if "`" in line}
    assert lines["stream_lanes"].endswith("| 3 of 3 hold |")
    assert "not: decode: lost or wrong records" in lines["attribution"]
    assert lines["overhead"].endswith("| not run |")
    held = [claim["holds"] for claim in rows["attribution"]["claims"] if claim["holds"] is not None]
    assert f"{sum(held)} of {len(held)} hold" in lines["attribution"]
    held += [claim["holds"] for claim in rows["stream_lanes"]["claims"] if claim["holds"] is not None]
    assert f"{sum(held)} of {len(held)} claims hold on double (paper-2026-01-01)" in first.read_text()


def test_the_table_of_this_repository_is_current():
    assert table(GPU.parent.parent / "evidence", "--check").returncode == 0
