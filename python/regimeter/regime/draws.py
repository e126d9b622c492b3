# SPDX-License-Identifier: Apache-2.0
"""Random draws of NumPy as functions of an array that they fill, by a generator of the same kind that is ours.

The program's own generator is never asked: its next numbers stay what they would have been.
"""

import sys
from typing import Any

SEED = 11
BY_DIMENSIONS = ("rand", "randn")  # their arguments are the shape


class Draw:
    """Draws as many numbers as an array has, which stands first among the arguments."""

    def __init__(self, method: Any, place: int | None) -> None:
        self.__name__ = str(method.__name__)
        self._method = method
        self._place = place

    def __call__(self, like: Any, *args: Any, **kwargs: Any) -> Any:
        if self._place is None:
            return self._method(*args, size=like.shape, **kwargs)
        if self._place < 0:
            return self._method(*like.shape)
        return self._method(*args[: self._place], like.shape, *args[self._place :], **kwargs)


def is_generator(value: Any) -> bool:
    """Say whether it is one of NumPy's own generators."""
    random: Any = getattr(sys.modules.get("numpy"), "random", None)
    return random is not None and type(value) in (random.Generator, random.RandomState)


def of_call(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    """Return a draw of a generator of ours that takes an array, with its arguments; None for what is no such draw."""
    numpy: Any = sys.modules.get("numpy")
    owner: Any = getattr(function, "__self__", None)
    name = str(getattr(function, "__name__", ""))
    if numpy is None or type(result) is not numpy.ndarray:
        return None
    if type(owner) is numpy.random.Generator:
        method = getattr(numpy.random.Generator(type(owner.bit_generator)(SEED)), name)
    elif type(owner) is numpy.random.RandomState:
        method = getattr(numpy.random.RandomState(SEED), name)
    else:
        return None
    if name in BY_DIMENSIONS:
        return (Draw(method, -1), (result,), kwargs) if args == result.shape else None
    if any(isinstance(value, numpy.ndarray) for value in (*args, *kwargs.values())):
        return method, args, kwargs
    if "size" in kwargs:
        left = {key: value for key, value in kwargs.items() if key != "size"}
        return Draw(method, None), (result, *args), left
    places = [at for at, value in enumerate(args) if value in (result.size, result.shape)]
    if not places or (result.ndim > 1 and args[places[-1]] != result.shape):
        return None
    place = places[-1]
    return Draw(method, place), (result, *args[:place], *args[place + 1 :]), kwargs
