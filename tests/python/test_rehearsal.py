# SPDX-License-Identifier: Apache-2.0
"""What is kept for hardware, rehearsed on doubles: what is wrong fails where that can be judged."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

GPU = Path(__file__).resolve().parent.parent / "gpu"
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


def test_every_line_of_rehearsed_evidence_says_so(tmp_path):
    rows, done = evidence(tmp_path, "stream_lanes", "graphs")
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("evidence.txt", "evidence.json"):
        lines = (tmp_path / name).read_text(encoding="utf-8").splitlines()
        assert all(line.startswith(("doubles | ", '{"on": "doubles"')) for line in lines)
    claims = [claim for row in rows.values() for claim in row["claims"]]
    assert sum("not judged on doubles" in claim["limit"] for claim in claims) == 3
    assert all(claim["holds"] is None for claim in claims if "not judged" in claim["limit"])


def test_doubles_write_no_evidence():
    done = rehearse(GPU / "evidence", "--out", GPU.parent.parent / "evidence" / "paper-2026-01-01")
    assert done.returncode == 2
    assert "what doubles say is no evidence" in done.stderr


def test_lost_records_fail_the_rehearsal(tmp_path):
    """A CUPTI that gives some kernels no end: that no record is lost or wrong is judged, and does not hold."""
    rows, done = evidence(tmp_path / "out", "attribution", FAKE_CUPTI="zero_every=100")
    held = {claim["claim"]: claim["holds"] for claim in rows["attribution"]["claims"]}
    assert done.returncode == 2
    assert held["decode: lost or wrong records"] is False
    assert held["decode: kernels without their launch"] is True


def test_frameworks_are_measured_where_they_are_installed(tmp_path):
    """Of the three only CuPy has a stub; kernels of it are judged, and why the others are not is said."""
    rows, done = evidence(tmp_path, "frameworks")
    assert done.returncode == 0, done.stdout + done.stderr
    claims = {claim["claim"]: claim for claim in rows["frameworks"]["claims"]}
    assert claims["cupy: kernels in the scopes of its calls"]["value"] == 20
    assert claims["cupy: kernels without a scope"]["holds"] is True
    assert "triton.language" in claims["triton: not measured"]["value"]
    assert "jax" in claims["jax: not measured"]["value"]


def table(folder, *words):
    tool = GPU.parent.parent / "tools" / "evidence_table.py"
    return rehearse(tool, "--folder", folder, *words)


def test_the_table_of_claims_follows_from_the_collections(tmp_path):
    """A collection of doubles is refused; the same, had hardware made it, has a column with what does not hold."""
    place = tmp_path / "paper-2026-01-01"
    place.mkdir()
    rows, _ = evidence(place, "stream_lanes", "attribution", FAKE_CUPTI="zero_every=100")
    (tmp_path / "README.md").write_text("<!-- claims: tools/evidence_table.py -->\n<!-- end of claims -->\n")
    done = table(tmp_path)
    assert done.returncode == 2
    assert f"{place / 'evidence.json'}: it is of doubles" in done.stderr
    document = json.loads((place / "evidence.json").read_text(encoding="utf-8"))
    (place / "evidence.json").write_text(json.dumps(document | {"on": "hardware", "changed": []}), encoding="utf-8")
    assert table(tmp_path, "--check").returncode == 1
    assert table(tmp_path).returncode == 0
    assert table(tmp_path, "--check").returncode == 0
    lines = {line.split("`")[1]: line for line in (tmp_path / "README.md").read_text().splitlines() if "`" in line}
    assert lines["stream_lanes"].endswith("| 3 of 3 hold |")
    assert "not: decode: lost or wrong records" in lines["attribution"]
    assert lines["overhead"].endswith("| not run |")
    held = [claim["holds"] for claim in rows["attribution"]["claims"] if claim["holds"] is not None]
    assert f"{sum(held)} of {len(held)} hold" in lines["attribution"]


def test_the_table_of_this_repository_is_current():
    assert table(GPU.parent.parent / "evidence", "--check").returncode == 0
