# SPDX-License-Identifier: Apache-2.0
"""/api/runs: list, upload, tag, delete, compare, what limits a run, and every analysis of one."""

import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from ..analysis.catalog import find_verbs
from ..report.html import as_json
from . import comparing, profiler
from .answers import JSON, to_json
from .api_profiler import INT64, OBJECT, Run
from .live import Watchers, page_data
from .problems import RESPONSES, Problem
from .service import Service
from .shelf import TAG, TAG_WORDS, Entry
from .uploads import take

RUN_SCHEMA = {
    "type": "object",
    "required": ["id", "name", "kind", "bytes", "modified", "uploaded", "tags", "limit"],
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string"},
        "kind": {"type": "string"},
        "bytes": {"type": "integer"},
        "modified": {"type": "string", "format": "date-time"},
        "uploaded": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "limit": {"type": ["string", "null"], "description": "What limits it; null while that is found out."},
    },
}
RUNS_SCHEMA = {
    "type": "object",
    "required": ["runs", "left_out"],
    "properties": {
        "runs": {"type": "array", "items": RUN_SCHEMA},
        "left_out": {
            "type": "array",
            "description": "Files that are no runs.",
            "items": {
                "type": "object",
                "required": ["name", "reason"],
                "properties": {"name": {"type": "string"}, "reason": {"type": "string"}},
            },
        },
    },
}
Id = Annotated[str, Path(min_length=1, max_length=400, description="Id of the run.")]
Side = Annotated[str, Query(min_length=1, max_length=400, description="Id or name of the run.")]
Tag = Annotated[str, Path(pattern=f"^{TAG.pattern}$", description=TAG_WORDS)]
Texts = Annotated[list[str] | None, Query(max_length=20)]


def run_addresses(service: Service) -> APIRouter:
    """Return the addresses."""
    router = APIRouter(responses=RESPONSES | OBJECT, default_response_class=Response)
    _add_shelf(router, service)
    _add_questions(router, service)
    _add_analyses(router, service)
    _add_live(router, service)
    return router


def _add_shelf(router: APIRouter, service: Service) -> None:
    @router.get("/runs", responses=_of(RUNS_SCHEMA))
    def runs() -> Response:
        """All runs that are served."""
        entries = service.shelf.entries()
        left_out = [{"name": name, "reason": reason} for name, reason in service.shelf.left_out]
        return _plain({"runs": facts(service, entries), "left_out": left_out})

    @router.post("/runs", status_code=201, responses=_of(RUN_SCHEMA, 201), openapi_extra=UPLOAD)
    async def upload(
        request: Request, name: Annotated[str, Query(min_length=1, max_length=200, description="How it is listed.")]
    ) -> Response:
        """Add a run: the body is the file as it is, plain or compressed."""
        entry = await take(service.shelf, service.options, name, request.stream())
        return _plain(facts(service, [entry])[0], 201)

    @router.get("/runs/{run}", responses=_of(RUN_SCHEMA))
    def one(request: Request, run: Id) -> Response:
        """One run, with what its file holds under `run`."""
        entry = service.shelf.find(run)
        return _plain(facts(service, [entry])[0])

    @router.delete("/runs/{run}", status_code=204, responses={204: {"description": "It is gone."}})
    def delete(run: Id) -> Response:
        """Delete a run that was uploaded; others only where the server was started with --allow-delete."""
        service.shelf.remove(service.shelf.find(run), allowed=service.options.allow_delete)
        return Response(status_code=204)

    @router.put("/runs/{run}/tags/{tag}", responses=_of(RUN_SCHEMA))
    def tag(run: Id, tag: Tag) -> Response:
        """Tag a run."""
        entry = service.shelf.find(run)
        service.shelf.tag(entry, tag, on=True)
        return _plain(facts(service, [entry])[0])

    @router.delete("/runs/{run}/tags/{tag}", responses=_of(RUN_SCHEMA))
    def untag(run: Id, tag: Tag) -> Response:
        """Take a tag away."""
        entry = service.shelf.find(run)
        service.shelf.tag(entry, tag, on=False)
        return _plain(facts(service, [entry])[0])


def _add_live(router: APIRouter, service: Service) -> None:
    watchers = Watchers(service)

    @router.get("/live", responses=EVENTS)
    def live(
        run: Run = None, interval_ms: Annotated[int, Query(ge=200, le=60_000, description="at least")] = 1_000
    ) -> Response:
        """What a recording that is being written holds, whenever it has grown: events `state`, and `end` at last."""
        entry = service.shelf.find(run)
        stream = watchers.events(entry, interval_ms / 1e3)
        return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


def _add_questions(router: APIRouter, service: Service) -> None:
    @router.get("/runs/{run}/summary")
    def summary(request: Request, run: Id) -> Response:
        """What the file holds: spans, lanes, duration."""
        return service.of_run(request, run, profiler.summary)

    @router.get("/runs/{run}/verdict")
    def verdict(request: Request, run: Id) -> Response:
        """What limits the run: sentence, why, what to do next, shares of all causes."""
        return service.of_run(request, run, profiler.verdict)

    @router.get("/runs/{run}/page")
    def page(request: Request, run: Id) -> Response:
        """All that the page of the run shows, its columns packed as the page reads them."""
        entry = service.shelf.find(run)
        content = service.content_of_page(entry)
        return service.answers.respond(
            request, content, lambda: service.computed(entry, lambda one: as_json(page_data(one))).encode(), JSON
        )


def _add_analyses(router: APIRouter, service: Service) -> None:
    @router.get("/runs/{run}/analyses/{verb}")
    def analysis(
        request: Request,
        run: Id,
        verb: Annotated[str, Path(description="A command.", json_schema_extra={"enum": list(find_verbs())})],
        by: Annotated[str | None, Query(max_length=40)] = None,
        top: Annotated[int | None, Query(ge=0, le=INT64)] = None,
        text: Annotated[str | None, Query(max_length=400)] = None,
        baseline: Annotated[str | None, Query(max_length=400, description="For what compares two runs.")] = None,
        set: Texts = None,
        choice: Texts = None,
    ) -> Response:
        """The rows of an analysis, as `regimeter VERB --json` prints them. set: NAME=VALUE, choice: OPTION=VALUE."""
        if verb not in find_verbs():
            raise Problem(404, f"there is no analysis {verb!r}; there are: {', '.join(find_verbs())}")
        if find_verbs()[verb].other and not baseline:
            raise Problem(422, f"{verb} compares two runs: say with which by baseline=")
        options: dict[str, Any] = {"by": by, "top": top, "text": text}
        other = service.shelf.find(baseline) if baseline and find_verbs()[verb].other else None
        entry = service.shelf.find(run)
        content = service.loaded.digest(entry) + (service.loaded.digest(other) if other else "")

        def make(loaded: Any) -> dict[str, Any]:
            chosen = dict(part.partition("=")[::2] for part in choice or ())
            thresholds = profiler.thresholds_of(set or [])
            base = service.loaded.get(other) if other else None
            return profiler.analysis(loaded, base, verb, thresholds=thresholds, choices=chosen, **options)

        return service.answers.json(request, content, lambda: service.computed(entry, make))

    @router.get("/compare")
    def compare(
        request: Request,
        baseline: Side,
        current: Side,
        threshold: Annotated[float, Query(ge=0, le=1e6, allow_inf_nan=False, description="percent")] = 5.0,
        force: bool = False,
    ) -> Response:
        """Did it get slower, with what certainty: as `regimeter compare --json` prints it."""
        sides = service.shelf.find(baseline), service.shelf.find(current)
        content = "".join(service.loaded.digest(side) for side in sides)
        return service.answers.json(
            request, content, lambda: comparing.document(service.shelf, *sides, threshold, force)
        )


def facts(service: Service, entries: list[Entry]) -> list[dict[str, Any]]:
    """Return entries as the API lists them."""
    known = service.sentences.ask(entries)
    return [
        {
            "id": entry.id,
            "name": entry.name,
            "kind": entry.kind,
            "bytes": entry.bytes,
            "modified": datetime.datetime.fromtimestamp(entry.modified_ns / 1e9, datetime.UTC).isoformat(),
            "uploaded": entry.uploaded,
            "tags": service.shelf.tags(entry),
            "limit": known.get(entry.id),
        }
        for entry in entries
    ]


def _of(schema: dict[str, Any], status: int = 200) -> dict[int | str, dict[str, Any]]:
    return {status: {"description": "The answer.", "content": {JSON: {"schema": schema}}}}


def _plain(found: object, status: int = 200) -> Response:
    return Response(to_json(found), status, media_type=JSON)


EVENT_SCHEMA = {
    "type": "object",
    "required": ["event", "data"],
    "properties": {
        "event": {"enum": ["state", "end"]},
        "data": {"type": "string", "description": "JSON: spans, duration_ns, limit, summary, ...; or problem."},
    },
}
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events.", "content": {"text/event-stream": {"schema": EVENT_SCHEMA}}}
}
UPLOAD = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
