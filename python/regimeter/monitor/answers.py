# SPDX-License-Identifier: Apache-2.0
"""What the port of the monitor answers: /metrics as ever; the live page, its figures and events, and /trigger to those
whom `system/admission.py` lets in."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..report.html import MEDIA_TYPE, policy_of
from ..system.admission import API_POLICY, HEADERS, Admission, Asked

PAGE, DATA, EVENTS, TRIGGER, METRICS = "/", "/page", "/live", "/trigger", "/metrics"
PLAIN, JSON, STREAM = "text/plain; charset=utf-8", "application/json", "text/event-stream"
REASONS = {
    200: "200 OK",
    303: "303 See Other",
    400: "400 Bad Request",
    401: "401 Unauthorized",
    403: "403 Forbidden",
    404: "404 Not Found",
    405: "405 Method Not Allowed",
    409: "409 Conflict",
}
Headers = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: what is sent, and which further headers it has."""

    status: int
    body: Iterable[bytes]
    media: str = PLAIN
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Sources:
    """Where answers come from. page: the document; data: what it shows, as JSON; events: of one watcher; copy: writes
    the last minutes out, None without a ring."""

    metrics: Callable[..., Any]
    page: Callable[[], bytes]
    data: Callable[[], bytes]
    events: Callable[[], Iterator[bytes]]
    copy: Callable[[str], list[str]] | None


def application(admission: Admission, sources: Sources) -> Callable[..., Any]:
    """Return the WSGI application. Prometheus calls this machine as its configuration says, and so /metrics is answered
    under any name and to everybody who reaches the port."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        if environ.get("PATH_INFO") == METRICS:
            return sources.metrics(environ, start_response)
        made = _answer(_asked(environ), environ.get("PATH_INFO", ""), admission, sources)
        start_response(REASONS[made.status], _headers(made))
        return made.body if environ.get("REQUEST_METHOD") != "HEAD" else []

    return answer


def _asked(environ: dict[str, Any]) -> Asked:
    """Return the request; wsgiref joins what was sent twice by a comma, which no Host and no Origin has."""
    headers = {key[5:].replace("_", "-").lower(): text for key, text in environ.items() if key.startswith("HTTP_")}
    path = environ.get("PATH_INFO", "")
    return Asked(environ.get("REQUEST_METHOD", ""), path, environ.get("QUERY_STRING", ""), headers, page=path == PAGE)


def _headers(made: Answer) -> Headers:
    given = {name.lower() for name, _ in made.headers}
    policy = [] if "content-security-policy" in given else [("content-security-policy", API_POLICY)]
    return [("Content-Type", made.media), *made.headers, *HEADERS.items(), *policy]


def _said(status: int, *lines: str, header: tuple[str, str] | None = None) -> Answer:
    body = [f"{line}\n".encode(errors="replace") for line in lines]
    return Answer(status, body, PLAIN, () if header is None else (header,))


def _answer(asked: Asked, path: str, admission: Admission, sources: Sources) -> Answer:
    refused = admission.refused(asked)
    if refused:
        return _said(*refused, header=("WWW-Authenticate", "Bearer") if refused[0] == 401 else None)
    place = admission.place_of_cookie(asked)
    if place:
        return Answer(303, [], PLAIN, (("Location", place), ("Set-Cookie", admission.cookie_text())))
    if path == TRIGGER and sources.copy is not None:
        return _triggered(asked.method, sources.copy)
    if path not in (PAGE, DATA, EVENTS):
        return _said(404, "the live page is at /, the metrics are at /metrics")
    if asked.method not in ("GET", "HEAD") or (path == EVENTS and asked.method == "HEAD"):
        return _said(405, "this address is for GET", header=("Allow", "GET"))
    if path == EVENTS:
        return Answer(200, sources.events(), STREAM)
    if path == DATA:
        return Answer(200, [sources.data()], JSON)
    page = sources.page()
    return Answer(200, [page], MEDIA_TYPE, (("Content-Security-Policy", policy_of(page)),))


def _triggered(method: str, copy: Callable[[str], list[str]]) -> Answer:
    if method != "POST":
        return _said(405, "POST writes the last minutes out", header=("Allow", "POST"))
    try:
        return _said(200, *copy("HTTP"))
    except OSError as error:
        return _said(409, f"nothing was written: {error}")
