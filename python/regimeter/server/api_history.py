# SPDX-License-Identifier: Apache-2.0
"""/api/history: the runs of a history, its operations, and how one went over the runs."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from .answers import JSON, to_json
from .api_profiler import OBJECT
from .past import Past
from .problems import RESPONSES

Text = Annotated[str | None, Query(max_length=400)]
Limit = Annotated[int | None, Query(ge=1, le=1_000_000, description="newest runs only")]


def history_addresses(past: Past) -> APIRouter:
    """Return the addresses."""
    router = APIRouter(responses=RESPONSES | OBJECT, default_response_class=Response)

    @router.get("/runs")
    def runs(
        branch: Text = None, commit: Text = None, tag: Text = None, environment: Text = None, limit: Limit = None
    ) -> Response:
        """The runs, newest first, as `regimeter history list --json` prints them."""
        wanted: dict[str, Any] = {"branch": branch, "commit": commit, "tag": tag, "environment": environment}
        return _plain({"runs": [row.to_dict() for row in past.runs(limit=limit, **wanted)]})

    @router.get("/operations")
    def operations() -> Response:
        """The names of all operations."""
        return _plain({"operations": past.operations()})

    @router.get("/series")
    def series(
        operation: Annotated[str, Query(min_length=1, max_length=4_000)],
        metric: Annotated[str, Query(max_length=100)] = "time",
        branch: Text = None,
        environment: Text = None,
        limit: Limit = None,
    ) -> Response:
        """An operation over the runs, with the changes of its level, as `regimeter history OP --json` prints it."""
        found = past.series(operation, metric=metric, branch=branch, environment=environment, limit=limit)
        return _plain({"series": [one.to_dict() for one in found]})

    @router.get("/page")
    def page() -> Response:
        """All that the page of the history shows."""
        return _plain(past.page_data())

    return router


def _plain(found: object) -> Response:
    return Response(to_json(found), media_type=JSON)
