# SPDX-License-Identifier: Apache-2.0
"""The roofline for the page: the roofs with their uncertainty, and what each kernel (or operator) reaches."""

from typing import TYPE_CHECKING, Any

from .. import _core
from ..regime.roofline import bands
from ..system.arrays import np
from ..system.text import count as counted
from ..system.text import percent, shorten
from .pack import Names, packed

if TYPE_CHECKING:
    from ..calibration.choice import Choice
    from ..public.run import Run

MEASURE = (
    "`regimeter calibrate --json > FILE` on the machine of the run measures them; "
    "`regimeter report RUN --ceilings FILE` draws them."
)
LACKING = "Work is known where shapes were recorded (record_shapes=True) or hardware counted it."
# Columns beside those of the analyses: heading, unit, and what it is.
HEADINGS = {
    "number": ("#", "", "Its number in the picture."),
    "name": ("name", "name", "Kernel or operator."),
    "total_ns": ("total", "ns", "Sum of the durations."),
    "share": (
        "of all",
        "share",
        "Of the time of all kernels, those whose work is not known too, or of operators with a formula.",
    ),
    "count": ("count", "", "How many there were."),
    "intensity": ("intensity", "op/byte", "Operations over bytes; an upper bound where the work is from shapes."),
    "rate": ("reached", "op/s", "Operations over the time in which they were done."),
    "sol_memory": ("of memory roof", "share", "Time that the bytes need at the roof of the memory, of the time."),
    "sol_compute": (
        "of compute roof",
        "share",
        "Time that the operations need at the roofs of their pipes, of the time.",
    ),
    "regime": ("regime", "code", "What limits it."),
    "source": ("work from", "code", "Shapes: bytes are the least that must move."),
}
CODES = {"regime": _core.REGIMES, "source": _core.WORK_SOURCES}


def roofline_of(run: "Run", names: Names, ceilings: "Choice") -> dict[str, Any] | None:
    """Return roofs and points, the longest first; None for a run without kernels.

    Operators take the place of kernels where the ceilings are those of a processor: only then it is said that the
    time of an operator is that of its work, which a device may have done unseen.
    Rates are operations/s and bytes/s. `roofs` are {name, of, value, low, high}: the interval of 95 %, None where no
    spread is known. Points are columns of one table, described as those of panels.
    """
    found = work_of(run, ceilings)
    if found is None:
        return None
    noun, columns, known = found
    rows = np.flatnonzero(known)
    shown = {name: values[rows] for name, values in columns.items()} | {"number": np.arange(1, len(rows) + 1)}
    roofs = bands(ceilings.vector) if ceilings.vector is not None else []
    return {
        "noun": noun,
        "headline": _headline(run, shown, noun) if len(rows) else "",
        "notes": _notes(ceilings, bool(roofs), noun, len(known), len(rows), float(np.sum(shown["share"]))),
        "roofs": [band.to_dict() for band in roofs],
        "points": {
            "count": len(rows),
            "columns": {
                name: packed(names.number(values) if name == "name" else values) for name, values in shown.items()
            },
        },
        "columns": [
            {"name": name, "heading": heading, "unit": unit, "doc": doc, "codes": list(CODES.get(name, ())) or None}
            for name, (heading, unit, doc) in HEADINGS.items()
            if name in shown
        ],
    }


def work_of(run: "Run", ceilings: "Choice") -> tuple[str, dict[str, Any], Any] | None:
    """Return what a point is, columns of all of them by name, and of which the work is known; None without kernels."""
    return _kernels(run, ceilings) or (_operators(run) if _of_host(ceilings) else None)


def _kernels(run: "Run", ceilings: "Choice") -> tuple[str, dict[str, Any], Any] | None:
    """Return columns of all kernels by name, and of which the work is known; None without kernels."""
    table: Any = run.analyse("kernel_regimes", ceilings=ceilings.vector)
    if not len(table):
        return None
    same = ("name", "total_ns", "share", "count", "intensity", "sol_memory", "sol_compute", "regime", "source")
    columns = {name: getattr(table, name) for name in same}
    columns["rate"] = _over(table.operations, table.total_ns * table.known_share * 1e-9)
    return "kernel", columns, _known(columns)


def _of_host(ceilings: "Choice") -> bool:
    """Return whether the ceilings are those of a processor, which alone have levels of caches."""
    return ceilings.vector is not None and not np.isnan(ceilings.vector[_core.CEILINGS.index("cache_l1"), 0])


def _operators(run: "Run") -> tuple[str, dict[str, Any], Any] | None:
    """Return the same of operators on the host; None where the work of none is known."""
    table: Any = run.analyse("operator_flops")
    columns = {
        "name": table.name,
        "total_ns": table.host_ns,
        "share": _over(table.host_ns, float(table.host_ns.sum())),
        "count": table.calls,
        "intensity": table.intensity,
        "rate": _over(table.flops, table.host_ns * 1e-9),
    }
    order = np.argsort(-table.host_ns, kind="stable")
    columns = {name: values[order] for name, values in columns.items()}
    known = _known(columns)
    return ("operator", columns, known) if known.any() else None


def _over(above: Any, below: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(above, dtype="f8") / below


def _known(columns: dict[str, Any]) -> Any:
    """Return which rows have a place in a picture with two logarithmic axes."""
    both = [np.isfinite(columns[name]) & (columns[name] > 0) for name in ("intensity", "rate")]
    return both[0] & both[1]


def _headline(run: "Run", shown: dict[str, Any], noun: str) -> str:
    """Return what the longest of them reaches."""
    name = shorten(run.string(int(shown["name"][0])), 60)
    said = f"{name}, the {noun} with most time whose work is known"
    shares = {"memory": shown.get("sol_memory"), "compute": shown.get("sol_compute")}
    reached = {roof: float(values[0]) for roof, values in shares.items() if values is not None and values[0] > 0}
    if not reached:
        return f"{said}, does {shown['intensity'][0]:.3g} operations a byte"
    roof = max(reached, key=lambda one: reached[one])
    return f"{said}, reaches {percent(reached[roof])} of the {roof} roof"


def _notes(ceilings: "Choice", roofs: bool, noun: str, all_: int, known: int, share: float) -> list[str]:
    """Return what a reader must know of points and roofs, as sentences."""
    said = f"The work of {known} of {counted(all_, noun)} is known, {percent(share)} of their time."
    notes = [said if known == all_ else f"{said} {LACKING}"]
    if noun == "operator":
        notes.append("Operators for whose work there is no formula are not counted.")
    if not roofs:
        return [*notes, f"No ceilings: {ceilings.note}. {MEASURE}"]
    text = f"Roofs: {ceilings.note}."
    return [*notes, f"{text} {MEASURE}" if ceilings.source == "datasheet" else text]
