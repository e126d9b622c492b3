# SPDX-License-Identifier: Apache-2.0
"""Who may ask: the Host that a request names, the site that it comes from, the token, and the size of its body.

A page of another site can make a browser send requests to this server. It cannot choose their Host, unless it made its
own name lead here (DNS rebinding), and it cannot choose their Origin. Both are looked at before anything else is.
"""

import hmac
import re
import socket
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from .options import Options, as_address, is_loopback
from .problems import Problem, body_of

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
MOST_BODY = 1 << 16  # of what is no upload
UPLOADS = ("/api/runs", "/uploads")
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
API_POLICY = "default-src 'none'; frame-ancestors 'none'"
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"private, no-cache"),
)
_LENGTH = re.compile(r"[0-9]{1,18}")
_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[^:\[\]/@\s]+)(?::(?P<port>\d{1,5}))?")


class Guard:
    """An ASGI application around another one that refuses what must not reach it."""

    def __init__(self, app: Any, options: Options) -> None:
        self.app = app
        self.options = options
        self.names = _own_names(options)
        self.cookie = f"regimeter-{options.port}"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            raise ValueError("only HTTP is served")
        headers = _Headers(scope)
        refused = self._refused(scope, headers)
        if refused:
            await _send_problem(send, *refused, scope["path"], headers.only("accept") or "")
            return
        told = self._token_told(scope, headers) if self.options.token else None
        if told:
            await _send_redirect(send, told, f"{self.cookie}={self.options.token}; HttpOnly; SameSite=Lax; Path=/")
            return
        await self.app(scope, _counted(receive, self._most(scope)), _with_headers(send))

    # --- rules ------------------------------------------------------------------------------------------------------

    def _refused(self, scope: Any, headers: "_Headers") -> tuple[int, str] | None:
        """Return status and sentence where the request is refused."""
        host = headers.only("host")
        if host is None or not self._is_own(host):
            return (
                400,
                "Host: not a name of this server; open it as http://127.0.0.1:PORT, or start it with --name NAME",
            )
        foreign = self._is_foreign(scope, headers, host)
        if foreign:
            return 403, foreign
        if self.options.token and not self._has_token(scope, headers):
            return 401, "a token is needed: open the address that the server printed, or send it as X-Regimeter-Token"
        length = headers.only("content-length") or "0"
        if not _LENGTH.fullmatch(length):
            return 400, "Content-Length: a number of bytes is expected"
        most = self._most(scope)
        if int(length) > most:
            return 413, f"the body of {int(length):,} bytes is above the limit of {most:,}"
        return None

    def _most(self, scope: Any) -> int:
        """Return how large the body may be."""
        return self.options.upload_bytes + MOST_BODY if scope["path"] in UPLOADS else MOST_BODY

    def _is_own(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        if not match:
            return False
        name = match["name"].lower().removeprefix("[").removesuffix("]").removesuffix(".")
        # An address cannot be rebound; where everyone may connect, the machine has more of them than it knows.
        return name in self.names or (not is_loopback(self.options.host) and as_address(name) is not None)

    def _is_foreign(self, scope: Any, headers: "_Headers", host: str) -> str | None:
        """Return why a request is taken to come from another site."""
        origin = headers.only("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return "Origin: the request comes from a page of another site"
        site = headers.only("sec-fetch-site")
        if site in (None, "same-origin", "none"):
            return None
        navigates = scope["method"] in SAFE_METHODS and headers.only("sec-fetch-mode") == "navigate"
        if navigates and headers.only("sec-fetch-dest") == "document" and not scope["path"].startswith("/api/"):
            return None  # a link on another page
        return "Sec-Fetch-Site: the request comes from a page of another site"

    def _has_token(self, scope: Any, headers: "_Headers") -> bool:
        given = [headers.only("x-regimeter-token"), self._cookie_of(headers), _query(scope).get("token")]
        scheme, _, credentials = (headers.only("authorization") or "").partition(" ")
        given.append(credentials if scheme.lower() == "bearer" else None)
        wanted = self.options.token.encode()
        return any(hmac.compare_digest(one.encode("utf-8", "replace"), wanted) for one in given if one)

    def _cookie_of(self, headers: "_Headers") -> str | None:
        try:
            found = SimpleCookie(headers.only("cookie") or "").get(self.cookie)
        except CookieError:
            return None
        return found.value if found else None

    def _token_told(self, scope: Any, headers: "_Headers") -> str | None:
        """Return the address without its token where a browser opened one with it: a cookie takes its place."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if "token" not in dict(query) or scope["method"] != "GET" or scope["path"].startswith("/api/"):
            return None
        rest = urlencode([pair for pair in query if pair[0] != "token"])
        path = "/" + scope.get("raw_path", b"/").decode("latin-1").partition("?")[0].lstrip("/\\")
        return f"{path}?{rest}" if rest else path


class _Headers:
    """Headers of a request; one that is there twice counts as not there, because readers differ in which they take."""

    def __init__(self, scope: Any) -> None:
        self._found: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            self._found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))

    def only(self, name: str) -> str | None:
        """Return the header; of several, and of what was sent twice, nothing that could be taken for sound."""
        values = self._found.get(name, [])
        if not values:
            return None
        return values[0] if len(values) == 1 else "\0"


def _own_names(options: Options) -> frozenset[str]:
    names = {*LOOPBACK_NAMES, options.host.lower(), *(name.lower() for name in options.names)}
    if not is_loopback(options.host):
        names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    return frozenset(name for name in names if name)


def _query(scope: Any) -> dict[str, str]:
    return dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))


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
            headers += [pair for pair in HEADERS if pair[0] not in known]
            if b"content-security-policy" not in known:
                headers.append((b"content-security-policy", API_POLICY.encode()))
            message = {**message, "headers": headers}
        await send(message)

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
