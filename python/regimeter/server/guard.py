# SPDX-License-Identifier: Apache-2.0
"""What stands before the application: who may ask (`system/admission.py`), and the size of a request's body."""

import re
from typing import Any

from ..system.admission import API_POLICY, HEADERS, TWICE, Admission, Asked
from .options import Options
from .problems import Problem, body_of

MOST_BODY = 1 << 16  # of what is no upload
UPLOADS = ("/api/runs", "/uploads")
_LENGTH = re.compile(r"[0-9]{1,18}")
_HEADERS = tuple((name.encode(), text.encode()) for name, text in HEADERS.items())


class Guard:
    """An ASGI application around another one that refuses what must not reach it."""

    def __init__(self, app: Any, options: Options) -> None:
        self.app = app
        self.options = options
        self.admission = Admission(options.host, options.port, options.token, options.names)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            raise ValueError("only HTTP is served")
        asked = _asked(scope)
        refused = self.admission.refused(asked) or self._too_large(scope, asked)
        if refused:
            await _send_problem(send, *refused, scope["path"], asked.headers.get("accept", ""))
            return
        place = self.admission.place_of_cookie(asked)
        if place:
            await _send_redirect(send, place, self.admission.cookie_text())
            return
        answer = _with_headers(send)
        if scope["method"] == "HEAD":  # the answer to GET without its body
            scope, answer = {**scope, "method": "GET"}, _without_body(answer)
        await self.app(scope, _counted(receive, self._most(scope)), answer)

    def _too_large(self, scope: Any, asked: Asked) -> tuple[int, str] | None:
        """Return status and sentence where the body is too large, or does not say how large it is."""
        length = asked.headers.get("content-length") or "0"
        if not _LENGTH.fullmatch(length):
            return 400, "Content-Length: a number of bytes is expected"
        most = self._most(scope)
        if int(length) > most:
            return 413, f"the body of {int(length):,} bytes is above the limit of {most:,}"
        return None

    def _most(self, scope: Any) -> int:
        """Return how large the body may be."""
        return self.options.upload_bytes + MOST_BODY if scope["path"] in UPLOADS else MOST_BODY


def _asked(scope: Any) -> Asked:
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        headers[key] = TWICE if key in headers else value.decode("latin-1")
    path, query = scope.get("raw_path", b"/").decode("latin-1"), scope["query_string"].decode("latin-1")
    return Asked(scope["method"], path, query, headers, page=not scope["path"].startswith("/api/"))


def _counted(receive: Any, most: int) -> Any:
    """Return a `receive` that ends a body which goes on beyond what is taken, whatever its head says of its length."""
    total = 0

    async def count() -> Any:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > most:
            raise Problem(413, f"the body is above the limit of {most:,} bytes")
        return message

    return count


def _with_headers(send: Any) -> Any:
    """Return a `send` that adds the headers which every response has."""

    async def add(message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            known = {name.lower() for name, _ in headers}
            headers += [pair for pair in _HEADERS if pair[0] not in known]
            # A browser takes the headers of a 304 for what it has, and a page of its cache has a policy of its own.
            if b"content-security-policy" not in known and message["status"] != 304:
                headers.append((b"content-security-policy", API_POLICY.encode()))
            message = {**message, "headers": headers}
        await send(message)

    return add


def _without_body(send: Any) -> Any:
    """Return a `send` that ends the response after its headers."""
    ended = False

    async def add(message: Any) -> None:
        nonlocal ended
        if message["type"] == "http.response.start":
            await send(message)
        elif not ended:
            ended = True
            await send({"type": "http.response.body", "body": b""})

    return add


async def _send_problem(send: Any, status: int, detail: str, path: str, accepted: str) -> None:
    body, stated = body_of(status, detail, path, accepted)
    headers = [(name.lower().encode(), text.encode()) for name, text in stated.items()]
    headers.append((b"content-length", str(len(body)).encode()))
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status == 413:
        headers.append((b"connection", b"close"))
    await _with_headers(send)({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _send_redirect(send: Any, place: str, cookie: str) -> None:
    headers = [(b"location", place.encode("latin-1", "replace")), (b"set-cookie", cookie.encode("latin-1"))]
    await _with_headers(send)({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
