# SPDX-License-Identifier: Apache-2.0
"""/api/profiler: flame, memory, timeline with its tiles, kernels, hta, compile."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response

from ..analysis.catalog import find_verbs
from . import profiler, tiles
from .answers import BINARY
from .lines import MOST_WIDTH
from .problems import RESPONSES
from .service import Service

INT64 = (1 << 62) - 1
OBJECT: dict[int | str, dict[str, Any]] = {
    200: {"description": "The answer.", "content": {"application/json": {"schema": {"type": "object"}}}}
}
TIMELINE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Active times, and every span of the window.",
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["spans", "drawn", "aggregated", "columns", "names", "lanes", "summary"],
                    "properties": {
                        "spans": {"type": "integer", "description": "Spans of the window: drawn + aggregated."},
                        "drawn": {"type": "integer", "description": "Spans with a row of their own."},
                        "aggregated": {"type": "integer", "description": "Spans in rows with a count above 1."},
                        "columns": {"type": "object", "additionalProperties": {"type": "array"}},
                        "names": {"type": "array", "items": {"type": "string"}},
                        "lanes": {"type": "array", "items": {"type": "object"}},
                        "summary": {"type": "object"},
                    },
                }
            }
        },
    }
}
COLUMNS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Length of the JSON (4 bytes, lowest first), JSON, data of the columns, which the JSON places.",
        "content": {BINARY: {"schema": {"type": "string", "format": "binary"}}},
    }
}
MOST_LANES = 10_000
Run = Annotated[str | None, Query(max_length=400, description="Id or name of the run, of /api/runs.")]
Moment = Annotated[int | None, Query(ge=-INT64, le=INT64, description="ns since the start of the run")]
Lanes = Annotated[list[int] | None, Query(max_length=MOST_LANES)]
Text = Annotated[str | None, Query(max_length=400)]
Python = Annotated[bool, Query(description="With Python functions; without them other spans move up.")]
Span = Annotated[int, Query(ge=0, le=INT64, description="A row of the run's table `spans`.")]
LeastUs = Annotated[float, Query(ge=0, le=1e12, allow_inf_nan=False)]


def profiler_addresses(service: Service) -> APIRouter:
    """Return the addresses."""
    router = APIRouter(responses=RESPONSES | OBJECT, default_response_class=Response)
    _add_views(router, service)
    _add_tables(router, service)
    _add_tiles(router, service)
    return router


def _add_views(router: APIRouter, service: Service) -> None:
    """Add what is drawn."""

    @router.get("/flame")
    def flame(
        request: Request,
        run: Run = None,
        metric: Literal["device", "host"] | None = None,
        of: Literal["samples", "spans"] | None = None,
        state: Literal["all", "running", "waiting"] = "all",
        min_duration_us: LeastUs = 10.0,
        max_depth: Annotated[int, Query(ge=1, le=10_000)] = 50,
        time_order: Annotated[bool, Query(description="siblings by their first start")] = False,
    ) -> Response:
        """The flame graph, nodes {name, value, children} as d3-flame-graph takes them."""
        return service.of_run(
            request, run, lambda one: profiler.flame(one, metric=metric, of=of, state=state, in_time=time_order,
                                                     min_duration_us=min_duration_us, max_depth=max_depth)
        )  # fmt: skip

    @router.get("/memory")
    def memory(request: Request, run: Run = None) -> Response:
        """Memory over time; of a report of `regimeter memory`, all that it holds."""
        return service.of_run(request, run, profiler.memory)

    @router.get("/timeline", responses=TIMELINE)
    def timeline(
        request: Request,
        run: Run = None,
        start_ns: Moment = None,
        end_ns: Moment = None,
        width: Annotated[int, Query(ge=1, le=MOST_WIDTH, description="pixels")] = 1_000,
        min_duration_us: LeastUs = 1.0,
    ) -> Response:
        """Active times, and every span of a window: drawn + aggregated = spans."""
        return service.of_run(
            request, run, lambda one: profiler.timeline(one, start_ns=start_ns, end_ns=end_ns, width=width,
                                                        min_duration_us=min_duration_us)
        )  # fmt: skip


def _add_tables(router: APIRouter, service: Service) -> None:
    """Add what is read."""

    @router.get("/kernels")
    def kernels(
        request: Request,
        run: Run = None,
        by: Annotated[str | None, Query(json_schema_extra={"enum": list(find_verbs()["kernels"].by)})] = None,
        top: Annotated[int | None, Query(ge=0, le=INT64)] = None,
    ) -> Response:
        """Device work by name, type, operator or module."""
        return service.of_run(request, run, lambda one: profiler.kernels(one, by=by, top=top))

    @router.get("/hta")
    def hta(request: Request, run: Run = None) -> Response:
        """The holistic analysis; `unavailable` says of each figure that is null why."""
        return service.of_run(request, run, profiler.hta)

    @router.get("/compile")
    def compile_report(request: Request, run: Run = None) -> Response:
        """A report of `regimeter compile -o FILE.json`."""
        return service.of_run(request, run, profiler.compile_report)


def _add_tiles(router: APIRouter, service: Service) -> None:
    """Add what the page of a run with many spans asks for."""

    @router.get("/tiles", responses=COLUMNS)
    def tile(
        request: Request,
        level: Annotated[int, Query(ge=0, le=tiles.MOST_LEVEL, description="A pixel is 2**level ns.")],
        tile: Annotated[int, Query(ge=-INT64, le=INT64, description=f"of {tiles.TILE_PIXELS} pixels, from the start")],
        band: Annotated[int, Query(ge=0, le=INT64, description=f"of {tiles.BAND_LANES} lanes")] = 0,
        run: Run = None,
        python: Python = False,
    ) -> Response:
        """A part of the timeline as binary columns; each span begins in one tile of a level."""
        return service.columns_of_run(
            request, run, lambda one: tiles.tile_of(one, level=level, tile=tile, band=band, python=python)
        )

    @router.get("/span", responses=COLUMNS)
    def span(request: Request, span: Span, run: Run = None, python: Python = False) -> Response:
        """One span with its arguments, then its launch or the device work that it launched, as binary columns."""
        return service.columns_of_run(request, run, lambda one: tiles.span_of(one, span=span, python=python))

    @router.get("/range")
    def range_(
        request: Request,
        start_ns: Annotated[int, Query(ge=-INT64, le=INT64)],
        end_ns: Annotated[int, Query(ge=-INT64, le=INT64)],
        run: Run = None,
        hidden: Lanes = None,
        folded: Lanes = None,
        python: Python = False,
        top: Annotated[int, Query(ge=0, le=10_000)] = 12,
    ) -> Response:
        """What runs in a range of the timeline, by name. hidden: lanes left out; folded: the first line counts."""
        lanes = {"hidden": set(hidden or ()), "folded": set(folded or ())}
        return service.of_run(
            request, run, lambda one: tiles.range_of(one, start_ns=start_ns, end_ns=end_ns, python=python, top=top,
                                                     **lanes)
        )  # fmt: skip

    @router.get("/find")
    def find(
        request: Request,
        run: Run = None,
        text: Text = None,
        name: Text = None,
        span: Annotated[int | None, Query(ge=0, le=INT64, description="After which the next is.")] = None,
        backwards: bool = False,
        python: Python = False,
    ) -> Response:
        """Spans with a text in their name, or with that name: how many, how long, and the next one."""
        return service.of_run(
            request, run, lambda one: tiles.find_in(one, text=text or "", name=name, span=span, backwards=backwards,
                                                    python=python)
        )  # fmt: skip
