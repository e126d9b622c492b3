# SPDX-License-Identifier: Apache-2.0
"""When the last minutes of a recording are written out: conditions of `regimeter monitor --on`."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .look import Look

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
SIZES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
SIGNALS = ("SIGUSR1", "SIGUSR2")
FORMS = "slow-step>500ms, failed-scope, memory>8G, alert, SIGUSR1, SIGUSR2"


def seconds_of(text: str) -> float:
    """Return a duration as `500ms`, `2s`, `10m` or `1h` in seconds. ValueError where it is none."""
    return _quantity(text, UNITS, "a duration such as 500ms, 2s, 10m or 1h")


def bytes_of(text: str) -> float:
    """Return a size as `500M` or `8G` (powers of 1000) in bytes. ValueError where it is none."""
    return _quantity(text.lower().removesuffix("b"), SIZES, "a size such as 500M or 8G")


def _quantity(text: str, units: dict[str, float], expected: str) -> float:
    found = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)([a-z]*)", text)
    if not found or found[2] not in units or not float(found[1]):
        raise ValueError(f"expected {expected}, got {text!r}")
    return float(found[1]) * units[found[2]]


@dataclass(slots=True)
class Trigger:
    """A condition. limit: in seconds or bytes, where it has one."""

    name: str
    limit: float = 0.0
    rests_until: float = 0.0

    @classmethod
    def of(cls, text: str) -> "Trigger":
        """Read one as it is given to --on. ValueError where it is none."""
        name, _, limit = text.partition(">")
        if name == "slow-step" and limit:
            return cls(name, seconds_of(limit))
        if name == "memory" and limit:
            return cls(name, bytes_of(limit))
        if not limit and name in ("failed-scope", "alert", *SIGNALS):
            return cls(name)
        raise ValueError(f"expected one of {FORMS}; got {text!r}")

    def reason(self, look: "Look", alerts: list[dict[str, Any]]) -> str:
        """Return what of a look fulfils it, "" where nothing does."""
        if self.name == "slow-step" and look.slowest_step_s > self.limit:
            return f"a step took {look.slowest_step_s:.4g} s, above {self.limit:.4g} s"
        if self.name == "memory" and look.resident_bytes > self.limit:
            return f"{look.resident_bytes:,} bytes are resident, above {self.limit:,.0f}"
        if self.name == "failed-scope" and look.failed:
            return f"{look.failed} scopes were ended by an exception"
        fired = [change["alert"] for change in alerts if change["state"] == "firing"]
        return f"alert {', '.join(fired)}" if self.name == "alert" and fired else ""
