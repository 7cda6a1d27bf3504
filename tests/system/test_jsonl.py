"""Append-only JSON lines: torn tails, many writers, killed writers, full disks, readers that go on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gzia.errors import GziaError
from gzia.system import jsonl
from gzia.system.jsonl import Appender, Damage, Line

ROOT = Path(__file__).parent.parent.parent
OK = b'{"seq":1,"t":"one"}\n{"seq":2,"t":"two"}\n{"seq":3,"t":"caf\xc3\xa9"}\n'
NEW = b'{"seq":9,"t":"next"}\n'


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "x.journal.jsonl"


def append(log: Path, data: bytes) -> list[Damage]:
    with Appender(log) as writer:
        writer.append(data)
    return writer.damage


def seqs(log: Path) -> list[int | None]:
    """The ``seq`` of every line; None for a damaged one."""
    return [line.value["seq"] if line.value is not None else None for line in jsonl.read(log)]


def kept_aside(log: Path) -> bytes:
    side = jsonl.damaged_path(log)
    return side.read_bytes() if side.exists() else b""


def python(code: str, *args: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


# --- appending -------------------------------------------------------------------------------------------------------


def test_what_is_appended_is_read_back_with_offsets(log: Path) -> None:
    with Appender(log) as writer:
        starts = [writer.append(b'{"a":1}\n'), writer.append(b'{"b":2}\n{"c":3}\n')]

    assert starts == [0, 8]
    assert list(jsonl.read(log)) == [
        Line(0, 8, {"a": 1}, b'{"a":1}\n'),
        Line(8, 16, {"b": 2}, b'{"b":2}\n'),
        Line(16, 24, {"c": 3}, b'{"c":3}\n'),
    ]


def test_the_file_is_private_and_a_second_writer_continues_it(log: Path) -> None:
    append(log, OK)
    append(log, NEW)

    assert log.stat().st_mode & 0o777 == 0o600
    assert log.read_bytes() == OK + NEW


@pytest.mark.parametrize("data", [b"", b'{"a":1}', b'{"a":1}\n{"b"'])
def test_half_a_line_is_never_appended(log: Path, data: bytes) -> None:
    with Appender(log) as writer, pytest.raises(ValueError):
        writer.append(data)

    assert log.read_bytes() == b""


def test_a_line_holds_even_text_that_utf_8_cannot_encode() -> None:
    value = {"path": os.fsdecode(b"caf\xe9"), "text": "line\u2028sep\x85 né"}

    line = jsonl.dump(value)

    assert jsonl.parse(line) == value
    assert line.splitlines() == [line[:-1]]


# --- JSO-01: damage --------------------------------------------------------------------------------------------------


def test_JSO_01_a_torn_tail_is_set_aside_and_the_next_line_is_readable(log: Path) -> None:
    log.write_bytes(OK[:-7])

    damage = append(log, NEW)

    assert seqs(log) == [1, 2, 9]
    assert damage == [Damage(40, len(OK) - 47)]
    assert kept_aside(log) == OK[40:-7] + b"\n"


def test_JSO_01_a_whole_line_without_its_end_is_there_before_anything_is_appended(log: Path) -> None:
    log.write_bytes(OK.removesuffix(b"\n"))

    with Appender(log) as appender:
        appender.mend()
        mended = log.read_bytes()

    assert mended == OK


def test_JSO_01_b_a_tail_torn_inside_a_character_does_not_stop_anything(log: Path) -> None:
    torn = b'{"seq":9,"t":"caf\xc3'
    log.write_bytes(OK[:40] + torn)

    damage = append(log, NEW)

    assert seqs(log) == [1, 2, 9]
    assert damage == [Damage(40, len(torn))]
    assert kept_aside(log) == torn + b"\n"


def test_JSO_01_c_a_bad_line_in_the_middle_is_reported_and_stays_where_it_is(log: Path) -> None:
    log.write_bytes(OK[:40] + b"{not json\n" + OK[40:])

    damage = append(log, NEW)

    assert seqs(log) == [1, 2, None, 3, 9]
    assert damage == []
    assert [(line.offset, line.raw) for line in jsonl.read(log) if line.value is None] == [(40, b"{not json\n")]


def test_JSO_01_d_a_block_of_zero_bytes_is_set_aside(log: Path) -> None:
    log.write_bytes(OK + bytes(8))

    damage = append(log, NEW)

    assert seqs(log) == [1, 2, 3, 9]
    assert damage == [Damage(len(OK), 8)]
    assert kept_aside(log) == bytes(8) + b"\n"


def test_JSO_01_wherever_the_tear_is_no_byte_is_lost_and_no_line_is_glued(tmp_path: Path) -> None:
    for cut in range(len(OK)):
        log = tmp_path / f"{cut}.jsonl"
        log.write_bytes(OK[:cut])
        intact = OK[:cut].count(b"\n") + (OK[cut:][:1] == b"\n")  # a line that only misses its newline is whole

        append(log, NEW)

        assert seqs(log) == [*[1, 2, 3][:intact], 9]
        assert (log.read_bytes()[: -len(NEW)] + kept_aside(log))[:cut] == OK[:cut]


def test_JSO_01_damage_is_reported_once_and_later_damage_is_kept_beside_it(log: Path) -> None:
    log.write_bytes(b'{"first')
    append(log, NEW)

    again = append(log, NEW)
    with log.open("ab") as file:
        file.write(b"\xff\xfe")
    later = append(log, NEW)

    assert again == []
    assert later == [Damage(2 * len(NEW), 2)]
    assert kept_aside(log) == b'{"first\n\xff\xfe\n'
    assert seqs(log) == [9, 9, 9]


def test_JSO_01_a_writer_that_is_open_notices_what_another_left_torn(log: Path) -> None:
    with Appender(log) as writer:
        writer.append(OK)
        with log.open("ab") as other:
            other.write(b'{"torn')
        writer.append(NEW)

        assert writer.damage == [Damage(len(OK), 6)]
    assert seqs(log) == [1, 2, 3, 9]


def test_JSO_01_a_tail_longer_than_any_buffer_is_kept_whole(log: Path) -> None:
    torn = b'{"t":"' + b"x" * (3 * jsonl.CHUNK + 5)
    log.write_bytes(OK + torn)

    damage = append(log, NEW)

    assert damage == [Damage(len(OK), len(torn))]
    assert kept_aside(log) == torn + b"\n"
    assert seqs(log) == [1, 2, 3, 9]


def test_JSO_01_a_tail_that_cannot_be_kept_is_not_cut_off(log: Path) -> None:
    log.write_bytes(OK[:-7])
    jsonl.damaged_path(log).mkdir()

    with pytest.raises(GziaError) as caught:
        append(log, NEW)

    assert caught.value.code == "journal-not-writable"
    assert log.read_bytes() == OK[:-7]


# --- JSO-03: many writers --------------------------------------------------------------------------------------------

WRITE_MANY = """
import sys
from pathlib import Path
from gzia.system import jsonl
name, count, log = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
sys.stdin.readline()
with jsonl.Appender(log) as writer:
    for k in range(count):
        writer.append(jsonl.dump({"by": name, "k": k, "text": name * 9000}))
"""


def test_JSO_03_four_writers_of_long_lines_never_mix(log: Path) -> None:
    writers = [python(WRITE_MANY, name, 300, log) for name in "abcd"]

    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    codes = [(writer.communicate(timeout=60), writer.returncode)[1] for writer in writers]

    values = [line.value or {} for line in jsonl.read(log)]
    assert codes == [0, 0, 0, 0]
    for name in "abcd":
        mine = [value for value in values if value.get("by") == name]
        assert [value["k"] for value in mine] == list(range(300))
        assert {value["text"] for value in mine} == {name * 9000}
    assert len(values) == 1200


WRITE_FOREVER = """
import sys
from pathlib import Path
from gzia.system import jsonl
with jsonl.Appender(Path(sys.argv[1])) as writer:
    for k in range(10**9):
        writer.append(jsonl.dump({"seq": k, "text": "x" * 200_000}))
        print(k, flush=True)
"""


def test_JSO_03_what_a_killed_writer_was_told_is_written_is_there(log: Path) -> None:
    writer = python(WRITE_FOREVER, log)
    assert writer.stdout is not None

    for _ in range(20):
        writer.stdout.readline()
    writer.send_signal(signal.SIGKILL)
    told = 20 + len(writer.communicate(timeout=60)[0].split())
    append(log, NEW)

    found = seqs(log)
    assert found == [*range(len(found) - 1), 9]
    assert len(found) - 1 in (told, told + 1)


HOLD = """
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(fd, fcntl.LOCK_EX)
os.write(fd, b'{"torn')
print("held", flush=True)
sys.stdin.read()
"""


def test_JSO_03_the_lock_of_a_dead_writer_is_no_obstacle(log: Path) -> None:
    holder = python(HOLD, log)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    holder.kill()
    holder.communicate(timeout=60)

    damage = append(log, NEW)

    assert damage == [Damage(0, 6)]
    assert seqs(log) == [9]


# --- disks that are full, files that are none ------------------------------------------------------------------------

WRITE_UNTIL_FULL = """
import json, resource, sys
from pathlib import Path
from gzia.errors import GziaError
from gzia.system import jsonl
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
with jsonl.Appender(Path(sys.argv[1])) as writer:
    try:
        for k in range(100):
            writer.append(jsonl.dump({"seq": k}) + jsonl.dump({"seq": k, "text": "x" * 200}))
    except GziaError as error:
        print(error.code, k)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    writer.append(jsonl.dump({"seq": k}))
"""


def test_a_batch_that_does_not_fit_leaves_no_part_of_itself(log: Path) -> None:
    done = python(WRITE_UNTIL_FULL, log)

    said = done.communicate(timeout=60)[0].split()

    assert said == ["journal-not-writable", "4"]
    assert seqs(log) == [0, 0, 1, 1, 2, 2, 3, 3, 4]
    assert kept_aside(log) == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_an_error_with_a_code() -> None:
    with Appender(Path("/dev/full")) as writer, pytest.raises(GziaError) as caught:
        writer.append(NEW)

    assert caught.value.code == "journal-not-writable"
    assert caught.value.message == "/dev/full cannot be written: No space left on device."


def test_a_file_that_was_removed_is_noticed_when_it_must_be_safe(log: Path) -> None:
    with Appender(log) as writer:
        writer.append(OK)
        writer.sync()
        log.unlink()

        with pytest.raises(GziaError) as caught:
            writer.sync()

    assert caught.value.message == f"{log} cannot be written: it was removed."


def directory(path: Path) -> None:
    path.mkdir()


def link_elsewhere(path: Path) -> None:
    path.symlink_to(path.with_name("victim"))


@pytest.mark.parametrize("make", [directory, link_elsewhere])
def test_only_a_file_of_its_own_is_written(log: Path, make: Callable[[Path], None]) -> None:
    make(log)

    with pytest.raises(GziaError) as caught:
        Appender(log)

    assert caught.value.code == "journal-not-writable"
    assert not log.with_name("victim").exists()


def test_a_directory_in_its_place_cannot_be_read(log: Path) -> None:
    log.mkdir()

    for look in (lambda: list(jsonl.read(log)), lambda: jsonl.last(log)):
        with pytest.raises(GziaError) as caught:
            look()
        assert caught.value.code == "journal-not-readable"


# --- reading ---------------------------------------------------------------------------------------------------------


def test_a_missing_file_has_no_lines(log: Path) -> None:
    assert list(jsonl.read(log)) == []
    assert jsonl.last(log) is None


def test_an_unfinished_line_is_not_read_until_it_is_finished(log: Path) -> None:
    log.write_bytes(OK + b'{"seq":4')
    before = list(jsonl.read(log))

    with log.open("ab") as file:
        file.write(b"}\n")

    assert [line.end for line in before] == [20, 40, len(OK)]
    assert [line.value for line in jsonl.read(log, before[-1].end)] == [{"seq": 4}]


def test_reading_from_a_cursor_gives_the_rest_and_past_the_end_nothing(log: Path) -> None:
    log.write_bytes(OK)

    assert [line.offset for line in jsonl.read(log, 20)] == [20, 40]
    assert list(jsonl.read(log, len(OK))) == []
    assert list(jsonl.read(log, 10**9)) == []


@pytest.mark.parametrize(
    "raw",
    [
        b"[]\n", b"null\n", b"3\n", b'"text"\n', b"{not json\n", b'{"a":NaN}\n', b'{"a":"\xc3"}\n', b"\0\0\n",
        b'{"a":1}}\n', b"[" * 100_000 + b"\n", b'{"a":' + b"9" * 5000 + b"}\n", '{"a":1}'.encode("utf-16") + b"\n",
    ],
    ids=lambda raw: repr(raw[:12]),
)  # fmt: skip
def test_what_is_not_a_json_object_is_damaged_and_the_next_line_is_not(log: Path, raw: bytes) -> None:
    log.write_bytes(raw + NEW)

    first, *_, second = jsonl.read(log)

    assert first.value is None
    assert second.value == {"seq": 9, "t": "next"}


def test_empty_lines_are_nothing(log: Path) -> None:
    log.write_bytes(b"\n\r\n" + NEW[:-1] + b"\r\n  \n")

    assert [(line.offset, line.value) for line in jsonl.read(log)] == [(3, json.loads(NEW))]


def test_a_line_beyond_the_limit_is_damage_of_known_length_and_not_handed_out(log: Path) -> None:
    log.write_bytes(OK)
    os.truncate(log, len(OK) + jsonl.MAX_LINE + 5)  # a hole: costs no disk
    with log.open("ab") as file:
        file.write(b"\n" + NEW)
    end = len(OK) + jsonl.MAX_LINE + 6

    assert list(jsonl.read(log, len(OK))) == [
        Line(len(OK), end, None, b""),
        Line(end, end + len(NEW), {"seq": 9, "t": "next"}, NEW),
    ]


def test_a_line_beyond_the_limit_that_is_not_finished_is_not_read(log: Path) -> None:
    log.write_bytes(OK)
    os.truncate(log, len(OK) + jsonl.MAX_LINE + 5)

    assert seqs(log) == [1, 2, 3]


def test_the_last_intact_line_is_found_from_the_end(log: Path) -> None:
    log.write_bytes(OK + b"{bad\n" + b"\xff\n" + b'{"torn')

    assert jsonl.last(log) == Line(40, len(OK), {"seq": 3, "t": "café"}, OK[40:])


def test_the_last_line_may_be_longer_than_a_chunk_or_the_only_one(log: Path) -> None:
    long = jsonl.dump({"t": "x" * (2 * jsonl.CHUNK)})
    log.write_bytes(long)

    assert jsonl.last(log) == Line(0, len(long), jsonl.parse(long), long)


def test_a_file_of_damage_only_has_no_last_line(log: Path) -> None:
    log.write_bytes(b"\n{bad\n\xff\n")

    assert jsonl.last(log) is None
