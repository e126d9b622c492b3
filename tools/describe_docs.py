# SPDX-License-Identifier: Apache-2.0
"""Write the generated parts of documents (DOCUMENTS), between the lines that name them.

Usage: describe_docs.py [--check]; with --check nothing is written and a difference is an error, as is a verb that
docs/commands.md does not name. Lists of C headers are read as text; needs an installed regimeter for the names of
methods.
"""

import functools
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from describe_verbs import method_name
from generated import settle

from regimeter import _core
from regimeter.analysis.catalog import find_verbs
from regimeter.analysis.words import words_of
from regimeter.run.identity import FACTS, KEYS, Severity
from regimeter.suggest.messages import MESSAGES
from regimeter.suggest.undecided import TOOLS, UNDECIDED
from regimeter.suggest.words import fill, thresholds

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = ROOT / "docs" / "commands.md"
NAMES = ("traces", "analyses", "comparison", "calibration", "suggestions")
DOCUMENTS = tuple(ROOT / f"docs/{name}.md" for name in NAMES)
BLOCK = re.compile(r"(<!-- begin of (\w+), written by tools/describe_docs\.py -->\n).*?(<!-- end of \2 -->)", re.DOTALL)


@functools.cache
def headers() -> str:
    """Return the text of all headers of the core."""
    return "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "csrc").rglob("*.h")))


def texts(macro: str) -> list[list[str]]:
    """Return the string literals of each row of an X list, whichever header holds it; adjacent ones are one text."""
    lines = headers().split(f"#define {macro}(X)", 1)[1].split("\n")
    last = next(i for i, line in enumerate(lines) if not line.endswith("\\"))
    joined = re.sub(r'"\s*"', "", " ".join(line.rstrip("\\") for line in lines[: last + 1]))
    return [re.findall(r'"([^"]*)"', row) for row in re.split(r"\bX\(", joined) if row.strip()]


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of Markdown."""
    head = list(head)
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    lines.insert(1, "|---" * len(head) + "|")
    return "\n".join(lines) + "\n"


def code(names: Iterable[str]) -> str:
    """Return names as code, separated by commas."""
    return ", ".join(f"`{name}`" for name in names)


def anomalies() -> str:
    """Return what each code of the anomalies means."""
    return table(("code", "what follows from it"), ((f"`{token}`", text) for token, text in texts("RGM_ANOMALY_CODES")))


def not_kept() -> str:
    """Return the keys of events that are read over."""
    rows = [row for macro in ("EVENT_KEYS", "ARGUMENTS") for row in texts(f"RGM_{macro}_NOT_KEPT")]
    return table(("key", "why"), ((code(keys.split("|")), reason) for keys, reason in rows))


def idle_causes() -> str:
    """Return the causes of idle time, in the order of their codes."""
    rows = ((f"`{token}`", words_of("IDLE_CAUSES", token), text) for token, text in texts("RGM_IDLE_CAUSES"))
    return table(("cause", "in words", "when"), rows)


def verbs() -> str:
    """Return every verb with its method, result table, groupings and options."""
    rows = (
        (
            f"`{verb.name}`",
            f"`{method_name(verb)}`",
            f"[`{verb.analysis}`](schema.md#{verb.analysis})",
            ", ".join(verb.by),
            code(
                f"--{option.lstrip('-')}"
                for option in (*verb.choices, *verb.options, *filter(None, [verb.text_option]))
            ),
            verb.help,
        )
        for verb in find_verbs().values()
    )
    return table(("verb", "method", "result table", "`--by`", "options of its own", "what"), rows)


def compare_policy() -> str:
    """Return the thresholds of a comparison."""
    rows = (
        (f"`{name}`", f"{row['default']:.10g}", row["unit"], row["source"])
        for name, row in _core.compare_policy().items()
    )
    return table(("threshold", "default", "unit", "what it is, and where it comes from"), rows)


def calibrate_policy() -> str:
    """Return the numbers that a calibration is made with."""
    rows = (
        (f"`{name}`", f"{row['default']:.10g}", row["unit"], row["source"])
        for name, row in _core.calibrate_policy().items()
    )
    return table(("name", "default", "unit", "what it is, and where it comes from"), rows)


def ceilings() -> str:
    """Return what a calibration measures."""
    rows = ((f"`{token}`", row["unit"], row["doc"]) for token, row in _core.ceilings().items())
    return table(("ceiling", "unit", "what it is"), rows)


def datasheets() -> str:
    """Return the printed peaks of devices."""
    pipes = _core.PIPES
    rows = (
        (
            name,
            f"{row['bytes_per_s'] / 1e9:g}",
            *(f"{row['peaks'][p] / 1e12:g}" if p in row["peaks"] else "" for p in pipes),
        )
        for name, row in _core.datasheets().items()
    )
    return table(("device", "GB/s", *pipes), rows)


def tiers() -> str:
    """Return what the data of an operation allow."""
    return table(("tier", "what the data are"), ((f"`{token}`", text) for token, text in texts("RGM_TIERS")))


def verdict_reasons() -> str:
    """Return why a verdict is what it is."""
    return table(("reason", "what it says"), ((f"`{token}`", text) for token, text in texts("RGM_VERDICT_REASONS")))


def environment_facts() -> str:
    """Return which facts of an environment make runs incomparable, which are named, and the keys they are part of."""
    rows = (
        (fact.words, fact.severity.value, ", ".join(key for key in KEYS if key in fact.keys), fact.why)
        for severity in Severity
        for fact in FACTS
        if fact.severity is severity
    )
    return table(("fact", "two runs that differ in it are", "part of the keys", "because"), rows)


def suggestion_rules() -> str:
    """Return every rule of the suggestions, with its thresholds as they are by default."""
    limits = thresholds()
    rows = []
    for number, rule in enumerate(_core.SUGGESTION_RULES):
        message = MESSAGES[rule]
        shown = [name for name in re.findall(r"{(\w+)}", message.title) if name in _core.QUANTITIES]
        reference = _core.SUGGESTION_RULE_REFERENCES[number]
        rows.append(
            (
                f"`{rule}`",
                f"{_core.SUGGESTION_RULE_TYPES[number].lower()}, {_core.SUGGESTION_RULE_EFFORTS[number].lower()}",
                fill(message.when, limits),
                code(dict.fromkeys((*shown, "path_share")) if message.bound[:11] != "not bounded" else shown),
                message.advice,
                message.bound,
                message.refuted,
                f"`{message.look.format(trace='TRACE')}`",
                reference if reference != "0" else "own",
            )
        )
    head = ("rule", "type, effort", "speaks when", "evidence", "advice", "bound", "wrong if", "look", "from")
    return table(head, rows)


def suggestion_tools() -> str:
    """Return the rules of other tools that ours decide, by number."""
    decided = dict.fromkeys(TOOLS, ())
    for rule, reference in zip(_core.SUGGESTION_RULES, _core.SUGGESTION_RULE_REFERENCES, strict=True):
        if reference != "0":
            decided[int(reference)] = (*decided[int(reference)], rule)
    return table(("number", "rule", "ours"), ((str(n), text, code(decided[n])) for n, text in TOOLS.items()))


def suggestion_undecided() -> str:
    """Return the rules of other tools that a run cannot decide."""
    return table(("number", "rule", "why not"), UNDECIDED)


BLOCKS = {
    "suggestion_rules": suggestion_rules,
    "suggestion_tools": suggestion_tools,
    "suggestion_undecided": suggestion_undecided,
    "anomalies": anomalies,
    "not_kept": not_kept,
    "idle_causes": idle_causes,
    "verbs": verbs,
    "compare_policy": compare_policy,
    "calibrate_policy": calibrate_policy,
    "ceilings": ceilings,
    "datasheets": datasheets,
    "tiers": tiers,
    "verdict_reasons": verdict_reasons,
    "environment_facts": environment_facts,
}


def described(text: str) -> str:
    """Return a document with its generated parts as they should be."""
    return BLOCK.sub(lambda found: found[1] + "\n" + BLOCKS[found[2]]() + "\n" + found[3], text)


def main() -> int:
    """Write the documents, or compare them."""
    listed = COMMANDS.read_text(encoding="utf-8")
    missing = [name for name in find_verbs() if f"`{name}`" not in listed and f"`regimeter {name} " not in listed]
    for name in missing:
        print(f"docs/commands.md does not name the verb {name}", file=sys.stderr)
    wanted = {path: described(path.read_text(encoding="utf-8")) for path in DOCUMENTS}
    return settle(wanted, check="--check" in sys.argv[1:]) or bool(missing)


if __name__ == "__main__":
    sys.exit(main())
