"""One rule for session ids, attacked with everything that a path could make of them."""

from __future__ import annotations

import pytest

from gzia.errors import UsageError
from gzia.session import ids

NO_IDS = [
    "", " ", ".", "..", "../../x", "/", "/etc/passwd", "a/b", "a\\b", "a.b", "x.json", "CON", "Abc", "é", "ａ", "x\n",
    "\nx", "x ", "a\0b", "-x", "--force", "_x", "a_b", "x" * 65, "x" * 5000, "$(id)", "~", "*", "a:b", "a@{0}",
]  # fmt: skip


@pytest.mark.parametrize("text", ["a", "0", "k3v9q2", "x-1", "a-", "fix--login", "a" * 64, "con", "head"])
def test_ids_of_the_allowed_letters_are_let_through(text: str) -> None:
    assert ids.parse(text) == text


@pytest.mark.parametrize("text", NO_IDS, ids=lambda text: repr(text[:12]))
def test_JSO_10_everything_else_is_refused_before_a_path_is_made(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        ids.parse(text)

    assert caught.value.code == "invalid-session-id"
    assert caught.value.exit_status == 2
    assert len(caught.value.message) < 100
    assert caught.value.message.isprintable()


@pytest.mark.parametrize("value", [None, 7, 1.5, True, ["a"], {"a": 1}, b"abc"])
def test_JSO_10_what_a_client_sends_instead_of_text_is_refused_the_same_way(value: object) -> None:
    with pytest.raises(UsageError):
        ids.parse(value)


def test_minted_ids_are_ids_and_differ() -> None:
    minted = {ids.mint() for _ in range(1000)}

    assert len(minted) == 1000
    assert {ids.parse(id) for id in minted} == minted
    assert {len(id) for id in minted} == {8}
