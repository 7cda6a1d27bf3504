"""A merge brings the session's work or changes nothing; what is not the session's stays byte for byte."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gzia.errors import CONFLICT, ConflictError, GziaError, NotFoundError
from gzia.workspace.provider import FileChange, GitWorkspaces, MergeResult, Workspace
from tests.conftest import git
from tests.workspace.conftest import code, commit_file, files, new_repository, picture, write_hook


def subjects(where: Path) -> list[str]:
    return git(where, "log", "--format=%s", "--first-parent").split("\n")


def test_work_is_saved_on_the_session_and_merged_with_one_commit(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.directory, "done.txt", "done\n", "by the agent")
    (ws.directory / "new.txt").write_text("new\n")

    result = spaces.merge(ws, "x")

    assert result == MergeResult(
        commit=git(ws.root, "rev-parse", "HEAD"),
        safety_commit=git(ws.root, "rev-parse", "harness/x"),
        files=(FileChange("done.txt", None, "added", 1, 0), FileChange("new.txt", None, "added", 1, 0)),
        notes=(),
    )
    assert subjects(ws.root) == ["Merge branch 'harness/x'", "first"]
    assert subjects(ws.directory) == ["harness(x): session changes", "by the agent", "first"]
    assert git(ws.root, "log", "-1", "--format=%an <%ae>", "harness/x") == "Ann <ann@example.org>"
    assert (ws.root / "new.txt").read_text() == "new\n"
    assert git(ws.root, "status", "--porcelain") == git(ws.directory, "status", "--porcelain") == ""


def test_a_merge_can_be_taken_back_with_one_revert(ws: Workspace, spaces: GitWorkspaces) -> None:
    before = files(ws.root)
    (ws.directory / "new.txt").write_text("new\n")
    (ws.directory / "f.txt").unlink()
    spaces.merge(ws, "x")

    git(ws.root, "revert", "--no-edit", "-m", "1", "HEAD")

    assert files(ws.root) == before


def test_squash_makes_one_ordinary_commit(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.directory, "a.txt", "a\n")
    (ws.directory / "b.txt").write_text("b\n")

    result = spaces.merge(ws, "x", squash=True)

    assert git(ws.root, "log", "--format=%H %s").split("\n")[0] == f"{result.commit} harness(x): session changes"
    assert git(ws.root, "rev-list", "--count", "HEAD") == "2"
    assert git(ws.root, "status", "--porcelain") == ""
    assert not spaces.unsaved(ws)


@pytest.mark.parametrize("squash", [False, True])
def test_no_commit_leaves_it_staged_also_where_git_would_fast_forward(
    ws: Workspace, spaces: GitWorkspaces, squash: bool
) -> None:
    head = git(ws.root, "rev-parse", "HEAD")
    (ws.directory / "a.txt").write_text("a\n")

    result = spaces.merge(ws, "x", squash=squash, no_commit=True)

    assert result.commit is None
    assert "git commit" in result.notes[0]
    assert git(ws.root, "rev-parse", "HEAD") == head
    assert git(ws.root, "status", "--porcelain") == "A  a.txt"
    git(ws.root, "reset", "--merge")
    assert git(ws.root, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    "setting",
    ["merge.ff=only", "merge.ff=false", "branch.main.mergeOptions=--squash", "branch.main.mergeOptions=--no-commit",
     "merge.autoStash=true", "commit.verbose=true", "merge.conflictStyle=diff3", "status.showUntrackedFiles=no",
     "status.renames=copies", "core.quotePath=true", "user.useConfigOnly=true", "merge.log=true"],
)  # fmt: skip
def test_the_users_settings_do_not_turn_a_merge_into_something_else(
    ws: Workspace, spaces: GitWorkspaces, setting: str
) -> None:
    git(ws.root, "config", *setting.split("=", 1))
    (ws.directory / "é.txt").write_text("a\n")
    commit_file(ws.root, "other.txt", "o\n")

    regular = spaces.merge(ws, "x")
    (ws.directory / "more.txt").write_text("a\n")
    squashed = spaces.merge(ws, "x", squash=True)

    assert git(ws.root, "rev-parse", "HEAD", "HEAD^", "HEAD^^2").split() == [
        squashed.commit, regular.commit, regular.safety_commit,
    ]  # fmt: skip
    assert git(ws.root, "status", "--porcelain") == ""


def test_the_second_merge_brings_only_what_is_new(ws: Workspace, spaces: GitWorkspaces) -> None:
    (ws.directory / "one.txt").write_text("1\n")
    spaces.merge(ws, "x")
    (ws.directory / "two.txt").write_text("2\n")

    result = spaces.merge(ws, "x")

    assert [change.path for change in result.files] == ["two.txt"]


@pytest.mark.parametrize("squash", [False, True])
def test_nothing_to_merge_is_said_and_is_no_error(ws: Workspace, spaces: GitWorkspaces, squash: bool) -> None:
    (ws.directory / "a.txt").write_text("a\n")
    spaces.merge(ws, "x", squash=squash)
    (ws.root / "f.txt").write_text("my own edit\n")
    before = picture(ws.root)

    result = spaces.merge(ws, "x")

    assert result == MergeResult(None, None, (), ("Nothing to merge: your checkout has all of the session's changes.",))
    assert picture(ws.root) == before


def test_on_a_detached_head_it_merges_and_says_so(ws: Workspace, spaces: GitWorkspaces) -> None:
    git(ws.root, "checkout", "-q", "--detach")
    (ws.directory / "a.txt").write_text("a\n")

    result = spaces.merge(ws, "x")

    assert git(ws.root, "rev-parse", "HEAD") == result.commit
    assert result.notes == (
        f"HEAD is detached, so no branch holds the new commit. To keep it: git branch NAME {str(result.commit)[:12]}",
    )


def test_a_dry_run_tells_the_files_and_changes_nothing(ws: Workspace, spaces: GitWorkspaces) -> None:
    (ws.directory / "a.txt").write_text("a\n")
    git(ws.directory, "mv", "f.txt", "g.txt")
    before = [picture(ws.root), picture(ws.directory), git(ws.root, "count-objects", "-v")]

    result = spaces.merge(ws, "x", dry_run=True)

    assert result == MergeResult(
        None, None, (FileChange("a.txt", None, "added", 1, 0), FileChange("g.txt", "f.txt", "renamed", 0, 0)), ()
    )
    assert [picture(ws.root), picture(ws.directory), git(ws.root, "count-objects", "-v")] == before


def conflicting(ws: Workspace) -> None:
    """Both sides change f.txt; the user has an edit of their own elsewhere."""
    commit_file(ws.root, "g.txt", "g\n")
    commit_file(ws.root, "f.txt", "ours\n")
    (ws.root / "g.txt").write_text("my own edit\n")
    (ws.root / "untracked.txt").write_text("mine\n")
    (ws.directory / "f.txt").write_text("theirs\n")
    (ws.directory / "new.txt").write_text("new\n")


def test_a_dry_run_tells_the_conflicts_too(ws: Workspace, spaces: GitWorkspaces) -> None:
    conflicting(ws)
    before = [picture(ws.root), picture(ws.directory)]

    result = spaces.merge(ws, "x", dry_run=True)

    assert result.conflicts == ("f.txt",)
    assert [picture(ws.root), picture(ws.directory)] == before


@pytest.mark.parametrize("squash", [False, True])
def test_WT_13_C_a_conflict_is_named_and_everything_is_as_before(
    ws: Workspace, spaces: GitWorkspaces, squash: bool
) -> None:
    conflicting(ws)
    before = [picture(ws.root), picture(ws.directory)]

    with pytest.raises(ConflictError) as raised:
        spaces.merge(ws, "x", squash=squash)

    assert (code(raised), raised.value.exit_status) == ("merge-conflict", CONFLICT)
    assert raised.value.data == {"files": ["f.txt"], "kept": False}
    assert [picture(ws.root), picture(ws.directory)] == before


@pytest.mark.parametrize("squash", [False, True])
def test_WT_13_C_with_keep_the_markers_are_left_and_can_be_taken_back(
    ws: Workspace, spaces: GitWorkspaces, squash: bool
) -> None:
    conflicting(ws)
    before = picture(ws.root)

    with pytest.raises(ConflictError) as raised:
        spaces.merge(ws, "x", squash=squash, keep=True)

    assert code(raised) == "merge-conflict"
    assert raised.value.data == {
        "files": ["f.txt"], "kept": True, "safety_commit": git(ws.root, "rev-parse", "harness/x"),
    }  # fmt: skip
    assert (ws.root / "f.txt").read_text().startswith("<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> ")
    assert (ws.root / "g.txt").read_text() == "my own edit\n"
    git(ws.root, "reset", "--merge")
    assert picture(ws.root)._replace(refs="", worktrees="") == before._replace(refs="", worktrees="")


def _edited(ws: Workspace) -> list[str]:
    (ws.directory / "f.txt").write_text("session\n")
    (ws.root / "f.txt").write_text("user\n")
    return ["f.txt"]


def _deleted(ws: Workspace) -> list[str]:
    (ws.directory / "f.txt").write_text("session\n")
    (ws.root / "f.txt").unlink()
    return ["f.txt"]


def _untracked(ws: Workspace) -> list[str]:
    (ws.directory / "new.txt").write_text("session\n")
    (ws.root / "new.txt").write_text("precious\n")
    return ["new.txt"]


def _ignored(ws: Workspace) -> list[str]:
    (ws.root / ".git/info/exclude").write_text("/.harness/\n/.env\n")
    (ws.directory / ".env").write_text("session\n")
    git(ws.directory, "add", "-f", ".env")
    (ws.root / ".env").write_text("precious\n")
    return [".env"]


def _directory_for_a_file(ws: Workspace) -> list[str]:
    (ws.directory / "thing").write_text("session\n")
    (ws.root / "thing/deep").mkdir(parents=True)
    (ws.root / "thing/deep/precious").write_text("precious\n")
    return ["thing/deep/precious"]


def _file_for_a_directory(ws: Workspace) -> list[str]:
    (ws.directory / "thing/deep").mkdir(parents=True)
    (ws.directory / "thing/deep/new").write_text("session\n")
    (ws.root / "thing").write_text("precious\n")
    return ["thing"]


def _deleted_by_the_session(ws: Workspace) -> list[str]:
    (ws.directory / "f.txt").unlink()
    commit_file(ws.root, "f.txt", "user\n")
    (ws.root / "f.txt").write_text("user again\n")
    return ["f.txt"]


def _staged(ws: Workspace) -> list[str]:
    (ws.directory / "new.txt").write_text("session\n")
    (ws.root / "staged.txt").write_text("user\n")
    git(ws.root, "add", "staged.txt")
    return ["staged.txt"]


def _intended(ws: Workspace) -> list[str]:
    (ws.directory / "new.txt").write_text("session\n")
    (ws.root / "soon.txt").write_text("user\n")
    git(ws.root, "add", "-N", "soon.txt")
    return ["soon.txt"]


def _renamed_by_the_session(ws: Workspace) -> list[str]:
    git(ws.directory, "mv", "f.txt", "g.txt")
    (ws.root / "f.txt").write_text("user\n")
    return ["f.txt"]


def _target_of_a_rename(ws: Workspace) -> list[str]:
    git(ws.directory, "mv", "f.txt", "g.txt")
    (ws.root / "g.txt").write_text("precious\n")
    return ["g.txt"]


def _assumed_unchanged(ws: Workspace) -> list[str]:
    (ws.directory / "f.txt").write_text("session\n")
    (ws.root / "f.txt").write_text("user\n")
    git(ws.root, "update-index", "--assume-unchanged", "f.txt")
    return ["f.txt"]


def _skipped(ws: Workspace) -> list[str]:
    (ws.directory / "f.txt").write_text("session\n")
    (ws.root / "f.txt").write_text("user\n")
    git(ws.root, "update-index", "--skip-worktree", "f.txt")
    return ["f.txt"]


def _odd_name(ws: Workspace) -> list[str]:
    name = os.fsdecode(b"\xff\n\xc3\xa9")
    (ws.directory / name).write_text("session\n")
    (ws.root / name).write_text("precious\n")
    return [name]


def _unmerged(ws: Workspace) -> list[str]:
    (ws.directory / "new.txt").write_text("session\n")
    commit_file(ws.root, "f.txt", "a\n")
    (ws.root / "f.txt").write_text("b\n")
    git(ws.root, "stash", "-q")
    commit_file(ws.root, "f.txt", "c\n")
    with pytest.raises(Exception, match="exit status 1"):
        git(ws.root, "stash", "pop", "-q")
    return ["f.txt"]


@pytest.mark.parametrize(
    "obstruct",
    [_edited, _deleted, _untracked, _ignored, _directory_for_a_file, _file_for_a_directory, _staged, _intended,
     _renamed_by_the_session, _deleted_by_the_session, _target_of_a_rename, _assumed_unchanged, _skipped,
     _odd_name, _unmerged],
)  # fmt: skip
def test_WT_13_A_B_what_the_merge_would_lose_is_named_before_anything_changes(
    ws: Workspace, spaces: GitWorkspaces, obstruct: Callable[[Workspace], list[str]]
) -> None:
    expected = obstruct(ws)
    before, tip = picture(ws.root), git(ws.root, "stash", "list")
    work = files(ws.directory)

    with pytest.raises(ConflictError) as raised:
        spaces.merge(ws, "x")

    assert (code(raised), raised.value.exit_status) == ("checkout-dirty", CONFLICT)
    assert raised.value.data["files"] == expected
    assert picture(ws.root)._replace(refs="", worktrees="") == before._replace(refs="", worktrees="")
    assert git(ws.root, "stash", "list") == tip
    assert files(ws.directory) == work


def test_WT_13_D_edits_that_the_merge_does_not_touch_stay(ws: Workspace, spaces: GitWorkspaces) -> None:
    for name in ("g.txt", "h.txt", "gone.txt"):
        commit_file(ws.root, name, "tracked\n")
    (ws.root / "g.txt").write_text("my own edit\n")
    (ws.root / "gone.txt").unlink()
    (ws.root / "mode").write_text("untracked\n")
    (ws.root / "h.txt").chmod(0o755)
    (ws.directory / "f.txt").write_text("session\n")

    git(ws.root, "config", "merge.autoStash", "true")
    commit_file(ws.root, "assumed.txt", "tracked\n")
    (ws.root / "assumed.txt").write_text("my own edit\n")
    git(ws.root, "update-index", "--assume-unchanged", "assumed.txt")
    before, written = picture(ws.root), (ws.root / "g.txt").stat().st_mtime_ns

    result = spaces.merge(ws, "x")

    after = picture(ws.root)
    assert result.commit
    assert (ws.root / "g.txt").stat().st_mtime_ns == written  # not even put aside for a moment
    assert after.status == before.status
    assert after.files == {**before.files, "f.txt": files(ws.directory)["f.txt"]}


def test_WT_13_D_a_directory_that_becomes_a_file_is_no_obstacle(repo: Path, spaces: GitWorkspaces) -> None:
    commit_file(repo, "dir/a", "a\n")
    ws = spaces.prepare(repo, "x")
    git(ws.directory, "rm", "-q", "-r", "dir")
    (ws.directory / "dir").write_text("a file now\n")

    spaces.merge(ws, "x")

    assert (repo / "dir").read_text() == "a file now\n"


def test_WT_13_E_another_worktree_on_another_branch_is_not_touched(ws: Workspace, spaces: GitWorkspaces) -> None:
    other = ws.root.parent / "other"
    git(ws.root, "checkout", "-q", "-b", "feature")
    git(ws.root, "worktree", "add", "-q", str(other), "main")
    (other / "f.txt").write_text("in the middle of something\n")
    before, main = picture(other), git(ws.root, "rev-parse", "main")
    (ws.directory / "f.txt").write_text("session\n")

    result = spaces.merge(ws, "x")

    assert git(ws.root, "rev-parse", "feature") == result.commit
    assert git(ws.root, "rev-parse", "main") == main
    assert (picture(other).files, picture(other).status) == (before.files, before.status)


def _merging(where: Path) -> str:
    git(where, "checkout", "-q", "-b", "side")
    commit_file(where, "side.txt", "s\n")
    git(where, "checkout", "-q", "-")
    commit_file(where, "other.txt", "o\n")
    git(where, "merge", "-q", "--no-commit", "--no-ff", "side")
    return "merge"


def _rebasing(where: Path) -> str:
    commit_file(where, "other.txt", "o\n")
    with pytest.raises(Exception, match="exit status 1"):
        git(where, "rebase", "-q", "-x", "false", "HEAD~1")
    return "rebase"


def _picking(where: Path) -> str:
    base = git(where, "rev-parse", "HEAD")
    picked = commit_file(where, "f.txt", "a\n")
    git(where, "reset", "-q", "--hard", base)
    commit_file(where, "f.txt", "b\n")
    with pytest.raises(Exception, match="exit status 1"):
        git(where, "cherry-pick", picked)
    return "cherry-pick"


@pytest.mark.parametrize("begin", [_merging, _rebasing, _picking])
@pytest.mark.parametrize("is_session", [False, True])
def test_WT_13_F_an_operation_under_way_on_either_side_refuses_the_merge(
    ws: Workspace, spaces: GitWorkspaces, begin: Callable[[Path], str], is_session: bool
) -> None:
    operation = begin(ws.directory if is_session else ws.root)
    (ws.directory / "new.txt").write_text("session\n")
    before = [picture(ws.root), picture(ws.directory)]

    with pytest.raises(ConflictError) as raised:
        spaces.merge(ws, "x")

    assert (code(raised), raised.value.data) == ("operation-in-progress", {"operation": operation})
    assert [picture(ws.root), picture(ws.directory)] == before


def test_a_session_with_unresolved_conflicts_is_not_merged_with_its_markers(
    ws: Workspace, spaces: GitWorkspaces
) -> None:
    _unmerged(Workspace(ws.directory, ws.directory, ws.branch, ws.base_commit))
    before = [picture(ws.root), picture(ws.directory)]

    with pytest.raises(ConflictError) as raised:
        spaces.merge(ws, "x")

    assert (code(raised), raised.value.data) == ("session-conflicted", {"files": ["f.txt"]})
    assert [picture(ws.root), picture(ws.directory)] == before


@pytest.mark.parametrize("way", [["--detach"], ["-b", "elsewhere"]])
def test_a_session_that_left_its_branch_is_not_merged_without_its_work(
    ws: Workspace, spaces: GitWorkspaces, way: list[str]
) -> None:
    git(ws.directory, "checkout", "-q", *way)
    commit_file(ws.directory, "work.txt", "w\n")

    with pytest.raises(ConflictError) as raised:
        spaces.merge(ws, "x")

    assert code(raised) == "branch-moved"


def test_a_branch_that_was_deleted_is_missing(ws: Workspace, spaces: GitWorkspaces) -> None:
    git(ws.root, "update-ref", "-d", ws.ref)

    for attempt in (lambda ws: spaces.merge(ws, "x"), spaces.diff):
        with pytest.raises(NotFoundError) as raised:
            attempt(ws)
        assert code(raised) == "branch-missing"


def test_a_checkout_without_a_commit_takes_no_merge(ws: Workspace, spaces: GitWorkspaces) -> None:
    git(ws.root, "checkout", "-q", "--orphan", "fresh")

    with pytest.raises(GziaError) as raised:
        spaces.merge(ws, "x")

    assert code(raised) == "no-commit-yet"


def test_repositories_inside_are_named_and_not_swallowed(ws: Workspace, spaces: GitWorkspaces) -> None:
    new_repository(ws.directory / "vendor/lib")
    git(ws.directory, "init", "-q", "unborn")
    (ws.directory / "vendor/mine").write_text("m\n")

    result = spaces.merge(ws, "x")

    assert result.notes == (
        "unborn is a repository of its own and is not merged.",
        "vendor/lib is a repository of its own and is not merged.",
    )
    assert git(ws.root, "ls-tree", "-r", "--name-only", "HEAD").split() == ["f.txt", "vendor/mine"]
    assert (ws.directory / "vendor/lib/f.txt").exists()


def test_a_lock_left_in_the_worktree_is_named_and_the_work_stays(ws: Workspace, spaces: GitWorkspaces) -> None:
    (ws.directory / "new.txt").write_text("new\n")
    lock = ws.root / ".git/worktrees/x/index.lock"
    lock.touch()
    before = picture(ws.root)

    with pytest.raises(ConflictError) as raised:
        spaces.merge(ws, "x")

    assert (code(raised), raised.value.data["path"]) == ("index-locked", str(lock))
    assert picture(ws.root) == before
    assert (ws.directory / "new.txt").read_text() == "new\n"


def test_a_file_that_only_changes_its_mode_is_merged(ws: Workspace, spaces: GitWorkspaces) -> None:
    (ws.directory / "f.txt").chmod(0o755)

    spaces.merge(ws, "x")

    assert git(ws.root, "ls-tree", "HEAD", "f.txt").startswith("100755 ")


def test_the_users_merge_hook_has_its_say(ws: Workspace, spaces: GitWorkspaces) -> None:
    write_hook(ws.root, "pre-merge-commit", "echo not on my watch >&2; exit 1")
    (ws.directory / "new.txt").write_text("new\n")
    before = picture(ws.root)

    with pytest.raises(GziaError) as raised:
        spaces.merge(ws, "x")

    assert code(raised) == "merge-failed"
    assert "not on my watch" in raised.value.message
    assert picture(ws.root)._replace(refs="", worktrees="") == before._replace(refs="", worktrees="")
    assert raised.value.data == {"safety_commit": git(ws.root, "rev-parse", "harness/x")}


def test_a_squash_that_a_hook_refuses_is_taken_back(ws: Workspace, spaces: GitWorkspaces) -> None:
    (ws.directory / "new.txt").write_text("new\n")
    spaces.merge(ws, "x", dry_run=True)
    write_hook(ws.root, "commit-msg", "exit 1")
    before = picture(ws.root)

    with pytest.raises(GziaError) as raised:
        spaces.merge(ws, "x", squash=True)

    assert code(raised) == "merge-failed"
    assert picture(ws.root)._replace(refs="", worktrees="") == before._replace(refs="", worktrees="")


def test_a_conflict_that_only_the_real_merge_meets_is_taken_back(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.root, ".gitattributes", "f.txt merge=moody\n")
    commit_file(ws.root, "f.txt", "ours\n")
    git(ws.root, "config", "merge.moody.driver", f"mkdir {ws.root.parent}/asked && echo fine >%A")
    (ws.directory / "f.txt").write_text("theirs\n")
    before = picture(ws.root)

    with pytest.raises(ConflictError) as raised:
        spaces.merge(ws, "x")

    assert code(raised) == "merge-conflict"
    assert raised.value.data["files"] == ["f.txt"]
    assert picture(ws.root)._replace(refs="", worktrees="") == before._replace(refs="", worktrees="")


def lock(ws: Workspace) -> Path:
    """What a git that died leaves in the user's checkout."""
    place = ws.root / git(ws.root, "rev-parse", "--git-path", "index.lock")
    place.touch()
    return place


@pytest.mark.parametrize("options", [{}, {"squash": True}, {"no_commit": True}, {"keep": True}, {"dry_run": True}])
def test_a_locked_checkout_is_refused_before_anything_is_written(
    ws: Workspace, spaces: GitWorkspaces, options: dict[str, bool]
) -> None:
    (ws.directory / "new.txt").write_text("new\n")
    place = lock(ws)
    before = [picture(ws.root), picture(ws.directory)]

    with pytest.raises(ConflictError) as raised:
        spaces.merge(ws, "x", **options)

    assert (code(raised), raised.value.data) == ("checkout-locked", {"path": str(place)})
    assert str(place) in raised.value.message
    assert raised.value.hint == f"when no git runs there: rm {place}"
    assert [picture(ws.root), picture(ws.directory)] == before


def test_the_lock_of_a_checkout_that_is_itself_a_worktree_is_found(repo: Path, spaces: GitWorkspaces) -> None:
    linked = repo.parent / "linked"
    git(repo, "worktree", "add", "-q", str(linked))
    ws = spaces.prepare(linked, "y")
    (ws.directory / "new.txt").write_text("new\n")
    place = lock(ws)

    with pytest.raises(ConflictError) as raised:
        spaces.merge(ws, "y")

    assert (code(raised), raised.value.data) == ("checkout-locked", {"path": str(place)})


def test_nothing_to_merge_needs_no_lock(ws: Workspace, spaces: GitWorkspaces) -> None:
    lock(ws)

    assert spaces.merge(ws, "x").files == ()


@pytest.mark.parametrize(
    ("hook", "squash"), [("pre-merge-commit", False), ("commit-msg", False), ("commit-msg", True), ("post-merge", True)]
)
def test_a_merge_that_cannot_be_taken_back_does_not_wait_for_the_next_commit(
    ws: Workspace, spaces: GitWorkspaces, hook: str, squash: bool
) -> None:
    commit_file(ws.directory, "new.txt", "new\n")
    head = git(ws.root, "rev-parse", "HEAD")
    place = ws.root / ".git/index.lock"
    script = f"touch {place}; exit 1" if hook != "post-merge" else f"touch {place}"
    write_hook(ws.root, hook, script)

    with pytest.raises(GziaError) as raised:
        spaces.merge(ws, "x", squash=squash)

    tip = git(ws.root, "rev-parse", "harness/x")
    assert code(raised) == "merge-half-done"
    assert f"the session's work is safe in harness/x ({tip[:12]}): another git" in raised.value.message
    assert raised.value.message.endswith(f"one died and left {place}")
    assert raised.value.hint == f"when no git runs there: rm {place}; then: git reset --merge {head[:12]}"
    assert picture(ws.root).underway == ["index.lock"]
    place.unlink()
    git(ws.root, "reset", "--merge", head[:12])
    assert files(ws.root) == {"f.txt": files(ws.root)["f.txt"]}
    assert git(ws.root, "status", "--porcelain") == ""


def test_the_commit_after_a_merge_that_stopped_is_an_ordinary_one_and_loses_nothing(
    ws: Workspace, spaces: GitWorkspaces
) -> None:
    (ws.directory / "new.txt").write_text("new\n")
    write_hook(ws.root, "pre-merge-commit", "touch .git/index.lock; exit 1")
    with pytest.raises(GziaError) as raised:
        spaces.merge(ws, "x")
    assert raised.value.data == {"safety_commit": git(ws.root, "rev-parse", "harness/x")}
    (ws.root / ".git/hooks/pre-merge-commit").unlink()
    (ws.root / ".git/index.lock").unlink()

    commit_file(ws.root, "other.txt", "o\n")

    assert git(ws.root, "rev-list", "--parents", "-1", "HEAD").count(" ") == 1
    assert git(ws.root, "show", "HEAD:new.txt") == "new"
    assert spaces.merge(ws, "x").notes[0].startswith("Nothing to merge")


def test_a_lock_that_goes_in_a_moment_does_not_keep_a_merge_from_being_taken_back(
    ws: Workspace, spaces: GitWorkspaces
) -> None:
    commit_file(ws.directory, "new.txt", "new\n")
    away = "(sleep 0.05; rm .git/index.lock) >/dev/null 2>&1 &"
    write_hook(ws.root, "pre-merge-commit", f"touch .git/index.lock; {away}\nexit 1")
    before = picture(ws.root)

    with pytest.raises(GziaError) as raised:
        spaces.merge(ws, "x")

    assert code(raised) == "merge-failed"
    assert picture(ws.root) == before


def test_a_merge_that_somebody_else_began_meanwhile_stays(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.directory, "new.txt", "new\n")
    other = git(ws.root, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "other")
    write_hook(ws.root, "commit-msg", f"echo {other} >.git/MERGE_HEAD; touch .git/index.lock; exit 1")

    with pytest.raises(GziaError) as raised:
        spaces.merge(ws, "x", squash=True)

    assert code(raised) == "merge-half-done"
    assert (ws.root / ".git/MERGE_HEAD").read_text().strip() == other


def test_what_a_hook_said_is_not_cut_in_the_middle_of_a_word(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.directory, "new.txt", "new\n")
    write_hook(ws.root, "pre-merge-commit", 'i=0; while [ $i -lt 80 ]; do echo "words$i" >&2; i=$((i+1)); done; exit 1')

    with pytest.raises(GziaError) as raised:
        spaces.merge(ws, "x")

    said = raised.value.message.partition(": … ")[2].split()
    assert said[0] in [f"words{number}" for number in range(80)]
    assert "words79" in said
