# SPDX-License-Identifier: Apache-2.0
"""``regimeter serve``: runs over HTTP: their pages, what is known of them as JSON, and two of them compared."""

import argparse
from functools import partial
from typing import TYPE_CHECKING

from .._core import UnavailableError
from ..calibration.choice import read_calibration
from ..system import quantities
from .analyse import CEILINGS
from .common import as_option, port, whole_number

if TYPE_CHECKING:
    from .common import Verbs

MB = 1_000_000
HOST, PORT = "127.0.0.1", 6970
EPILOG = """\
With one file its page is the first page; with a folder, or several, a list from which one can be opened or two
compared. /openapi.json describes the API. Only programs of this machine can connect, unless --host says otherwise:
then every request needs the token that is printed. Nothing is ever written into a folder that is served.
"""


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "serve", parents=[common], epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", metavar="RUN|TRACE|DIR", nargs="*", default=["."], help="default: this folder")
    parser.add_argument("--port", metavar="N", type=port, default=PORT, help=f"0 for any; default: {PORT}")
    parser.add_argument("--host", metavar="ADDRESS", default=HOST, help=f"where to listen; default: {HOST}")
    parser.add_argument("--name", metavar="HOST", action="append", default=[], help="a further name of this server")
    parser.add_argument("--keep", metavar="DIR", help="where uploads and tags stay; default: they go with the server")
    parser.add_argument("--history", metavar="WHERE", default="", help="path or URL of a history of runs to show")
    parser.add_argument("--ceilings", metavar="FILE", help=f"{CEILINGS}; for runs of its device")
    parser.add_argument("--allow-delete", action="store_true", help="let clients delete the files that are served")
    parser.add_argument(
        "--upload-limit", metavar="SIZE", type=_size, default=1024 * MB, help="of one file (default: 1024MB)"
    )
    parser.add_argument(
        "--unpacked-limit", metavar="SIZE", type=_size, default=4096 * MB, help="of it unpacked (default: 4096MB)"
    )
    parser.add_argument(
        "--memory", metavar="SIZE", type=_size, default=1024 * MB, help="for runs that stay loaded (default: 1024MB)"
    )
    parser.add_argument(
        "--tiles-above",
        metavar="SPANS",
        type=whole_number("a number of spans", most=10**17 - 1),
        help="pages of runs with more ask for their timeline piece by piece (default: 1000000)",
    )
    parser.set_defaults(run=run)


def _size(text: str) -> int:
    return round(as_option(partial(quantities.size, bare="mb"), text))


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted."""
    try:  # the extra `web`
        from ..server.options import Options
        from ..server.process import serve
        from ..server.shelf import Shelf
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("regimeter"):
            raise
        raise UnavailableError(
            f"serving needs the package {missing.name}; install it: pip install 'regimeter[web]'"
        ) from None
    options = Options(
        host=arguments.host,
        port=arguments.port,
        names=tuple(arguments.name),
        upload_bytes=arguments.upload_limit,
        inflated_bytes=arguments.unpacked_limit,
        cache_bytes=arguments.memory,
        allow_delete=arguments.allow_delete,
        history=arguments.history,
        ceilings=read_calibration(arguments.ceilings) if arguments.ceilings else None,
        tiles_above=arguments.tiles_above,
    )
    return serve(Shelf(arguments.paths, arguments.keep), options, quiet=arguments.quiet, as_json=arguments.json)
