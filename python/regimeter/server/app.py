# SPDX-License-Identifier: Apache-2.0
"""The application: its addresses, and the guard in front of them."""

from fastapi import FastAPI

from .._core import __version__
from . import problems
from .api_history import history_addresses
from .api_profiler import profiler_addresses
from .api_runs import run_addresses
from .guard import Guard
from .page_addresses import page_addresses
from .service import Service

DESCRIPTION = (
    "Recordings, traces and what can be said of them. `run` is an id or a name of /api/runs; it may be left out where"
    " there is one run. Where an analysis does not apply to a run, the answer is 200 with `unavailable`, a sentence"
    " that says why. Failures are application/problem+json. Answers about a run have an ETag."
)


def make_app(service: Service) -> Guard:
    """Return the ASGI application of a service; whoever made the service closes it."""
    app = FastAPI(
        title="regimeter",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    problems.install(app)
    app.include_router(profiler_addresses(service), prefix="/api/profiler", tags=["profiler"])
    app.include_router(run_addresses(service), prefix="/api", tags=["runs"])
    app.include_router(history_addresses(service.past), prefix="/api/history", tags=["history"])
    app.include_router(page_addresses(service), include_in_schema=False)
    return Guard(app, service.options)
