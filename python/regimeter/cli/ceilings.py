# SPDX-License-Identifier: Apache-2.0
"""``regimeter calibrate``: what the processors, the memory or a GPU of this machine reach at most."""

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..calibration import Calibration, Ceiling

STEPS = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
NOTHING_KEPT = 1


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--device", metavar="DEVICE", default="cpu", help="cpu, cuda or cuda:N (default: cpu)")
    parser.add_argument("--quick", action="store_true", help="measure for about 10 s, not for up to a minute")
    parser.add_argument("--force", action="store_true", help="measure although a valid calibration is kept")
    parser.add_argument("--show", action="store_true", help="print what is kept, measure nothing")
    parser.add_argument("--strict", action="store_true", help="refuse a device that another process uses")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure, or show what is kept: 0, and 1 where nothing is kept that could be shown."""
    from .errors import CommandError

    try:
        found = _kept(arguments) if arguments.show else _measured(arguments)
    except ValueError as error:
        raise CommandError(f"calibrate: {error}", 2) from None
    if arguments.json:
        from .common import print_document

        print_document(found.to_dict())
    else:
        print(*text_of(found), sep="\n")
    return 0


def _measured(arguments: argparse.Namespace) -> "Calibration":
    from ..calibration import calibration_for
    from .progress import bar

    with bar(f"calibrating {arguments.device}", quiet=arguments.quiet) as progress:
        return calibration_for(
            arguments.device,
            quick=arguments.quick,
            force=arguments.force,
            strict=arguments.strict,
            progress=progress,
        )


def _kept(arguments: argparse.Namespace) -> "Calibration":
    from ..calibration.measure import kept
    from .errors import CommandError

    found, trouble = kept(arguments.device)
    if found is None:
        why = f" ({trouble})" if trouble else ""
        raise CommandError(
            f"calibrate: no valid calibration of {arguments.device} is kept{why}; "
            f"`regimeter calibrate --device {arguments.device}` makes one",
            NOTHING_KEPT,
        )
    return found


# --- what is printed ------------------------------------------------------------------------------------------


def text_of(found: "Calibration") -> list[str]:
    """Return a calibration as lines."""
    from datetime import datetime

    when = datetime.fromtimestamp(found.measured_at).strftime("%Y-%m-%d %H:%M")
    how = "quick" if found.quick else "full"
    lines = [f"{found.device}: {found.name}", f"{how} calibration of {when}, took {found.duration_s:.1f} s", ""]
    several = found.threads > 1 and found.device == "cpu"
    rows = [_row(token, found, several=several) for token, ceiling in found.ceilings.items() if ceiling.measured]
    head = ("", f"{found.threads} threads", "+/-", "1 thread", "+/-", "measured by") if several else (
        "", "ceiling", "+/-", "measured by")  # fmt: skip
    lines += _table([head, *rows])
    missing: dict[str, list[str]] = {}
    for token, ceiling in found.ceilings.items():
        if not ceiling.measured:
            missing.setdefault(ceiling.reason, []).append(token)
    if missing:
        lines += ["", "not measured"]
        lines += [f"  {', '.join(tokens)}: {reason}" for reason, tokens in missing.items()]
    lines += ["", *(f"warning: {text}" for text in found.warnings)] if found.warnings else []
    return lines


def _row(token: str, found: "Calibration", *, several: bool) -> tuple[str, ...]:
    ceiling, one = found.ceilings[token], found.single[token]
    source = f"{ceiling.source}{' (suspect)' if ceiling.suspect else ''}"
    if several:
        return (token, amount(ceiling), spread(ceiling), amount(one), spread(one), source)
    return (token, amount(ceiling), spread(ceiling), source)


def amount(ceiling: "Ceiling") -> str:
    """Return a value with its unit, '-' where there is none."""
    if ceiling.value is None:
        return "-"
    if ceiling.unit == "ns":
        return f"{ceiling.value:,.1f} ns" if ceiling.value < 1e4 else f"{ceiling.value / 1e3:,.1f} us"
    unit = {"bytes/s": "B/s", "operations/s": "op/s"}.get(ceiling.unit, ceiling.unit)
    for size, prefix in STEPS:
        if ceiling.value >= size:
            return f"{ceiling.value / size:.1f} {prefix}{unit}"
    return f"{ceiling.value:.1f} {unit}"


def spread(ceiling: "Ceiling") -> str:
    """Return a spread in percent."""
    return "-" if ceiling.spread is None else f"{100 * ceiling.spread:.1f} %"


def _table(rows: list[tuple[Any, ...]]) -> list[str]:
    """Return columns of equal width: names and sources to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    last = len(widths) - 1
    return [
        "  ".join(
            text.ljust(width) if i in (0, last) else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
