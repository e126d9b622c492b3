# SPDX-License-Identifier: Apache-2.0
"""Names of kernels as a reader tells them apart: "add<float> - vectorized_elementwise" for a page of C++ templates."""

import itertools
import re
from collections import Counter
from collections.abc import Iterable

ANONYMOUS = "(anonymous namespace)::"
NAMESPACE = re.compile(r"^(?:[A-Za-z_]\w*::)+(?=\S)")
# Names of template arguments that say how a kernel works, and not what it does.
MACHINERY = re.compile(
    r"^(?:cublasGemv|float\d|__hip_)|(?:Policy\d*|Params|State|Calculator|[Aa]rray|Metadata|Traits|Loader?|Storer?|Cast|NullType|OpaqueType|Scaling|Tensor)$"
)
WRAPPERS = re.compile(
    r"^(?:AUnaryFunctor|BUnaryFunctor|BinaryFunctor|gpu_kernel_impl(?:_nocast)?|gpu_index_kernel|ReduceOp|func_wrapper_t)$"
)
TYPES = {
    "bool", "char", "double", "float", "half", "int", "long", "short", "BFloat16", "Half", "__half", "__nv_bfloat16",
    "signed char", "unsigned char", "unsigned int", "unsigned long", "long long", "Float8_e4m3fn", "Float8_e5m2",
}  # fmt: skip
BARE = re.compile(r"^(?:[Kk]ernel\d*|globalKernel)$")
LAMBDA = re.compile(r"\{lambda\(([^(){}]*)\)#\d+\}(?!.*\{lambda)")
MANGLED = re.compile(r"(?<![\dL])(?<!L[a-z])(\d+)")


def short_names(texts: Iterable[str]) -> dict[str, str]:
    """Return the short form of each name that has one, by the name; no two names have the same."""
    made = {text: short for text in dict.fromkeys(texts) if (short := short_name(text)) != text}
    counts = Counter(made.values())
    for text, short in made.items():
        if counts[short] > 1:
            made[text] = _with_figures(text, short)
    seen: Counter[str] = Counter()
    twice = {short for short, count in Counter(made.values()).items() if count > 1}
    for text, short in made.items():
        if short in twice:
            seen[short] += 1
            made[text] = f"{short} ({seen[short]})"
    return made


def short_name(text: str) -> str:
    """Return what a kernel does and on which types, and the kernel that does it; a name that is no C++ as it is."""
    if text.startswith("_Z"):
        return _of_mangled(text)
    if not (("(" in text and text.rstrip().endswith(")")) or "<" in text) or text.startswith("Mem"):
        return text
    plain = text.replace(ANONYMOUS, "")
    name, arguments = _template(_without_parameters(plain))
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        return text
    outer = re.sub(r"_?kernel$", "", name) or name
    work = next((found for found in map(_work, arguments) if found), "")
    if work:
        return work if BARE.match(name) else f"{work} - {outer}"
    types = _types(arguments)
    return f"{outer}<{', '.join(types)}>" if types else outer


def _with_figures(text: str, short: str) -> str:
    _, arguments = _template(_without_parameters(text.replace(ANONYMOUS, "")))
    figures = [one for one in arguments if re.fullmatch(r"\d+(?:ul|u|l)?", one)]
    return f"{short} [{', '.join(figures)}]" if figures else short


def _depths(text: str) -> list[int]:
    """Return how deep each character lies within brackets; the brackets themselves lie outside."""
    depth, found = 0, []
    for at, character in enumerate(text):
        if character in ")}]" or (character == ">" and text[at - 1 : at] != "-"):
            depth -= 1
        found.append(depth)
        if character in "({[<":
            depth += 1
    return found


def _without_parameters(text: str) -> str:
    """Return a function without the type that it returns and without its parameters."""
    depths = _depths(text)
    opened = [at for at, character in enumerate(text) if character == "(" and depths[at] == 0]
    end = opened[-1] if opened and text.rstrip().endswith(")") else len(text)
    begun = [at for at in range(end) if text[at] == " " and depths[at] == 0]
    return text[begun[-1] + 1 if begun else 0 : end].strip()


def _template(text: str) -> tuple[str, list[str]]:
    """Return the last name of a qualified one, and the arguments of its template."""
    depths = _depths(text)
    parts = [at for at in range(len(text)) if text.startswith("::", at) and depths[at] == 0]
    last = text[parts[-1] + 2 if parts else 0 :]
    opened = last.find("<")
    if opened < 0 or not last.endswith(">"):
        return last, []
    inner = last[opened + 1 : -1]
    inner_depths = _depths(inner)
    cuts = [-1, *(at for at, one in enumerate(inner) if one == "," and inner_depths[at] == 0), len(inner)]
    return last[:opened], [inner[a + 1 : b].strip() for a, b in itertools.pairwise(cuts)]


def _plain(text: str) -> str:
    """Return a type without its namespaces and qualifiers."""
    bare = re.sub(r"\bconst\b|[*&]|^\((.*?)\)\d+$", "", text).strip()
    return NAMESPACE.sub("", bare)


def _types(arguments: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(one for one in map(_plain, arguments) if one in TYPES))


def _work(argument: str) -> str:
    """Return what a template argument does, with its types; '' for a type, a figure, or how the kernel is built."""
    depths = _depths(argument)
    opened = next((at for at, one in enumerate(argument) if one == "(" and depths[at] == 0), len(argument))
    name, inner = _template(argument[:opened].removesuffix("::operator"))
    lambdas = LAMBDA.search(argument) if not inner else None
    if lambdas:
        return _named(re.sub(r"(?:_cuda|_impl|_kernel)+$", "", name), _types(lambdas[1].split(",")))
    if not re.fullmatch(r"[A-Za-z_]\w*", name) or _plain(argument) in TYPES or name in ("true", "false"):
        return ""
    if WRAPPERS.match(name):
        return next((found for found in map(_work, inner) if found), "")
    if MACHINERY.search(name):
        return ""
    stem = re.sub(r"^CUDAFunctor(?:OnSelf)?_|_?[Ff]unctor$|_kernel_impl$", "", name)
    return _named(stem, _types(inner))


def _named(name: str, types: list[str]) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        return ""
    return f"{name}<{', '.join(types)}>" if types else name


def _of_mangled(text: str) -> str:
    """Return the last name of a mangled function, after the first one among its template's arguments."""
    names: list[tuple[str, int]] = []
    at, nested = 2, 0
    while (found := MANGLED.search(text, at)) and len(names) < 6:
        end = found.end() + int(found[1])
        if end > len(text) or not re.match(r"[A-Za-z_]", text[found.end() :]):
            at = found.end()
            continue
        names.append((text[found.end() : end], nested))
        nested += text[end : end + 1] == "I"
        at = end
    outside = [name for name, depth in names if depth == 0]
    inside = [name for name, depth in names if depth == 1]
    if not outside:
        return text
    return f"{inside[0]} - {outside[-1]}" if inside else outside[-1]
