# SPDX-License-Identifier: Apache-2.0
"""The nine workloads on the device, against their references in C and against NumPy."""

import zlib
from typing import Any

from .claims import Claim, between, equal, physical, shown
from .common import UnavailableHere, find_compiler_of_kernels, spread


def errors_of(name: str, outputs: dict[str, Any], dtypes: dict[str, str], expected: dict[str, Any]) -> dict[str, float]:
    """Return the largest difference of each output over the largest value, and what is allowed."""
    import numpy as np
    from workload_oracles import TOLERANCES

    worst = 0.0
    for key, wanted in expected.items():
        got = np.frombuffer(outputs[key], dtypes[key]).astype(float)
        scale = max(1.0, float(np.abs(wanted).max()))
        worst = max(worst, float(np.abs(got - np.asarray(wanted, float).ravel()).max()) / scale)
    return {"error": worst, "allowed": TOLERANCES[name]}


def measure(effort: dict[str, int] | None = None) -> dict[str, Any]:
    """Run each with its documented inputs twice, and with random inputs of awkward sizes.

    effort: warmup and iterations of those with documented inputs, where they are not to be the usual ones.
    """
    find_compiler_of_kernels()
    import numpy as np
    from workload_oracles import ORACLES, SIZES, documented_inputs, random_inputs

    from regimeter import UnavailableError, _core

    found: dict[str, Any] = {}
    for name, row in _core.workloads().items():
        dtypes = {key: buffer["dtype"] for key, buffer in row["buffers"].items()}
        try:
            first = _core.run_workload(name, 0, inputs=documented_inputs(name), **(effort or {}))
        except UnavailableError as error:
            raise UnavailableHere(str(error)) from None
        again = _core.run_workload(name, 0, **(effort or {}))
        reference = _core.run_workload(name)
        expected = {key: np.frombuffer(value, dtypes[key]) for key, value in reference["outputs"].items()}
        sizes = []
        for parameters in (given for other, given in SIZES if other == name):
            inputs = random_inputs(name, parameters, np.random.default_rng(zlib.crc32(name.encode())))
            result = _core.run_workload(name, 0, parameters=parameters, inputs=inputs, warmup=1, iterations=1)
            sizes.append(errors_of(name, result["outputs"], dtypes, ORACLES[name](inputs, parameters)))
        found[name] = {
            "documented": errors_of(name, first["outputs"], dtypes, expected),
            "same_bits": first["outputs"] == again["outputs"],
            "sizes": sizes,
            "times_ns": first["times_ns"],
            "gaps": first["gaps"],
            "arch": first["arch"],
            "operations": first["operations"],
            "bytes": first["bytes"],
        }
    return found


def judge(found: dict[str, Any]) -> list[Claim]:
    """Within the tolerance of single precision, the same bits again, and times that can be true."""
    claims = [equal("workloads", len(found), 9)]
    for name, row in found.items():
        for label, error in (
            ("documented", row["documented"]),
            *((f"size {i}", e) for i, e in enumerate(row["sizes"])),
        ):
            if label == "documented" or error["error"] > error["allowed"]:
                text = f"<= {error['allowed']:g} of the largest"
                claims.append(
                    Claim(f"{name}, {label}: error", error["error"], text, error["error"] <= error["allowed"])
                )
        claims.append(equal(f"{name}: the same bits twice", row["same_bits"], True))
        claims.append(equal(f"{name}: launches that the host delayed", row["gaps"], 0))
        claims.append(physical(between(f"{name}: median", spread(row["times_ns"])["median"], 500, 8e6, "ns")))
        claims.append(shown(f"{name}: spread", spread(row["times_ns"]), "ns"))
    return claims
