# SPDX-License-Identifier: Apache-2.0
"""The work of a call: floating-point operations and bytes, and where each figure comes from.

One multiply-add is two operations. Bytes are the compulsory traffic: every operand read once and every result
written once, caches aside. What is not known is None, never 0.
"""

from dataclasses import dataclass, replace

from .arguments import Array

GIVEN = "given by the caller"
FORMULA = "formula of a known function"
COUNTED = "counted per operator in this call"
LOWER_BOUND = "lower bound: arrays among arguments and result, each once"
UNKNOWN = "unknown"

# Element type -> arithmetic that the processor does it in, as `_core` names its pipes.
PIPES = {
    "float64": "fp64",
    "complex128": "fp64",
    "float32": "fp32",
    "complex64": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8",
    "float8_e5m2": "fp8",
    "int8": "int8",
    "uint8": "int8",
}


@dataclass(frozen=True, slots=True)
class Work:
    """What a call had to do. flops and bytes may be None; operators counts those that a count has seen.

    flops_most: no more operations than these, where flops is not known. elements: of the result of an elementwise
    function, or of an array that is gone over. footprint: bytes that the arrays occupy together, which says
    whether they fit a cache.
    """

    flops: float | None = None
    bytes: float | None = None
    pipe: str | None = None
    flops_source: str = UNKNOWN
    bytes_source: str = UNKNOWN
    footprint: int | None = None
    operators: int | None = None
    elements: int | None = None
    flops_most: float | None = None
    warnings: tuple[str, ...] = ()

    @property
    def intensity(self) -> float | None:
        """Operations per byte, None where one of them is unknown or no byte is moved."""
        if self.flops is None or not self.bytes:
            return None
        return self.flops / self.bytes


def pipe_of(found: list[Array]) -> str | None:
    """Return the pipe of the widest floating type among arrays, else of the first known type."""
    known = [PIPES[array.dtype] for array in found if array.dtype in PIPES]
    floats = [pipe for pipe in ("fp64", "fp32", "bf16", "fp16", "fp8") if pipe in known]
    return floats[0] if floats else known[0] if known else None


def with_given(work: Work, flops: float | None, bytes: float | None) -> Work:
    """Return the work with what the caller gave in place of what was found."""
    if flops is not None:
        work = replace(work, flops=float(flops), flops_source=GIVEN)
    if bytes is not None:
        work = replace(work, bytes=float(bytes), bytes_source=GIVEN)
    return replace(work, warnings=()) if flops is not None and bytes is not None else work
