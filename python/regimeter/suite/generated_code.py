# SPDX-License-Identifier: Apache-2.0
"""Kernels in the code that torch's inductor generates: what is fused in each, and how often it is called."""

import re
from collections import Counter
from collections.abc import Collection

from .compile_report import FusedKernel

MOST_NAME = 1000  # of letters; taking names apart takes the square of that
_DEFINED = re.compile(r"^(\w+) = async_compile\.(\w+)\(", re.M)
_CALLED = re.compile(r"^ +(\w+)(?:\.run)?\(", re.M)
_SIGNATURE = re.compile(r"(?:\bkernel|^def \w+)\(([^)]*)\)", re.M)
_POINTER = re.compile(r"\b(in_out_ptr|in_ptr|out_ptr)\d+")
_EXTERN = re.compile(r"\b(?:extern_kernels|torch\.ops\.\w+|aten|mkldnn\._\w+|inductor_ops)\.\w+(?:\.\w+)?\(")


def kernels_of(code: str, operators: Collection[str]) -> tuple[list[FusedKernel], int]:
    """Return the generated kernels that are called, and how many calls of library kernels there are.

    operators: the names that torch knows, without a namespace: a kernel is named after those that it fuses.
    """
    body = _body(code)
    kinds = dict(_DEFINED.findall(code))
    called = Counter(name for name in _CALLED.findall(body) if name in kinds)
    kernels = [FusedKernel(name, fused_in(name, operators), count, kinds[name]) for name, count in called.items()]
    lines = [line.split("#")[0] for line in body.splitlines()]
    return kernels, sum(bool(_EXTERN.search(line)) for line in lines)


def pointers_of(code: str) -> dict[str, list[str]]:
    """Return of each generated kernel what it does with the tensors that it is given, in their order.

    That is "in_ptr" (reads), "out_ptr" (writes) or "in_out_ptr" (both); [] where a kernel does not name them so.
    """
    found, places = {}, [*_DEFINED.finditer(code)]
    for place, after in zip(places, [*(one.start() for one in places[1:]), len(code)], strict=True):
        signature = _SIGNATURE.search(code, place.end(), after)
        found[place[1]] = _POINTER.findall(signature[1]) if signature else []
    return found


def fused_in(name: str, operators: Collection[str]) -> list[str]:
    """Return the operators in a kernel's name, the fewest that it can be put together of; itself where it cannot."""
    text = re.sub(r"^.*?fused_|_\d+$", "", name)
    if len(text) > MOST_NAME:
        return [text]
    best: dict[int, list[str]] = {0: []}
    for end in range(1, len(text) + 1):
        if end < len(text) and text[end] != "_":
            continue
        for begin in sorted(best):
            start = begin + 1 if begin else 0  # the line between two names
            word = text[start:end]
            if word in operators and len(best[begin]) + 1 < len(best.get(end, text)):
                best[end] = [*best[begin], word]
    return best.get(len(text), [text])


def _body(code: str) -> str:
    """Return the function that runs the kernels."""
    start = re.search(r"^( *)def call\(", code, re.M)
    if start is None:
        return ""
    lines = code[start.end() :].splitlines()
    body = lines[:1]
    for line in lines[1:]:
        if line.strip() and len(line) - len(line.lstrip()) <= len(start[1]):
            break
        body.append(line)
    return "\n".join(body)
