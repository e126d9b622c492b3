# SPDX-License-Identifier: Apache-2.0
"""The plots as a picture, by matplotlib."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .._core import UnavailableError
from .roofline import PANELS, REGIMES, Plot

# The dark theme of pages (css/tokens.css).
BACKGROUND, PAPER, INK, GRID = "#11151a", "#181d24", "#e4e9ee", "#2e3741"
COLOURS = ("#1a7ce4", "#f6b839", "#8b5780", "#45c1ca", "#dc5f28", "#dae8fb", "#9183a9", "#6b7784")
REGIME_COLOURS = ("#f6b839", "#45c1ca", "#1a7ce4", "#6b7784", "#5a6672")
DPI = 130


def need_matplotlib() -> None:
    """Raise UnavailableError where matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise UnavailableError(
            "pictures need matplotlib: install regimeter[plots], or take a path in .html, which needs nothing"
        )


def write(plot: Plot, path: Path) -> None:
    """Write the picture; the suffix of the path decides on its format. OSError, ValueError as of matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 9.2), facecolor=BACKGROUND, layout="constrained")
    grid = figure.add_gridspec(2, 6)
    places = {"time": grid[0, :2], "throughput": grid[0, 2:4], "bandwidth": grid[0, 4:], "roofline": grid[1, :3]}
    names = list(dict.fromkeys(line.name for line in plot.lines))
    for panel, title, across, up in PANELS:
        axes = _axes(figure, places[panel], title, across, up)
        axes.set_xscale("log")
        axes.set_yscale("linear" if panel == "bandwidth" else "log")
        for line in (x for x in plot.lines if x.panel == panel):
            number = names.index(line.name)
            xs, ys = [p[0] for p in line.points], [p[1] for p in line.points]
            style = "o" if panel == "roofline" else "o-"
            axes.plot(xs, ys, style, ms=4, lw=1.4, color=COLOURS[number % len(COLOURS)], label=line.name)
        if panel == "bandwidth":
            axes.axhline(1.0, color=INK, lw=0.8, ls=":")
        if panel == "roofline":
            _roofs(axes, plot)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=8, facecolor=PAPER, edgecolor=GRID, labelcolor=INK)
    _regimes(figure, grid[1, 3:], plot)
    figure.suptitle(plot.title, color=INK, fontsize=13)
    figure.savefig(path, dpi=DPI)


def _axes(figure: Any, place: Any, title: str, across: str, up: str) -> Any:
    axes = figure.add_subplot(place, facecolor=PAPER)
    axes.set_title(title, color=INK, fontsize=11)
    axes.set_xlabel(across, color=INK, fontsize=9)
    axes.set_ylabel(up, color=INK, fontsize=9)
    axes.tick_params(colors=INK, labelsize=8)
    axes.grid(True, color=GRID, lw=0.5)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_color(GRID)
    return axes


def _roofs(axes: Any, plot: Plot) -> None:
    roof = plot.roof
    low, high = axes.get_xlim()
    if roof.bandwidth and roof.flops:
        ridge = roof.flops / roof.bandwidth
        low, high = min(low, ridge / 100), max(high, ridge * 100)
        axes.plot([low, ridge, high], [low * roof.bandwidth, roof.flops, roof.flops], color=INK, lw=1.2)
        axes.annotate(
            f"{roof.bandwidth / 1e9:,.1f} GB/s, beyond the caches",
            (low * 2, low * 2.6 * roof.bandwidth),
            color=INK,
            fontsize=8,
        )
        axes.annotate(f"{roof.flops / 1e9:,.0f} GFLOP/s", (ridge * 1.5, roof.flops * 1.15), color=INK, fontsize=8)
    axes.set_xlim(low, high)


def _regimes(figure: Any, place: Any, plot: Plot) -> None:
    axes = _axes(figure, place, "Regime", "elements", "")
    names = list(dict.fromkeys(point.operation for point in plot.points))
    axes.set_xscale("log")
    for number, regime in enumerate(REGIMES):
        mine = [point for point in plot.points if point.profile["regime"] == regime]
        if mine:
            xs, ys = [point.elements for point in mine], [names.index(point.operation) for point in mine]
            axes.scatter(xs, ys, marker="s", s=120, color=REGIME_COLOURS[number], label=regime)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) + 0.1)
    axes.legend(fontsize=7, ncols=5, loc="upper center", facecolor=PAPER, edgecolor=GRID, labelcolor=INK)
