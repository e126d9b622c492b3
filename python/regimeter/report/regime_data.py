# SPDX-License-Identifier: Apache-2.0
"""What limits a run, for the page: the verdict of each device with all shares, of its longest kernels and scopes."""

from typing import TYPE_CHECKING, Any

from .. import _core
from ..calibration.choice import choose

if TYPE_CHECKING:
    from ..calibration.choice import Choice
    from ..trace import Run

KERNELS = SCOPES = 12  # names; the tables of the analyses have all
MOST_DEVICES = 256


def regimes_of(run: "Run") -> dict[str, Any]:
    """Return verdicts of devices, kernels and scopes (a recording's own) with the texts of their reasons."""
    ceilings = choose(run)
    texts = _core.regime_texts()

    def told(row: dict[str, Any]) -> dict[str, Any]:
        return row | {"reason_text": texts["reasons"][row["reason"]], "detail_text": texts["details"][row["detail"]]}

    regions = run.result("region-regimes", by="run", ceilings=ceilings, top=MOST_DEVICES)
    kernels = run.result("kernel-regimes", ceilings=ceilings, top=KERNELS)
    return {
        "ceilings": ceilings.note,
        "source": ceilings.source,
        "devices": [told(row) for row in regions],
        "kernels": [told(row) for row in kernels],
        "kernel_names": len(kernels.table),
        "scopes": [told(row) for row in _scopes(run, ceilings)],
    }


def _scopes(run: "Run", ceilings: "Choice") -> list[dict[str, Any]]:
    """Return the longest scopes around device work; without it there is nothing that a scope could be judged by."""
    rows = run.result("region-regimes", by="scope", ceilings=ceilings, top=SCOPES)
    return [row for row in rows if row["name"] and row["reason"] != "no_device"]
