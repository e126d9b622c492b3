# SPDX-License-Identifier: Apache-2.0
"""Who may ask a server of ours: the Host that a request names, the site that it comes from, and the token.

A page of another site can make a browser send requests to this machine. It cannot choose their Host, unless it made its
own name lead here (DNS rebinding), and it cannot choose their Origin. Both are looked at before anything else is.
"""

import hmac
import ipaddress
import re
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
TOKEN_BYTES = 24
# Of every answer: it is of its own site alone, is what it says it is, and is asked for again.
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "private, no-cache",
}
API_POLICY = "default-src 'none'; frame-ancestors 'none'"  # of what is no page
TWICE = "\0"  # what stands for a header that was sent twice: nothing that could be taken for sound
_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[^:\[\]/@\s]+)(?::(?P<port>\d{1,5}))?")


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine can reach what listens there."""
    if host.lower() == "localhost":
        return True
    address = as_address(host)
    return address is not None and address.is_loopback


def as_address(host: str) -> "ipaddress.IPv4Address | ipaddress.IPv6Address | None":
    """Return the IP address that a text is, None for a name."""
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def token_for(host: str) -> str:
    """Return a new token where others than programs of this machine can connect, "" where none is needed."""
    return "" if is_loopback(host) else secrets.token_urlsafe(TOKEN_BYTES)


def address_of(host: str, port: int, token: str = "") -> str:
    """Return the address to open."""
    host = socket.gethostname() if host in ("0.0.0.0", "::", "") else host
    host = f"[{host}]" if ":" in host else host
    return f"http://{host}:{port}/" + (f"?token={token}" if token else "")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request. raw_path: as it was sent; page: whether it is for a page that people open; headers: by their names in
    lower case, with `TWICE` for one that was sent twice, because readers differ in which they take."""

    method: str
    raw_path: str
    query: str
    headers: Mapping[str, str]
    page: bool

    def parameters(self) -> list[tuple[str, str]]:
        """Return names and values of the query."""
        return parse_qsl(self.query, keep_blank_values=True)


class Admission:
    """The rules of one server. host: where it listens; token: what every request has to bring, "" for nothing; names:
    Host names that requests may use beside those of this machine."""

    def __init__(self, host: str, port: int, token: str = "", names: tuple[str, ...] = ()) -> None:
        self.token = token
        self.cookie = f"regimeter-{port}"
        self._open = not is_loopback(host)
        own = {*LOOPBACK_NAMES, host.lower(), *(name.lower() for name in names)}
        if self._open:
            own |= {socket.gethostname().lower(), socket.getfqdn().lower()}
        self.names = frozenset(name for name in own if name)

    def refused(self, asked: Asked) -> tuple[int, str] | None:
        """Return status and sentence where the request is refused."""
        host = asked.headers.get("host")
        if host is None or not self._is_own(host):
            return (
                400,
                "Host: not a name of this server; open it as http://127.0.0.1:PORT, or start it with --name NAME",
            )
        foreign = _is_foreign(asked, host)
        if foreign:
            return 403, foreign
        if self.token and not self._has_token(asked):
            return 401, "a token is needed: open the address that the server printed, or send it as X-Regimeter-Token"
        return None

    def _is_own(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        if not match:
            return False
        name = match["name"].lower().removeprefix("[").removesuffix("]").removesuffix(".")
        # An address cannot be rebound; where everyone may connect, the machine has more of them than it knows.
        return name in self.names or (self._open and as_address(name) is not None)

    def _has_token(self, asked: Asked) -> bool:
        given = [asked.headers.get("x-regimeter-token"), self._cookie_of(asked), dict(asked.parameters()).get("token")]
        scheme, _, credentials = asked.headers.get("authorization", "").partition(" ")
        given.append(credentials if scheme.lower() == "bearer" else None)
        wanted = self.token.encode()
        return any(hmac.compare_digest(one.encode("utf-8", "replace"), wanted) for one in given if one)

    def _cookie_of(self, asked: Asked) -> str | None:
        try:
            found = SimpleCookie(asked.headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return None
        return found.value if found else None

    def place_of_cookie(self, asked: Asked) -> str | None:
        """Return the address without its token where a browser opened a page with it: a cookie takes its place."""
        query = asked.parameters()
        if not self.token or "token" not in dict(query) or asked.method != "GET" or not asked.page:
            return None
        rest = urlencode([pair for pair in query if pair[0] != "token"])
        path = "/" + asked.raw_path.partition("?")[0].lstrip("/\\")
        return f"{path}?{rest}" if rest else path

    def cookie_text(self) -> str:
        """Return the cookie that stands for the token."""
        return f"{self.cookie}={self.token}; HttpOnly; SameSite=Lax; Path=/"


def _is_foreign(asked: Asked, host: str) -> str | None:
    """Return why a request is taken to come from another site."""
    origin = asked.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
        return "Origin: the request comes from a page of another site"
    site = asked.headers.get("sec-fetch-site")
    if site in (None, "same-origin", "none"):
        return None
    navigates = asked.method in SAFE_METHODS and asked.headers.get("sec-fetch-mode") == "navigate"
    if navigates and asked.headers.get("sec-fetch-dest") == "document" and asked.page:
        return None  # a link on another page
    return "Sec-Fetch-Site: the request comes from a page of another site"
