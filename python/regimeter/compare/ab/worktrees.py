# SPDX-License-Identifier: Apache-2.0
"""Commits of a git repository checked out beside it for a while, so that the user's tree is never touched."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence

TIMEOUT_S = 600
# No hook of the repository runs, and nothing is asked for.
GIT = ("git", "-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false")


class WorktreeError(Exception):
    """git could not check a commit out; the message is git's."""


def commit_of(text: str, directory: str | None = None) -> str | None:
    """Return the commit that git takes a text for, None when it takes it for none or there is no repository."""
    if not text or text.startswith("-") or any(letter.isspace() for letter in text):
        return None
    with contextlib.suppress(OSError, WorktreeError):
        return _git(["rev-parse", "--verify", "--quiet", f"{text}^{{commit}}"], directory).strip() or None
    return None


def top_of(directory: str | None = None) -> str:
    """Return the top of the working tree around a directory; WorktreeError where there is none."""
    return _git(["rev-parse", "--show-toplevel"], directory).rstrip("\n")


@contextlib.contextmanager
def checked_out(commits: Sequence[str], directory: str | None = None) -> Iterator[dict[str, str]]:
    """Check commits out into temporary worktrees, removed at the end; yield the folder of each.

    The repository's own tree, index and branches stay as they are; git notes the worktrees under .git/worktrees and
    forgets them at the end.
    """
    home = tempfile.mkdtemp(prefix="regimeter-ab-")
    made: dict[str, str] = {}
    try:
        for commit in dict.fromkeys(commits):
            folder = os.path.join(home, commit[:12])
            _git(["worktree", "add", "--detach", "--quiet", folder, commit], directory)
            made[commit] = folder
        yield made
    finally:
        for folder in made.values():
            with contextlib.suppress(WorktreeError, OSError):
                _git(["worktree", "remove", "--force", folder], directory)
        shutil.rmtree(home, ignore_errors=True)
        with contextlib.suppress(WorktreeError, OSError):
            _git(["worktree", "prune"], directory)


def _git(words: Sequence[str], directory: str | None) -> str:
    try:
        found = subprocess.run(
            [*GIT, *words], cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=False
        )
    except FileNotFoundError:
        raise WorktreeError("git was not found") from None
    except subprocess.TimeoutExpired:
        raise WorktreeError(f"git {words[0]} took longer than {TIMEOUT_S} s") from None
    if found.returncode:
        raise WorktreeError(found.stderr.decode(errors="replace").strip() or f"git {words[0]} failed")
    return found.stdout.decode(errors="surrogateescape")
