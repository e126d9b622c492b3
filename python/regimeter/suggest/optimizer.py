# SPDX-License-Identifier: Apache-2.0
"""ProfilerOptimizer: the documented face of the suggestions."""

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .of_aggregates import suggestions_of_aggregates
from .of_run import suggestions_of
from .suggestion import OptimizationSuggestion, Priority

if TYPE_CHECKING:
    from ..trace import Run

FORMAT, VERSION = "regimeter.suggestions", 1


class ProfilerOptimizer:
    """What to try next, from a profile.

    profiling_data: a Run, the path of a trace, recording or exported profile, or the dictionary of an exported profile
    ({"summary": ..., "entries": ...}). A profile whose entries have start times, as `export_json` writes it, is a run
    in each of the three forms; of one without, only the documented rules can speak. policy: thresholds by name
    (docs/schema.md). ceilings: measured peaks by token, such as {"compute_tf32": 4e14} in operations a second, for
    bounds by the roofline. name: how commands call the run, "" for its path. ValueError for other data or unknown
    names; FormatError and OSError as from ``regimeter.load``.
    """

    def __init__(
        self,
        profiling_data: "Run | Mapping[str, Any] | str | os.PathLike[str]",
        *,
        policy: Mapping[str, float] | None = None,
        ceilings: Mapping[str, float] | None = None,
        name: str = "",
    ) -> None:
        from ..trace import Run, load

        self.run: Run | None = None
        if isinstance(profiling_data, (str, os.PathLike)):
            path = os.fspath(profiling_data)
            name = name or shlex.quote(path)
            self.run = load(path)
            plain = _plain_profile(path) if self.run.source == "export" else None
            if plain is not None:
                profiling_data, self.run = plain, None
        elif isinstance(profiling_data, Run):
            self.run = profiling_data
        elif _is_timed(profiling_data):
            from ..report.export import run_of_document

            self.run = run_of_document(profiling_data, "profiling_data")
        if self.run is not None:
            self._found = suggestions_of(self.run, policy, ceilings, name or "TRACE")
        elif isinstance(profiling_data, Mapping):
            self._found = suggestions_of_aggregates(profiling_data, policy)
        else:
            raise ValueError(f"profiling_data is a {type(profiling_data).__name__}; give a Run, a path or a dictionary")

    def get_suggestions(self, top_n: int | None = None) -> list[OptimizationSuggestion]:
        """Return the suggestions by what they may save, most first; those whose time others count are left out.

        top_n: how many, None for all. ValueError for a negative one.
        """
        if top_n is not None and top_n < 0:
            raise ValueError(f"top_n must not be negative, got {top_n}")
        return [one for one in self._found if one.merged_into is None][:top_n]

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
        """Print the first suggestions."""
        from ..report.suggestions import render_suggestions
        from ..report.text import say

        say(None, render_suggestions(self.get_suggestions(top_n), total=len(self.get_suggestions())))

    def print_critical_suggestions(self) -> None:
        """Print those of critical priority."""
        from ..report.suggestions import render_suggestions
        from ..report.text import say

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
        from ..formats import choose
        from ..report.files import atomic_writer

        choose(path, {".json": "json"}, default="json")
        with atomic_writer(path) as file:
            file.write(json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n")


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
