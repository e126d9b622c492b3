# SPDX-License-Identifier: Apache-2.0
"""Begins the recording of a program's kernels before the program runs; ``regimeter record --kernels`` puts it in place.

Python imports a module of this name at its start. This one takes itself out of the path and out of the environment,
imports the module that it stands before, if there is one, and hands over to :mod:`regimeter.standin`.
"""

import contextlib
import os
import sys


def _restore() -> None:
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != folder]
    before = os.environ.pop("REGIMETER_RECORD_PYTHONPATH", "")
    if before:
        os.environ["PYTHONPATH"] = before
    else:
        os.environ.pop("PYTHONPATH", None)
    sys.modules.pop("sitecustomize", None)
    sys.path_importer_cache.pop(folder, None)


_restore()
with contextlib.suppress(ModuleNotFoundError):
    import sitecustomize  # type: ignore[import-not-found]  # noqa: F401  # the one that would have been imported
try:
    from regimeter import standin

    standin.begin()
except Exception as error:  # the program must run all the same
    sys.stderr.write(f"regimeter: kernels are not traced: {type(error).__name__}: {error}\n")
