# SPDX-License-Identifier: Apache-2.0
"""Write python/regimeter/analysis/methods.py: a typed method of Run for each analysis that has a command.

Usage: describe_verbs.py [--check]; with --check nothing is written and a difference is an error.
Needs an installed regimeter, so that names that Run has already are known.
"""

import keyword
import sys
from pathlib import Path

from generated import settle

from regimeter import _core
from regimeter.analysis.catalog import find_verbs
from regimeter.analysis.verb import Verb
from regimeter.public import run as trace

METHODS = Path(__file__).resolve().parent.parent / "python/regimeter/analysis/methods.py"
MARK = "    # --- written by tools/describe_verbs.py from the descriptions beside this file; what is above is not ---\n"


def method_name(verb: Verb) -> str:
    """Return the name of the method: that of the command. AssertionError where Run has another use for it."""
    name = verb.name.replace("-", "_")
    if keyword.iskeyword(name) or name in dir(_core.Run) or name in vars(trace.Run):
        raise AssertionError(f"{name} is no name for a method of Run")
    return name


def method(verb: Verb) -> str:
    """Return the source of one method."""
    parameters, passed = ["self"], ["self", f'"{verb.name}"']
    if verb.other:
        parameters.append('other: "Run"')
        passed.append("other=other")
    if verb.by:
        choices = ", ".join(f'"{name}"' for name in verb.by)
        parameters.append(f'by: Literal[{choices}] = "{next(iter(verb.by))}"')
        passed.append("by=by")
    parameters.append("*")
    for option, values in verb.choices.items():
        choices = ", ".join(f'"{name}"' for name in values)
        parameters.append(f'{option}: Literal[{choices}] = "{next(iter(values))}"')
    if verb.choices:
        passed.append("choices={" + ", ".join(f'"{option}": {option}' for option in verb.choices) + "}")
    if verb.text_option:
        parameters.append("text: str | None = None")
        passed.append("text=text")
    parameters += ["top: int | None = None", "thresholds: Mapping[str, float] | None = None"]
    passed += ["top=top", "thresholds=thresholds"]
    if verb.rules:
        parameters.append("rules: Iterable[tuple[str, str]] = ()")
        passed.append("rules=rules")
    if verb.ceilings:
        parameters.append('ceilings: "Calibration | Choice | str | None" = None')
        passed.append("ceilings=ceilings")
    arguments = "".join(f"        {parameter},\n" for parameter in parameters)
    return (
        f'\n    def {method_name(verb)}(\n{arguments}    ) -> "Result":\n        """{sentence(verb.help)}"""\n'
        f"        return _result({', '.join(passed)})\n"
    )


def sentence(text: str) -> str:
    """Return a help text as a sentence."""
    return text[0].upper() + text[1:] + "."


def source() -> str:
    """Return the module: what stands above the mark as it is, and the methods."""
    head, mark, _ = METHODS.read_text().partition(MARK)
    if not mark:
        raise SystemExit(f"{METHODS.name} lacks the line {MARK.strip()!r}")
    return head + mark + "".join(method(verb) for verb in find_verbs().values())


def main() -> int:
    """Write the file, or compare it."""
    return settle({METHODS: source()}, check="--check" in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
