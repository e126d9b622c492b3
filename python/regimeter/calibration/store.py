# SPDX-License-Identifier: Apache-2.0
"""Calibrations on disk: one file for an identity, written whole or not at all, never trusted blindly.

The folder is ``calibration`` below the cache folder (`regimeter.system.cache`). One that another user may write to is
not used.
"""

import json
import os
import stat
import time
from collections.abc import Mapping
from typing import Any

from .. import _core
from ..system.cache import NoCacheError, cache_folder, file_of
from ..system.files import write_json
from .ceiling import Calibration

MOST_BYTES = 1 << 20
DAY_S = 86400


def path_of(identity: Mapping[str, Any]) -> str:
    """Return the file for an identity. NoCacheError where nothing is to be kept."""
    return str(file_of(cache_folder("calibration"), identity))


def find(
    identity: Mapping[str, Any], *, quick: bool, policy: Mapping[str, float], now: float | None = None
) -> tuple[Calibration | None, str]:
    """Return what is kept for this identity and still holds, else None; and what is wrong with a file that is there.

    quick: a quick calibration is good enough.
    """
    try:
        path = path_of(identity)
        with open(path, encoding="utf-8") as file:
            if not _own(os.fstat(file.fileno())):
                return None, f"{path} is not a file of this user alone; it is not read"
            found = Calibration.from_dict(json.loads(_read(file.read(MOST_BYTES + 1))))
    except (NoCacheError, FileNotFoundError, NotADirectoryError):
        return None, ""
    except (OSError, ValueError, RecursionError, TypeError) as error:
        return None, f"{path} cannot be used and is made anew: {error}"
    if dict(found.identity) != json.loads(json.dumps(identity, default=str)):
        return None, f"{path} belongs to another machine or set-up and is made anew"
    age = (time.time() if now is None else now) - found.measured_at
    limit = policy["age_days_quick" if found.quick else "age_days"] * DAY_S
    if not 0 <= age <= limit or (found.quick and not quick):
        return None, ""
    return found, ""


def _read(text: str) -> str:
    if len(text) > MOST_BYTES:
        raise ValueError(f"more than {MOST_BYTES} bytes")
    return text


def keep(calibration: Calibration) -> str:
    """Write the file of a calibration and return its path. NoCacheError or OSError where that is not possible."""
    path = path_of(calibration.identity)
    place = os.path.dirname(path)
    os.makedirs(place, mode=0o700, exist_ok=True)
    if not _own(os.stat(place)):
        raise NoCacheError(f"another user may write to {place}")
    write_json(path, calibration.to_dict(), indent=1, default=str)
    return path


def _own(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & stat.S_IWOTH


def policy(given: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return the numbers that a calibration is made with; ValueError for a name that there is not."""
    values = {name: float(row["default"]) for name, row in _core.calibrate_policy().items()}
    unknown = sorted(set(given or ()) - set(values))
    if unknown:
        raise ValueError(f"no number of a calibration is called {unknown[0]!r}")
    return values | {name: float(value) for name, value in (given or {}).items()}
