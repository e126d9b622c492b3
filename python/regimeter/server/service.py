# SPDX-License-Identifier: Apache-2.0
"""What the addresses of a server share: the runs, what is loaded, the answers that are ready."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import Request, Response

from .. import _core
from .answers import BINARY, Answers
from .loaded import Loaded, LoadedRuns
from .options import Options
from .past import Past
from .problems import Problem
from .sentences import Sentences
from .shelf import Entry, Shelf, is_young

T = TypeVar("T")


class Service:
    """One server's state."""

    def __init__(self, shelf: Shelf, options: Options) -> None:
        self.shelf = shelf
        self.options = options
        self.loaded = LoadedRuns(shelf, options)
        self.answers = Answers(options.answer_bytes, _core.__version__)
        self.sentences = Sentences(self.loaded)
        self.past = Past(options.history)
        self.ending = threading.Event()

    def close(self) -> None:
        """End what runs beside the server."""
        self.ending.set()
        self.sentences.stop()
        self.answers.close()

    def of_run(self, request: Request, run: str | None, make: Callable[[Loaded], dict[str, Any]]) -> Response:
        """Answer a question about a run as JSON. Problem where there is no such run, or it cannot be answered."""
        entry = self.shelf.find(run)
        return self.answers.json(request, self.loaded.digest(entry), lambda: self.computed(entry, make))

    def columns_of_run(self, request: Request, run: str | None, make: Callable[[Loaded], bytes]) -> Response:
        """Answer with columns, which are made again when they are asked for again: a browser keeps what it has."""
        entry = self.shelf.find(run)
        content = self.loaded.digest(entry)
        return self.answers.respond(request, content, lambda: self.computed(entry, make), BINARY, keep=False)

    def page_of_run(self, request: Request, run: str | None, make: Callable[[Loaded], str]) -> Response:
        """Answer with a page about a run."""
        entry = self.shelf.find(run)
        return self.answers.html(request, self.content_of_page(entry), lambda: self.computed(entry, make))

    def content_of_page(self, entry: Entry) -> str:
        """Return a hash of all that the page of a run is made of: the same file may be one that is being written."""
        return f"{self.loaded.digest(entry)} {entry.name} {is_young(entry)}"

    def computed(self, entry: Entry, make: Callable[[Loaded], T]) -> T:
        """Return what is made of a run. Problem where a parameter is out of its range, or nothing can be had."""
        loaded = self.loaded.get(entry)
        try:
            return make(loaded)
        except (ValueError, _core.Error) as error:
            raise Problem(422, str(error).replace(str(entry.path), entry.name)) from None
