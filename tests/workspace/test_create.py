"""A worktree is made whole or not at all."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from gzia.errors import FAILED, USAGE, ConflictError, GziaError, UsageError
from gzia.workspace.provider import GitWorkspaces, Workspace
from tests.conftest import git
from tests.workspace.conftest import code, commit_file, new_repository, picture, write_hook


def test_a_session_has_a_branch_and_a_worktree_of_its_own(repo: Path, spaces: GitWorkspaces) -> None:
    start = git(repo, "rev-parse", "HEAD")

    ws = spaces.prepare(repo, "x")

    assert ws == Workspace(repo, repo / ".harness/worktrees/x", "harness/x", start)
    assert git(ws.directory, "rev-parse", "--abbrev-ref", "HEAD") == "harness/x"
    assert (ws.directory / "f.txt").read_text() == "one\n"
    assert git(repo, "status", "--porcelain") == ""


def test_a_session_starts_where_it_is_told(repo: Path, spaces: GitWorkspaces) -> None:
    first = git(repo, "rev-parse", "HEAD")
    commit_file(repo, "f.txt", "two\n")

    ws = spaces.prepare(repo, "x", "HEAD~1")

    assert ws.base_commit == first
    assert (ws.directory / "f.txt").read_text() == "one\n"


def test_a_detached_head_is_a_start_like_any_other(repo: Path, spaces: GitWorkspaces) -> None:
    git(repo, "checkout", "-q", "--detach")

    ws = spaces.prepare(repo, "x")

    assert git(ws.directory, "rev-parse", "HEAD") == git(repo, "rev-parse", "HEAD")


@pytest.mark.parametrize("base", ["nowhere", "-x", "--all", "", "HEAD:f.txt", "main..main", "a b"])
def test_a_base_that_is_no_commit_is_a_usage_error(repo: Path, spaces: GitWorkspaces, base: str) -> None:
    before = picture(repo)

    with pytest.raises(UsageError) as raised:
        spaces.prepare(repo, "x", base)

    assert (code(raised), raised.value.exit_status) == ("base-not-found", USAGE)
    assert picture(repo) == before
    assert not (repo / ".harness").exists()


def test_WT_10_without_any_commit_nothing_is_touched(tmp_path: Path, spaces: GitWorkspaces) -> None:
    repo = tmp_path / "r"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "trunk")
    (repo / "notes.txt").write_text("draft\n")
    exclude = (repo / ".git/info/exclude").read_bytes()

    with pytest.raises(GziaError) as raised:
        spaces.prepare(repo, "x")

    assert (code(raised), raised.value.exit_status) == ("no-commit-yet", FAILED)
    assert "--no-isolate" in raised.value.hint
    assert sorted(entry.name for entry in repo.iterdir()) == [".git", "notes.txt"]
    assert git(repo, "status", "--porcelain") == "?? notes.txt"
    assert git(repo, "for-each-ref") == ""
    assert (repo / ".git/info/exclude").read_bytes() == exclude


def test_WT_10_an_orphan_branch_has_no_commit_yet_either(repo: Path, spaces: GitWorkspaces) -> None:
    git(repo, "checkout", "-q", "--orphan", "fresh")

    with pytest.raises(GziaError) as raised:
        spaces.prepare(repo, "x")

    assert code(raised) == "no-commit-yet"
    assert spaces.prepare(repo, "x", "main").base_commit == git(repo, "rev-parse", "main")


def test_WT_01_a_branch_that_was_left_over_is_not_taken(repo: Path, spaces: GitWorkspaces) -> None:
    git(repo, "branch", "harness/x")
    commit_file(repo, "f.txt", "two\n")
    before = picture(repo)

    with pytest.raises(ConflictError) as raised:
        spaces.prepare(repo, "x", "main")

    assert code(raised) == "branch-exists"
    assert picture(repo) == before
    assert not (repo / ".harness").exists()


def test_WT_01_a_directory_that_was_left_over_is_not_taken(repo: Path, spaces: GitWorkspaces) -> None:
    left = repo / ".harness/worktrees/y/file"
    left.parent.mkdir(parents=True)
    left.write_text("keep")

    with pytest.raises(ConflictError) as raised:
        spaces.prepare(repo, "y")

    assert code(raised) == "worktree-exists"
    assert left.read_text() == "keep"
    assert git(repo, "branch", "--list", "harness/*") == ""


def test_WT_01_of_many_that_want_one_id_one_wins(repo: Path, spaces: GitWorkspaces) -> None:
    outcomes: list[object] = []

    def attempt() -> None:
        try:
            outcomes.append(spaces.prepare(repo, "z"))
        except ConflictError as problem:
            outcomes.append(problem.code)

    threads = [threading.Thread(target=attempt) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [o for o in outcomes if isinstance(o, Workspace)] == [
        Workspace(repo, repo / ".harness/worktrees/z", "harness/z", git(repo, "rev-parse", "HEAD"))
    ]
    assert set(outcomes) - {outcomes[i] for i, o in enumerate(outcomes) if isinstance(o, Workspace)} <= {
        "worktree-exists",
        "branch-exists",
    }
    assert git(repo / ".harness/worktrees/z", "status", "--porcelain") == ""


def test_sessions_that_start_at_once_do_not_disturb_each_other(repo: Path, spaces: GitWorkspaces) -> None:
    made: list[Workspace] = []

    threads = [threading.Thread(target=lambda n=n: made.append(spaces.prepare(repo, f"s{n}"))) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(ws.branch for ws in made) == ["harness/s0", "harness/s1", "harness/s2", "harness/s3"]
    assert (repo / ".git/info/exclude").read_text().count("/.harness/") == 1


def _file_at_worktrees(repo: Path) -> None:
    (repo / ".harness").mkdir()
    (repo / ".harness/worktrees").write_text("in the way")


def _file_at_harness(repo: Path) -> None:
    (repo / ".harness").write_text("in the way")


def _link_at_harness(repo: Path) -> None:
    elsewhere = repo.parent / "elsewhere"
    elsewhere.mkdir()
    (repo / ".harness").symlink_to(elsewhere)


def _link_at_worktrees(repo: Path) -> None:
    (repo.parent / "elsewhere").mkdir()
    (repo / ".harness").mkdir()
    (repo / ".harness/worktrees").symlink_to(repo.parent / "elsewhere")


@pytest.mark.parametrize("obstruct", [_file_at_worktrees, _file_at_harness, _link_at_harness, _link_at_worktrees])
def test_WT_03_what_lies_in_the_way_is_said_and_left_alone(
    repo: Path, spaces: GitWorkspaces, obstruct: Callable[[Path], None]
) -> None:
    obstruct(repo)
    before, entries = picture(repo), sorted(repo.rglob(".harness*/**"))

    with pytest.raises(GziaError) as raised:
        spaces.prepare(repo, "x")

    assert code(raised) == "harness-in-the-way"
    assert picture(repo) == before
    assert sorted(repo.rglob(".harness*/**")) == entries
    assert not (repo.parent / "elsewhere").exists() or not list((repo.parent / "elsewhere").iterdir())


def test_WT_03_a_failure_after_the_checkout_takes_everything_back(repo: Path, spaces: GitWorkspaces) -> None:
    shutil.rmtree(repo / ".git/info")
    (repo / ".git/info").write_text("in the way")  # the last step fails, whoever runs the test
    before = picture(repo)

    with pytest.raises(GziaError) as raised:
        spaces.prepare(repo, "x")

    assert code(raised) == "file-trouble"
    assert picture(repo) == before
    assert not (repo / ".harness").exists()
    assert not (repo / ".git/worktrees").exists() or not list((repo / ".git/worktrees").iterdir())


def test_WT_03_ctrl_c_in_the_middle_of_the_checkout_takes_everything_back(repo: Path, spaces: GitWorkspaces) -> None:
    commit_file(repo, ".gitattributes", "slow filter=slow\n")
    commit_file(repo, "slow", "s\n")
    git(repo, "config", "filter.slow.smudge", "sleep 600")
    before = picture(repo)

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.7)
    try:
        with pytest.raises(KeyboardInterrupt):
            spaces.prepare(repo, "x")
    finally:
        signal.signal(signal.SIGALRM, old)

    assert picture(repo) == before
    assert not (repo / ".harness").exists()


def test_a_failure_leaves_what_other_sessions_have(ws: Workspace, repo: Path, spaces: GitWorkspaces) -> None:
    git(repo, "branch", "harness/y")
    before = picture(ws.directory)

    with pytest.raises(ConflictError):
        spaces.prepare(repo, "y")

    assert picture(ws.directory) == before
    assert (repo / ".harness/.gitignore").read_text() == "*\n"
    assert git(repo, "status", "--porcelain") == ""


@pytest.mark.parametrize(("in_the_way", "rename"), [("harness", "harness"), ("harness/x/y", "harness/x/y")])
def test_a_branch_that_leaves_no_room_is_named(repo: Path, spaces: GitWorkspaces, in_the_way: str, rename: str) -> None:
    git(repo, "branch", in_the_way)
    before = picture(repo)

    with pytest.raises(ConflictError) as raised:
        spaces.prepare(repo, "x")

    assert code(raised) == "branch-in-the-way"
    assert f"git branch -m {rename} {rename}-old" in raised.value.hint
    assert picture(repo) == before
    assert not (repo / ".harness").exists()


def test_a_tag_of_the_same_name_changes_nothing(repo: Path, spaces: GitWorkspaces) -> None:
    git(repo, "tag", "harness/x")
    tip = commit_file(repo, "f.txt", "two\n")

    ws = spaces.prepare(repo, "x")
    (ws.directory / "new").touch()
    merged = spaces.merge(ws, "x")

    assert ws.base_commit == tip
    assert git(ws.directory, "symbolic-ref", "HEAD") == "refs/heads/harness/x"
    assert git(repo, "rev-parse", "HEAD^2") == merged.safety_commit
    spaces.remove(ws)
    assert git(repo, "for-each-ref", "--format=%(refname)") == "refs/heads/main\nrefs/tags/harness/x"


def test_the_users_checkout_hook_is_not_run(repo: Path, spaces: GitWorkspaces) -> None:
    write_hook(repo, "post-checkout", "touch ran; exit 1")

    ws = spaces.prepare(repo, "x")

    assert sorted(entry.name for entry in ws.directory.iterdir()) == [".git", "f.txt"]


def test_a_ref_hook_that_refuses_leaves_nothing(repo: Path, spaces: GitWorkspaces) -> None:
    before = picture(repo)
    write_hook(repo, "reference-transaction", "grep -q harness/ && exit 1; exit 0")

    with pytest.raises(GziaError) as raised:
        spaces.prepare(repo, "x")

    assert raised.value.code == "git-failed"
    assert picture(repo) == before
    assert not (repo / ".harness").exists()


def test_the_entry_of_a_session_that_was_removed_by_hand_is_replaced(repo: Path, spaces: GitWorkspaces) -> None:
    ws = spaces.prepare(repo, "x")
    git(repo, "worktree", "move", str(ws.directory), str(repo.parent / "gone"))
    git(repo, "worktree", "move", str(repo.parent / "gone"), str(ws.directory))
    for path in ws.directory.iterdir():
        path.unlink()
    ws.directory.rmdir()
    git(repo, "update-ref", "-d", ws.ref)

    again = spaces.prepare(repo, "x")

    assert again == ws
    assert git(again.directory, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    "name", ["sp ace", "ünï 文", "-dash", 'q"uote', "a:b", os.fsdecode(b"\xff\xfe"), "new\nline", "$(x) 'y'"]
)
def test_a_repository_may_have_any_name(tmp_path: Path, spaces: GitWorkspaces, name: str) -> None:
    repo = new_repository(tmp_path / name)
    git(repo, "config", "core.hooksPath", "/dev/null")

    ws = spaces.prepare(repo, "x")
    (ws.directory / "n.txt").write_text("new\n")
    changed = spaces.diff(ws).files
    merged = spaces.merge(ws, "x")

    assert spaces.project_root(ws.directory) == (repo, True)
    assert [change.path for change in changed] == ["n.txt"]
    assert git(repo, "show", f"{merged.commit}:n.txt") == "new"
    assert git(repo, "status", "--porcelain") == ""


def test_a_linked_worktree_of_the_user_is_a_project_like_any_other(repo: Path, spaces: GitWorkspaces) -> None:
    linked = repo.parent / "linked"
    git(repo, "worktree", "add", "-q", "-b", "feature", str(linked))

    ws = spaces.prepare(linked, "x")
    (ws.directory / "n.txt").write_text("new\n")
    spaces.merge(ws, "x")

    assert ws.directory == linked / ".harness/worktrees/x"
    assert spaces.project_root(ws.directory) == (linked, True)
    assert (git(linked, "status", "--porcelain"), (linked / "n.txt").read_text()) == ("", "new\n")
    assert not (repo / "n.txt").exists()


def test_a_worktree_of_a_bare_repository_is_a_project_too(tmp_path: Path, spaces: GitWorkspaces) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(new_repository(tmp_path / "origin")), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / "main"), "main")

    ws = spaces.prepare(tmp_path / "main", "x")
    (ws.directory / "n.txt").write_text("new\n")
    spaces.merge(ws, "x")
    spaces.remove(ws)

    assert (tmp_path / "main/n.txt").read_text() == "new\n"
    assert not ws.directory.exists()


def test_a_sparse_checkout_stays_sparse_and_loses_nothing(repo: Path, spaces: GitWorkspaces) -> None:
    commit_file(repo, "in/a", "a\n")
    commit_file(repo, "out/b", "b\n")
    git(repo, "sparse-checkout", "set", "in")

    ws = spaces.prepare(repo, "x")
    (ws.directory / "in/new").write_text("1\n")
    (ws.directory / "out").mkdir(exist_ok=True)
    (ws.directory / "out/new").write_text("2\n")
    changed = [change.path for change in spaces.diff(ws).files]
    merged = spaces.merge(ws, "x")

    assert changed == ["in/new", "out/new"]
    assert git(repo, "ls-tree", "-r", "--name-only", str(merged.commit)).split() == [
        "f.txt", "in/a", "in/new", "out/b", "out/new",
    ]  # fmt: skip
    assert git(repo, "status", "--porcelain") == ""
