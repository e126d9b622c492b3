# SPDX-License-Identifier: Apache-2.0
"""The process that serves: it takes a port, says under which address it can be opened, and serves until it is ended."""

import asyncio
import dataclasses
import json
import logging
import signal
import socket
from types import FrameType

import uvicorn

from ..system.admission import address_of, token_for
from .app import make_app
from .options import Options
from .past import Past
from .service import Service
from .shelf import Shelf

MOST_CONNECTIONS = 512
KEEP_ALIVE_S = 15
LEAVE_S = 3  # that open connections have when the server is ended


def serve(shelf: Shelf, options: Options, *, quiet: bool = False, as_json: bool = False) -> int:
    """Serve until a signal ends it, and return the exit code. OSError where the port cannot be had.

    as_json: the address is printed as a JSON document. Where others than programs of this machine can connect, a
    token is made and the address has it.
    """
    logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # what clients send wrong, they are told
    end = _End()
    before = signal.signal(signal.SIGTERM, end)  # else what is done at the end would not be done
    service = None
    try:
        Past(options.history).check()
        listening = listen(options.host, options.port)
        options = dataclasses.replace(options, port=listening.getsockname()[1])
        options = dataclasses.replace(options, token=options.token or token_for(options.host))
        address = address_of(options.host, options.port, options.token)
        if as_json:
            print(json.dumps({"address": address, "port": options.port, "token": options.token or None}), flush=True)
        else:
            print(address if quiet else f"regimeter: {address}  (Ctrl-C ends it)", flush=True)
        service = Service(shelf, options)
        _Server(config(make_app(service)), service, end).run(sockets=[listening])
    finally:
        if service is not None:
            service.close()
        shelf.close()
        signal.signal(signal.SIGTERM, before)
    return 0


class _Server(uvicorn.Server):
    """A server that tells what goes on for long when it is to end."""

    def __init__(self, config: uvicorn.Config, service: Service, end: "_End") -> None:
        super().__init__(config)
        self.service = service
        self.end = end

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, unless a signal came before there was a server that takes it."""
        await super().startup(sockets)
        self.should_exit |= self.end.asked

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End what streams, then the server."""
        self.service.ending.set()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End, with the connections that come in until no more are taken: a page whose stream ends connects again."""
        late = asyncio.ensure_future(self._end_late())
        try:
            await super().shutdown(sockets)
        finally:
            late.cancel()

    async def _end_late(self) -> None:
        asked: set[object] = set()  # a connection is asked once
        while True:
            for connection in self.server_state.connections - asked:
                connection.shutdown()
                asked.add(connection)
            await asyncio.sleep(0.05)


class _End:
    """Remembers that a signal has asked for the end. An exception could come in the middle of an import."""

    asked = False

    def __call__(self, _number: int, _frame: object) -> None:
        self.asked = True


def config(app: object) -> uvicorn.Config:
    """Return how the application is served."""
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        access_log=False,
        log_level="error",
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=LEAVE_S,
    )


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. OSError that names the place where it cannot be had."""
    found = None
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(place)
        found.listen(1024)
    except OSError as error:
        if found is not None:
            found.close()
        remedy = "; another program has the port, choose one with --port" if error.errno == 98 else ""
        raise OSError(error.errno, f"{error.strerror}{remedy}", f"{host}:{port}") from None
    return found
