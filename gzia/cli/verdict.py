"""What the end of a turn means to whoever ran it: an exit status, or the error that is told."""

from __future__ import annotations

from gzia.driver.turn import PermissionLevel
from gzia.errors import FAILED, REFUSED, GziaError
from gzia.session.host import Live
from gzia.session.turns import TurnEnd


def check(live: Live, end: TurnEnd) -> None:
    """Raise what went wrong with a turn, if anything did."""
    if end.error:
        raise end.error
    if end.refused:
        raise _refused(live, end)
    if end.stop_reason != "end_turn":
        raise GziaError(
            "turn-stopped", f"The turn ended early: {end.stop_reason}.", f"see gzia read {live.id}", status=FAILED,
            data={"session": live.id, "stop_reason": end.stop_reason},
        )  # fmt: skip


def _refused(live: Live, end: TurnEnd) -> GziaError:
    why, hint = {
        PermissionLevel.READONLY: ("this session is read-only", "choose another level with -p in a new session"),
        PermissionLevel.SUPERVISED: ("nobody could be asked", "allow it with -p autonomous, or run it on a terminal"),
        PermissionLevel.AUTONOMOUS: ("no offered answer was a clear yes", "run it on a terminal, to be asked"),
    }[live.record.permission_level]
    return GziaError(
        "permission-refused", f"Refused, because {why}: {', '.join(end.refused)}.", hint, status=REFUSED,
        data={"session": live.id, "refused": list(end.refused)},
    )  # fmt: skip
