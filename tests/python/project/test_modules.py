# SPDX-License-Identifier: Apache-2.0
"""Every module of the package can be the first that is imported, and imports nothing heavy by itself."""

import pytest

# Each file of the integrations is for one package, and imports it. Left out: `sitecustomize` acts when it is imported,
# `__main__` is the command, migrations belong to Alembic, and three packages take seconds (test_integrations.py).
PROGRAM = """
import os, pkgutil, sys, traceback
import asyncio, fastapi, multiprocessing, numpy, pytest, sqlalchemy  # which the children have then
import regimeter
SLOW = ("accelerate", "lightning", "transformers")
ACT = ("regimeter.__main__", "regimeter.bootstrap", "regimeter.history.migrations",
       *(f"regimeter.integrations.{name}" for name in SLOW))
HEAVY = {"torch", "matplotlib", "pandas", "pyarrow", "rich"}
loaded = HEAVY & set(sys.modules)
assert not loaded, loaded
names = [found.name for found in pkgutil.walk_packages(regimeter.__path__, "regimeter.")]
names = [name for name in names if not name.startswith(ACT)]
bad = []
for name in names:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            __import__(name)
            heavy = set() if name.startswith("regimeter.integrations.") else HEAVY & set(sys.modules)
            status = bool(heavy)
            if heavy:
                print(name, "imports", *heavy, file=sys.stderr)
        except Exception:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(status)
    if os.waitpid(child, 0)[1]:
        bad.append(name)
print(len(names))
sys.exit(f"not by themselves: {bad}" if bad else 0)
"""


@pytest.mark.slow
def test_each_can_be_imported_first(run_python):
    assert int(run_python(PROGRAM).stdout) > 150
