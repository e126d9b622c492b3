# SPDX-License-Identifier: Apache-2.0
"""When the last minutes of a recording are written out: conditions of `regimeter monitor --on`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..system import quantities
from ..system.text import amount, duration

if TYPE_CHECKING:
    from .look import Look

SIGNALS = ("SIGUSR1", "SIGUSR2")
FORMS = "slow-step>500ms, failed-scope, memory>8G, alert, SIGUSR1, SIGUSR2"


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
            return cls(name, quantities.seconds(limit))
        if name == "memory" and limit:
            return cls(name, quantities.size(limit))
        if not limit and name in ("failed-scope", "alert", *SIGNALS):
            return cls(name)
        raise ValueError(f"expected one of {FORMS}; got {text!r}")

    @property
    def text(self) -> str:
        """What it is, for people."""
        limits = {"slow-step": f" > {duration(self.limit * 1e3)}", "memory": f" > {amount(self.limit)}"}
        return self.name + limits.get(self.name, "")

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
