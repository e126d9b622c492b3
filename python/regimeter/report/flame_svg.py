# SPDX-License-Identifier: Apache-2.0
"""A flame graph as one SVG picture without scripts: callers above what they call, the widest or the first left.

A file for what shows pictures (documents, issues, chats), where the application's page cannot run.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape

from ..system.text import count, duration, percent, printable

WIDTH, LINE, HEAD = 1200, 18, 26
LEAST_PIXELS = 0.5
LETTER = 6.6  # pixels of one of the font
# The colours of the page in its light theme (css/tokens.css), and which kinds of spans have them.
FILLS = {
    "compute": "#2a64d1",
    "communication": "#a85442",
    "memory": "#6f4683",
    "operator": "#263541",
    "call": "#bc8a01",
    "annotation": "#aa79fc",
    "other": "#87919c",
}
KINDS = {
    "kernel": "compute",
    "accelerator": "compute",
    "memcpy": "memory",
    "memset": "memory",
    "cpu_op": "operator",
    "scope": "operator",
    "runtime": "call",
    "driver": "call",
    "annotation": "annotation",
}
LIGHT = ("compute", "communication", "memory", "operator")  # on these the text is white


def flame_svg(root: Mapping[str, Any]) -> str:
    """Return the picture of nodes ``{name, value, children}`` as ``FlameGraphGenerator`` makes them.

    A node is as wide as its value. What would be narrower than half a pixel is left out; its caller says its time.
    """
    placed = list(_placed(root))
    boxes = [_box(root, *place) for place in placed]
    height = HEAD + LINE * (max((depth for _, _, depth, _ in placed), default=0) + 1) + 6
    title = _text(f"Flame graph of {root['trace']}" if root.get("trace") else "Flame graph")
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    head = f"{title}: {duration(root['value'] / 1e3)}"
    parts = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="monospace" font-size="11">',
        f"<title>{title}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="6" y="17" font-weight="bold" fill="#1b232d">{head}</text>',
        *boxes,
        "</svg>\n",
    )
    return "\n".join(parts)


def _placed(root: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], float, int, float]]:
    """Return the nodes that are wide enough with their left edge, depth and the pixels of a microsecond."""
    scale = WIDTH / root["value"] if root["value"] > 0 else 0.0
    waiting: list[tuple[Mapping[str, Any], float, int]] = [(root, 0.0, 0)]
    weight = 0 if root.get("order") == "time" else -1  # 0: as they stand, which is how they began

    def before(child: Mapping[str, Any]) -> tuple[bool, float]:
        return child.get("kind") == "small", weight * child["value"]

    while waiting:
        node, left, depth = waiting.pop()
        if node["value"] * scale < LEAST_PIXELS:
            continue
        yield node, left, depth, scale
        for child in sorted(node.get("children") or (), key=before):
            waiting.append((child, left, depth + 1))
            left += child["value"] * scale


def _box(root: Mapping[str, Any], node: Mapping[str, Any], left: float, depth: int, scale: float) -> str:
    kind = KINDS.get(str(node.get("kind")), "other")
    if kind in ("compute", "memory") and node.get("activity") in ("compute", "communication", "memory"):
        kind = str(node["activity"])
    wide, top = node["value"] * scale, HEAD + depth * LINE
    ink = "#ffffff" if kind in LIGHT else "#0a0e13"
    room = int((wide - 8) / LETTER)
    name = printable(str(node["name"]))
    shown = name if len(name) <= room else f"{name[: room - 1]}…" if room > 2 else ""
    said = f'<text x="{left + 4:.1f}" y="{top + 12}" fill="{ink}">{escape(shown)}</text>' if shown else ""
    return (
        f"<g><title>{_text(_words(root, node))}</title>"
        f'<rect x="{left:.1f}" y="{top}" width="{max(wide - 0.5, 0.3):.1f}" height="{LINE - 1}" fill="{FILLS[kind]}"/>'
        f"{said}</g>"
    )


def _words(root: Mapping[str, Any], node: Mapping[str, Any]) -> str:
    """Return what the pointer reads: name, time, share, own time, spans."""
    own = node["value"] - sum(child["value"] for child in node.get("children") or ())
    parts = [
        duration(node["value"] / 1e3),
        percent(node["value"] / root["value"]),
        f"own {duration(max(own, 0) / 1e3)}",
    ]
    if node.get("count"):
        parts.append(count(int(node["count"]), "span"))
    return f"{node['name']}: {', '.join(parts)}"


def _text(text: str) -> str:
    return escape(printable(text))
