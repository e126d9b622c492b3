# SPDX-License-Identifier: Apache-2.0
"""A function of torch within a scope."""

import functools
from collections.abc import Callable
from typing import Any


def within(scope: Any, function: Callable[..., Any], is_compiling: Callable[[], bool]) -> Callable[..., Any]:
    """Return the function with the scope around each call; what torch.compile traces is the function itself."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return function(*args, **kwargs)
        with scope:
            return function(*args, **kwargs)

    return wrapper
