# SPDX-License-Identifier: Apache-2.0
"""Colours stay apart in every sight, and sizes are those of the scales: computed from css/tokens.css."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from regimeter.regime import plot_picture
from regimeter.report.flame_svg import FILLS

CSS = Path(__file__).resolve().parents[2] / "python/regimeter/web/css"
TOKENS = (CSS / "tokens.css").read_text("utf-8")
ACTIVITIES = ("compute", "memory-limited", "communication", "copies", "overhead", "operator")
SURFACE = "surface"
# Severity 1 of Machado, Oliveira, Fernandes: A Physiologically-based Model for Simulation of Color Vision Deficiency
# (2009), applied to linear light.
SIGHTS = {
    "normal": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
# Linear sRGB to OKLab (Ottosson 2020).
CONES = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
OKLAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]


def colour(name: str, theme: int) -> str:
    """Return a token's colour in the light (0) or the dark theme (1)."""
    found = re.search(rf"--{name}: (?:light-dark\((#\w+), (#\w+)\)|(#\w+)|var\(--([\w-]+)\));", TOKENS)
    assert found is not None, name
    if found[4]:
        return colour(found[4], theme)
    return found[3] or found[1 + theme]


def linear(text: str) -> np.ndarray:
    value = np.array([int(text[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def seen(text: str, sight: str) -> np.ndarray:
    """Return the OKLab of a colour as somebody with that sight sees it."""
    light = np.clip(np.array(SIGHTS[sight]) @ linear(text), 0, 1)
    return np.array(OKLAB) @ np.cbrt(np.array(CONES) @ light)


def distance(names: tuple[str, ...], theme: int, sight: str) -> float:
    """Return the smallest distance of two of them."""
    colours = [seen(colour(name, theme), sight) for name in names]
    return min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(colours, 2))


def contrast(one: str, two: str) -> float:
    low, high = sorted(float(linear(text) @ [0.2126, 0.7152, 0.0722]) for text in (one, two))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("theme", "least"), [(0, 0.126), (1, 0.145)], ids=["light", "dark"])
def test_activities_stay_apart_in_every_sight(theme: int, least: float) -> None:
    assert min(distance(ACTIVITIES, theme, sight) for sight in SIGHTS) >= least
    # With the seventh, which only operations and annotations have.
    assert min(distance((*ACTIVITIES, "seventh"), theme, sight) for sight in SIGHTS) >= 0.1


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_graphics_and_texts_have_contrast(theme: int) -> None:
    for name in (*ACTIVITIES, "seventh", "series-other", "bar", "idle-launch", "idle-wait"):
        assert contrast(colour(name, theme), colour(SURFACE, theme)) >= 3, name
    for name in ("text", "muted", "accent", "bad", "warn"):
        for ground in (SURFACE, "background", "sunken"):
            assert contrast(colour(name, theme), colour(ground, theme)) >= 4.5, (name, ground)
    inks = {
        "compute": "ink-either",
        "communication": "ink-either",
        "overhead": "ink-dark",
        "memory-limited": "ink-dark",
    }
    for name, ink in inks.items():
        assert contrast(colour(name, theme), colour(ink, theme)) >= 4.5, name


def test_a_pair_that_is_alike_is_found() -> None:
    global TOKENS
    kept = TOKENS
    try:
        TOKENS = kept.replace("--copies: light-dark(#6f4683", "--copies: light-dark(#2a5fc0")
        assert min(distance(ACTIVITIES, 0, sight) for sight in SIGHTS) < 0.126
    finally:
        TOKENS = kept


def test_colours_stand_in_one_place() -> None:
    """Scripts name tokens; styles of panels have no colour of an activity of their own."""
    own = {colour(name, theme) for name in (*ACTIVITIES, "seventh") for theme in (0, 1)}
    for path in [*CSS.glob("*.css"), *CSS.parent.glob("js/**/*.js")]:
        if path.name != "tokens.css":
            assert not own & set(re.findall(r"#[0-9a-f]{6}", path.read_text("utf-8"))), path.name


def test_pictures_have_the_colours_of_the_page() -> None:
    tokens = {kind: colour(f"kind-{kind}", 0) for kind in FILLS}
    assert tokens == FILLS
    series = [colour(f"series-{number}", 1) for number in (*range(1, 8), "other")]
    assert series == list(plot_picture.COLOURS)


def test_sizes_are_those_of_the_scales() -> None:
    types = re.findall(r"--type-\d: (\d+)px", TOKENS)
    assert types == ["12", "13", "14", "16", "20", "28"]
    for path in CSS.glob("*.css"):
        if path.name == "print.css":  # paper has points of its own
            continue
        text = path.read_text("utf-8")
        for size in re.findall(r"font-size: ([^;]+);", text):
            assert re.fullmatch(r"var\(--type-\d\)|inherit", size), f"{path.name}: {size}"
        assert set(re.findall(r"font-weight: (\d+)", text)) <= {"400", "600"}, path.name
        for given in re.findall(r"\n\s+(?:margin|padding|gap|row-gap|column-gap)[a-z-]*: ([^;]+);", text):
            spaces = {abs(int(size)) for size in re.findall(r"(-?\d+)px", given)}
            assert spaces <= {0, 1, 2, 4, 8, 12, 16, 24, 32, 48}, f"{path.name}: {given}"
