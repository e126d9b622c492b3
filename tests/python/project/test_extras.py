# SPDX-License-Identifier: Apache-2.0
"""The extras of pyproject.toml: each exists for something that a file of the package imports, and nothing else does."""

import ast
import re
import sys
import tomllib
from functools import cache

import pytest
from places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
# What a distribution is imported as, where that is not its name.
MODULES = {
    "opentelemetry-sdk": "opentelemetry", "opentelemetry-exporter-otlp-proto-http": "opentelemetry",
    "protobuf": "google", "ipython": "IPython", "psycopg[binary]": "psycopg", "python-multipart": "python_multipart",
}  # fmt: skip
# Imported, and in no extra: the caller has them already, or has no use for what needs them.
THEIRS = {"pytest", "_pytest", "pandas", "zlib_ng", "backports", "sitecustomize", "regimeter"}


def modules(extra: str) -> set[str]:
    """Return what the distributions of an extra are imported as, those of extras that it names included."""
    found: set[str] = set()
    for requirement in EXTRAS[extra]:
        name = re.match(r"[\w.\-\[\],]+", requirement)
        assert name
        within = re.fullmatch(r"regimeter\[(.+)\]", name[0])
        if within:
            found |= {module for one in within[1].split(",") for module in modules(one)}
        else:
            found.add(MODULES.get(name[0], name[0]).replace("-", "_"))
    return found


@cache
def imports() -> tuple[frozenset[str], frozenset[str]]:
    """Return the outermost packages that files of the package import by statement, and those that a text names: a list
    of engines, an argument of import_module, SQLAlchemy's database+driver."""
    stated: set[str] = set()
    named: set[str] = set()
    for file in (ROOT / "python").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                stated |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                stated.add(node.module.partition(".")[0])
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                named |= set(re.findall(r"^(?:\w+\+)?([a-z]\w+)(?:\.\w+)*$", node.value))
    return frozenset(stated), frozenset(named)


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_an_extra_installs_what_some_file_imports(extra):
    stated, named = imports()
    assert modules(extra) <= stated | named


def test_what_is_imported_and_not_of_python_is_in_an_extra():
    stated, _ = imports()
    core = {re.match(r"[\w\-]+", requirement)[0] for requirement in PROJECT["dependencies"]}
    assert stated - set(sys.stdlib_module_names) - core - THEIRS <= modules("all")


def test_all_is_all_of_them():
    assert modules("all") == {module for extra in EXTRAS if extra != "all" for module in modules(extra)}


def test_what_messages_and_documents_name_exists():
    texts = [*(ROOT / "python").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    named = {name for file in texts for name in re.findall(r"(?:regimeter|'\.)\[([a-z]+)\]", file.read_text())}
    assert named <= set(EXTRAS)
    assert {"torch", "arrow", "history", "postgres"} <= named
