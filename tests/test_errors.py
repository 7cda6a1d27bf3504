"""One manner for everything that a person can act on: how its sentence ends, and how its hint begins and ends."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from gzia import errors

PACKAGE = Path(__file__).parent.parent / "gzia"
KINDS = {"GziaError", *(kind.__name__ for kind in errors.GziaError.__subclasses__())}

Parts = list[str | ast.FormattedValue]
Names = dict[str, list[ast.expr]]


def offences(source: str) -> list[tuple[int, str]]:
    """Line and reason, for each error made in ``source`` that clearly breaks the rule told in gzia/errors.py."""
    tree = ast.parse(source)
    scopes = [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))]
    owner = {
        call: scope for scope in scopes for call in ast.walk(scope) if isinstance(call, ast.Call) and _is_error(call)
    }
    names = {scope: _named([*tree.body, *ast.walk(scope)]) for scope in scopes}
    return sorted((call.lineno, why) for call, scope in owner.items() for why in _wrong(call, names[scope]))


def _is_error(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id in KINDS


def _named(nodes: Iterable[ast.AST]) -> Names:
    """Every value that a name gets here, so that ``hint = "…"`` counts where ``hint`` is given."""
    found: Names = {}
    for node in dict.fromkeys(nodes):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node.value)
    return found


def _wrong(call: ast.Call, names: Names) -> Iterator[str]:
    given = dict(zip(("code", "message", "hint"), call.args, strict=False))
    given |= {word.arg: word.value for word in call.keywords if word.arg}
    if "hint" not in given:
        yield "it has no hint"
    for text in _texts(given.get("message"), names):
        yield from _wrong_message(text)
    for text in _texts(given.get("hint"), names):
        yield from _wrong_hint(text)


def _texts(value: ast.expr | None, names: Names) -> Iterator[Parts]:
    """The texts that can be seen to be meant, each as what is written and what is filled in."""
    match value:
        case ast.Constant(value=str(text)):
            yield [text]
        case ast.JoinedStr(values=parts):
            yield [str(part.value) if isinstance(part, ast.Constant) else part for part in parts]  # type: ignore[misc]
        case ast.IfExp(body=one, orelse=other):
            yield from _texts(one, names)
            yield from _texts(other, names)
        case ast.Name(id=name):
            for assigned in names.get(name, []):
                yield from _texts(assigned, {})
        case _:
            pass  # made elsewhere


def _wrong_message(parts: Parts) -> Iterator[str]:
    last, before = parts[-1], parts[-2] if len(parts) > 1 else ""
    if isinstance(last, str) and not last.endswith((".", "?", "!")):
        yield "its message ends without a full stop"
    if not isinstance(last, str) and isinstance(before, str) and before.endswith(" ") and not before.endswith(": "):
        yield "its message ends without a full stop, and no colon says that another program is quoted"
    if _is_repr(parts):
        yield "its message quotes like Python"


def _wrong_hint(parts: Parts) -> Iterator[str]:
    first, last = parts[0], parts[-1]
    if not first:
        yield "its hint is empty"
    if isinstance(first, str) and first[:1].isupper() and first.split()[0][1:].islower():
        yield "its hint begins with a capital letter"
    if isinstance(last, str) and last.rstrip().endswith(".") and not last.endswith("…"):
        yield "its hint ends with a full stop"
    if any(isinstance(part, str) and "`" in part for part in parts):
        yield "its hint has a backtick"
    if _is_repr(parts):
        yield "its hint quotes like Python"


def _is_repr(parts: Parts) -> bool:
    return any(isinstance(part, ast.FormattedValue) and part.conversion == ord("r") for part in parts)


def test_every_error_speaks_in_one_manner() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE.parent)}:{line}: {why}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, why in offences(path.read_text(encoding="utf-8"))
    ]

    assert not wrong, "\n".join(wrong)


GOOD = """
def f(name, error, count, wanted):
    hint = "see gzia list" if count else "GZIA_AGENT names it"
    GziaError("a", "All is lost.", hint)
    UsageError("a", f"{name} cannot be read: {error}", f"look at it with: ls {name}")
    ConflictError("a", name, hint=wanted(name), data={})
"""


def test_what_keeps_the_rule_is_left_alone() -> None:
    assert offences(GOOD) == []


@pytest.mark.parametrize(
    ("error", "why"),
    [
        ('("a", "All is lost.")', "it has no hint"),
        ('("a", "All is lost.", "")', "its hint is empty"),
        ('("a", "All is lost.", "Try again")', "its hint begins with a capital letter"),
        ('("a", "All is lost.", f"Try {x} again")', "its hint begins with a capital letter"),
        ('("a", "All is lost.", "try again.")', "its hint ends with a full stop"),
        ('("a", "All is lost.", hint="try again" if x else "give up.")', "its hint ends with a full stop"),
        ('("a", "All is lost.", f"try `ls {x}`")', "its hint has a backtick"),
        ('("a", "All is lost.", f"try {x!r}")', "its hint quotes like Python"),
        ('("a", "All is lost", "try again")', "its message ends without a full stop"),
        ('("a", f"{x!r} is lost.", "try again")', "its message quotes like Python"),
        (
            '("a", f"Lost is {x}", "try again")',
            "its message ends without a full stop, and no colon says that another program is quoted",
        ),
    ],
)
def test_what_breaks_the_rule_is_noticed(error: str, why: str) -> None:
    assert offences(f"raise GziaError{error}") == [(1, why)]


def test_a_text_with_a_name_is_looked_at_where_it_is_made() -> None:
    source = 'def f():\n    hint = "Try again."\n    raise NotFoundError("a", "Gone.", hint)\n'

    assert offences(source) == [
        (3, "its hint begins with a capital letter"),
        (3, "its hint ends with a full stop"),
    ]
