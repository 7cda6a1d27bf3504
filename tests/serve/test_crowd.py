"""Several clients talk in one session at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.serve.editor import editor
from tests.serve.guest import guest, journal
from tests.testing.client import Client

EACH = 15  # prompts of each client
LONG = "x" * 9_000  # longer than what a buffered writer takes in one piece


def message(client: int, number: int) -> str:
    return f"{client}.{number} {LONG}"


def talk(client: Client, name: int) -> list[Any]:
    """One prompt after the other; what each was answered, or the error."""
    answers = []
    for number in range(EACH):
        asked = client.start("session/prompt", sessionId=client.session, prompt=[text("say " + message(name, number))])
        answer = client.answer_to(asked)
        answers.append(answer.get("result", {}).get("stopReason", answer.get("error")))
    return answers


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def heard(client: Client, end: str) -> str:
    """What the agent has said, once it has said the end, too."""
    while not client.text().endswith(end):
        client.read()
    return client.text()


def test_JSO_03_four_clients_with_long_messages_leave_one_whole_journal_and_see_one_order(repo: Path) -> None:
    with editor(repo, "-a", "demo") as first, ExitStack() as stack:
        guests = [stack.enter_context(guest(repo, first.session)) for _ in range(3)]
        for other in guests:
            other.join()
        clients: list[Client] = [first, *guests]
        with ThreadPoolExecutor(len(clients)) as pool:
            answers = list(pool.map(talk, clients, range(len(clients))))
        lines = journal(repo, first.session)
        asked = [line["blocks"][0]["text"].removeprefix("say ") for line in lines if line.get("input") == "prompt"]
        seen = [heard(client, asked[-1]) for client in clients]

    assert answers == [["end_turn"] * EACH] * len(clients)
    assert sorted(asked) == sorted(message(client, number) for client in range(len(clients)) for number in range(EACH))
    assert [line["n"] for line in lines] == [*range(1, len(lines) + 1)]
    assert seen == ["".join(asked)] * len(clients)
