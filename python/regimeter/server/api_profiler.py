# SPDX-License-Identifier: Apache-2.0
"""/api/profiler: flame, memory, timeline, kernels, hta, compile."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response

from ..analysis.catalog import find_verbs
from . import profiler
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
Run = Annotated[str | None, Query(max_length=400, description="Id or name of the run, of /api/runs.")]
Moment = Annotated[int | None, Query(ge=-INT64, le=INT64, description="ns since the start of the run")]
LeastUs = Annotated[float, Query(ge=0, le=1e12, allow_inf_nan=False)]


def profiler_addresses(service: Service) -> APIRouter:
    """Return the addresses."""
    router = APIRouter(responses=RESPONSES | OBJECT, default_response_class=Response)

    @router.get("/flame")
    def flame(
        request: Request,
        run: Run = None,
        metric: Literal["device", "host"] | None = None,
        of: Literal["samples", "spans"] | None = None,
        state: Literal["all", "running", "waiting"] = "all",
        min_duration_us: LeastUs = 10.0,
        max_depth: Annotated[int, Query(ge=1, le=10_000)] = 50,
    ) -> Response:
        """The flame graph, nodes {name, value, children} as d3-flame-graph takes them."""
        return service.of_run(
            request, run, lambda one: profiler.flame(one, metric=metric, of=of, state=state,
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

    return router
