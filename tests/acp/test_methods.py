from __future__ import annotations

from gzia.acp import _checks, methods
from gzia.acp.methods import METHODS, is_stable
from tests.packaging.documents import STRICT


def test_the_table_is_the_schema_of_version_1() -> None:
    ours = {name: (entry.side, entry.kind) for name, entry in METHODS.items() if entry.is_stable}
    theirs = {
        name: (
            "both" if entry["side"] == "protocol" else entry["side"],
            "request" if "result" in entry else "notification",
        )
        for name, entry in STRICT["methods"].items()
    }

    assert ours == theirs
    assert STRICT["protocolVersion"] == methods.PROTOCOL_VERSION


def test_every_stable_method_has_its_checks() -> None:
    stable = {name: entry for name, entry in METHODS.items() if entry.is_stable}

    assert set(_checks.PARAMS) == set(stable)
    assert set(_checks.RESULTS) == {name for name, entry in stable.items() if entry.kind == "request"}


def test_every_constant_is_in_the_table() -> None:
    named = {value for name, value in vars(methods).items() if name.isupper() and isinstance(value, str)}

    assert named == {name for name, entry in METHODS.items() if entry.is_stable}


def test_a_method_is_stable_for_its_side_and_kind_only() -> None:
    assert is_stable("session/prompt", "agent", "request")
    assert not is_stable("session/prompt", "client", "request")
    assert not is_stable("session/prompt", "agent", "notification")
    assert is_stable("$/cancel_request", "agent", "notification") and is_stable(
        "$/cancel_request", "client", "notification"
    )
    assert not is_stable("session/fork", "agent", "request")
    assert not is_stable("_session/steering", "agent", "request")
