"""Which option answers a permission request when no person does.

Only an option's ``kind`` says what it means: ids and names are free text, and agents order options as they like.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

CANCELLED = "cancelled"


def choose(options: list[Any], allow: bool) -> dict[str, Any] | None:
    """The ``outcome`` for a yes or a no, with an id that the agent offered.

    A no is ``reject_once``, else ``reject_always``, else ``{"outcome": "cancelled"}``.  A yes is ``allow_once``, never
    ``allow_always``.  None: no option means yes beyond doubt, for two of a kind are a choice that is not ours; so a
    person must be asked or the request cancelled.
    """
    kinds = ("allow_once",) if allow else ("reject_once", "reject_always")
    ids = _ids(options)
    for kind in kinds:
        if len(ids.get(kind, ())) == 1:
            return {"outcome": "selected", "optionId": ids[kind][0]}
    return None if allow else {"outcome": CANCELLED}


def _ids(options: list[Any]) -> dict[str, list[str]]:
    """``kind -> option ids``, without ids that stand for two options: nobody could know which one was meant."""
    offered = [option for option in options if isinstance(option, dict) and isinstance(option.get("optionId"), str)]
    uses = Counter(option["optionId"] for option in offered)
    ids: dict[str, list[str]] = {}
    for option in offered:
        kind, ident = option.get("kind"), option["optionId"]
        if isinstance(kind, str) and uses[ident] == 1:
            ids.setdefault(kind, []).append(ident)
    return ids
