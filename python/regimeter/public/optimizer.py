# SPDX-License-Identifier: Apache-2.0
"""ProfilerOptimizer: the documented face of the suggestions."""

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..run.formats import choose
from ..run.profile_json import run_of_document
from ..suggest.of_aggregates import suggestions_of_aggregates
from ..suggest.of_run import open_ones, suggestions_of_run
from ..suggest.paragraphs import render_suggestions
from ..suggest.suggestion import OptimizationSuggestion, Priority
from ..suggest.verdict import Verdict
from ..system.files import write_json
from ..system.text import say
from .run import Run, load

FORMAT, VERSION = "regimeter.suggestions", 1


class ProfilerOptimizer:
    """What to try next, from a profile.

    profiling_data: a Run, the path of a trace, recording or exported profile, or the dictionary of an exported profile
    ({"summary": ..., "entries": ...}). Of an exported profile, in each of these forms, the documented rules speak at
    their thresholds; where its entries have start times, as `export_json` writes them, after those of runs, which
    measure their premises. Of other runs these alone speak. policy: thresholds by name
    (docs/schema.md). ceilings: measured peaks by token, such as {"compute_tf32": 4e14} in operations a second, for
    bounds by the roofline. name: how commands call the run, "" for its path. ValueError for other data or unknown
    names; FormatError and OSError as from ``regimeter.load``.
    """

    def __init__(
        self,
        profiling_data: Run | Mapping[str, Any] | str | os.PathLike[str],
        *,
        policy: Mapping[str, float] | None = None,
        ceilings: Mapping[str, float] | None = None,
        name: str = "",
    ) -> None:
        self.run: Run | None = None
        self.name = name
        if isinstance(profiling_data, (str, os.PathLike)):
            path = os.fspath(profiling_data)
            self.name = name = name or shlex.quote(path)
            self.run = load(path)
            plain = _plain_profile(path) if self.run.source == "export" else None
            if plain is not None:
                profiling_data, self.run = plain, None
        elif isinstance(profiling_data, Run):
            self.run = profiling_data
        elif _is_timed(profiling_data):
            self.run = run_of_document(Run, profiling_data, "profiling_data")
        if self.run is not None:
            self._found = suggestions_of_run(self.run, policy, ceilings, name or "TRACE")
        elif isinstance(profiling_data, Mapping):
            self._found = suggestions_of_aggregates(profiling_data, policy)
        else:
            raise ValueError(f"profiling_data is a {type(profiling_data).__name__}; give a Run, a path or a dictionary")

    def get_suggestions(self, top_n: int | None = None) -> list[OptimizationSuggestion]:
        """Return the suggestions by what they may save, most first; those whose time others count are left out.

        top_n: how many, None for all. ValueError for a negative one.
        """
        return open_ones(self._found, top_n)

    @property
    def limit(self) -> Verdict | None:
        """What limits the run; None where that is not known, as of a dictionary without times."""
        return None if self.run is None else self.run.verdict()

    def get_critical_suggestions(self) -> list[OptimizationSuggestion]:
        """Return those of critical priority."""
        return [one for one in self.get_suggestions() if one.priority is Priority.CRITICAL]

    def get_merged_suggestions(self) -> list[OptimizationSuggestion]:
        """Return those whose time another suggestion counts already."""
        return [one for one in self._found if one.merged_into is not None]

    def get_roadmap(self) -> list[OptimizationSuggestion]:
        """Return the suggestions by saved time against effort: what to do first."""
        return sorted(self.get_suggestions(), key=lambda one: one.roadmap)

    def print_suggestions(self, top_n: int = 5) -> None:
        """Print the first suggestions, and how many more there are."""
        more = f"regimeter suggest {self.name} --top 0" if self.name else "print_suggestions(top_n=100)"
        found, total = self.get_suggestions(top_n), len(self.get_suggestions())
        say(None, render_suggestions(found, total, more=more, limit=self.limit))

    def print_critical_suggestions(self) -> None:
        """Print those of critical priority."""
        critical = self.get_critical_suggestions()
        say(None, render_suggestions(critical, total=len(critical), what="critical suggestion"))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dictionary."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "suggestions": [one.to_dict() for one in self.get_suggestions()],
            "merged": [one.to_dict() for one in self.get_merged_suggestions()],
        }

    def export_suggestions(self, path: str | os.PathLike[str]) -> None:
        """Write the suggestions as JSON, atomically.

        ValueError where the suffix is that of another format (.html), OSError where the file cannot be written.
        """
        choose(path, {".json": "json"}, default="json")
        write_json(path, self.to_dict(), indent=1, end="\n")


def _plain_profile(path: str) -> dict[str, Any] | None:
    """Return an exported profile that states no times, as the program behind the specification writes it."""
    try:
        document = json.loads(Path(path).read_bytes())
    except (OSError, ValueError):  # packed, or a pipe that has been read
        return None
    if not isinstance(document, dict) or not isinstance(document.get("summary"), dict):
        return None
    return None if _is_timed(document) else document


def _is_timed(document: object) -> bool:
    """Return whether this is an exported profile whose entries have start times, as those that `export_json` writes."""
    entries = document.get("entries") if isinstance(document, Mapping) else None
    first = entries[0] if isinstance(entries, list) and entries else None
    return isinstance(first, Mapping) and first.get("start_ns") is not None
