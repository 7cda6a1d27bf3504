"""What a Service needs of the world, so that something else can take its place."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from gzia.workspace.model import Diff, MergeResult, Unsaved, Workspace


class Workspaces(Protocol):
    """Working copies; workspace.provider.GitWorkspaces tells what each call promises."""

    def project_root(self, directory: Path) -> tuple[Path, bool]: ...

    def prepare(self, root: Path, session_id: str, base: str = "HEAD") -> Workspace: ...

    def diff(self, ws: Workspace) -> Diff: ...

    def merge(
        self, ws: Workspace, session_id: str, *, squash: bool, no_commit: bool, dry_run: bool, keep: bool
    ) -> MergeResult: ...

    def unsaved(self, ws: Workspace) -> Unsaved: ...

    def preserve(self, ws: Workspace, session_id: str) -> str | None: ...

    def remove(self, ws: Workspace) -> None: ...


class Killer(Protocol):
    """Ends the processes of a session; False: there were none (system.tree.end_tree)."""

    def __call__(self, pid: int, identity: str, *, session: str, root: str, grace: float) -> bool: ...
