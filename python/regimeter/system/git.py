# SPDX-License-Identifier: Apache-2.0
"""Of which commit a run is: as git says, or the variables of the CI system where it does not."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

TIMEOUT_S = 5.0
MAIN = ("main", "master", "trunk")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, its branch and tag, and whether files differ from it; None for what is not known."""

    commit: str | None = None
    branch: str | None = None
    tag: str | None = None
    dirty: bool | None = None


def commit_of(folder: str | None = None, environ: Mapping[str, str] | None = None) -> Commit:
    """Return the commit of a folder (default: the working directory); all None where nothing is known."""
    environ = os.environ if environ is None else environ
    sha = _git(folder, "rev-parse", "--verify", "HEAD")
    if sha is None:
        return Commit(_first(environ, "GITHUB_SHA", "CI_COMMIT_SHA", "BUILDKITE_COMMIT", "GIT_COMMIT"), *_ci(environ))
    branch = _git(folder, "symbolic-ref", "--short", "-q", "HEAD")
    tags = (_git(folder, "tag", "--points-at", "HEAD", "--sort=-creatordate") or "").split("\n")
    status = _git(folder, "status", "--porcelain", "--untracked-files=no")
    named, tagged = _ci(environ)
    return Commit(sha, branch or named, tags[0] or tagged, None if status is None else status != "")


def default_branch(folder: str | None = None) -> str | None:
    """Return the default branch: of the remote, else the first of main, master and trunk that exists."""
    remote = _git(folder, "symbolic-ref", "--short", "-q", "refs/remotes/origin/HEAD")
    if remote:
        return remote.removeprefix("origin/")
    for name in MAIN:
        if _git(folder, "rev-parse", "--verify", "-q", f"refs/heads/{name}") is not None:
            return name
    return None


def author_of(folder: str | None = None) -> str:
    """Return who acts: git's user, else the account."""
    name, mail = _git(folder, "config", "user.name"), _git(folder, "config", "user.email")
    if name or mail:
        return f"{name or ''} <{mail}>".strip() if mail else str(name)
    return _first(os.environ, "GITHUB_ACTOR", "GITLAB_USER_LOGIN", "USER", "LOGNAME") or f"user {os.getuid()}"


def _ci(environ: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Return branch and tag as CI systems tell them: a checkout there is mostly of no branch."""
    kind, name = environ.get("GITHUB_REF_TYPE"), environ.get("GITHUB_REF_NAME") or None
    branch = environ.get("GITHUB_HEAD_REF") or (name if kind == "branch" else None)
    branch = branch or _first(environ, "CI_COMMIT_BRANCH", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "BUILDKITE_BRANCH")
    return branch, (name if kind == "tag" else None) or _first(environ, "CI_COMMIT_TAG", "BUILDKITE_TAG")


def _first(environ: Mapping[str, str], *names: str) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)


def _git(folder: str | None, *words: str) -> str | None:
    """Return what git prints, None when it fails, is absent or takes too long."""
    try:
        done = subprocess.run(
            ["git", *words],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "backslashreplace").strip() if done.returncode == 0 else None
