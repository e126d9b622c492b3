# SPDX-License-Identifier: Apache-2.0
"""What a server refuses, asked over HTTP: other sites, other names, other files, large bodies, hostile names."""

import gzip
import json
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_data import sections_of
from serving import Server, record, serving
from traces import trace_path

TRACE = "h100_bert_small.json.gz"
HOSTILE = '<img src=x onerror=alert(1)>"&.json.gz'
MB = 1_000_000


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that is not served, with a file that could be."""
    made = tmp_path_factory.mktemp("outside")
    shutil.copy(trace_path(TRACE), made / "secret.json.gz")
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, outside: Path) -> Path:
    made = tmp_path_factory.mktemp("served")
    record(made, "run", 20)
    shutil.copy(trace_path(TRACE), made / HOSTILE)
    (made / "link.json.gz").symlink_to(outside / "secret.json.gz")
    (made / "folder").symlink_to(outside)
    (made / "within.rgm").symlink_to("run.rgm")
    (made / ".hidden.json.gz").symlink_to("run.rgm")
    os.mkfifo(made / "pipe.json")
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with serving(str(folder), "--upload-limit", "2", "--unpacked-limit", "8") as running:
        yield running


@pytest.fixture(scope="module")
def open_server(folder: Path) -> Iterator[Server]:
    with serving(str(folder), "--host", "0.0.0.0", "--name", "profiles.example") as running:
        assert running.token
        yield running


# --- who asks -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:{port}", "", "a b", "[::2]"])
def test_a_name_that_leads_here_is_not_a_name_of_this_server(server: Server, host: str) -> None:
    answer = server.ask("/api/runs", Host=host.format(port=server.port))
    assert answer.status == 400
    assert "Host" in answer.problem


@pytest.mark.parametrize("host", ["localhost", "localhost:{port}", "127.0.0.1", "LOCALHOST:1", "[::1]:{port}"])
def test_names_of_this_machine_are(server: Server, host: str) -> None:
    assert server.ask("/api/runs", Host=host.format(port=server.port)).status == 200


def test_two_hosts_and_none_are_refused(server: Server) -> None:
    for lines in (f"Host: 127.0.0.1:{server.port}\r\nHost: evil.example\r\n", "X-Other: 1\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), 60) as connection:
            connection.sendall(f"GET /api/runs HTTP/1.1\r\n{lines}Connection: close\r\n\r\n".encode())
            assert connection.makefile("rb").readline().split()[1] == b"400"


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://localhost"])
def test_a_request_of_another_site_is_refused(server: Server, origin: str) -> None:
    for method in ("GET", "POST", "DELETE"):
        answer = server.ask("/api/runs?name=x.rgm", method, b"", Origin=origin)
        assert answer.status == 403, (method, origin)
        assert "another site" in answer.problem
    form = server.ask("/uploads", "POST", b"", Origin=origin, Content_Type="multipart/form-data; boundary=x")
    assert form.status == 403


def test_a_request_of_its_own_page_is_taken(server: Server) -> None:
    own = f"http://127.0.0.1:{server.port}"
    assert server.ask("/api/runs", Origin=own, Sec_Fetch_Site="same-origin").status == 200


def test_what_a_browser_says_of_the_site_counts(server: Server) -> None:
    link = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    assert server.ask("/", **link).status == 200  # somebody follows a link
    assert server.ask("/api/runs", **link).status == 403
    assert server.ask("/", **(link | {"Sec_Fetch_Dest": "iframe"})).status == 403
    assert server.ask("/uploads", "POST", b"", **link).status == 403
    image = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "image"}
    assert server.ask("/", **image).status == 403


# --- the token ----------------------------------------------------------------------------------------------------


def test_others_need_the_token(open_server: Server) -> None:
    for path in ("/", "/api/runs", "/openapi.json", "/nowhere", "/api/runs?token=wrong"):
        assert open_server.ask(path).status == 401
    right = open_server.token
    assert open_server.ask("/api/runs", X_Regimeter_Token=right).status == 200
    assert open_server.ask("/api/runs", Authorization=f"Bearer {right}").status == 200
    assert open_server.ask("/api/runs", Authorization=f"Basic {right}").status == 401
    assert open_server.ask("/api/runs", X_Regimeter_Token=right[:-1]).status == 401
    assert open_server.ask("/api/runs", Cookie=f"regimeter-{open_server.port}=wrong").status == 401


def test_a_browser_gets_a_cookie_for_the_token(open_server: Server) -> None:
    answer = open_server.ask(f"/?token={open_server.token}&a=1")
    assert (answer.status, answer.headers["location"]) == (303, "/?a=1")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite" in cookie
    assert open_server.ask("/", Cookie=cookie.partition(";")[0]).status == 200
    away = open_server.ask(f"//evil.example/?token={open_server.token}")
    assert away.headers.get("location", "/").startswith("/")
    assert not away.headers.get("location", "/").startswith("//")


def test_names_that_it_was_told_are_taken(open_server: Server) -> None:
    token = {"X_Regimeter_Token": open_server.token}
    assert open_server.ask("/api/runs", Host="profiles.example", **token).status == 200
    assert open_server.ask("/api/runs", Host="192.0.2.7:80", **token).status == 200
    assert open_server.ask("/api/runs", Host="evil.example", **token).status == 400


# --- which files --------------------------------------------------------------------------------------------------


def test_nothing_outside_of_the_folder_is_listed(server: Server) -> None:
    names = {run["name"] for run in server.ask("/api/runs").json()["runs"]}
    assert {"run.rgm", "within.rgm", HOSTILE} <= names
    assert not names & {"link.json.gz", "folder/secret.json.gz", ".hidden.json.gz", "pipe.json"}


@pytest.mark.parametrize(
    "name",
    [
        "../outside0/secret.json.gz", "..%2f..%2fetc%2fpasswd", "/etc/passwd", "%2e%2e/%2e%2e", "link.json.gz",
        "folder/secret.json.gz", "run.rgm%00", "%ff%fe", "C:%5Cx",
    ],
)  # fmt: skip
def test_no_path_leads_out(server: Server, outside: Path, name: str) -> None:
    for path in (f"/api/profiler/flame?run={name}", f"/runs/{name}", f"/api/runs/{name}/verdict"):
        answer = server.ask(path)
        assert answer.status in (404, 422), path
        assert str(outside).encode() not in answer.body


def test_a_file_that_becomes_a_link_is_not_followed(folder: Path, outside: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "run.rgm", tmp_path / "run.rgm")
    with serving(str(tmp_path)) as one:
        known = one.id_of("run.rgm")
        assert one.ask(f"/api/profiler/flame?run={known}").status == 200
        (tmp_path / "run.rgm").unlink()
        (tmp_path / "run.rgm").symlink_to(outside / "secret.json.gz")
        assert one.ask(f"/api/profiler/flame?run={known}").status == 404


def test_hostile_names_are_shown_as_text(server: Server) -> None:
    text = server.ask("/").body.decode()
    assert "<img src=x" not in text
    assert HOSTILE in [row["name"] for row in sections_of(text)["runs"]["rows"]]
    page = server.ask(f"/runs/{server.id_of(HOSTILE)}").body.decode()
    assert "<img src=x" not in page


# --- uploads ------------------------------------------------------------------------------------------------------


def test_an_upload_is_listed_tagged_and_deleted(server: Server, folder: Path) -> None:
    made = server.ask("/api/runs?name=mine.rgm", "POST", (folder / "run.rgm").read_bytes())
    assert made.status == 201
    run = made.json()
    assert run["uploaded"]
    assert server.ask(f"/api/profiler/timeline?run={run['id']}").json()["spans"] == 160
    assert server.ask(f"/api/runs/{run['id']}/tags/fast", "PUT").json()["tags"] == ["fast"]
    assert server.ask(f"/api/runs/{run['id']}/tags/best-1", "PUT").json()["tags"] == ["best-1", "fast"]
    assert server.ask(f"/api/runs/{run['id']}/tags/fast", "DELETE").json()["tags"] == ["best-1"]
    assert server.ask(f"/api/runs/{run['id']}/tags/%3Cb%3E", "PUT").status == 422
    assert "best-1" in server.ask("/").body.decode()
    assert server.ask(f"/api/runs/{run['id']}", "DELETE").status == 204
    assert server.ask(f"/api/runs/{run['id']}").status == 404
    assert sorted(path.name for path in folder.iterdir()).count("mine.rgm") == 0


def test_an_upload_by_the_form(server: Server, folder: Path) -> None:
    content = (folder / "run.rgm").read_bytes()
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="form.rgm"\r\n\r\n'
    body = head + content + b"\r\n--x--\r\n"
    answer = server.ask("/uploads", "POST", body, Content_Type="multipart/form-data; boundary=x")
    assert (answer.status, answer.headers["location"]) == (303, "/runs")
    assert server.ask(f"/api/runs/{server.id_of('form.rgm')}", "DELETE").status == 204
    for wrong in (b"", b"--x--\r\n", b"no form"):
        assert server.ask("/uploads", "POST", wrong, Content_Type="multipart/form-data; boundary=x").status in (
            400,
            422,
        )
    assert server.ask("/uploads", "POST", b"x", Content_Type="text/plain").status == 422


def test_a_folder_that_takes_no_tags_is_said_to(folder: Path, tmp_path: Path) -> None:
    keep = tmp_path / "kept"
    (keep / "tags.json").mkdir(parents=True)  # what is written cannot take its place
    with serving(str(folder / "run.rgm"), "--keep", str(keep)) as one:
        answer = one.ask(f"/api/runs/{one.id_of('run.rgm')}/tags/nightly", "PUT")
        assert answer.status == 403
        assert answer.problem.startswith("tags.json cannot be written: Is a directory; start the server with --keep")
        assert one.ask(f"/api/runs/{one.id_of('run.rgm')}").json()["tags"] == []


def test_files_that_were_there_are_deleted_only_where_that_is_allowed(
    server: Server, folder: Path, tmp_path: Path
) -> None:
    answer = server.ask(f"/api/runs/{server.id_of('run.rgm')}", "DELETE")
    assert answer.status == 403
    assert "--allow-delete" in answer.problem
    shutil.copy(folder / "run.rgm", tmp_path / "gone.rgm")
    with serving(str(tmp_path), "--allow-delete") as one:
        assert one.ask(f"/api/runs/{one.id_of('gone.rgm')}", "DELETE").status == 204
    assert not (tmp_path / "gone.rgm").exists()


def test_what_is_kept_is_there_again(folder: Path, tmp_path: Path) -> None:
    keep = tmp_path / "kept"
    with serving(str(folder / "run.rgm"), "--keep", str(keep)) as one:
        made = one.ask("/api/runs?name=kept.rgm", "POST", (folder / "run.rgm").read_bytes()).json()
        one.ask(f"/api/runs/{made['id']}/tags/good", "PUT")
    with serving(str(folder / "run.rgm"), "--keep", str(keep)) as one:
        again = one.ask(f"/api/runs/{made['id']}").json()
        assert (again["name"], again["tags"]) == ("kept.rgm", ["good"])


def test_a_large_body_is_refused(server: Server) -> None:
    declared = server.ask("/api/runs?name=x.rgm", "POST", b"x", Content_Length=str(3 * MB))
    assert declared.status == 413
    undeclared = server.ask("/api/runs?name=x.rgm", "POST", (b"x" * 65536 for _ in range(60)))
    assert undeclared.status == 413
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="form.rgm"\r\n\r\n'
    pieces = (head, *(b"x" * 65536 for _ in range(60)), b"\r\n--x--\r\n")
    form = server.ask("/uploads", "POST", iter(pieces), Content_Type="multipart/form-data; boundary=x")
    assert form.status == 413
    elsewhere = server.ask("/api/runs/x/tags/y", "PUT", b"x" * 100_000)
    assert elsewhere.status == 413


@pytest.mark.parametrize("kind", ["blanks", "events"])
def test_a_bomb_is_refused(server: Server, kind: str) -> None:
    text = (
        b"[" + b" " * (9 * MB)
        if kind == "blanks"
        else b'[{"ph":"X","ts":1,"dur":1,"pid":1,"tid":1,"name":"a"}' * 180_000
    )
    bomb = gzip.compress(text, 9)
    assert len(bomb) < 2 * MB
    answer = server.ask("/api/runs?name=bomb.json.gz", "POST", bomb)
    assert answer.status == 413
    assert "unpacked" in answer.problem
    assert not [run for run in server.ask("/api/runs").json()["runs"] if run["name"] == "bomb.json.gz"]


@pytest.mark.parametrize(
    "name", ["", "..%2Fx.rgm", "a%2Fb", "a%5Cb", ".hidden", "a%00b", "a%0Ab", "%E2%80%AEx", "x" * 300]
)
def test_hostile_names_of_uploads_are_refused(server: Server, folder: Path, name: str) -> None:
    answer = server.ask(f"/api/runs?name={name}", "POST", (folder / "run.rgm").read_bytes())
    assert answer.status == 422
    assert "name" in answer.problem


@pytest.mark.parametrize(
    "content", [b"", b"no run at all", b'{"traceEvents": [1, 2]}', b"\x89RGM\r\n\x1a\n" + b"\0" * 99, b"\x1f\x8bx"]
)
def test_what_cannot_be_read_is_not_kept(server: Server, content: bytes) -> None:
    answer = server.ask("/api/runs?name=odd.json", "POST", content)
    assert answer.status == 422
    assert "odd.json" in answer.problem
    assert "/tmp" not in answer.problem
    assert not [run for run in server.ask("/api/runs").json()["runs"] if run["name"] == "odd.json"]


# --- what is told -------------------------------------------------------------------------------------------------


def test_no_answer_names_a_place_on_the_disk(server: Server, folder: Path) -> None:
    paths = [
        "/", "/runs", "/api/runs", "/openapi.json", "/api/profiler/hta?run=run.rgm", "/api/profiler/flame?run=run.rgm",
        "/api/profiler/timeline?run=run.rgm", "/api/compare?baseline=run.rgm&current=within.rgm",
        "/compare?baseline=run.rgm&current=within.rgm", f"/api/runs/{server.id_of(HOSTILE)}/analyses/kernels",
        f"/runs/{server.id_of(HOSTILE)}", f"/compare?baseline={server.id_of(HOSTILE)}&current={server.id_of(HOSTILE)}",
    ]  # fmt: skip
    for path in paths:
        answer = server.ask(path)
        assert answer.status == 200, path
        assert str(folder).encode() not in answer.body, path


@pytest.mark.parametrize("path", ["/", "/runs", "/api/runs", "/nowhere", "/api/live?run=run.rgm"])
def test_head_is_get_without_the_body(server: Server, path: str) -> None:
    server.home()
    head = server.ask(path, "HEAD")
    assert head.body == b""
    if not path.startswith("/api/live"):  # which ends when it is left
        answer = server.ask(path)
        assert (head.status, head.headers["content-length"]) == (answer.status, str(len(answer.body)))
    assert server.ask(path, "HEAD", Host="evil.example").status == 400


def test_every_answer_has_the_headers_that_browsers_heed(server: Server) -> None:
    for path in ("/", "/api/runs", "/nowhere", "/api/profiler/flame"):
        headers = server.ask(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "access-control-allow-origin" not in headers
    refused = server.ask("/", Host="evil.example")
    assert "default-src 'none'" in refused.headers["content-security-policy"]
    assert json.loads(refused.body)["status"] == 400
