# SPDX-License-Identifier: Apache-2.0
"""Answers: made once for each content and question, compressed, and told to be the same when asked again."""

import gzip
import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeAlias, TypeVar

from fastapi import Request, Response

from ..report.html import MEDIA_TYPE, policy_of
from ..system.processors import usable_processors

JSON, BINARY = "application/json", "application/octet-stream"
LEAST_PACKED = 1_000  # bytes; below, packing saves no packet
PACK_LEVEL = 5
T = TypeVar("T")
Packed: TypeAlias = tuple[bytes, str]  # the body as gzip, and the policy that it states


class Answers:
    """Answers that stay ready, within `most_bytes`; two clients that ask the same at once have it made once."""

    def __init__(self, most_bytes: int, version: str) -> None:
        self.most_bytes = most_bytes
        self.version = version
        self.held_bytes = 0
        self._lock = threading.Lock()
        self._ready: OrderedDict[str, Packed] = OrderedDict()
        self._making: dict[str, threading.Lock] = {}
        # More at once would take no less time in all; and each thread that computes keeps memory for the next time.
        self._workers = ThreadPoolExecutor(usable_processors(), "regimeter-answers")

    def close(self) -> None:
        """End the threads that make answers."""
        self._workers.shutdown(cancel_futures=True)

    def submit(self, make: Callable[[], T]) -> "Future[T]":
        """Have one of the threads that make answers make something."""
        return self._workers.submit(make)

    def json(self, request: Request, content: str, make: Callable[[], object]) -> Response:
        """Return what `make` returns as JSON; content: a hash of all that the answer is made of but the question."""
        return self.respond(request, content, lambda: to_json(make()), JSON)

    def html(self, request: Request, content: str, make: Callable[[], str]) -> Response:
        """Return a page; the policy that it states is a header too, with what a page cannot say of itself."""
        return self.respond(request, content, lambda: make().encode("utf-8", "replace"), MEDIA_TYPE)

    def respond(
        self, request: Request, content: str, make: Callable[[], bytes], media: str, *, keep: bool = True
    ) -> Response:
        """Return an answer, 304 where the client has it. keep: whether it stays ready."""
        key = self._key(request, content)
        headers = {"ETag": f'W/"{key}"', "Vary": "Accept-Encoding, Cookie"}
        if _has(request.headers.get("if-none-match", ""), key):
            return Response(status_code=304, headers=headers)
        packed, policy = self._get(key, make, keep)
        if policy:
            headers["Content-Security-Policy"] = policy
        if _takes_gzip(request.headers.get("accept-encoding", "")):
            return Response(packed, headers=headers | {"Content-Encoding": "gzip"}, media_type=media)
        return Response(gzip.decompress(packed), headers=headers, media_type=media)

    def _key(self, request: Request, content: str) -> str:
        asked = sorted((name, value) for name, value in request.query_params.multi_items() if name != "token")
        text = "\0".join((self.version, content, request.url.path, json.dumps(asked)))
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def _get(self, key: str, make: Callable[[], bytes], keep: bool) -> Packed:
        with self._lock:
            if key in self._ready:
                self._ready.move_to_end(key)
                return self._ready[key]
            one_at_a_time = self._making.setdefault(key, threading.Lock())
        with one_at_a_time:
            with self._lock:
                known = self._ready.get(key)
            if known is None:
                try:
                    known = self._workers.submit(_made, make).result()
                finally:
                    with self._lock:
                        self._making.pop(key, None)
                if keep:
                    self._keep(key, known)
        return known

    def _keep(self, key: str, packed: Packed) -> None:
        size = len(packed[0])
        if size > self.most_bytes // 4:
            return
        with self._lock:
            if key in self._ready:
                return
            self.held_bytes += size
            self._ready[key] = packed
            while self.held_bytes > self.most_bytes:
                self.held_bytes -= len(self._ready.popitem(last=False)[1][0])


def to_json(found: object) -> bytes:
    """Return an object as commands print it with ``--json``, without the line breaks."""
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"), default=str, allow_nan=False)
    return text.encode("utf-8", "replace")


def _made(make: Callable[[], bytes]) -> Packed:
    body = make()
    return _packed(body), policy_of(body)


def _packed(body: bytes) -> bytes:
    return gzip.compress(body, PACK_LEVEL if len(body) >= LEAST_PACKED else 0, mtime=0)


def _has(stated: str, key: str) -> bool:
    return any(tag.strip().removeprefix("W/").strip('"') in (key, "*") for tag in stated.split(","))


def _takes_gzip(accepted: str) -> bool:
    for part in accepted.lower().split(","):
        coding, _, weight = part.partition(";")
        if coding.strip() in ("gzip", "*"):
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
