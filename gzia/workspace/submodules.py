"""Submodules of a new worktree: taken from the user's own clone, never from the network."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from gzia.errors import GziaError
from gzia.workspace.git import WORK, Git
from gzia.workspace.places import git_dir
from gzia.workspace.status import gitlinks


def initialise(source: Path, target: Path) -> None:
    """Check out in ``target`` those submodules that are checked out in ``source``, and theirs in turn."""
    if not (target / ".gitmodules").is_file():
        return
    git = Git(target)
    present = set(gitlinks(git))
    for name, path in _listed(git):
        if path in present and git_dir(source / path):
            _clone(git, name, path, source / path)
            initialise(source / path, target / path)


def _listed(git: Git) -> Iterator[tuple[str, str]]:
    """Name and path of each submodule in ``.gitmodules``."""
    answer = git.attempt("config", "-z", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$")
    for entry in answer.out.split(b"\0"):
        key, found, path = os.fsdecode(entry).partition("\n")
        if found:
            yield key.removeprefix("submodule.").removesuffix(".path"), path


def _clone(git: Git, name: str, path: str, source: Path) -> None:
    # By environment, because a name may hold "=".  The file protocol is allowed for this one known directory.
    settings = {
        "protocol.file.allow": "always", "clone.defaultRemoteName": "origin", f"submodule.{name}.url": str(source),
    }  # fmt: skip
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    words = ("submodule", "--quiet", "update", "--init", "--checkout", "--", path)
    answer = git.within(variables).attempt(*words, deadline=WORK)
    if answer.status:
        raise GziaError(
            "submodule-failed", f"The submodule {path} cannot be checked out from {source}: {answer.err.strip()}",
            "try it in your checkout: git submodule update --init", data={"path": path},
        )  # fmt: skip
    _point_at_the_origin(Git(source), Git(git.where / path))


def _point_at_the_origin(source: Git, clone: Git) -> None:
    """What the agent pushes must go where the user's own clone pushes, not into that clone."""
    url = source.attempt("config", "--get", "remote.origin.url")
    if url.status == 0:
        clone.run("config", "remote.origin.url", os.fsdecode(url.out).removesuffix("\n"))
