# SPDX-License-Identifier: Apache-2.0
"""Which program is meant by the words after a verb that starts one: a script, a module, code, an installed command."""

import os
import sys

from ..system import python_command
from .errors import CommandError

REFUSED = "EIS"  # options with which Python does not import what the recorder comes by
HEAD_BYTES = 512  # of a command, in which its interpreter stands


def command_of(program: list[str], verb: str, usage: str) -> tuple[list[str], str]:
    """Return the child's command line and a name for the program; CommandError, as of that verb, where it is none."""
    interpreter, options, program = python_command.split(program)
    if os.path.isfile(interpreter) and not _is_this_python(interpreter):
        raise CommandError(f"{interpreter}: another Python than {sys.executable}, where regimeter is installed")
    for letter in sorted(python_command.flags(options).intersection(REFUSED)):
        raise CommandError(f"{verb}: leave out -{letter} of Python, with which it does not import the recorder")
    if not program:
        raise CommandError(f"{verb}: no program given; usage: {usage}")
    first = program[0]
    if first[:2] in ("-m", "-c"):
        option, given = first[:2], first[2:] or (program[1] if len(program) > 1 else "")
        if not given:
            raise CommandError(f"{verb}: {option} needs {'a module' if option == '-m' else 'code'}; usage: {usage}")
        name = given if option == "-m" else "-c"
    elif first == "-":
        name = "stdin"
    else:
        if not os.path.exists(first):
            program = [_installed(first), *program[1:]]
        name = os.path.basename(os.path.abspath(first))
    return [sys.executable, *_own_options(), *options, *program], name


def _own_options() -> list[str]:
    """Return the options that this interpreter was started with; the program has its environment itself."""
    return python_command.split(["python", *sys.orig_argv[1:]])[1]


def _installed(name: str) -> str:
    """Return the file of a command such as `torchrun` or `pytest`: those installed with regimeter, then of the PATH."""
    import shutil  # a script starts without them
    import sysconfig

    if os.path.dirname(name):
        raise CommandError(f"{name}: no such program file; check the path, or use -m for a module")
    user = sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))
    places = [os.path.dirname(sys.executable), sysconfig.get_path("scripts"), user, os.environ.get("PATH", os.defpath)]
    found = shutil.which(name, path=os.pathsep.join(places))
    if found is None:
        raise CommandError(f"{name}: no such program file or command; check the path, or use -m for a module")
    with open(found, "rb") as file:
        # A path that is too long for the kernel stands in the second line, behind a shell.
        lines = file.read(HEAD_BYTES).split(b"\n", 2)[:2]
    words = b" ".join(lines).decode(errors="replace").replace("'", " ").removeprefix("#!").split()
    pythons = [word for word in words if python_command.PYTHON.fullmatch(os.path.basename(word))]
    if not lines[0].startswith(b"#!") or not pythons:
        raise CommandError(f"{name}: {found} is no program of Python; name the Python program that it starts")
    if os.path.isabs(pythons[0]) and os.path.exists(pythons[0]) and not _is_this_python(pythons[0]):
        raise CommandError(f"{name}: {found} is of another Python than {sys.executable}, where regimeter is installed")
    return found


def _is_this_python(path: str) -> bool:
    return os.path.realpath(path) == os.path.realpath(sys.executable)
