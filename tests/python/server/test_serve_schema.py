# SPDX-License-Identifier: Apache-2.0
"""The API as its description says: every address with parameters that are right, wrong and odd, by schemathesis."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, seed, settings
from needed import package
from serving import record
from traces import trace_path

schemathesis = package("schemathesis")
package("sqlalchemy")
package("alembic")

from schemathesis.specs.openapi.checks import positive_data_acceptance  # noqa: E402

from regimeter.cli import main  # noqa: E402
from regimeter.server.app import make_app  # noqa: E402
from regimeter.server.options import Options  # noqa: E402
from regimeter.server.service import Service  # noqa: E402
from regimeter.server.shelf import Shelf  # noqa: E402

pytestmark = pytest.mark.slow
EXAMPLES = 15
# What they take depends on more than a description can say: the body, the options of the one analysis.
CONTENT = ("/api/runs", "/api/runs/{run}/analyses/{verb}")
OPTIONS = Options(names=("testserver",), upload_bytes=100_000, inflated_bytes=100_000)


def addresses() -> list[tuple[str, str]]:
    """Return method and path of all that is described."""
    paths = make_app(Service(Shelf([]), OPTIONS)).app.openapi()["paths"]
    return [(method.upper(), path) for path, methods in paths.items() for method in methods]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the API of a folder with a recording and a trace, and their ids."""
    folder: Path = tmp_path_factory.mktemp("served")
    recorded = record(folder, "run", 20)
    history = str(tmp_path_factory.mktemp("history") / "history.db")
    assert main(["history", "add", str(recorded), "--db", history, "-q"]) == 0
    shutil.copy(trace_path("h100_bert_small.json.gz"), folder / "trace.json.gz")
    service = Service(Shelf([folder], tmp_path_factory.mktemp("kept")), replace(OPTIONS, history=history))
    yield (
        schemathesis.openapi.from_asgi("/openapi.json", make_app(service)),
        [entry.id for entry in service.shelf.entries()],
    )
    service.close()


@pytest.mark.parametrize(("method", "path"), addresses())
def test_answers_are_as_described(served: Any, method: str, path: str) -> None:
    schema, runs = served
    excluded = [positive_data_acceptance] if path in CONTENT else []

    @given(case=schema[path][method].as_strategy())
    @seed(crc32(path.encode()))
    @settings(max_examples=EXAMPLES, database=None, suppress_health_check=list(HealthCheck))
    def ask(case: Any) -> None:
        # Most random texts name no run, so half of the examples name one that is there.
        for place in (case.path_parameters, case.query):
            if place and isinstance(place.get("run"), str):
                number = crc32(place["run"].encode(errors="replace"))
                place["run"] = runs[number // 2 % len(runs)] if number % 2 else place["run"]
        case.call_and_validate(excluded_checks=excluded)

    ask()
