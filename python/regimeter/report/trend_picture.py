# SPDX-License-Identifier: Apache-2.0
"""The runs of a trend as a picture: points in order, the baseline, the limit, changes of level. SVG without scripts."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..workloads.trend import Trend

WIDTH, HEIGHT = 720, 200
LEFT, RIGHT, TOP, BOTTOM = 76, 110, 12, 34
STYLE = """
svg.trend { width: 100%; max-width: 60rem; height: auto; display: block; }
svg.trend text { fill: currentColor; font-size: 12px; }
svg.trend .axis { stroke: var(--line); fill: none; }
svg.trend .line { fill: none; stroke: var(--compute); stroke-width: 1.5; }
svg.trend circle { fill: var(--compute); } svg.trend .over { fill: var(--bad); }
svg.trend .baseline { stroke: var(--muted); stroke-dasharray: 6 3; }
svg.trend .limit { stroke: var(--bad); stroke-dasharray: 2 3; }
svg.trend .change { stroke: var(--overhead); stroke-dasharray: 4 2; }
svg.trend .end { text-anchor: end; } svg.trend .middle { text-anchor: middle; }
"""


def trend_picture(trend: "Trend") -> str:
    """Return the picture of a trend; times in microseconds from zero, runs from left to right by their numbers."""
    values = [point.value * 1e6 for point in trend.series.points]
    limit = trend.factor * trend.baseline * 1e6 if trend.baseline is not None and trend.judged else None
    top = 1.08 * max([*values, *([limit] if limit is not None else [])]) or 1.0
    count = len(values)

    def x(at: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (0.5 if count == 1 else at / (count - 1))

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top

    def level(value: float, kind: str, label: str) -> list[str]:
        at = f"{y(value):.1f}"
        return [f'<path class="{kind}" d="M{LEFT} {at} H{WIDTH - RIGHT}"/>',
                f'<text x="{WIDTH - RIGHT + 6}" y="{y(value) + 4:.1f}">{label} {value:,.4g}</text>']  # fmt: skip

    parts = [f'<path class="axis" d="M{LEFT} {TOP} V{HEIGHT - BOTTOM} H{WIDTH - RIGHT}"/>']
    parts += [f'<text class="end" x="{LEFT - 6}" y="{y(mark) + 4:.1f}">{mark:,.4g}</text>' for mark in _marks(top)]
    parts.append(f'<text x="4" y="{TOP}">us</text>')
    if trend.baseline is not None:
        parts += level(trend.baseline * 1e6, "baseline", "baseline")
    if limit is not None:
        parts += level(limit, "limit", "limit")
    for change in trend.series.changes:
        parts.append(f'<path class="change" d="M{x(change.at - 0.5):.1f} {TOP} V{HEIGHT - BOTTOM}"/>')
    path = " L".join(f"{x(at):.1f} {y(value):.1f}" for at, value in enumerate(values))
    parts.append(f'<path class="line" d="M{path}"/>')
    for at, (point, value) in enumerate(zip(trend.series.points, values, strict=True)):
        when, commit = f"{point.run.created_at:%Y-%m-%d %H:%M}", (point.run.commit or "")[:12] or "no commit"
        text = escape(f"run {point.run.id}, {when}, {commit}: {value:,.3f} us")
        over = ' class="over"' if limit is not None and value > limit else ""
        parts.append(f'<circle{over} cx="{x(at):.1f}" cy="{y(value):.1f}" r="3.5"><title>{text}</title></circle>')
    for at in sorted({0, count - 1}):
        run = trend.series.points[at].run
        label = f"run {run.id}, {run.created_at:%Y-%m-%d}"
        parts.append(f'<text class="middle" x="{x(at):.1f}" y="{HEIGHT - 12}">{label}</text>')
    name = escape(f"{trend.series.operation}: {count} runs, newest {values[-1]:,.3f} us")
    body = "".join(parts)
    return f'<svg class="trend" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{name}">{body}</svg>'


def _marks(top: float) -> Sequence[float]:
    """Return round values from zero to below the top."""
    from math import floor, log10

    step = 10 ** floor(log10(top / 2))
    step *= next(factor for factor in (1, 2, 5, 10) if top / (step * factor) < 5)
    return [step * at for at in range(int(top / step) + 1)]
