# SPDX-License-Identifier: Apache-2.0
"""Work of CuPy's functions: what NumPy's function of the same name has to do, where the object is that of CuPy."""

import functools
import sys
from collections.abc import Callable
from typing import Any

from . import numpy_work
from .work import Work


def of_call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Work | None:
    """Return the work of a function of CuPy that has returned, None when it is not known to be one."""
    try:
        counterpart = _counterparts().get(function)
    except TypeError:  # not hashable: no function of CuPy
        return None
    return None if counterpart is None else numpy_work.of_call(counterpart, args, kwargs, result)


@functools.cache
def _counterparts() -> dict[Any, Any]:
    """Function of CuPy -> that of NumPy which has its name and a known work."""
    cupy: Any = sys.modules["cupy"]
    found = {}
    for function in numpy_work.known_functions():
        twin = getattr(cupy, getattr(function, "__name__", ""), None)
        if twin is not None:
            found[twin] = function
    return found
