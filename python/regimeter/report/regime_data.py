# SPDX-License-Identifier: Apache-2.0
"""What limits a run, for the page: the verdict of each device with all shares, of its longest kernels and scopes."""

from typing import TYPE_CHECKING, Any

from .. import _core
from ..system.text import percent, sureness

if TYPE_CHECKING:
    from ..calibration.choice import Choice
    from ..public.run import Run

KERNELS = SCOPES = 12  # names; the tables of the analyses have all
MOST_DEVICES = 256
NOTICED = 0.05  # of the time: from there on it is said that nothing is known of it


# What the time of a group goes into, by the label that it gives a region.
_GROUPS = {
    "OVERHEAD_BOUND": ("overhead, all but kernels that fill the device, takes", "overhead"),
    "MEMORY_BOUND": ("what memory limits takes", "memory"),
    "COMPUTE_BOUND": ("what arithmetic limits takes", "compute"),
}


def reason_of(row: dict[str, Any], of: str = "device span") -> str:
    """Return why a kernel or a region has its label; of a region by its shares, how large the share is and of what."""
    text: str = _core.regime_texts()["reasons"][row["reason"]]
    if row["reason"] != "shares" or row["regime"] not in _GROUPS:
        return text
    words, group = _GROUPS[row["regime"]]
    share = row[f"{group}_kernels_share"] + (row["overhead_share"] if group == "overhead" else 0)
    return f"{words} {percent(share)} of the {of}, the largest group"


def sureness_of(row: dict[str, Any]) -> str:
    """Return how sure the label of a row is, and how much of the time nothing is known of; '' where nothing is."""
    if row["confidence"] is None:
        return ""
    unknown = (row.get("unjudged_kernels_share") or 0.0) + (row.get("unknown_ns") or 0) / (row.get("wall_ns") or 1)
    if unknown < NOTICED:
        return sureness(row["confidence"])
    if row["confidence"] > 1 - NOTICED:
        return f"whatever limits the {percent(unknown)} of the time that nothing is known of"
    return f"{sureness(row['confidence'])}, nothing is known of {percent(unknown)} of the time"


def regimes_of(run: "Run", ceilings: "Choice") -> dict[str, Any]:
    """Return verdicts of devices, kernels and scopes (a recording's own) with the texts of their reasons."""
    texts = _core.regime_texts()

    def told(row: dict[str, Any]) -> dict[str, Any]:
        words = {"reason_text": reason_of(row), "detail_text": texts["details"][row["detail"]]}
        return row | words | {"sureness": sureness_of(row)}

    regions = run.result("region-regimes", by="run", ceilings=ceilings, top=MOST_DEVICES)
    # Without device work there is nothing that a scope could be judged by.
    judged = any(row["reason"] != "no_device" for row in regions)
    scopes = _scopes(run, ceilings) if judged else []
    kernels = run.result("kernel-regimes", ceilings=ceilings, top=KERNELS)
    return {
        "ceilings": ceilings.note,
        "source": ceilings.source,
        "devices": [told(row) for row in regions],
        "kernels": [told(row) for row in kernels],
        "kernel_names": len(kernels.table),
        "scopes": [told(row) | {"reason_text": reason_of(row, "scope")} for row in scopes],
    }


def _scopes(run: "Run", ceilings: "Choice") -> list[dict[str, Any]]:
    """Return the longest scopes around device work."""
    rows = run.result("region-regimes", by="scope", ceilings=ceilings, top=SCOPES)
    return [row for row in rows if row["name"] and row["reason"] != "no_device"]
