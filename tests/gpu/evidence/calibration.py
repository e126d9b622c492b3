# SPDX-License-Identifier: Apache-2.0
"""The calibration of the product, twice in processes of its own: beside the datasheet, repeated, and its duration."""

import time
from typing import Any

from . import doubles
from .claims import Claim, at_most, between, equal, physical, shown
from .common import UnavailableHere, find_compiler_of_kernels, in_process, ready

TIMES = 2
LIMIT_S, REPEATED = 60, 2
# Rates of doubles mean nothing, however often they are taken.
POLICY = {"dispatch_calls": 500, "batches": 1, "transfer_bytes": 1 << 24} if doubles.ON else None
RATES = ("operations/s", "bytes/s")
# Rates that are no peak of the device: of a bus, which others share, and of a cache, for which no peak is printed.
WITHOUT_PEAK = ("h2d_", "d2h_", "cache_")


def calibrated(policy: dict[str, float] | None = None) -> dict[str, Any]:
    """Calibrate the first device anew, in full; with a policy of one's own for tests, which is not kept."""
    find_compiler_of_kernels()
    ready()
    from regimeter import UnavailableError, _core
    from regimeter.calibration import calibrate

    begin = time.monotonic()
    try:
        made = calibrate("cuda", quick=False, force=True, policy=policy).to_dict()
    except UnavailableError as error:
        raise UnavailableHere(str(error)) from None
    kept = ("name", "ceilings", "peaks", "warnings", "state")
    return {
        "seconds": time.monotonic() - begin,
        "window": [_core.calibrate_policy()[name]["default"] for name in ("sane_low", "sane_high")],
        **{name: made[name] for name in kept},
    }


def measure() -> dict[str, Any]:
    """Calibrate twice; the second process starts when the first has ended."""
    return {"calibrations": [in_process("calibration", "calibrated", POLICY, limit_s=75) for _ in range(TIMES)]}


def peaks_of(row: dict[str, Any]) -> dict[str, float]:
    """Return the peak of each ceiling that has one, from the product's own table of datasheets."""
    peaks = {f"compute_{pipe}": value for pipe, value in row["peaks"]["operations"].items()}
    memory = row["peaks"]["bytes_per_s"]
    if memory:
        peaks |= dict.fromkeys(("memory_copy", "memory_triad", "memory_read", "memory_fill"), memory)
    return {token: value for token, value in peaks.items() if value}


def judge(found: dict[str, Any]) -> list[Claim]:
    """Inside the window around the peak, the same within 2 % the second time, and done within a minute."""
    rows = found["calibrations"]
    peaks, (low, high) = peaks_of(rows[0]), rows[0]["window"]
    claims = [
        equal("calibrations", len(rows), TIMES),
        shown("peaks", rows[0]["peaks"]["source"], rows[0]["name"]),
        *(physical(at_most("duration", row["seconds"], LIMIT_S, "s")) for row in rows),
        *(shown("doubts", row["warnings"]) for row in rows),
    ]
    for token, ceiling in rows[0]["ceilings"].items():
        values = [row["ceilings"][token]["value"] for row in rows]
        if None in values:
            claims.append(shown(f"{token}: not measured", ceiling["reason"]))
            continue
        claims.append(shown(f"{token}: values", [f"{value:.4g}" for value in values], ceiling["unit"]))
        if token in peaks:
            claims.append(physical(between(f"{token}: share of the peak", max(values) / peaks[token], low, high)))
        if ceiling["unit"] in RATES and not token.startswith(WITHOUT_PEAK):
            apart = 100 * (max(values) / min(values) - 1)
            claims.append(physical(at_most(f"{token}: difference of the two", apart, REPEATED, "%")))
    return claims
