"""The verbs on the sessions of one project: what the commands, the editor's side and other programs call.

Ids come in as text and are checked here.  Every call blocks; a Service holds no session open and may be thrown away.
What had to be mended on the way is in ``repairs``.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from gzia.driver.turn import PermissionLevel
from gzia.errors import ConflictError, GziaError, NotFoundError, UsageError
from gzia.events.model import Event, Stage, Status
from gzia.events.store import Events, Page
from gzia.session import creation, ids, ledger, lines, liveness, removal
from gzia.session.journal import Journal
from gzia.session.layout import Layout
from gzia.session.ledger import Ledger
from gzia.session.ports import Killer, Workspaces
from gzia.session.reconcile import reconcile
from gzia.session.record import Record
from gzia.session.store import DamagedRecord, FileStore, Listing
from gzia.system import clock as system_clock
from gzia.system.identity import identity_of
from gzia.system.tree import end_tree
from gzia.workspace.places import present
from gzia.workspace.provider import Diff, GitWorkspaces, MergeResult, Workspace

NO_PROCESS = 0  # kill then looks for the session's mark alone
COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class Service:
    """The sessions of the project that ``directory`` belongs to.

    ``root`` is the top of its main checkout, also when seen from a session's worktree; outside git (``is_git`` false)
    the directory itself.
    """

    def __init__(
        self,
        directory: Path,
        *,
        store: FileStore | None = None,
        workspaces: Workspaces | None = None,
        killer: Killer = end_tree,
        events: Callable[[Path], Events] = Events,
        clock: Callable[[], str] = system_clock.now,
    ) -> None:
        self.directory = directory.absolute()
        self._workspaces = workspaces or GitWorkspaces()
        self.root, self.is_git = self._workspaces.project_root(self.directory)
        self.store = store or FileStore(self.root)
        refuse_link(self.layout.harness)
        self._killer = killer
        self._events = events
        self._now = clock

    # -- looking -----------------------------------------------------------------------------------------------------

    @property
    def layout(self) -> Layout:
        """Where the files of the sessions lie."""
        return self.store.layout

    @property
    def repairs(self) -> list[DamagedRecord]:
        """The damaged records that this Service met and mended."""
        return self.store.repairs

    def list(self) -> Listing:
        """All sessions, the oldest first, as they are true now; damaged ones hide no others."""
        found = self.store.list()
        return found._replace(records=[reconcile(self.store, record, self._now) for record in found.records])

    def get(self, id: str) -> Record:
        """One session as it is true now.  NotFoundError ``session-not-found``."""
        return reconcile(self.store, self.store.get(ids.parse(id)), self._now)

    def live(self, record: Record) -> liveness.Live | None:
        """What the session is doing at this moment; None: nobody has it open."""
        return liveness.live(record, self.layout)

    def journal_path(self, id: str) -> Path:
        """The file that its observations are in."""
        return self.layout.journal(ids.parse(id))

    def ledger(self, id: str) -> Ledger:
        """What it leaves open: turns that wait, or that were never answered, and steers of unknown fate."""
        return ledger.read(self.journal_path(id))

    def path(self, id: str) -> Path:
        """Its worktree.  ``not-isolated``, ``worktree-missing``."""
        return self._worktree(self.get(id))

    def diff(self, id: str) -> Diff:
        """Its changes, also while it runs.  ``not-isolated``, ``worktree-missing``."""
        return self._workspaces.diff(self._workspace(self.get(id)))

    # -- beginning ---------------------------------------------------------------------------------------------------

    def create(
        self,
        *,
        provider: str,
        permission_level: PermissionLevel,
        id: str = "",
        prompt: str = "",
        isolate: bool = True,
        base: str = "HEAD",
        model: str = "",
    ) -> Record:
        """A new session that this process runs, with its worktree; when anything fails, nothing is left of it.

        Without an id one is minted.  Not isolated only outside git, or when ``isolate`` is false: isolation that fails
        is an error.  ConflictError ``session-exists``; the errors of Workspaces.prepare.
        """
        draft = Record(
            ids.mint(), "running", self._now(), provider=provider, permission_level=permission_level, model=model,
            working_dir=str(self.directory), initial_prompt=prompt, is_isolated=isolate and self.is_git,
        )  # fmt: skip
        draft.begin(os.getpid(), identity_of(os.getpid()) or "")
        record = creation.reserve(self.store, draft, ids.parse(id) if id else None)
        return creation.isolate(self.store, self._workspaces, record, base) if record.is_isolated else record

    def claim(self, id: str) -> Record:
        """Take up a session again: from now on this process runs it.  ``session-running``, ``worktree-missing``."""
        host = os.getpid()
        identity = identity_of(host) or ""

        def change(record: Record) -> None:
            self._refuse_while_open(record)
            if record.is_isolated:
                creation.place(record, self.layout)
                self._worktree(record)
            record.begin(host, identity)

        return self.store.update(ids.parse(id), change)

    def drop_queue(self, id: str) -> tuple[int, ...]:
        """Cancel the turns that it left waiting; their numbers.  Refused while it is open (``session-running``)."""
        dropped: list[int] = []

        def drop(record: Record) -> None:
            self._refuse_while_open(record)
            dropped.extend(asked.turn for asked in self.ledger(record.id).waiting)
            if dropped:
                with closing(Journal(self.layout.journal(record.id), record.id)) as journal:
                    journal.write([lines.cancel(None), *(lines.dropped(turn, 0) for turn in dropped)], durable=True)

        self.store.update(ids.parse(id), drop)
        return tuple(dropped)

    # -- ending ------------------------------------------------------------------------------------------------------

    def merge(
        self, id: str, *, squash: bool = False, no_commit: bool = False, dry_run: bool = False, keep: bool = False
    ) -> MergeResult:
        """Its work into the checked-out branch.  ``not-isolated``, and the errors of Workspaces.merge.

        Refused while a turn runs (``session-running``): half of a change would come in, and the safety commit would
        move the branch under the agent.  Between two turns, and as a dry run at any time, it is allowed.
        """
        record = self.get(id)
        ws = self._workspace(record)
        if record.status == "running" and not dry_run:
            self._refuse_while_open(record)
        done = self._workspaces.merge(ws, record.id, squash=squash, no_commit=no_commit, dry_run=dry_run, keep=keep)
        if not dry_run:
            self._note(record, "merge", {"commit": done.commit})
        return done

    def kill(self, id: str, grace: float = 2.0) -> Record:
        """End its agent and everything that the agent started: SIGTERM, after ``grace`` seconds SIGKILL.

        The record becomes ``killed``; the work stays.  NotFoundError ``session-not-running`` when nothing of it runs.
        """
        record = self.get(id)
        pid = record.pid if record.pid and record.pid_identity else NO_PROCESS
        if liveness.holder(record) is not None:
            self._mark_killed(record)  # first, so that whoever has it open begins no turn that waits
        if not self._killer(pid, record.pid_identity, session=record.id, root=str(self.root), grace=grace):
            hint = "it is starting; try again in a moment" if self.live(record) == "starting" else "see gzia list"
            self.store.update(record.id, lambda now: now.take_back_kill(record))
            raise NotFoundError("session-not-running", f"No agent of session {record.id} is running.", hint)
        killed = self._mark_killed(record)
        self._note(killed, "kill", {"pid": record.pid})
        return killed

    def _mark_killed(self, record: Record) -> Record:
        return self.store.update(record.id, lambda now: now.finish("killed", self._now(), reason="ended by gzia kill"))

    def delete(self, id: str, *, force: bool = False) -> str | None:
        """Remove the session with its worktree and branch; the ref that keeps its work, None when there was none.

        Refused while it is open (``session-running``), and with work that is nowhere else (``work-would-be-lost``)
        unless ``force``.  The work is kept before anything goes, and the record goes last: after a crash at any point
        the session is still listed, and deleting it again goes on.
        """
        return self.store.delete(ids.parse(id), lambda record: self._release(record, force))

    def discard(self, id: str) -> bool:
        """Remove a session that was given up before anything came of it; False: there is work in it, so it stays."""
        try:
            self.delete(id)
        except ConflictError as conflict:
            if conflict.code != "work-would-be-lost":
                raise
            return False
        return True

    def _release(self, record: Record, force: bool) -> str | None:
        self._refuse_while_open(record)
        return (
            removal.release(self._workspaces, self._workspace(record), record.id, force) if record.is_isolated else None
        )

    # -- action events -----------------------------------------------------------------------------------------------

    def log_event(
        self,
        id: str,
        *,
        action: str,
        stage: Stage,
        status: Status | None = None,
        agent_id: str = "",
        role: str = "",
        duration_ms: int | None = None,
        error: str = "",
        metadata: dict[str, Any] | None = None,
    ) -> Event:
        """Append an action event to the session's.  UsageError ``invalid-event``."""
        session = self.store.get(ids.parse(id)).id
        event = Event(session, action, stage, status, agent_id, role, duration_ms, error, metadata or {})
        with self._events(self.layout.events(session)) as log:
            log.append(event)
        return event

    def events(self, id: str, cursor: int = 0) -> Page:
        """Its action events from a byte cursor on (0, or the cursor of an earlier page)."""
        if cursor < 0:
            raise UsageError("invalid-cursor", f"{cursor} is not a cursor.", "use 0, or one that gzia events printed")
        return self._events(self.layout.events(self.store.get(ids.parse(id)).id)).read(cursor)

    def _note(self, record: Record, action: str, metadata: dict[str, Any]) -> None:
        with contextlib.suppress(GziaError):  # what it tells of is done; a full disk must not make it look undone
            self.log_event(record.id, action=action, stage="FINISH", status="OK", agent_id="gzia", metadata=metadata)

    # -- what several verbs need -------------------------------------------------------------------------------------

    def _workspace(self, record: Record) -> Workspace:
        id = record.id
        if not record.is_isolated:
            message = f"Session {id} has no worktree: its agent works in {record.working_dir or self.root} itself."
            raise GziaError("not-isolated", message, "look at the changes there, for example with: git diff")
        base = record.base_commit if COMMIT.fullmatch(record.base_commit) else ""
        return Workspace(self.root, self.layout.worktree(id), self.layout.branch(id), base)

    def _worktree(self, record: Record) -> Path:
        return present(self._workspace(record))

    def _refuse_while_open(self, record: Record) -> None:
        if (pid := liveness.holder(record)) is not None:
            message = f"Session {record.id} is open in process {pid}."
            hint = f"end it there, or with: gzia kill {record.id}"
            raise ConflictError("session-running", message, hint, data={"pid": pid})


def refuse_link(harness: Path) -> None:
    """A repository may bring ``.harness`` as a link; nothing is read or written through it."""
    if harness.is_symlink():
        raise ConflictError(
            "harness-is-a-link", f"{harness} is a link, and gzia keeps its files in a directory there.",
            f"look where it leads, then remove it: rm {harness}",
        )  # fmt: skip
