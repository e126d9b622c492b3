# SPDX-License-Identifier: Apache-2.0
"""The plots as one page: SVG with the values under the pointer and series that can be switched off. No network."""

import base64
import hashlib
import html
import json
import math
from pathlib import Path

from ..system.files import atomic_writer
from .roofline import PANELS, REGIMES, Line, Plot, Roof, sentence

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 14, 26, 44
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
ROOM = 1.6  # factor above the highest value of a logarithmic axis, so that a roof does not lie on the frame
FOLDER = Path(__file__).resolve().parent / "page"
# Colours of all pages (web/css/tokens.css), as the build has stripped them.
PARTS, TOKENS = FOLDER.parent.parent / "web" / "page_parts.json", "css/tokens.css"
COLOURS = tuple(f"var(--series-{number})" for number in ("1", "2", "3", "4", "5", "6", "7", "other"))
REGIME_COLOURS = tuple(
    f"var(--{name})" for name in ("overhead", "memory-limited", "compute", "series-other", "idle-line")
)

Range = tuple[float, float]


def write(plot: Plot, path: Path) -> None:
    """Write the page; a reader sees the old file or the whole new one. OSError where it cannot be written."""
    with atomic_writer(path) as file:
        file.write(render(plot))


def render(plot: Plot) -> str:
    """Return the page as one document; every name in it is escaped."""
    style = json.loads(PARTS.read_text("utf-8"))[TOKENS] + (FOLDER / "plots.css").read_text(encoding="utf-8")
    script = (FOLDER / "plots.js").read_text(encoding="utf-8")
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}"
    names = list(dict.fromkeys(line.name for line in plot.lines))
    keys = "".join(
        f'<button type="button" class="key" data-series="{html.escape(name)}" aria-pressed="true">'
        f'<svg width="12" height="12"><circle cx="6" cy="6" r="5" fill="{_colour(names, name)}"/></svg>'
        f"{html.escape(name)}</button>"
        for name in names
    )
    panels = {panel: _panel(plot, names, panel, title, across, up) for panel, title, across, up in PANELS}
    shown = [panels.pop("roofline"), _regimes(plot), *panels.values()]  # what the sentence says comes first
    said = sentence(plot)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(plot.title)} - regimeter</title><style>{style}</style></head><body>"
        f"<h1>{html.escape(said or plot.title)}</h1>{f'<p>{html.escape(plot.title)}</p>' if said else ''}"
        f"<p class='keys'>{keys}</p><main>{''.join(shown)}</main>"
        f'<p id="readout" role="status"></p><script>{script}</script></body></html>\n'
    )


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def _colour(names: list[str], name: str) -> str:
    return COLOURS[names.index(name) % len(COLOURS)]


def _figure(title: str, body: str, legend: str = "") -> str:
    return (
        f"<figure><figcaption>{html.escape(title)}</figcaption>{legend}"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(title)}">{body}</svg></figure>'
    )


def _panel(plot: Plot, names: list[str], panel: str, title: str, across: str, up: str) -> str:
    mine = [line for line in plot.lines if line.panel == panel]
    roofs = _corners(plot.roof, mine) if panel == "roofline" else []
    xs = [p[0] for line in mine for p in line.points] + [p[0] for p in roofs]
    ys = [p[1] for line in mine for p in line.points] + [p[1] for p in roofs]
    if not xs:
        return _figure(title, f'<text x="{WIDTH // 2}" y="{HEIGHT // 2}" class="none">nothing measured</text>')
    linear = panel == "bandwidth"
    across_range = (min(xs), max(xs))
    up_range = (0.0, max(1.1, *ys)) if linear else (min(ys), ROOM * max(ys))
    body = [_axis(across_range, up_range, across, up, linear)]
    joined = panel != "roofline"
    if roofs:
        body.append(f'<path class="roof" d="{_path(roofs, across_range, up_range, False)}"/>')
    if linear:
        body.append(f'<path class="roof" d="M{LEFT} {_y(1.0, up_range, True):.1f} H{WIDTH - RIGHT}"/>')
    body += [_line(line, _colour(names, line.name), across_range, up_range, linear, joined) for line in mine]
    return _figure(title, "".join(body), _roof_text(plot.roof) if roofs else "")


def _corners(roof: Roof, mine: list[Line]) -> list[tuple[float, float]]:
    if not roof.bandwidth or not roof.flops:
        return []
    ridge = roof.flops / roof.bandwidth
    xs = [p[0] for line in mine for p in line.points]
    low, high = min([ridge / 100, *xs]), max([ridge * 100, *xs])
    return [(low, low * roof.bandwidth), (ridge, roof.flops), (high, roof.flops)]


def _roof_text(roof: Roof) -> str:
    return f'<p class="legend">{html.escape(roof.text)}</p>'


def _x(value: float, ends: Range) -> float:
    low, high = (math.log10(end) for end in ends)
    return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(value) - low) / ((high - low) or 1.0)


def _y(value: float, ends: Range, linear: bool) -> float:
    low, high = ends if linear else (math.log10(ends[0]), math.log10(ends[1]))
    at = value if linear else math.log10(value)
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (at - low) / ((high - low) or 1.0)


def _path(points: list[tuple[float, float]], across: Range, up: Range, linear: bool) -> str:
    return "M" + " L".join(f"{_x(x, across):.1f} {_y(y, up, linear):.1f}" for x, y in points)


def _line(line: Line, colour: str, across: Range, up: Range, linear: bool, joined: bool) -> str:
    path = _path([(x, y) for x, y, _ in line.points], across, up, linear)
    dots = "".join(
        f'<circle cx="{_x(x, across):.1f}" cy="{_y(y, up, linear):.1f}" r="4" fill="{colour}" '
        f'data-text="{html.escape(text)}"><title>{html.escape(text)}</title></circle>'
        for x, y, text in line.points
    )
    stroke = f'<path d="{path}" stroke="{colour}"/>' if joined else ""
    return f'<g data-series="{html.escape(line.name)}">{stroke}{dots}</g>'


def _ticks(ends: Range, linear: bool) -> list[float]:
    if linear:
        step = next(size for size in (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, ends[1]) if ends[1] / size <= 6)
        return [step * place for place in range(int(ends[1] / step + 1e-9) + 1)]
    low, high = math.ceil(math.log10(ends[0]) - 1e-9), math.floor(math.log10(ends[1]) + 1e-9)
    step = max(1, math.ceil((high - low) / 5))
    return [10.0**power for power in range(low, high + 1, step)]


def _power(value: float) -> str:
    """Return a power of ten as it is written by hand."""
    return "10" + str(round(math.log10(value))).translate(RAISED)


def _axis(across: Range, up: Range, across_name: str, up_name: str, linear: bool) -> str:
    parts = [
        f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT - TOP - BOTTOM}" class="frame"/>'
    ]
    for value in _ticks(across, False):
        x = _x(value, across)
        parts.append(f'<path class="grid" d="M{x:.1f} {TOP} V{HEIGHT - BOTTOM}"/>')
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 15}" class="middle">{_power(value)}</text>')
    for value in _ticks(up, linear):
        y = _y(value, up, linear)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f} H{WIDTH - RIGHT}"/>')
        text = f"{value:g}" if linear else _power(value)
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" class="end">{text}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 8}" class="middle">'
                 f"{html.escape(across_name)}</text>")  # fmt: skip
    parts.append(f'<text x="4" y="{TOP - 12}">{html.escape(up_name)}</text>')
    return "".join(parts)


def _short(count: int) -> str:
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count / size:.0f}{unit}"
    return str(count)


def _regimes(plot: Plot) -> str:
    names = list(dict.fromkeys(point.operation for point in plot.points))
    sizes = sorted({point.elements for point in plot.points})
    if not names:
        return ""
    wide = (WIDTH - LEFT - RIGHT) / len(sizes)
    tall = (HEIGHT - TOP - BOTTOM) / len(names)
    parts = []
    for point in plot.points:
        x, y = LEFT + wide * sizes.index(point.elements), TOP + tall * names.index(point.operation)
        regime = point.profile["regime"]
        text = html.escape(f"{point.operation}, {point.elements:,} elements: {regime}, {point.profile['detail']}")
        parts.append(
            f'<rect x="{x + 1:.1f}" y="{y + 1:.1f}" width="{wide - 2:.1f}" height="{tall - 2:.1f}" '
            f'fill="{REGIME_COLOURS[REGIMES.index(regime)]}" data-text="{text}"><title>{text}</title></rect>'
        )
    for number, name in enumerate(names):
        parts.append(
            f'<text x="{LEFT - 5}" y="{TOP + 4 + tall * (number + 0.5):.1f}" class="end">{html.escape(name)}</text>'
        )
    for number, size in enumerate(sizes):
        x = LEFT + wide * (number + 0.5)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 15}" class="middle">{_short(size)}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 8}" class="middle">elements</text>')
    keys = "".join(
        f'<span><svg width="11" height="11"><rect width="11" height="11" fill="{colour}"/></svg>{regime}</span>'
        for regime, colour in zip(REGIMES, REGIME_COLOURS, strict=True)
    )
    return _figure("Regime", "".join(parts), f'<p class="legend">{keys}</p>')
