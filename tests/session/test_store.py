"""The store of records: whole files under kills and at once, damage kept and mended, nothing hidden by it."""

from __future__ import annotations

import json
import os
import random
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gzia.errors import ConflictError, GziaError, NotFoundError
from gzia.session import ids
from gzia.session.record import Record, encode
from gzia.session.store import DamagedRecord, FileStore, Listing
from gzia.system import jsonl
from gzia.system.files import write_atomic

ROOT = Path(__file__).parent.parent.parent
A, B = ids.parse("a1"), ids.parse("b2")


def record(id: ids.SessionId = A, **facts: object) -> Record:
    made = Record(id, "completed", "2026-11-30T20:03:05Z", provider="demo", working_dir="/w")
    for name, fact in facts.items():
        setattr(made, name, fact)
    return made


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path)


def run(code: str, *args: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


# --- the verbs -------------------------------------------------------------------------------------------------------


def test_what_is_created_is_got_listed_and_private(store: FileStore) -> None:
    store.create(record(metadata={"a": [1]}))

    assert store.get(A) == record(metadata={"a": [1]})
    assert store.list() == Listing([record(metadata={"a": [1]})], [])
    assert store.layout.record(A).stat().st_mode & 0o777 == 0o600
    assert (store.layout.harness / ".gitignore").read_bytes() == b"*\n"


def test_a_project_without_sessions_lists_none_and_gets_no_files(store: FileStore) -> None:
    assert store.list() == Listing([], [])
    assert not store.layout.harness.exists()


def test_the_oldest_is_listed_first(store: FileStore) -> None:
    store.create(record(B, started_at="2026-11-30T20:00:00Z"))
    store.create(record(A, started_at="2026-11-30T21:00:00Z"))

    assert [found.id for found in store.list().records] == [B, A]


def test_a_taken_id_is_refused_and_the_first_session_is_untouched(store: FileStore) -> None:
    store.create(record(title="mine"))

    with pytest.raises(ConflictError) as caught:
        store.create(record(title="other"))

    assert (caught.value.code, caught.value.exit_status) == ("session-exists", 6)
    assert store.get(A).title == "mine"


@pytest.mark.parametrize("verb", [FileStore.get, lambda s, id: s.update(id, print), lambda s, id: s.delete(id, print)])
def test_an_unknown_session_is_not_found_and_leaves_no_trace(
    store: FileStore, verb: Callable[[FileStore, ids.SessionId], object]
) -> None:
    store.create(record(B))
    before = sorted(store.layout.sessions.iterdir())

    with pytest.raises(NotFoundError) as caught:
        verb(store, A)

    assert (caught.value.code, caught.value.exit_status) == ("session-not-found", 4)
    assert sorted(store.layout.sessions.iterdir()) == before


def test_an_update_is_stored_and_returned_and_keeps_the_keys_of_others(store: FileStore) -> None:
    store.create(record(unknown={"later": {"x": 1}}))

    updated = store.update(A, lambda found: setattr(found, "title", "new"))

    assert updated == store.get(A) == record(title="new", unknown={"later": {"x": 1}})


def test_an_update_that_fails_changes_nothing(store: FileStore) -> None:
    store.create(record())

    def change(found: Record) -> None:
        found.title = "half"
        raise ConflictError("no", "No.")

    with pytest.raises(ConflictError):
        store.update(A, change)

    assert store.get(A) == record()


def test_an_update_that_changes_nothing_writes_nothing(store: FileStore) -> None:
    store.create(record())
    before = store.layout.record(A).stat().st_ino

    store.update(A, lambda found: None)

    assert store.layout.record(A).stat().st_ino == before


def test_delete_removes_every_file_of_the_session_and_of_no_other(store: FileStore) -> None:
    others = [ids.parse(name) for name in ("a", "a1-b", "a11")]
    for id in (A, *others):
        store.create(record(id))
        for log in (store.layout.events(id), store.layout.journal(id)):
            log.write_bytes(b"{}\n")
            jsonl.damaged_path(log).write_bytes(b"x\n")
        store.layout.record(id).with_name(f"{id}.json.damaged-2").write_bytes(b"x")
        store.layout.record(id).with_name(f".{id}.json.tmp").write_bytes(b"x")
        store.update(id, lambda found: None)
    mine = {path for path in store.layout.sessions.iterdir() if path.name.lstrip(".").split(".")[0] == A}
    before = set(store.layout.sessions.iterdir())

    released = store.delete(A, lambda found: found.title or "released")

    assert released == "released"
    assert len(mine) == 8
    assert set(store.layout.sessions.iterdir()) == before - mine


def test_a_delete_that_is_forbidden_removes_nothing(store: FileStore) -> None:
    store.create(record())
    store.layout.journal(A).write_bytes(b"{}\n")

    def forbid(found: Record) -> None:
        raise ConflictError("work-would-be-lost", "No.")

    with pytest.raises(ConflictError):
        store.delete(A, forbid)

    assert store.get(A) == record()
    assert store.layout.journal(A).exists()


# --- several processes -----------------------------------------------------------------------------------------------

CREATE = """
import sys
from pathlib import Path
from gzia.errors import GziaError
from gzia.session import ids
from gzia.session.record import Record
from gzia.session.store import FileStore
store = FileStore(Path(sys.argv[1]))
print("ready", flush=True)
for line in sys.stdin:
    try:
        store.create(Record(ids.parse(line.strip()), "running", "2026-11-30T20:03:05Z", title=sys.argv[2]))
        print("created", flush=True)
    except GziaError as error:
        print(error.code, flush=True)
"""


def test_of_two_processes_that_create_one_id_at_once_one_wins(store: FileStore) -> None:
    racers = [run(CREATE, store.layout.root, name) for name in ("one", "two")]
    for racer in racers:
        assert racer.stdout
        assert racer.stdout.readline() == "ready\n"

    said = [racer.communicate("".join(f"s{k}\n" for k in range(20)), timeout=60)[0].split() for racer in racers]

    assert [sorted(pair) for pair in zip(*said, strict=True)] == [["created", "session-exists"]] * 20
    for k, answer in enumerate(said[0]):
        assert store.get(ids.parse(f"s{k}")).title == ("one" if answer == "created" else "two")


COUNT = """
import sys
from pathlib import Path
from gzia.session import ids
from gzia.session.store import FileStore
store = FileStore(Path(sys.argv[1]))
def change(record):
    record.metadata["count"] += 1
for _ in range(25):
    store.update(ids.parse("a1"), change)
"""


def test_updates_of_several_processes_are_all_counted(store: FileStore) -> None:
    store.create(record(metadata={"count": 0}))

    counters = [run(COUNT, store.layout.root) for _ in range(4)]
    codes = [(counter.communicate(timeout=60), counter.returncode)[1] for counter in counters]

    assert codes == [0, 0, 0, 0]
    assert store.get(A).metadata == {"count": 100}


REWRITE = """
import sys
from pathlib import Path
from gzia.session import ids
from gzia.session.store import FileStore
store = FileStore(Path(sys.argv[1]))
def change(record):
    record.metadata["n"] += 1
    record.title = "x" * (record.metadata["n"] * 997 % 300_000)
while True:
    print(store.update(ids.parse("a1"), change).metadata["n"], flush=True)
"""


def killed_in_the_middle(store: FileStore, rounds: int) -> None:
    chance = random.Random(rounds)
    store.create(record(metadata={"n": 0}))
    for _ in range(rounds):
        writer = run(REWRITE, store.layout.root)
        assert writer.stdout
        told = [writer.stdout.readline() for _ in range(chance.randint(1, 4))][-1]
        writer.kill()
        told = [told, *writer.communicate(timeout=60)[0].splitlines(keepends=True)][-1]

        found = store.get(A)

        n = found.metadata["n"]
        assert n >= int(told)
        assert found.title == "x" * (n * 997 % 300_000)
    assert store.repairs == []
    names = {path.name for path in store.layout.sessions.iterdir()}
    assert names - {".a1.json.tmp"} == {".lock", "a1.lock", "a1.json"}


def test_JSO_05_after_a_kill_at_any_moment_the_record_is_whole_and_no_files_pile_up(store: FileStore) -> None:
    killed_in_the_middle(store, 15)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_JSO_05_five_hundred_kills(store: FileStore) -> None:
    killed_in_the_middle(store, 500)


# --- damage ----------------------------------------------------------------------------------------------------------


def content(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inside").write_bytes(b"x")


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link(path: Path) -> None:
    target = path.with_name("b2.json")
    path.unlink()
    path.symlink_to(target)


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (content(b""), "it is empty"),
    "zeros": (content(bytes(4096)), "it is empty"),
    "torn": (content(encode(record())[:100]), "it is not a JSON object"),
    "brace": (content(b"{"), "it is not a JSON object"),
    "list": (content(b"[]"), "it is not a JSON object"),
    "null": (content(b"null"), "it is not a JSON object"),
    "latin": (content(b'{"title":"caf\xe9"}'), "it is not a JSON object"),
    "keyless": (content(b"{}"), "it has no status that gzia knows"),
    "types": (content(encode(record(unknown={"pid": "7"}))), "its pid has the wrong type"),
    "directory": (directory, "it is a directory"),
    "fifo": (fifo, "it is empty"),
    "link": (link, "it is a link"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_JSO_05_a_damaged_record_is_kept_rebuilt_from_the_journal_and_told_once(store: FileStore, kind: str) -> None:
    damage, reason = DAMAGE[kind]
    opened = record(title="from the journal", pid=None)
    store.create(opened)
    store.create(record(B))
    store.layout.journal(A).write_bytes(jsonl.dump({"kind": "session", "state": "opened", "record": opened.to_json()}))
    damage(store.layout.record(A))
    before = store.layout.record(A).lstat()
    kept = store.layout.sessions / "a1.json.damaged"

    first, second = store.list(), store.list()

    told = DamagedRecord(A, store.layout.record(A), reason, kept)
    assert first == Listing([opened, record(B)], [told])
    assert second == Listing([opened, record(B)], [])
    assert store.repairs == [told]
    assert (kept.lstat().st_ino, stat.S_IFMT(kept.lstat().st_mode)) == (before.st_ino, stat.S_IFMT(before.st_mode))
    assert store.layout.record(A).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("verb", ["get", "update", "delete"])
def test_JSO_05_every_verb_mends_what_it_needs(store: FileStore, verb: str) -> None:
    store.create(record())
    store.layout.record(A).write_bytes(b"")

    if verb == "get":
        store.get(A)
    elif verb == "update":
        store.update(A, lambda found: None)
    else:
        store.delete(A, lambda found: None)

    assert [repair.reason for repair in store.repairs] == ["it is empty"]


def test_damage_after_damage_is_kept_under_its_own_name(store: FileStore) -> None:
    store.create(record())
    for content_of_a_day in (b"{1", b"{2", b"{3"):
        store.layout.record(A).write_bytes(content_of_a_day)
        store.get(A)

    names = ["a1.json.damaged", "a1.json.damaged-2", "a1.json.damaged-3"]
    assert [repair.kept_as for repair in store.repairs] == [store.layout.sessions / name for name in names]
    assert [(store.layout.sessions / name).read_bytes() for name in names] == [b"{1", b"{2", b"{3"]


def test_files_that_are_no_records_are_not_listed(store: FileStore) -> None:
    store.create(record())
    for name in ("A1.json", "a b.json", ".json", "x.events.jsonl", ".b.json.tmp", "c.json.damaged", "notes.txt"):
        (store.layout.sessions / name).write_bytes(b"{")

    assert store.list() == Listing([record()], [])


def test_the_sentence_for_a_person_says_where_the_damaged_file_is(store: FileStore) -> None:
    kept = DamagedRecord(A, Path("/r/a1.json"), "it is empty", Path("/r/a1.json.damaged"))
    stuck = DamagedRecord(A, Path("/r/a1.json"), "it is empty", None)

    assert kept.message == (
        "The record of session a1 was damaged (it is empty) and was rebuilt; the damaged one is kept in "
        "/r/a1.json.damaged."
    )
    assert stuck.message == (
        "The record of session a1 was damaged (it is empty) and could not be rebuilt; it lies in /r/a1.json."
    )


# --- rights ----------------------------------------------------------------------------------------------------------


def test_JSO_05_a_record_that_may_not_be_read_is_set_aside_as_it_is(nobodys: FileStore) -> None:
    nobodys.create(record())
    nobodys.create(record(B))
    nobodys.layout.record(A).chmod(0)

    found = nobodys.list()

    kept = nobodys.layout.sessions / "a1.json.damaged"
    assert {one.id for one in found.records} == {A, B}
    assert found.damaged == [DamagedRecord(A, nobodys.layout.record(A), "it may not be read", kept)]
    assert kept.stat().st_mode & 0o777 == 0


def test_a_damaged_record_that_cannot_be_mended_hides_no_other(nobodys: FileStore) -> None:
    nobodys.create(record())
    nobodys.create(record(B))
    nobodys.layout.record(A).write_bytes(b"{")
    nobodys.layout.lock(A).touch()
    nobodys.layout.sessions.chmod(0o500)

    found = nobodys.list()
    with pytest.raises(GziaError) as caught:
        nobodys.get(A)

    nobodys.layout.sessions.chmod(0o700)
    assert found == Listing([record(B)], [DamagedRecord(A, nobodys.layout.record(A), "it is not a JSON object", None)])
    assert caught.value.code == "record-damaged"
    assert nobodys.layout.record(A).read_bytes() == b"{"


def test_a_store_that_cannot_be_written_is_an_error_with_a_code(nobodys: FileStore) -> None:
    nobodys.create(record())
    nobodys.update(A, lambda found: None)
    nobodys.layout.sessions.chmod(0o500)

    codes = []
    for verb in (lambda: nobodys.create(record(B)), lambda: nobodys.update(A, lambda found: found.finish("failed", T))):
        with pytest.raises(GziaError) as caught:
            verb()
        codes.append(caught.value.code)

    nobodys.layout.sessions.chmod(0o700)
    assert codes == ["record-not-writable", "record-not-writable"]


T = "2026-11-30T21:00:00Z"


def test_a_file_in_place_of_the_store_is_an_error_with_a_code(store: FileStore) -> None:
    store.layout.harness.mkdir()
    store.layout.sessions.write_bytes(b"")

    with pytest.raises(GziaError) as caught:
        store.list()

    assert caught.value.code == "record-not-readable"


# --- many ------------------------------------------------------------------------------------------------------------


def test_ten_thousand_sessions_are_listed_in_half_a_second_without_reading_a_journal(store: FileStore) -> None:
    store.create(record())
    raw = encode(record(is_isolated=True, worktree_dir="/w/.harness/worktrees/a1", initial_prompt="Fix the test. " * 9))
    store.layout.record(A).write_bytes(raw)
    for k in range(10_000):
        os.link(store.layout.record(A), store.layout.sessions / f"s{k}.json")  # as many names, little to write
    os.mkfifo(store.layout.journal(ids.parse("s1")))  # to open it would block for ever
    seconds, counts = [], []

    for _ in range(3):
        begun = time.process_time()
        counts.append(len(store.list().records))
        seconds.append(time.process_time() - begun)

    assert counts == [10_001] * 3
    assert min(seconds) < 0.5


def test_the_record_is_plain_json_for_any_tool(store: FileStore) -> None:
    store.create(record())
    write_atomic(store.layout.record(A), json.dumps({"later": 1} | record().to_json()).encode())

    assert store.get(A) == record(unknown={"later": 1})
