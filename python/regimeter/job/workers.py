# SPDX-License-Identifier: Apache-2.0
"""Who reads the ranks: this process, processes beside it, or the workers of a Dask cluster.

A process beside is `python -m regimeter.job.worker`, which is sent one path after the other; it does not import the
program that asks, so no `if __name__ == "__main__"` is needed. One that dies is replaced and its file read again, up to
TRIES times; then that file is left out. Results come in the order of the paths, whoever made them.
"""

import contextlib
import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

from .. import _core
from ..run import remote
from .tables import Read, Rules, Source, read_rank

TRIES = 3
LENGTH = struct.Struct("<Q")
CONNECT_SECONDS = 5
KILLED = f"the process that read it was ended {TRIES} times"


def read_here(sources: Sequence[Source], rules: Rules, strict: bool) -> list[Read]:
    """Read in this process, one rank at a time."""
    return [read_rank(source, rules, strict) for source in sources]


# --- processes beside --------------------------------------------------------------------------------------------


def send(file: IO[bytes], value: object) -> None:
    """Write one object behind its length."""
    text = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    file.write(LENGTH.pack(len(text)))
    file.write(text)
    file.flush()


def receive(file: IO[bytes]) -> Any:
    """Read one object. EOFError where the other side has ended. The other side is always a process of our own."""
    head = file.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    size = LENGTH.unpack(head)[0]
    text = file.read(size)
    if len(text) < size:
        raise EOFError
    return pickle.loads(text)


class _Beside:
    """A process that reads ranks for us."""

    def __init__(self) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "regimeter.job.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )

    def read(self, source: Source, rules: Rules, strict: bool) -> Read:
        """Return the tables of a rank. EOFError when the process ends before it has them."""
        assert self._process.stdin
        assert self._process.stdout
        try:
            send(self._process.stdin, (source, rules, strict))
        except BrokenPipeError:
            raise EOFError from None
        found = receive(self._process.stdout)
        if isinstance(found, BaseException):
            raise found
        assert isinstance(found, Read)
        return found

    def end(self) -> None:
        """Let it end; it does when nothing more can come."""
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                assert stream
                stream.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def read_beside(sources: Sequence[Source], rules: Rules, strict: bool, workers: int) -> list[Read]:
    """Read in up to `workers` processes at once."""
    idle: queue.SimpleQueue[_Beside] = queue.SimpleQueue()
    stopping = threading.Event()

    def read(source: Source) -> Read:
        for _ in range(TRIES):
            if stopping.is_set():
                break
            try:
                beside = idle.get_nowait()
            except queue.Empty:
                beside = _Beside()
            try:
                found = beside.read(source, rules, strict)
            except EOFError:
                beside.end()
                continue
            except BaseException:
                beside.end()
                raise
            idle.put(beside)
            return found
        return Read(None, problem=KILLED)

    try:
        with ThreadPoolExecutor(min(workers, len(sources)) or 1, "regimeter-ranks") as pool:
            try:
                return list(pool.map(read, sources))
            except BaseException:
                stopping.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    finally:
        while not idle.empty():
            idle.get().end()


# --- Dask --------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def connect(address: str) -> Iterator[Any]:
    """Give a client of a Dask scheduler. UnavailableError where none answers, or distributed is not installed."""
    try:
        import distributed
    except ImportError:
        raise _core.UnavailableError(
            "--scheduler needs the package distributed; install it: pip install 'regimeter[dask]'"
        ) from None
    import logging

    log = logging.getLogger("distributed")
    level = log.level
    log.setLevel(logging.CRITICAL)  # what it has to say of a scheduler that is not there is said below
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise _core.UnavailableError(
            f"no Dask scheduler answers at {address} ({reason}); start one with `dask scheduler`, or leave it out"
        ) from None
    finally:
        log.setLevel(level)
    try:
        yield client
    finally:
        client.close()


def read_by(client: Any, sources: Sequence[Source], rules: Rules, strict: bool) -> list[Read]:
    """Read by the workers of a distributed.Client, or of an Executor of concurrent.futures.

    They need regimeter and the files under the same paths. A rank whose worker ends is read again by another.
    """
    whole = [_anywhere(source) if isinstance(source, str) else tuple(map(_anywhere, source)) for source in sources]
    if hasattr(client, "scheduler_info"):
        # pure=False: a file may have changed since a result of the same call was kept.
        futures = [client.submit(read_rank, path, rules, strict, pure=False, retries=TRIES) for path in whole]
    else:
        futures = [client.submit(read_rank, path, rules, strict) for path in whole]
    return [_result(future) for future in futures]


def _anywhere(path: str) -> str:
    return path if remote.is_url(path) else os.path.abspath(path)


def _result(future: Any) -> Read:
    try:
        found: Read = future.result()
    except Exception as error:
        if type(error).__name__ != "KilledWorker":
            raise
        return Read(None, problem="the workers that read it were ended")
    return found
