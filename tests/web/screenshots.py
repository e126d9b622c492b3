# SPDX-License-Identifier: Apache-2.0
"""Pictures of pages of real files, as ``make screenshots`` keeps them beside this file, and how far two are apart.

    python tests/web/screenshots.py     write them anew

A picture is half as wide and high as the window. Two are compared by the mean colours of squares: another way to smooth
letters makes no difference, a panel that is gone, empty or of another colour does. With other fonts lines break
elsewhere, so what a line of text measures is kept beside the pictures.
"""

import base64
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path += [str(Path(__file__).resolve().parents[1] / folder) for folder in ("python", ".", "web")]

FOLDER = Path(__file__).parent / "screenshots"
CREATED = "2026-01-01T00:00:00Z"
SQUARE = 8  # pixels of a picture
APART = 8  # of 255: by so much the mean of a square may differ in one colour
# Script that takes two pictures as data and returns the share of squares that differ.
DIFFERENCE = """async ([one, two, square, apart]) => {
  const read = async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width: image.width, height: image.height });
    const pen = canvas.getContext("2d");
    pen.drawImage(image, 0, 0);
    return pen.getImageData(0, 0, image.width, image.height);
  };
  const [a, b] = [await read(one), await read(two)];
  if (a.width !== b.width || a.height !== b.height) return 1;
  let [different, all] = [0, 0];
  for (let y = 0; y < a.height; y += square) {
    for (let x = 0; x < a.width; x += square) {
      const sums = [0, 0, 0];
      let count = 0;
      for (let v = y; v < Math.min(y + square, a.height); v += 1) {
        for (let u = x; u < Math.min(x + square, a.width); u += 1, count += 1) {
          const at = 4 * (v * a.width + u);
          for (let c = 0; c < 3; c += 1) sums[c] += a.data[at + c] - b.data[at + c];
        }
      }
      all += 1;
      if (sums.some((sum) => Math.abs(sum) / count > apart)) different += 1;
    }
  }
  return different / all;
}"""


FONTS = "fonts.txt"
# What a line of text measures in the fonts of pages, plain and bold and of equal width.
MEASURE = """() => ["400 100px system-ui", "650 100px system-ui", "400 100px ui-monospace, monospace"].map((font) => {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = font;
  return Math.round(pen.measureText("Regimes 0123456789 µs · ≤ 48 %").width);
}).join(" ")"""


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture: of a file of tests/data or a page of section_pages.py, what its address ends in, in a theme, in a
    window so wide."""

    file: str
    page: str
    scheme: str
    width: int

    @property
    def name(self) -> str:
        """What its file is called."""
        return f"{self.file.split('.')[0]}-{self.page}-{self.width}-{self.scheme}.png"


PAGES = (
    ("h100_bert_small.json.gz", "overview"),
    ("h100_bert_small.json.gz", "kernels"),
    ("h100_bert_small.json.gz", "path"),
    ("version1.rgm", "overview"),
)
SECTIONS = ("compiled", "memory", "workloads", "budgets", "history", "runs", "monitor", "sweep")
FORMS = (("light", 360), ("light", 1280), ("dark", 1280))  # narrow first: what scrolls there need not as it grows
SHOTS = [Shot(file, page, scheme, width) for file, page in PAGES for scheme, width in FORMS]
SHOTS += [Shot(name, "overview", scheme, width) for name in SECTIONS for scheme, width in FORMS]


def page_of(file: str) -> str:
    """Return the page of a file of tests/data or of a page of sections, with a date that does not change."""
    import section_pages
    from traces import load_trace

    import regimeter
    from regimeter.report.html import render_html
    from regimeter.report.trace_data import trace_data

    if file in SECTIONS:
        return render_html(section_pages.page_data(file) | {"created": CREATED})
    recordings = Path(__file__).resolve().parents[1] / "data/recordings"
    run = load_trace(file) if file.endswith(".json.gz") else regimeter.load(recordings / file)
    return render_html(trace_data(run, title=file) | {"created": CREATED})


def taken(context: Any, folder: Path, shots: list[Shot]) -> Iterator[tuple[Shot, bytes]]:
    """Yield pictures of a context of a browser whose pixels are half as wide as those of pages.

    A page is opened once for the shots of it that follow each other: it has to follow its window and the theme.
    """
    tab, opened = context.new_page(), ""
    for shot in shots:
        path = folder / f"{shot.file}.html"
        if not path.exists():
            path.write_text(page_of(shot.file), encoding="utf-8")
        tab.set_viewport_size({"width": shot.width, "height": 900 if shot.width > 700 else 640})
        tab.emulate_media(color_scheme=shot.scheme, reduced_motion="reduce")
        address = f"{path.as_uri()}#page={shot.page}"
        if address != opened:
            tab.goto("about:blank")
            tab.goto(address)
            tab.wait_for_selector("html[data-ready]:not([data-part])")
            tab.evaluate("() => document.fonts.ready")
            opened = address
        tab.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        yield shot, tab.screenshot()
    tab.close()


def difference(tab: Any, one: bytes, two: bytes) -> float:
    """Return the share of squares in which two pictures differ; 1 where they are not of one size."""
    texts = [base64.b64encode(picture).decode() for picture in (one, two)]
    share: float = tab.evaluate(DIFFERENCE, [*texts, SQUARE, APART])
    return share


def renew() -> None:
    """Write all pictures anew."""
    import tempfile

    from chromium import CHROMIUM, FLAGS
    from playwright.sync_api import sync_playwright

    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.png"):
        old.unlink()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(device_scale_factor=0.5)
        for shot, picture in taken(context, Path(folder), SHOTS):
            (FOLDER / shot.name).write_bytes(picture)
            print(f"{shot.name}: {len(picture):,} bytes")
        (FOLDER / FONTS).write_text(context.new_page().evaluate(MEASURE) + "\n", encoding="utf-8")
        browser.close()


if __name__ == "__main__":
    renew()
