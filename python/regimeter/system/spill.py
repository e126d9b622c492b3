# SPDX-License-Identifier: Apache-2.0
"""How much memory this process may take for runs; what goes beyond lies in a file (csrc/base/spill.h).

Half of a limit is for the columns and the scratch memory of analyses, the rest for everything else that a process
needs. The file lies in ``$REGIMETER_SPILL``, else ``$TMPDIR``, else ``/var/tmp``; it has no name and is gone with the
process, however that ends.
"""

import os

from .. import _core
from . import quantities

LIMIT_VARIABLE, FOLDER_VARIABLE = "REGIMETER_MEMORY", "REGIMETER_SPILL"
FOLDER = "/var/tmp"  # /tmp lies in memory on many machines
BLOCKS_PART = 0.5


def limit_memory(size: str | float | None = None) -> None:
    """Set the limit of this process, in bytes or as "512MB"; None: ``$REGIMETER_MEMORY``, where no limit was set yet.

    It holds for what is loaded and computed from then on. ValueError for no size; UnavailableError for a folder whose
    file system lies in memory or cannot reserve space; OSError where no file can be made there.
    """
    stated = size is not None
    if size is None:
        size = os.environ.get(LIMIT_VARIABLE)
        if not size or _core.spill_use()["on"]:
            return
    try:
        limit = quantities.size(size, bare="bytes")
    except ValueError as error:
        raise error if stated else ValueError(f"{LIMIT_VARIABLE}: {error}") from None
    _core.spill_begin(spill_folder(), int(limit * BLOCKS_PART))


def spill_folder() -> str:
    """Return where the file is made."""
    return os.environ.get(FOLDER_VARIABLE) or os.environ.get("TMPDIR") or FOLDER
