# SPDX-License-Identifier: Apache-2.0
"""Alerts with hysteresis: raised after several looks above a threshold, cleared below a lower one."""

import contextlib
import json
import queue
import threading
import urllib.request
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import policy


@dataclass(slots=True)
class Alarm:
    """The state of one rule. value: of the last look that had one; raised: how often."""

    rule: policy.Rule
    firing: bool = False
    value: float | None = None
    above: int = 0
    raised: int = 0

    def look(self, value: float | None) -> str:
        """Take the value of a look; return "firing" or "cleared" where that changes, else ""."""
        if value is None:
            return ""
        self.value = value
        self.above = self.above + 1 if value > self.rule.fires else 0
        if not self.firing and self.above >= self.rule.looks:
            self.firing, self.raised = True, self.raised + 1
            return "firing"
        if self.firing and value <= self.rule.clears:
            self.firing = False
            return "cleared"
        return ""


class Alerts:
    """The alarms of the rules that were asked for, and who is told of changes."""

    def __init__(self, rules: Sequence[policy.Rule], tell: "Sequence[Callable[[dict[str, Any]], None]]" = ()) -> None:
        """Begin with nothing raised. tell: called with each change."""
        self.alarms = [Alarm(rule) for rule in rules]
        self.changes: deque[dict[str, Any]] = deque(maxlen=policy.MOST_CHANGES)  # the last ones
        self._tell = tell

    def look(self, values: Mapping[str, float | None], about: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Take the values of a look; return what changed, each told to all. about: goes into each."""
        changes = []
        for alarm in self.alarms:
            state = alarm.look(values.get(alarm.rule.name))
            if state:
                limit = alarm.rule.fires if state == "firing" else alarm.rule.clears
                facts = {"alert": alarm.rule.name, "state": state, "value": alarm.value, "threshold": limit}
                changes.append({**facts, "unit": alarm.rule.unit, "what": alarm.rule.doc, **about})
        self.changes.extend(changes)
        for change in changes:
            for tell in self._tell:
                with contextlib.suppress(OSError):  # a closed terminal keeps nothing from the others
                    tell(change)
        return changes

    @property
    def raised(self) -> list[str]:
        """Names of the rules that have fired at all."""
        return [alarm.rule.name for alarm in self.alarms if alarm.raised]


def value_text(value: float | None, unit: str = "") -> str:
    """Return a value of a rule, or a limit of it, with its unit; "" where it is not known."""
    return "" if value is None else f"{value:.4g} {unit}".rstrip()


def line_of(change: Mapping[str, Any]) -> str:
    """Return a change as one line."""
    side = "above" if change["state"] == "firing" else "at most"
    figure = f"{value_text(change['value'], change['unit'])}, {side} {value_text(change['threshold'])}"
    return f"alert {change['alert']} {change['state']}: {figure} ({change['what']})"


class Webhook:
    """Posts each change as JSON, from a thread of its own; what cannot be posted is counted and disturbs nothing."""

    def __init__(self, url: str) -> None:
        """Nothing is started yet: the thread begins with the first change, and so leaves alone the signals that the
        thread of that does."""
        self.failures = 0
        self.reason = ""
        self._url = url
        self._waiting: queue.Queue[dict[str, Any] | None] = queue.Queue(policy.WEBHOOK_WAITING)
        self._thread: threading.Thread | None = None

    def __call__(self, change: dict[str, Any]) -> None:
        """Have it posted. Does not wait."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._post_all, name="regimeter-webhook", daemon=True)
            self._thread.start()
        try:
            self._waiting.put_nowait(change)
        except queue.Full:
            self._failed(f"{policy.WEBHOOK_WAITING} alerts wait already")

    def close(self) -> None:
        """Wait for what is being posted, as long as one call may take."""
        if self._thread is None:
            return
        with contextlib.suppress(queue.Full):
            self._waiting.put(None, timeout=policy.WEBHOOK_TIMEOUT_S)
        self._thread.join(policy.WEBHOOK_TIMEOUT_S)

    def _post_all(self) -> None:
        while (change := self._waiting.get()) is not None:
            body = json.dumps(change).encode()
            request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"}, method="POST")
            try:
                with urllib.request.urlopen(request, timeout=policy.WEBHOOK_TIMEOUT_S):
                    pass
            except (OSError, ValueError) as error:  # HTTPError is an OSError
                self._failed(str(error))

    def _failed(self, reason: str) -> None:
        self.failures += 1
        self.reason = reason
