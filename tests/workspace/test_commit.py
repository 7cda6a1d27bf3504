"""Hooks, signers and a missing identity may spoil a commit; they may not cost the work."""

from __future__ import annotations

from pathlib import Path

import pytest

from gzia.workspace.provider import GitWorkspaces, Workspace
from tests.conftest import git
from tests.workspace.conftest import write_hook, write_program


def sign_with(repo: Path, program: Path | str) -> None:
    git(repo, "config", "commit.gpgSign", "true")
    git(repo, "config", "gpg.program", str(program))


@pytest.fixture
def work(ws: Workspace) -> Workspace:
    (ws.directory / "new.txt").write_text("work\n")
    return ws


def test_WT_07_a_signer_that_is_not_there_does_not_cost_the_work(work: Workspace, spaces: GitWorkspaces) -> None:
    sign_with(work.root, "/nonexistent/gpg")

    result = spaces.merge(work, "x")

    assert git(work.root, "show", f"{result.safety_commit}:new.txt") == "work"
    assert git(work.root, "show", f"{result.commit}:new.txt") == "work"
    assert [note.split(":")[0] for note in result.notes] == ["The new commit is not signed, because"] * 2
    assert git(work.root, "status", "--porcelain") == git(work.directory, "status", "--porcelain") == ""


def test_WT_07_a_signer_that_waits_for_a_passphrase_has_bounded_time(work: Workspace, tmp_path: Path) -> None:
    sign_with(work.root, write_program(tmp_path / "gpg", "exec sleep 600"))

    result = GitWorkspaces(patience=0.3).merge(work, "x")

    assert git(work.root, "show", f"{result.commit}:new.txt") == "work"
    assert "did not end within 0.3 s" in result.notes[0]
    assert git(work.root, "status", "--porcelain") == git(work.directory, "status", "--porcelain") == ""


@pytest.mark.parametrize("squash", [False, True])
def test_a_signer_that_works_signs_the_saved_work_and_the_merge(
    work: Workspace, spaces: GitWorkspaces, tmp_path: Path, squash: bool
) -> None:
    signer = 'cat >/dev/null; echo "[GNUPG:] SIG_CREATED D" >&2; echo "-----BEGIN PGP SIGNATURE-----"'
    sign_with(work.root, write_program(tmp_path / "gpg", signer))
    write_hook(work.root, "pre-commit", f"echo once >>{tmp_path}/runs")

    result = spaces.merge(work, "x", squash=squash)

    for commit in (result.commit, result.safety_commit):
        assert "gpgsig -----BEGIN PGP SIGNATURE-----" in git(work.root, "cat-file", "commit", str(commit))
    assert (result.notes, git(work.root, "rev-parse", "HEAD", "harness/x").split()) == (
        (), [result.commit, result.safety_commit],
    )  # fmt: skip
    assert len(git(work.root, "log", "-1", "--format=%P").split()) == (1 if squash else 2)
    assert (tmp_path / "runs").read_text() == "once\n" * (2 if squash else 1)  # git runs no pre-commit in a merge


@pytest.mark.parametrize("hook", ["pre-commit", "commit-msg", "prepare-commit-msg"])
def test_WT_07_a_hook_that_fails_does_not_cost_the_work(work: Workspace, spaces: GitWorkspaces, hook: str) -> None:
    write_hook(work.root, hook, f'case "$PWD" in *worktrees/x) echo "{hook} says no" >&2; exit 1;; esac')

    result = spaces.merge(work, "x")

    assert git(work.root, "show", f"{result.safety_commit}:new.txt") == "work"
    assert result.notes == (f"The session's changes were saved without your hooks, because: {hook} says no",)


def test_the_users_hooks_run_when_they_can(work: Workspace, spaces: GitWorkspaces) -> None:
    write_hook(work.root, "pre-commit", "echo formatted >>new.txt && git add new.txt")

    result = spaces.merge(work, "x")

    assert git(work.root, "show", f"{result.commit}:new.txt") == "work\nformatted"


@pytest.mark.parametrize("missing", [["user.email"], ["user.email", "user.name"], ["user.name"]])
def test_WT_07_without_an_identity_gzia_signs_for_the_work(
    work: Workspace, spaces: GitWorkspaces, missing: list[str]
) -> None:
    for key in missing:
        git(work.root, "config", "--unset", key)

    result = spaces.merge(work, "x")

    for commit in (result.safety_commit, result.commit):
        assert git(work.root, "log", "-1", "--format=%an <%ae>", str(commit)) == "gzia <gzia@localhost>"


def test_WT_07_before_a_removal_neither_hook_nor_signer_nor_identity_is_needed(
    work: Workspace, spaces: GitWorkspaces
) -> None:
    sign_with(work.root, "/nonexistent/gpg")
    git(work.root, "config", "--remove-section", "user")
    for hook in ("pre-commit", "reference-transaction", "post-commit"):
        write_hook(work.root, hook, "exit 1")

    ref = spaces.preserve(work, "x")
    spaces.remove(work)

    assert git(work.root, "show", f"{ref}:new.txt") == "work"
