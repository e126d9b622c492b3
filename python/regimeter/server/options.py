# SPDX-License-Identifier: Apache-2.0
"""What a server is told when it starts: where it listens, who may ask, and how much it takes."""

from dataclasses import dataclass

from ..calibration.ceiling import Calibration

PORT = 6970
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a server.

    host, port: where it listens; port 0 for any free one. token: what every request has to bring, "" for nothing.
    names: Host names that requests may use beside those of this machine. upload_bytes: the largest upload as it is
    sent; inflated_bytes: the same when it is unpacked. cache_bytes: memory for runs that stay loaded. answer_bytes:
    memory for answers that stay ready. allow_delete: whether files that were there before may be deleted too.
    history: the URL or path of a history of runs, "" for none. ceilings: what runs of that device are held to, None for
    what is known of each run's device. tiles_above: spans above which the page of a run asks for its timeline in tiles,
    None for the threshold `timeline_max_spans`.
    """

    host: str = "127.0.0.1"
    port: int = PORT
    token: str = ""
    names: tuple[str, ...] = ()
    upload_bytes: int = 1024 * MIB
    inflated_bytes: int = 4096 * MIB
    cache_bytes: int = 1024 * MIB
    answer_bytes: int = 128 * MIB
    allow_delete: bool = False
    history: str = ""
    ceilings: Calibration | None = None
    tiles_above: int | None = None
