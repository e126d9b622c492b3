# SPDX-License-Identifier: Apache-2.0
"""Make the documentation site from docs/ into build/site/html: no network is used, by it or by its pages.

Usage: make_site.py [--output FOLDER]. Its first page is README.md, its contents are those of docs/README.md; a document
that is linked becomes a page, another file a download. The reference of the Python names follows from the package's own
list. A link that leads nowhere, a heading that is not there and whatever else Sphinx warns of ends it with 1. Needs the
group `docs` and an installed regimeter.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import regimeter

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "site"
CONTENTS = ROOT / "docs" / "README.md"
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
CODE = re.compile(r"^(```.*?^```|(?: {4}[^\n]*\n)+)", re.DOTALL | re.MULTILINE)
MEMBERS = "   :members:\n   :inherited-members: BaseException, Enum, tuple, dict\n"
ROOMS = {  # of names: title of their page
    "profiler": "Recording",
    "public": "Runs",
    "compare": "Comparing",
    "suggest": "Suggestions",
    "regime": "What limits an operation",
    "calibration": "Ceilings",
    "suite": "The profiling suite",
    "workloads": "Workloads",
    "tuning": "Tuning",
    "job": "Many ranks",
}
# Rooms whose names stand on another room's page; exceptions are the core's.
BESIDE = {"run": "profiler", "capture": "profiler", "integrations": "profiler", "errors": "public"}


def links(text: str) -> Iterator[tuple[str, int]]:
    """Yield where the links of a document lead within the repository, and in which line they stand."""
    plain = CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    for found in LINK.finditer(plain):
        if "://" not in found[2]:
            yield found[2], plain.count("\n", 0, found.start()) + 1


def gather() -> list[Path]:
    """Return the documents and all files of the repository that they link to; SystemExit names lost links."""
    waiting = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found: dict[Path, None] = {}
    lost = []
    while waiting:
        path = waiting.pop(0)
        if path in found:
            continue
        found[path] = None
        if path.suffix != ".md":
            continue
        for target, line in links(path.read_text(encoding="utf-8")):
            there = Path(os.path.normpath(path.parent / target))
            there = there / "README.md" if there.is_dir() else there
            if there.is_file() and there.is_relative_to(ROOT):
                waiting.append(there)
            else:
                lost.append(f"{path.relative_to(ROOT)}:{line}: {target} is no file of the repository")
    if lost:
        raise SystemExit("\n".join(lost))
    return list(found)


def place(path: Path) -> Path:
    """Return where a file of the repository lies among the pages: a folder's document is its first page."""
    here = path.relative_to(ROOT)
    return here.with_name("index.md") if here.name == "README.md" else here


def moved(text: str, path: Path) -> str:
    """Return a document with its links as they are among the pages."""

    def there(found: re.Match[str]) -> str:
        target = Path(os.path.normpath(path.parent / found[2]))
        if "://" in found[2] or not target.exists():
            return found[0]
        page = place(target / "README.md" if target.is_dir() else target)
        return f"{found[1]}{os.path.relpath(page, place(path).parent)}{found[3] or ''}{found[4]}"

    return LINK.sub(there, text).replace("```mermaid", "```text")  # which only a script from elsewhere would draw


def contents(documents: list[Path], names: list[str]) -> str:
    """Return the table of contents: headings and links of docs/README.md, the pages of names, the other documents."""
    text = CONTENTS.read_text(encoding="utf-8").split("\n", 1)[1]
    parts = re.split(r"^## ", f"\n## Start\n{text}", flags=re.MULTILINE)
    seen: set[str] = set()
    trees = []
    for part in parts[1:]:
        pages = [
            str(Path("docs") / target) for target, _ in links(part) if target not in seen and target.endswith(".md")
        ]
        seen |= {target for target, _ in links(part)}
        trees.append((part.split("\n", 1)[0], pages))
    trees.append(("Python", names))
    listed = {page.removesuffix(".md") for _, pages in trees for page in pages} | {"index"}
    rest = [str(place(path).with_suffix("")) for path in documents if path.suffix == ".md"]
    trees.append(("In the repository", [page for page in rest if page not in listed]))
    directive = "\n```{{toctree}}\n:hidden:\n:caption: {}\n\n{}\n```\n"
    return "".join(directive.format(title, "\n".join(pages)) for title, pages in trees)


def reference(folder: Path) -> list[str]:
    """Write the pages of the public names; return their places."""
    rooms: dict[str, list[str]] = {room: [] for room in ROOMS}
    for name in regimeter.__all__:
        if name.startswith("__"):
            continue
        module = getattr(regimeter, name).__module__.split(".")
        room = module[1] if len(module) > 1 else "errors"
        rooms[BESIDE.get(room, room)].append(name)
    folder.mkdir(parents=True, exist_ok=True)
    for room, names in rooms.items():
        title = ROOMS[room]
        text = f"{title}\n{'=' * len(title)}\n\n"
        for name in names:
            kind, options = ("class", MEMBERS) if isinstance(getattr(regimeter, name), type) else ("function", "")
            text += f".. auto{kind}:: regimeter.{name}\n{options}\n"
        (folder / f"{room}.rst").write_text(text, encoding="utf-8")
    return [f"{folder.name}/{room}" for room in rooms]


def main() -> int:
    """Make the site."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=BUILD / "html", help="folder of the site")
    output = parser.parse_args().output
    pages = BUILD / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    shutil.rmtree(output, ignore_errors=True)
    files = gather()
    for path in files:
        there = pages / place(path)
        there.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            there.write_text(moved(path.read_text(encoding="utf-8"), path), encoding="utf-8")
        else:
            shutil.copy(path, there)
    names = reference(pages / "reference")
    with (pages / "index.md").open("a", encoding="utf-8") as first:
        first.write(contents(files, names))
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", ROOT / "docs", pages, output]
    status = subprocess.run([*command, "-d", BUILD / "doctrees"], check=False).returncode
    if status == 0:
        print(f"{output / 'index.html'}: {sum(1 for _ in output.rglob('*.html'))} pages")
    return status


if __name__ == "__main__":
    sys.exit(main())
