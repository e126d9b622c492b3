# SPDX-License-Identifier: Apache-2.0
"""Results as a notebook shows them: a piece of HTML without scripts, every name escaped, short enough for a cell.

Only the page of a run has scripts. It stands in a frame whose sandbox keeps it from the notebook, its cookies and its
server; its own policy keeps it from every network.
"""

from html import escape
from typing import TYPE_CHECKING

from ..analysis.rows import texts_of
from ..run.records import summaries_of
from ..run.summary_text import summary_table
from ..system.text import TextTable, count, duration, percent, printable
from .comparison_text import level_of, rows_table, verdict_line
from .comparison_view import View, rows_of
from .plain import table

if TYPE_CHECKING:
    from ..analysis.result import Result
    from ..compare import ProfilerComparison
    from ..public.run import Run
    from ..suggest.verdict import Verdict

ROWS = 8  # of a table; the page and the methods have the rest
LEAST = 0.02  # of the window; smaller shares are not worth a bar
SHOWN = 6  # bars
MOST_SPANS = 50_000  # of a run whose page is kept in the notebook; it is then half a megabyte
FRAME = "width:100%;height:640px;border:1px solid #8886;border-radius:6px"
SANDBOX = "allow-scripts allow-downloads allow-modals"  # and nothing of the notebook's: no allow-same-origin
# What a table of the summary does without, in a cell.
NOT_SHOWN = ("device", "backend", "min", "max", "std dev")


def framed(run: "Run") -> str:
    """Return the page of a run in a frame that has no part in the notebook, and the same in plain form below.

    The plain form is closed, and is what remains where a notebook is shown without scripts or frames. A run of more
    than MOST_SPANS spans has the plain form alone, with what to call for the page.
    """
    plain = of_run(run)
    if len(run.spans) > MOST_SPANS:
        call = "<code>run.write_html(&quot;report.html&quot;)</code>"
        return _piece(f"{plain}<p>{len(run.spans):,} spans are too many for a cell; {call} writes their page.</p>")
    document = escape(run.to_html(), quote=True)
    frame = f'<iframe title="Report of the run" sandbox="{SANDBOX}" style="{FRAME}" srcdoc="{document}"></iframe>'
    return _piece(f"{frame}<details><summary>The same in plain form</summary>{plain}</details>")


def of_run(run: "Run", lines: TextTable | None = None) -> str:
    """Return a line of facts, the verdict, and the scopes or kernels and lines with most time.

    lines: a table of lines in the place of that of all threads.
    """
    verdict = run.verdict()
    scopes, results = tables_of(run, lines is None)
    parts = [f"<p>{_text(_facts(run))}</p>", "" if verdict is None else of_verdict(verdict)]
    parts += [] if scopes is None else [_table(scopes)]
    parts += [f"<p><b>{result.verb.name}</b></p>{_cells(result)}" for result in results]
    parts += [] if lines is None else [_table(lines)]
    return _piece("".join(parts))


def tables_of(run: "Run", lines: bool = True) -> "tuple[TextTable | None, list[Result]]":
    """Return what a run has tables of: its scopes, else its kernels, and the lines that samples found."""
    names = [*([] if len(run.entries) else ["kernels"]), *(["lines"] if lines and len(run.samples) else [])]
    results = [run.result(name, top=ROWS) for name in names]
    return _scopes(run), [result for result in results if len(result)]


def _scopes(run: "Run") -> TextTable | None:
    summaries = summaries_of(run)
    if not summaries:
        return None
    whole = summary_table(summaries, ROWS)
    kept = [at for at, name in enumerate(whole.header) if name not in NOT_SHOWN]
    rows = [[row[at] for at in kept] for row in whole.rows]
    return TextTable(whole.title, [whole.header[at] for at in kept], rows)


def of_verdict(verdict: "Verdict") -> str:
    """Return what limits the run, why, what to try, and a bar a cause."""
    said = (("Limit", verdict.sentence), ("Why", verdict.why), ("Try", verdict.next))
    lines = "".join(f"<div><b>{head}:</b> {_text(text)}</div>" for head, text in said)
    shares = [(cause, share) for cause, share in verdict.shares.items() if share >= LEAST][:SHOWN]
    bars = "".join(
        f'<div style="display:flex;gap:.5em"><span style="width:11em">{_text(cause.replace("_", " "))}</span>'
        f'<meter min="0" max="1" value="{share:.4f}" style="width:16em"></meter><span>{percent(share, 0)}</span></div>'
        for cause, share in shares
    )
    return _piece(lines + bars)


def of_comparison(comparison: "ProfilerComparison") -> str:
    """Return the verdict line and the rows that changed or are undecided, those that fail a gate first."""
    rows = rows_of(comparison, View(only_changed=True))
    shown = rows_table("", rows[:ROWS], level_of(comparison))
    rest = len(rows) - ROWS
    parts = [
        f"<p><b>{_text(verdict_line(comparison))}</b></p>",
        _table(shown) if rows else "",
        f"<p>{rest} more rows</p>" if rest > 0 else "",
        *(f"<p>{_text(line)}</p>" for line in comparison.warnings[:ROWS]),
    ]
    return _piece("".join(parts))


def of_result(result: "Result") -> str:
    """Return the rows of an analysis as a table."""
    said = "".join(f"<p>{_text(line)}</p>" for line in result.headline())
    return _piece(said + _cells(result))


def _facts(run: "Run") -> str:
    parts = [count(len(run.spans), "span"), count(len(run.lanes), "lane"), duration(run.duration_ns / 1e6)]
    if len(run.samples):
        parts.append(f"{len(run.samples):,} samples")
    return f"Run ({run.source}): {', '.join(parts)}"


def _cells(result: "Result") -> str:
    header, rows = texts_of(result)
    left = len(result.table) - len(rows[:ROWS])
    return table(header, rows[:ROWS], result.verb.empty) + (f"<p>{left:,} more rows</p>" if left > 0 else "")


def _table(found: TextTable) -> str:
    title = f"<p><b>{_text(found.title)}</b></p>" if found.title else ""
    return title + table(found.header, ([cell.strip() for cell in row] for row in found.rows))


def _text(text: str) -> str:
    return escape(printable(text))


def _piece(inner: str) -> str:
    text = f'<div class="regimeter">{inner}</div>'
    return text.encode("utf-8", "replace").decode("utf-8")
