"""What a model may be told of an error."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gzia.driver.stream import MODEL_FACING_LIMIT, model_facing

SECRETS = {
    "header": "Authorization: Basic dXNlcjpwYXNzd29yZA==",
    "bearer": "sent Bearer abc.def-ghi",
    "assignment": "OPENAI_API_KEY=hunter2",
    "quoted": """{"client_secret": "hunter 2 and more"}""",
    "password": "password: hunter2,",
    "openai": "sk-proj-abcDEF123456",
    "anthropic": "key sk-ant-api03-abcdef_ghi",
    "github": "ghp_abcdefghijklmnop",
    "github, fine": "github_pat_11ABCDE_fghij",
    "gitlab": "glpat-abcdefghij",
    "slack": "xoxb-123456-abcdef",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "google": "AIzaSyA-1234567890abcdef",
    "jwt": "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJ",
    "hex": "0123456789abcdef0123456789abcdef",
    "pem": "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nowIB\n-----END RSA PRIVATE KEY-----",
    "pem that is cut off": "-----BEGIN PRIVATE KEY-----\nMIIEowIB",
    "with a character that is not shown": "sk-proj\u200b-abcDEF123456",
}
PLACES = {
    "url": "https://user:pass@api.example.com/v1?key=1",
    "websocket": "ws://127.0.0.1:9/x",
    "without a scheme": "www.example.com/a",
    "path": "/home/ann/project/a.py",
    "path after a sign": "file=/etc/passwd",
    "home": "~/secret.txt",
    "somebody's home": "~ann/secret.txt",
    "path with spaces": "'/home/ann/My Documents/a.py'",
    "windows": "C:\\Users\\ann\\a.txt",
    "windows, quoted": '"C:\\Program Files\\a b.exe"',
    "share": "\\\\host\\share\\a.txt",
    "file url": "file:/etc/passwd",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_secrets_are_taken_out(secret: str) -> None:
    told = model_facing(f"it failed ({secret}) badly")

    assert told.startswith("it failed (")
    assert "[secret]" in told
    for word in ("hunter", "abc", "ABC", "dXN", "MII", "AKI", "AIz", "eyJ", "0123", "sk-", "123456"):
        assert word not in told


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_urls_and_absolute_paths_are_taken_out(place: str) -> None:
    told = model_facing(f"it failed at {place} badly")

    assert told.endswith(" badly")
    for word in ("ann", "passwd", "example", "127", "share", "exe", "secret", "a.py", "a.txt"):
        assert word not in told


@pytest.mark.parametrize(
    "plain",
    [
        "a line of the agent was too long and was skipped",
        "1/2 of and/or, 3 / 4",
        "src/a.py:7: ./b is not ../c",
        "10:30",
    ],
)
def test_what_tells_nothing_stays(plain: str) -> None:
    assert model_facing(plain) == plain


def test_it_is_one_line_without_control_characters() -> None:
    assert model_facing(" a\n\tb\x1b[31m\x00c\xa0d ") == "a b[31mc d"


@given(st.text(st.sampled_from("a/:\\.~ \n'\"=-_äß𝄞\ud800k1Z+")))
def test_it_is_one_line_of_512_bytes_at_most(text: str) -> None:
    told = model_facing(text * 40)

    assert len(told.encode()) <= MODEL_FACING_LIMIT
    assert "\n" not in told


def test_a_long_one_is_cut_between_characters_and_only_then() -> None:
    assert model_facing("ä " * 300) == ("ä " * 300).encode()[:509].decode() + "…"
    assert model_facing("a " * 255 + "ab") == "a " * 255 + "ab"


@pytest.mark.parametrize("text", ["a.", "a-", "/", "token", "~", "'/", "https:", "-----BEGIN ", "\\", "0a", "a+"])
def test_a_long_error_costs_no_more_than_a_short_one(text: str) -> None:
    begun = time.process_time()

    model_facing(text * 1_000_000)

    assert time.process_time() - begun < 2


def test_a_secret_that_is_cut_is_no_half_secret() -> None:
    assert model_facing(f"{' ' * 4090}sk-proj-abcDEF123456") == ""
    assert model_facing(f"{' ' * 4070}secret='a b c d e f g h i j k l'") == "[secret]"
