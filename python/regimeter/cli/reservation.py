# SPDX-License-Identifier: Apache-2.0
"""The file of a recording, made before the program begins.

Imported before the program begins, as is ``supervise``: what is not needed until then is not imported here.
"""

import contextlib
import os
import re
import time
from typing import NamedTuple

from .. import _core
from ..capture import recording
from .errors import CommandError

SUFFIX = ".rgm"


class Reservation(NamedTuple):
    """`file` is a sound recording of nothing, `kept` what is to be said of it, `before` the files beside it then."""

    file: str
    kept: str | None
    before: dict[str, int]


def reserve(output: str | None, name: str) -> Reservation:
    """Make the file of a program's recording, so that there is one whatever happens.

    CommandError when it cannot be written or is of another kind, BusyError when it is being written.
    """
    file = output if output is not None else _new_name(name)
    if os.path.isdir(file):
        raise CommandError(f"{file}: a directory; name a file in it with -o")
    session = _core.Profiler()
    session._open(file, {})
    text = session._take_warning()
    if session.path is None:
        if output is None:
            with contextlib.suppress(OSError):
                os.unlink(file)
        reason = (text or "").partition(";")[0]
        raise CommandError(f"{reason}; choose another place with -o")
    session._stop()
    if os.path.getsize(file) == 0:
        reason = (session._take_warning() or f"cannot write {file}").partition(";")[0]
        os.unlink(file)
        raise CommandError(f"{reason}; choose another place with -o")
    return Reservation(file, text, recording.files_beside(file))


def _new_name(program: str) -> str:
    """Create a file that nobody else has: regimeter-PROGRAM-TIME.rgm in the current folder."""
    stem = re.sub(r"[^\w.-]+", "_", re.sub(r"\.pyw?$", "", program)).strip("._-")[:60] or "command"
    base = f"regimeter-{stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    for number in range(1, 1000):
        name = f"{base}{SUFFIX}" if number == 1 else f"{base}-{number}{SUFFIX}"
        try:
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except FileExistsError:
            continue
        except OSError as error:
            raise CommandError(f"{name}: cannot be written: {error.strerror}; choose another place with -o") from None
        return name
    raise CommandError(f"{base}{SUFFIX}: exists a thousand times; choose another name with -o")
