# SPDX-License-Identifier: Apache-2.0
"""A process that reads ranks for another: paths come on standard input, tables go out on standard output."""

import os
import sys

from .tables import read_rank
from .workers import receive, send


def main() -> None:
    """Read what is asked for until nothing more comes."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints must not get between the tables
    while True:
        try:
            source, rules, strict = receive(sys.stdin.buffer)
        except EOFError:
            return
        try:
            found: object = read_rank(source, rules, strict)
        except Exception as error:
            found = RuntimeError(f"{source}: {type(error).__name__}: {error}")
        try:
            send(out, found)
        except BrokenPipeError:
            return


if __name__ == "__main__":
    main()
