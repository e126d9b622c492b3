# SPDX-License-Identifier: Apache-2.0
"""Functions whose calls are scopes, those included that do not run when they are called."""

import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from ..profiler import GPUProfiler

P = ParamSpec("P")
R = TypeVar("R")


def decorate(profiler: "GPUProfiler", function: Any, operation: str | None, device: str) -> Any:
    """Return the function as a scope: a coroutine over what is awaited, a generator over each item that it produces.

    operation: the name, by default the function's qualified name. TypeError for what cannot be called.
    """
    if isinstance(function, classmethod | staticmethod):
        return type(function)(decorate(profiler, function.__func__, operation, device))
    if not callable(function):
        raise TypeError(f"a function is expected, not {type(function).__name__}")
    name = operation or getattr(function, "__qualname__", None) or type(function).__qualname__
    called = type(function).__call__
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called):
        return _wrap_coroutine(profiler, function, name, device)
    if inspect.isasyncgenfunction(function) or inspect.isasyncgenfunction(called):
        return _wrap_async_generator(profiler, function, name, device)
    if inspect.isgeneratorfunction(function) or inspect.isgeneratorfunction(called):
        return _wrap_generator(profiler, function, name, device)
    return functools.update_wrapper(profiler._wrap(function, name, device), function)


def _wrap_coroutine(
    profiler: "GPUProfiler", function: Callable[P, Awaitable[R]], name: str, device: str
) -> Callable[P, Awaitable[R]]:
    @functools.wraps(function)
    async def profiled(*args: P.args, **kwargs: P.kwargs) -> R:
        with profiler._scope_for(name, device, function):
            return await function(*args, **kwargs)

    return profiled


def _wrap_generator(
    profiler: "GPUProfiler", function: Callable[P, Generator[Any, Any, R]], name: str, device: str
) -> Callable[P, Generator[Any, Any, R]]:
    """Each step of the generator is a scope, so the consumer's time in between is not counted."""

    @functools.wraps(function)
    def profiled(*args: P.args, **kwargs: P.kwargs) -> Generator[Any, Any, R]:
        generator = function(*args, **kwargs)
        step: Callable[[Any], Any] = generator.send
        sent: Any = None
        while True:
            finished: StopIteration | None = None
            item = None
            with profiler._scope_for(name, device, function):
                try:
                    item = step(sent)
                except StopIteration as stop:
                    finished = stop
            if finished is not None:
                return cast(R, finished.value)
            try:
                sent = yield item
                step = generator.send
            except GeneratorExit:
                generator.close()
                raise
            except BaseException as error:
                step, sent = generator.throw, error

    return profiled


def _wrap_async_generator(
    profiler: "GPUProfiler", function: Callable[P, AsyncGenerator[Any, Any]], name: str, device: str
) -> Callable[P, AsyncGenerator[Any, Any]]:
    @functools.wraps(function)
    async def profiled(*args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[Any, Any]:
        generator = function(*args, **kwargs)
        step: Callable[[Any], Awaitable[Any]] = generator.asend
        sent: Any = None
        while True:
            finished = False
            item = None
            with profiler._scope_for(name, device, function):
                try:
                    item = await step(sent)
                except StopAsyncIteration:
                    finished = True
            if finished:
                return
            try:
                sent = yield item
                step = generator.asend
            except GeneratorExit:
                await generator.aclose()
                raise
            except BaseException as error:
                step, sent = generator.athrow, error

    return profiled
