# SPDX-License-Identifier: Apache-2.0
"""Prepares a program before it runs; ``regimeter record`` puts it in place.

Python imports a module of this name at its start. This one takes itself out of the path and out of the environment,
imports the module that it stands before, if there is one, and, in the program and in processes that
multiprocessing, loky, torchrun or accelerate starts for it, hands over to :mod:`regimeter.capture.counting` and
:mod:`regimeter.public.standin`.
"""

import contextlib
import os
import sys

_folder = os.path.dirname(os.path.abspath(__file__))
# Of a program whose allocations are watched: what is loaded before it, and what was before.
_PRELOAD, _KEPT = "LD_PRELOAD", "REGIMETER_RECORD_LD_PRELOAD"
_preload = {name: os.environ[name] for name in (_PRELOAD, _KEPT) if _KEPT in os.environ}


def _restore() -> None:
    folder = _folder
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != folder]
    before = os.environ.pop("REGIMETER_RECORD_PYTHONPATH", "")
    if before:
        os.environ["PYTHONPATH"] = before
    else:
        os.environ.pop("PYTHONPATH", None)
    if _preload:
        os.environ[_PRELOAD] = os.environ.pop(_KEPT)
        if not os.environ[_PRELOAD]:
            del os.environ[_PRELOAD]
    sys.modules.pop("sitecustomize", None)
    sys.path_importer_cache.pop(folder, None)


_this = sys.modules["sitecustomize"]
_restore()
with contextlib.suppress(ModuleNotFoundError):
    import sitecustomize  # type: ignore[import-not-found]  # noqa: F401  # the one that would have been imported
sys.modules.setdefault("sitecustomize", _this)  # what imports a module looks for it afterwards


# Installed commands and modules that start a training in processes of its own, by handing them a copy of os.environ.
_LAUNCHERS = ("torchrun", "torch.distributed.run", "accelerate", "accelerate.commands.launch")


def _is_launcher() -> bool:
    # Behind the interpreter's options stand as many words as in argv, whose first is "-m" where a module runs.
    program = sys.orig_argv[len(sys.orig_argv) - len(sys.argv) :][:1]  # none in a program that embeds Python
    return any(os.path.basename(word).removeprefix("-m") in _LAUNCHERS for word in program)


def _is_launched() -> bool:
    return os.environ.get("REGIMETER_RECORD_LAUNCHER") == str(os.getppid())


def _in_subinterpreter() -> bool:
    """Return whether the program runs code in another interpreter here, in which nothing is recorded."""
    for name in ("_interpreters", "_xxsubinterpreters"):  # from Python 3.13 on, and before
        with contextlib.suppress(ImportError):
            interpreters = __import__(name)
            return bool(interpreters.get_current() != interpreters.get_main())
    return False


def _variables(before: str) -> dict[str, str]:
    """Return what lets a process with this PYTHONPATH come by here."""
    path = f"{_folder}{os.pathsep}{before}" if before else _folder
    return {"PYTHONPATH": path, "REGIMETER_RECORD_PYTHONPATH": before, **_preload}


def _pass_on() -> None:
    """Let processes that the program starts come by here too; `os.environ` shows it to a launcher alone."""
    variables = _variables(os.environ.get("PYTHONPATH", ""))
    if _is_launcher():
        os.environ["REGIMETER_RECORD_LAUNCHER"] = str(os.getpid())
        os.environ.update(variables)
        return
    for name, value in variables.items():
        os.putenv(name, value)


def _is_fork_server() -> bool:
    # The default way of multiprocessing to start processes from Python 3.14 on: forks of a process that does only that.
    return any(".forkserver import main; main(" in word for word in sys.orig_argv)


def _is_spawned() -> bool:
    # By multiprocessing, or by loky, on which joblib and scikit-learn run.
    words = sys.orig_argv
    return "--multiprocessing-fork" in words or any(word.endswith("loky.backend.popen_loky_posix") for word in words)


_NEEDED = (
    "regimeter.capture.counting",
    "regimeter.capture.loky",
    "regimeter.public.standin",
    "regimeter.system.telemetry",
)


def _import_aside() -> None:
    """Import what records in a thread, to which glibc gives a heap of its own: the program's stays as it is without.
    Holes that imports leave there cost a program that allocates all the time some percent."""
    import _thread
    import threading  # noqa: F401  # takes the thread that imports it first for the main one

    def load() -> None:
        try:
            for name in _NEEDED:
                __import__(name)
        except Exception:  # whoever needs them meets it again
            pass
        finally:
            loaded.release()

    loaded = _thread.allocate_lock()
    loaded.acquire()
    with contextlib.suppress(RuntimeError):  # there may be no more threads
        _thread.start_new_thread(load, ())
        loaded.acquire(timeout=5)  # and no longer: a module of the user's in there may wait for this one


_passes_on = '"stacks"' in os.environ.get("REGIMETER_RECORD_OPTIONS", "")
if _passes_on:
    _pass_on()
_forks, _spawned = _is_fork_server(), _is_spawned()
if (
    _forks or _spawned or os.environ.get("REGIMETER_RECORD_OWNER", "").startswith(f"{os.getpid()} ") or _is_launched()
) and not _in_subinterpreter():
    try:
        if not _forks:
            _import_aside()
        from regimeter.capture import counting
        from regimeter.public import standin

        counting.hold_still()
        if _forks:
            standin.begin_in_forks()
        else:
            standin.begin(spawned=_spawned)
        if _passes_on:
            from regimeter.capture import loky

            loky.pass_on(_variables)
    except Exception as error:  # the program must run all the same
        sys.stderr.write(f"regimeter: not prepared for the recording: {type(error).__name__}: {error}\n")
