# SPDX-License-Identifier: Apache-2.0
"""What a client is told when it gets nothing: one sentence (RFC 9457), without tracebacks and places on the disk."""

import json
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError

from .. import _core
from ..report import html
from ..report.plain import sentence_page

MEDIA_TYPE = "application/problem+json"
SCHEMA = {
    "type": "object",
    "required": ["title", "status", "detail"],
    "properties": {
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "One sentence: what is wrong and what helps."},
    },
}
STATUSES = {
    400: "The request is malformed, or its Host is not one that is served.",
    401: "The token is missing or wrong.",
    403: "The request comes from another site, or is not allowed.",
    404: "There is no such run, analysis, span or place.",
    413: "The body is larger than what is taken.",
    422: "The file cannot be read, or a parameter is out of its range.",
}
# For the description of each path: what may come instead of its answer.
RESPONSES: dict[int | str, dict[str, Any]] = {
    code: {"description": text, "content": {MEDIA_TYPE: {"schema": SCHEMA}}} for code, text in STATUSES.items()
}


# Where every page leads back to: the address, and the words for it.
HOME = ("/runs", "All runs")
# What is said to people above the sentence.
TITLES = {
    400: "The request is malformed",
    401: "The token is missing or wrong",
    403: "This is not allowed",
    404: "This is not here",
    405: "This cannot be done here",
    413: "The file is too large",
    422: "This did not work",
}


class Problem(Exception):
    """A request that gets no answer: the status, and the sentence that says why."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


def body_of(status: int, detail: str, path: str, accepted: str) -> tuple[bytes, dict[str, str]]:
    """Return the body of a problem and the headers that go with it: a page for people, JSON for programs."""
    sentence = " ".join(detail.split())
    if path.startswith("/api/") or "text/html" not in accepted:
        found = {"title": HTTPStatus(status).phrase, "status": status, "detail": sentence}
        return json.dumps(found).encode(), {"Content-Type": MEDIA_TYPE}
    body = sentence_page(TITLES.get(status, "The server failed"), sentence, HOME).encode()
    return body, {"Content-Type": html.MEDIA_TYPE, "Content-Security-Policy": html.policy_of(body)}


def respond(request: Request, status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """Return a problem as a response."""
    body, stated = body_of(status, detail, request.url.path, request.headers.get("accept", ""))
    return Response(body, status, (headers or {}) | stated)


def unreadable(error: Exception, path: str, name: str) -> Problem:
    """Return the problem of a file that could not be read: the name that clients know stands for its path."""
    if isinstance(error, FileNotFoundError):
        return Problem(404, f"{name}: the file is no longer there")
    if isinstance(error, OSError):
        return Problem(422, f"{name}: {error.strerror or 'cannot be read'}")
    if isinstance(error, MemoryError):
        return Problem(422, f"{name}: not enough memory for this file")
    if isinstance(error, _core.Error | ValueError):
        return Problem(422, str(error).replace(path, name).replace(f"{name}: {name}: ", f"{name}: "))
    raise error


def install(app: FastAPI) -> None:
    """Have the application answer every failure with a problem."""

    @app.exception_handler(Problem)
    def _problem(request: Request, problem: Problem) -> Response:
        return respond(request, problem.status, problem.detail)

    @app.exception_handler(RequestValidationError)
    def _invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:]) or "the request"
        return respond(request, 422, f"{where}: {first['msg']}")

    @app.exception_handler(400)
    def _malformed(request: Request, error: HTTPException) -> Response:
        return respond(request, 400, str(error.detail))

    @app.exception_handler(404)
    def _nowhere(request: Request, _error: HTTPException) -> Response:
        return respond(request, 404, "there is nothing at this address; /openapi.json lists all that is served")

    @app.exception_handler(405)
    def _method(request: Request, error: HTTPException) -> Response:
        return respond(request, 405, "this address does not take that method", dict(error.headers or {}))

    @app.exception_handler(Exception)
    def _unforeseen(request: Request, error: Exception) -> Response:
        return respond(request, 500, f"an error of the server: {type(error).__name__}; its own output says more")
