# SPDX-License-Identifier: Apache-2.0
"""Cause: child. A fresh helper process packs each map sheet, and the program waits until it has ended.

Packs the sheets of a terrain map for download: each sheet is handed to a converter run as a command of its own, as
with the tools of a map agency, and the sizes are tabulated.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from array import array
from pathlib import Path

CONVERTER = '''
"""Packs one sheet: make_sheet ROW COLUMN SIDE TARGET"""
import lzma, math, sys
from array import array

row, column, side = map(int, sys.argv[1:4])
heights = array("h")
for y in range(side):
    north = math.sin((row * side + y) * 0.011)
    for x in range(side):
        east = math.cos((column * side + x) * 0.007)
        heights.append(int(900 + 400 * north * east + (x * 31 + y * 17) % 23))
with lzma.open(sys.argv[4], "wb", preset=6) as target:
    target.write(array("i", [row, column, side]).tobytes())
    target.write(heights.tobytes())
'''


def write_converter(folder):
    script = folder / "make_sheet.py"
    script.write_text(CONVERTER)
    return script


def convert(script, row, column, side, folder):
    """Runs the converter for one sheet; the path of the packed sheet."""
    target = folder / f"sheet_{row:02d}_{column:02d}.xz"
    command = [sys.executable, "-S", str(script), str(row), str(column), str(side), str(target)]
    finished = subprocess.run(command, check=False, stdin=subprocess.DEVNULL)
    if finished.returncode != 0:
        raise RuntimeError(f"the converter failed on sheet {row}/{column}: {finished.returncode}")
    return target


def pack(folder, rows, columns, side):
    script = write_converter(folder)
    return {
        (row, column): convert(script, row, column, side, folder).stat().st_size
        for row in range(rows)
        for column in range(columns)
    }


def tabulate(sizes, columns, side):
    raw = side * side * array("h").itemsize
    for start in sorted({row for row, _ in sizes}):
        cells = " ".join(f"{sizes[start, column] / 1024:7.1f}" for column in range(columns))
        print(f"row {start}: {cells} KiB")
    packed = sum(sizes.values())
    print(f"{len(sizes)} sheets, {packed / 1024:.0f} KiB packed of {raw * len(sizes) / 1024:.0f} KiB")


def main():
    parser = argparse.ArgumentParser(description="pack the sheets of a map")
    parser.add_argument("--rows", type=int, default=3)
    parser.add_argument("--columns", type=int, default=5)
    parser.add_argument("--side", type=int, default=700, help="heights per side of a sheet")
    args = parser.parse_args()

    folder = Path(tempfile.mkdtemp(prefix="map_sheets_"))
    began = time.perf_counter()
    try:
        sizes = pack(folder, args.rows, args.columns, args.side)
    finally:
        shutil.rmtree(folder)
    tabulate(sizes, args.columns, args.side)
    print(f"packed in {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
