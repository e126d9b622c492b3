# SPDX-License-Identifier: Apache-2.0
"""What people open: the page of the one run or the list of all, a run, a comparison."""

from collections.abc import AsyncIterator
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from ..report import html
from . import comparing
from .pages import Listed, home_page, run_page
from .past import history_page
from .problems import Problem
from .service import Service
from .uploads import CHUNK_BYTES, take


def page_addresses(service: Service) -> APIRouter:
    """Return the addresses."""
    router = APIRouter()

    @router.get("/")
    def first(request: Request) -> Response:
        """The page of the one run, the list of several."""
        return service.page_of_run(request, None, run_page) if service.shelf.single else _home(service)

    @router.get("/runs")
    def home() -> Response:
        """The list of runs."""
        return _home(service)

    @router.get("/runs/{run}")
    def run(request: Request, run: str) -> Response:
        """The page of one run."""
        return service.page_of_run(request, run, run_page)

    @router.get("/history")
    def history(request: Request, operation: str = "") -> Response:
        """The history; with an operation, there where it is shown."""
        if operation:
            service.past.series(operation)  # says so where there is none
            return RedirectResponse(f"/history#op={quote(operation, safe='')}", status_code=303)
        return _page(history_page(service.past).encode("utf-8", "replace"))

    @router.get("/compare")
    def compare(
        request: Request, baseline: str, current: str, threshold: Annotated[float, Query(ge=0)] = 5.0
    ) -> Response:
        """The page of a comparison."""
        sides = service.shelf.find(baseline), service.shelf.find(current)
        content = "".join(service.loaded.digest(side) + side.name for side in sides)
        return service.answers.html(
            request, content, lambda: comparing.page(service.shelf, *sides, threshold, force=False)
        )

    @router.post("/uploads")
    async def upload(request: Request) -> Response:
        """Take the file of the form, and show the list again."""
        async with request.form(max_files=1, max_fields=1) as form:
            file = form.get("file")
            if file is None or isinstance(file, str):
                raise Problem(422, "file: choose one")

            async def pieces() -> AsyncIterator[bytes]:
                while piece := await file.read(CHUNK_BYTES):
                    yield piece

            await take(service.shelf, service.options, file.filename or "", pieces())
        return RedirectResponse("/runs", status_code=303)

    return router


def _home(service: Service) -> Response:
    shelf = service.shelf
    entries = sorted(shelf.entries(), key=lambda entry: -entry.modified_ns)
    title = f"Runs in {shelf.roots[0].name}" if len(shelf.roots) == 1 and not shelf.single else "Runs"
    sentences = service.sentences.ask(entries)
    listed = [
        Listed(
            entry,
            sentences.get(entry.id),
            shelf.tags(entry),
            service.sentences.is_written(entry),
            shelf.why_kept(entry, allowed=service.options.allow_delete),
        )
        for entry in entries
    ]
    text = home_page(title, listed, shelf.left_out, history=bool(service.options.history)).encode()
    return _page(text)


def _page(text: bytes) -> Response:
    return Response(text, headers={"Content-Security-Policy": html.policy_of(text)}, media_type=html.MEDIA_TYPE)
