"""The verbs on sessions, with real git and real processes: nothing lost, nothing left, nothing outside touched."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gzia.driver.turn import PermissionLevel
from gzia.errors import ConflictError, GziaError, NotFoundError, UsageError
from gzia.session import ids
from gzia.session.record import Record, encode
from gzia.session.recovery import UNKNOWN_END
from gzia.session.service import Service
from gzia.session.store import FileStore
from gzia.system.identity import identity_of, is_alive
from gzia.workspace.provider import GitWorkspaces, Workspace
from tests.conftest import git
from tests.session.conftest import Pair
from tests.session.test_ids import NO_IDS

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def service(repo: Path) -> Service:
    return Service(repo)


def begun(service: Service, id: str = "a1", **how: Any) -> Record:
    """A new session that this process runs."""
    return service.create(provider="demo", permission_level=PermissionLevel.SUPERVISED, id=id, **how)


def ended(service: Service, id: str = "a1", **how: Any) -> Record:
    """A new session after its turn, that nobody has open any more."""

    def change(record: Record) -> None:
        record.finish("completed", record.started_at, exit_code=0)
        record.host_pid, record.host_identity = None, ""

    return service.store.update(begun(service, id, **how).id, change)


def refused(kind: type[GziaError], call: Callable[[], object]) -> GziaError:
    with pytest.raises(kind) as caught:
        call()
    return caught.value


# --- beginning -------------------------------------------------------------------------------------------------------


def test_a_session_in_git_works_in_a_worktree_of_its_own(service: Service, repo: Path) -> None:
    record = begun(service, prompt="fix it", model="m")

    assert record == service.get("a1") == Record(
        ids.parse("a1"), "running", record.started_at, provider="demo", permission_level=PermissionLevel.SUPERVISED,
        model="m", working_dir=str(repo), initial_prompt="fix it", host_pid=os.getpid(),
        host_identity=identity_of(os.getpid()) or "", is_isolated=True, branch_name="harness/a1",
        worktree_dir=str(repo / ".harness/worktrees/a1"), base_commit=git(repo, "rev-parse", "HEAD"),
    )  # fmt: skip
    assert service.path("a1") == repo / ".harness/worktrees/a1"
    assert git(service.path("a1"), "branch", "--show-current") == "harness/a1"
    assert git(repo, "status", "--porcelain") == ""
    assert service.live(record) == "starting"


def test_without_an_id_one_is_minted(service: Service) -> None:
    one, two = begun(service, ""), begun(service, "")

    assert one.id != two.id
    assert [record.id for record in service.list().records] == [one.id, two.id]


def test_outside_git_it_works_in_the_directory_itself(tmp_path: Path) -> None:
    record = begun(Service(tmp_path))

    assert (record.is_isolated, record.working_dir, record.worktree_dir) == (False, str(tmp_path), "")
    assert (tmp_path / ".harness/sessions/a1.json").exists()


def test_only_an_explicit_wish_leaves_isolation_out(service: Service, repo: Path) -> None:
    record = begun(service, isolate=False)

    assert not record.is_isolated
    assert not (repo / ".harness/worktrees").exists()
    assert git(repo, "status", "--porcelain") == ""


def test_below_the_project_and_inside_a_worktree_the_sessions_are_the_same(service: Service, repo: Path) -> None:
    begun(service)
    (repo / "deep/er").mkdir(parents=True)

    for place in (repo / "deep/er", service.path("a1")):
        seen = Service(place)

        assert seen.root == service.root == repo
        assert [record.id for record in seen.list().records] == ["a1"]


def test_a_taken_id_is_refused_and_the_first_session_is_untouched(service: Service) -> None:
    first = begun(service, prompt="mine")
    (service.path("a1") / "work.txt").write_text("mine\n")

    error = refused(ConflictError, lambda: begun(service, prompt="other"))

    assert (error.code, error.exit_status) == ("session-exists", 6)
    assert service.get("a1") == first
    assert (service.path("a1") / "work.txt").exists()


def leftovers(repo: Path) -> tuple[list[str], str, list[str]]:
    sessions, worktrees = repo / ".harness/sessions", repo / ".harness/worktrees"
    files = sorted(path.name for path in sessions.iterdir()) if sessions.exists() else []
    branches = git(repo, "branch", "--list", "--format=%(refname:short)", "harness/*")
    return files, branches, sorted(path.name for path in worktrees.iterdir()) if worktrees.exists() else []


def test_isolation_that_fails_is_an_error_and_leaves_nothing(service: Service, repo: Path) -> None:
    error = refused(UsageError, lambda: begun(service, base="no-such-branch"))

    assert error.code == "base-not-found"
    assert leftovers(repo) == ([".lock"], "", [])


def test_a_branch_of_that_name_is_not_taken_over(service: Service, repo: Path) -> None:
    git(repo, "branch", "harness/a1")

    error = refused(GziaError, lambda: begun(service))

    assert error.code == "branch-exists"
    assert leftovers(repo) == ([".lock"], "harness/a1", [])


class NoUpdates(FileStore):
    """A disk that is full once the record is there."""

    def update(self, id: ids.SessionId, change: Callable[[Record], object]) -> Record:
        raise GziaError("record-not-writable", "No space.")


class Interrupted(GitWorkspaces):
    """Ctrl-C while the worktree is being made."""

    def prepare(self, root: Path, session_id: str, base: str = "HEAD") -> Workspace:
        raise KeyboardInterrupt


def test_whatever_fails_while_a_session_is_made_nothing_is_left_of_it(repo: Path) -> None:
    refused(GziaError, lambda: begun(Service(repo, store=NoUpdates(repo))))
    with pytest.raises(KeyboardInterrupt):
        begun(Service(repo, workspaces=Interrupted()))

    assert leftovers(repo) == ([".lock"], "", [])


def test_killed_before_its_worktree_was_made_a_session_is_listed_and_can_be_deleted(
    service: Service, repo: Path, dead: Pair
) -> None:
    record = Record(ids.parse("a1"), "running", "2026-11-30T20:00:00Z", host_pid=dead[0], host_identity=dead[1],
                    is_isolated=True)  # fmt: skip
    service.store.create(record)

    found = service.get("a1")
    kept = service.delete("a1")

    assert (found.status, service.live(found), kept) == ("failed", "broken", None)
    assert leftovers(repo) == ([".lock"], "", [])


CREATE = """
import sys
from pathlib import Path
from gzia.driver.turn import PermissionLevel
from gzia.errors import GziaError
from gzia.session.service import Service
service = Service(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
try:
    service.create(provider="demo", permission_level=PermissionLevel.READONLY, id="a1")
except GziaError as error:
    print(error.code)
    sys.exit(error.exit_status)
"""


def test_of_two_processes_that_begin_one_id_one_wins_and_one_gets_status_6(service: Service, repo: Path) -> None:
    command = [sys.executable, "-c", CREATE, str(repo)]
    racers = [subprocess.Popen(command, cwd=ROOT, text=True, stdin=-1, stdout=-1) for _ in range(2)]
    for racer in racers:
        assert racer.stdout
        assert racer.stdout.readline() == "ready\n"

    said = [racer.communicate("go\n", timeout=60)[0] for racer in racers]

    assert sorted(said) == ["", "session-exists\n"]
    assert sorted(racer.returncode for racer in racers) == [0, 6]
    assert git(service.path("a1"), "branch", "--show-current") == "harness/a1"


# --- ids and places --------------------------------------------------------------------------------------------------

VERBS: dict[str, Callable[[Service, str], object]] = {
    "get": Service.get,
    "path": Service.path,
    "diff": Service.diff,
    "merge": Service.merge,
    "kill": Service.kill,
    "claim": Service.claim,
    "delete": lambda service, id: service.delete(id, force=True),
    "discard": Service.discard,
    "events": Service.events,
    "journal_path": Service.journal_path,
    "log_event": lambda service, id: service.log_event(id, action="a", stage="READ"),
    "create": lambda service, id: begun(service, id or "."),
}


@pytest.mark.parametrize("verb", VERBS)
def test_JSO_10_no_verb_leads_out_of_the_store(service: Service, repo: Path, verb: str) -> None:
    victim = repo.parent / "victim.json"
    victim.write_bytes(encode(Record(ids.parse("v"), "completed", "2026-11-30T20:00:00Z")))
    before = (victim.read_bytes(), sorted(repo.parent.rglob("*")))

    for id in NO_IDS:
        assert refused(UsageError, partial(VERBS[verb], service, id)).code == "invalid-session-id"

    assert (victim.read_bytes(), sorted(repo.parent.rglob("*"))) == before


@pytest.mark.parametrize("verb", sorted(VERBS.keys() - {"create", "journal_path"}))
def test_an_unknown_session_is_not_found(service: Service, verb: str) -> None:
    error = refused(NotFoundError, lambda: VERBS[verb](service, "nope"))

    assert (error.code, error.exit_status) == ("session-not-found", 4)


def test_JSO_10_a_record_cannot_point_at_somebody_elses_directory_or_branch(service: Service, repo: Path) -> None:
    ended(service)
    elsewhere = repo.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("x")

    def point(record: Record) -> None:
        record.worktree_dir, record.branch_name, record.base_commit = str(elsewhere), "main", "--output=/tmp/x"

    service.store.update(ids.parse("a1"), point)

    path, claimed = service.path("a1"), service.claim("a1")
    assert path == repo / ".harness/worktrees/a1"
    assert (claimed.worktree_dir, claimed.branch_name) == (str(path), "harness/a1")
    service.store.update(ids.parse("a1"), point)
    service.store.update(ids.parse("a1"), lambda record: setattr(record, "host_pid", None))
    service.store.update(ids.parse("a1"), lambda record: record.finish("completed", record.started_at))
    assert service.diff("a1").files == ()
    assert service.delete("a1", force=True) is None
    assert (elsewhere / "precious").exists()
    assert git(repo, "branch", "--list", "--format=%(refname:short)") == "main"


def test_a_session_without_a_worktree_has_no_path_diff_or_merge_but_can_be_deleted(service: Service) -> None:
    ended(service, isolate=False)

    for verb in ("path", "diff", "merge"):
        error = refused(GziaError, partial(VERBS[verb], service, "a1"))
        assert (error.code, error.exit_status) == ("not-isolated", 1)
    assert service.delete("a1") is None
    assert service.list().records == []


def test_a_worktree_that_vanished_is_told_and_not_replaced(service: Service, repo: Path) -> None:
    record = ended(service)
    service.path("a1").rename(repo.parent / "moved")

    for verb in ("path", "diff", "merge", "claim"):
        error = refused(NotFoundError, partial(VERBS[verb], service, "a1"))
        assert (error.code, error.exit_status) == ("worktree-missing", 4)
    assert service.live(record) == "broken"
    assert service.get("a1") == record
    assert not (repo / ".harness/worktrees/a1").exists()


# --- diff and merge --------------------------------------------------------------------------------------------------


def test_what_the_session_made_is_in_its_diff_and_comes_in_by_merge(service: Service, repo: Path) -> None:
    ended(service)
    (service.path("a1") / "new.txt").write_text("new\n")

    changes = service.diff("a1")
    before = (repo / "new.txt").exists()
    done = service.merge("a1")

    assert [(file.path, file.status) for file in changes.files] == [("new.txt", "added")]
    assert not before
    assert (repo / "new.txt").read_text() == "new\n"
    assert done.commit == git(repo, "rev-parse", "HEAD")
    assert [(event.action, event.metadata) for event in service.events("a1").events] == [
        ("merge", {"commit": done.commit})
    ]


def test_a_running_turn_is_not_merged_but_may_be_looked_at(service: Service, repo: Path) -> None:
    begun(service)
    (service.path("a1") / "new.txt").write_text("new\n")

    error = refused(ConflictError, lambda: service.merge("a1"))
    foreseen = service.merge("a1", dry_run=True)

    assert (error.code, error.exit_status, error.data) == ("session-running", 6, {"pid": os.getpid()})
    assert [file.path for file in foreseen.files] == ["new.txt"]
    assert not (repo / "new.txt").exists()
    assert service.events("a1").events == ()


def test_between_two_turns_an_open_session_can_be_merged(service: Service, repo: Path) -> None:
    begun(service)
    (service.path("a1") / "new.txt").write_text("new\n")
    service.store.update(ids.parse("a1"), lambda record: record.finish("completed", record.started_at))

    service.merge("a1", squash=True)

    assert (repo / "new.txt").exists()


# --- delete ----------------------------------------------------------------------------------------------------------


def test_an_open_session_is_not_deleted_not_even_by_force(service: Service) -> None:
    record = begun(service)

    for force in (False, True):
        error = refused(ConflictError, partial(service.delete, "a1", force=force))
        assert (error.code, error.exit_status) == ("session-running", 6)
    assert service.get("a1") == record
    assert service.path("a1").is_dir()


def test_a_session_without_work_is_deleted_whole(service: Service, repo: Path) -> None:
    ended(service)
    service.log_event("a1", action="a", stage="READ")
    service.journal_path("a1").write_bytes(b"{}\n")

    assert service.delete("a1") is None
    assert leftovers(repo) == ([".lock"], "", [])
    assert service.list().records == []


def test_work_that_is_nowhere_else_is_named_and_stays(service: Service) -> None:
    ended(service)
    (service.path("a1") / "new.txt").write_text("new\n")
    (service.path("a1") / "f.txt").write_text("two\n")

    error = refused(ConflictError, lambda: service.delete("a1"))

    assert (error.code, error.exit_status) == ("work-would-be-lost", 6)
    assert sorted(error.data["files"]) == ["f.txt", "new.txt"]
    assert error.data["unmerged"] == 0
    assert "new.txt" in error.message
    assert "--force" in error.hint
    assert service.path("a1").is_dir()


def test_commits_that_are_nowhere_else_count_as_work(service: Service) -> None:
    ended(service)
    (service.path("a1") / "new.txt").write_text("new\n")
    git(service.path("a1"), "add", "-A")
    git(service.path("a1"), "commit", "-qm", "new")

    error = refused(ConflictError, lambda: service.delete("a1"))

    assert error.data == {"files": [], "unmerged": 1}
    assert error.message == "Session a1 has work that is nowhere else: 1 unmerged commit."


def test_by_force_the_work_is_kept_under_a_ref_that_brings_it_back(service: Service, repo: Path) -> None:
    ended(service)
    (service.path("a1") / "new.txt").write_text("new\n")

    kept = service.delete("a1", force=True)

    assert kept == "refs/gzia/preserved/a1"
    assert leftovers(repo) == ([".lock"], "", [])
    git(repo, "merge", "-q", kept)
    assert (repo / "new.txt").read_text() == "new\n"


def test_after_a_merge_nothing_is_lost_by_deleting(service: Service) -> None:
    ended(service)
    (service.path("a1") / "new.txt").write_text("new\n")
    service.merge("a1")

    assert service.delete("a1") is None


class StopsAt(GitWorkspaces):
    """Dies at one step of a removal: before it, or right after it."""

    def __init__(self, step: str, after: bool) -> None:
        super().__init__()
        self.step, self.after = step, after

    def _pass(self, step: str, call: Callable[[], Any]) -> Any:
        if step == self.step and not self.after:
            raise SystemExit(9)
        result = call()
        if step == self.step:
            raise SystemExit(9)
        return result

    def preserve(self, ws: Workspace, session_id: str) -> str | None:
        kept: str | None = self._pass("preserve", lambda: super(StopsAt, self).preserve(ws, session_id))
        return kept

    def remove(self, ws: Workspace) -> None:
        self._pass("remove", lambda: super(StopsAt, self).remove(ws))


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", ["preserve", "remove"])
def test_a_delete_that_is_cut_off_loses_nothing_and_can_be_done_again(
    service: Service, repo: Path, step: str, after: bool
) -> None:
    ended(service)
    (service.path("a1") / "new.txt").write_text("new\n")

    with pytest.raises(SystemExit):
        Service(repo, workspaces=StopsAt(step, after)).delete("a1", force=True)
    listed = [record.id for record in service.list().records]
    service.delete("a1", force=True)

    refs = git(repo, "for-each-ref", "--format=%(refname)", "refs/gzia/preserved").split()
    assert listed == ["a1"]
    assert [git(repo, "show", f"{ref}:new.txt") for ref in refs] == ["new"] * max(1, len(refs))
    assert leftovers(repo) == ([".lock"], "", [])


def test_with_its_worktree_gone_the_branch_is_still_guarded(service: Service, repo: Path) -> None:
    ended(service)
    (service.path("a1") / "new.txt").write_text("new\n")
    git(service.path("a1"), "add", "-A")
    git(service.path("a1"), "commit", "-qm", "new")
    service.path("a1").rename(repo.parent / "moved")

    error = refused(ConflictError, lambda: service.delete("a1"))
    kept = service.delete("a1", force=True)

    assert error.code == "work-would-be-lost"
    assert git(repo, "show", f"{kept}:new.txt") == "new"


def test_JSO_05_a_session_whose_record_is_damaged_keeps_its_work_within_reach(service: Service, repo: Path) -> None:
    ended(service)
    ended(service, "b2")
    (service.path("a1") / "new.txt").write_text("new\n")
    service.layout.record(ids.parse("a1")).write_bytes(b"")

    found = service.list()
    error = refused(ConflictError, lambda: service.delete("a1"))

    assert {record.id for record in found.records} == {"a1", "b2"}
    assert [one.reason for one in service.repairs] == ["it is empty"]
    assert (service.get("a1").status, service.get("a1").reason) == ("failed", UNKNOWN_END)
    assert [file.path for file in service.diff("a1").files] == ["new.txt"]
    assert error.code == "work-would-be-lost"
    assert service.merge("a1").commit == git(repo, "rev-parse", "HEAD")


def test_what_was_given_up_is_discarded_unless_there_is_work_in_it(service: Service) -> None:
    ended(service)
    ended(service, "b2")
    (service.path("b2") / "new.txt").write_text("new\n")
    begun(service, "c3")

    assert (service.discard("a1"), service.discard("b2")) == (True, False)
    assert refused(ConflictError, lambda: service.discard("c3")).code == "session-running"
    assert {record.id for record in service.list().records} == {"b2", "c3"}


# --- claim and kill --------------------------------------------------------------------------------------------------


def test_a_session_is_taken_up_again_by_this_process(service: Service) -> None:
    ended(service)

    record = service.claim("a1")

    assert record == service.get("a1")
    assert (record.status, record.host_pid, record.finished_at, record.exit_code) == (
        "running",
        os.getpid(),
        None,
        None,
    )


def test_a_session_that_is_open_elsewhere_is_not_taken_up(service: Service, process: Callable[[], Pair]) -> None:
    ended(service)
    host = process()
    service.store.update(ids.parse("a1"), lambda record: record.begin(*host))

    error = refused(ConflictError, lambda: service.claim("a1"))

    assert (error.code, error.data) == ("session-running", {"pid": host[0]})
    assert service.get("a1").host_pid == host[0]


AGENT = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
strayed = subprocess.Popen(["sleep", "1000"], start_new_session=True)
print(strayed.pid, flush=True)
time.sleep(1000)
"""


@pytest.fixture
def agent(service: Service) -> Iterator[Pair]:
    """An agent of session a1 that ignores SIGTERM, with a child that left its group; the child's pid and identity."""
    begun(service)
    marks = {"GZIA_SESSION": "a1", "GZIA_ROOT": str(service.root)}
    one = subprocess.Popen(
        [sys.executable, "-c", AGENT], env={**os.environ, **marks}, stdout=subprocess.PIPE, start_new_session=True
    )
    assert one.stdout
    child = int(one.stdout.readline())
    pair, childs = (one.pid, identity_of(one.pid) or ""), identity_of(child)
    assert childs

    def started(record: Record) -> None:
        record.pid, record.pid_identity = pair

    service.store.update(ids.parse("a1"), started)
    yield child, childs
    one.kill()
    one.communicate(timeout=60)


@pytest.mark.skipif(sys.platform != "linux", reason="the mark is looked for in /proc")
def test_kill_ends_the_agent_and_what_left_its_group_and_keeps_the_work(service: Service, agent: Pair) -> None:
    before = service.get("a1")
    assert before.pid
    (service.path("a1") / "new.txt").write_text("new\n")

    record = service.kill("a1", grace=0.2)

    assert not is_alive(*agent)
    assert not is_alive(before.pid, before.pid_identity)
    assert (record.status, record.reason, record == service.get("a1")) == ("killed", "ended by gzia kill", True)
    assert [(event.action, event.metadata) for event in service.events("a1").events] == [("kill", {"pid": before.pid})]
    assert (service.path("a1") / "new.txt").exists()
    assert refused(NotFoundError, lambda: service.kill("a1")).exit_status == 4


@pytest.mark.parametrize("identity", ["another boot:1", ""])
def test_a_process_that_only_has_the_pid_is_never_killed(
    service: Service, process: Callable[[], Pair], identity: str
) -> None:
    begun(service)
    pair = process()

    def mistaken(record: Record) -> None:
        record.pid, record.pid_identity = pair[0], identity

    service.store.update(ids.parse("a1"), mistaken)

    error = refused(NotFoundError, lambda: service.kill("a1", grace=0.1))

    assert (error.code, error.exit_status) == ("session-not-running", 4)
    assert is_alive(*pair)
    assert service.get("a1").status == "running"


def test_the_killer_is_told_whom_to_end_and_for_how_long_to_wait(repo: Path, process: Callable[[], Pair]) -> None:
    asked: list[tuple[object, ...]] = []

    def killer(pid: int, identity: str, *, session: str, root: str, grace: float) -> bool:
        asked.append((pid, identity, session, root, grace))
        return True

    service = Service(repo, killer=killer, clock=lambda: "2026-11-30T21:00:00Z")
    begun(service)
    pair = process()

    def started(record: Record) -> None:
        record.pid, record.pid_identity = pair

    service.store.update(ids.parse("a1"), started)

    record = service.kill("a1", grace=7)

    assert asked == [(*pair, "a1", str(repo), 7)]
    assert (record.status, record.finished_at) == ("killed", "2026-11-30T21:00:00Z")


# --- action events ---------------------------------------------------------------------------------------------------


def test_events_are_logged_and_read_on_from_a_cursor(service: Service) -> None:
    begun(service)

    one = service.log_event("a1", action="read f.txt", stage="READ", agent_id="x", metadata={"a": 1})
    page = service.events("a1")
    two = service.log_event("a1", action="write f.txt", stage="FINISH", status="OK", duration_ms=3)

    assert page.events == (one,)
    assert service.events("a1", page.cursor).events == (two,)
    assert (one.session_id, two.session_id) == ("a1", "a1")


def test_a_wrong_event_or_cursor_is_a_usage_error(service: Service) -> None:
    begun(service)

    wrong = refused(UsageError, lambda: service.log_event("a1", action=" ", stage="READ"))
    cursor = refused(UsageError, lambda: service.events("a1", -1))

    assert (wrong.code, cursor.code) == ("invalid-event", "invalid-cursor")
    assert service.events("a1").events == ()
