"""``gzia run``: turns of an agent in a session of its own, for a person or a script."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from gzia.agents.base import AgentSpec
from gzia.agents.registry import Registry, custom
from gzia.cli import detach, durations, sessions, settings
from gzia.cli.drive import Drive, Limits
from gzia.cli.feed import Feed
from gzia.cli.person import Person
from gzia.cli.transcript import QUEUED
from gzia.cli.views import Background, Quiet, Script, View
from gzia.cli.work import Turns, Work
from gzia.driver.turn import PermissionLevel
from gzia.errors import UsageError
from gzia.session.host import Host, Wanted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("prompt", nargs="?", help="what the agent shall do; - or nothing reads standard input")
    add_agent_options(parser, "which agent (see gzia agents)")
    parser.add_argument("--id", metavar="ID", help="the id of the new session")
    parser.add_argument("--base", metavar="REF", help="what the worktree starts from (default: HEAD)")
    parser.add_argument("--no-isolate", action="store_true", help="work in this checkout, without a worktree")
    parser.add_argument("--session", metavar="ID", help="the next turn of a session that exists")
    add_turn_options(parser)


def add_turn_options(parser: argparse.ArgumentParser) -> None:
    """What can be said about the turns of a session, new or not."""
    parser.add_argument("-f", "--file", metavar="FILE", help="read the prompt from FILE")
    parser.add_argument("--model", metavar="MODEL", help="which model, where the agent offers a choice")
    parser.add_argument(
        "--timeout", type=durations.seconds, metavar="TIME", help="end the turn after TIME, as in 90s or 5m"
    )
    parser.add_argument(
        "--idle-timeout", type=durations.seconds, metavar="TIME", help="end it after TIME without a sign"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print the final answer only")
    parser.add_argument("--detach", action="store_true", help="go on in the background once the agent has started")
    parser.add_argument(
        "--input",
        choices=("ndjson",),
        help="take prompts, steers, cancels and answers on standard input",
    )


def add_agent_options(parser: argparse.ArgumentParser, which: str) -> None:
    """What chooses an agent and its permission level; ``which`` is the help of ``--agent``."""
    levels = [level.value for level in PermissionLevel]
    parser.add_argument("-a", "--agent", metavar="AGENT", help=which)
    parser.add_argument("--agent-command", metavar="COMMAND", help="an ACP agent by its command line")
    parser.add_argument("-p", "--permission", choices=levels, help="how much it may do without being asked")


def run(args: argparse.Namespace) -> int:
    """Run the turn; the exit status of the table."""
    settled = (args.id, args.no_isolate, args.base, args.permission, args.agent and not args.agent_command)
    if args.session and any(settled):
        raise UsageError(
            "invalid-arguments",
            "--session goes on with what the session was begun with.",
            "leave the other options out",
        )
    check(args)
    if args.session:
        tell_of_held(args)
    chosen = settings.load(args.directory)
    prompt = read_input_prompt(args) if args.input else read_prompt(args)
    registry = chosen.registry()
    wanted = Wanted(
        args.directory,
        "" if args.session and not args.agent_command else agent_of(args, chosen, registry).id,
        PermissionLevel(args.permission or chosen.permission),
        isolate=not args.no_isolate,
        id=args.session or args.id or "",
        base=args.base or "HEAD",
        model=args.model or ("" if args.session else chosen.model) or "",
        prompt=prompt,
    )  # fmt: skip
    return carry_out(args, wanted, chosen, registry, again=bool(args.session))


def tell_of_held(args: argparse.Namespace) -> None:
    """A turn that an earlier process left waiting is run when somebody asks for that, not by the way."""
    with sessions.service_of(args) as service:
        waiting = service.ledger(service.get(args.session).id).waiting
    if waiting:
        count, them = ("1 turn waits", "it") if len(waiting) == 1 else (f"{len(waiting)} turns wait", "them")
        args.out.note(QUEUED, f" {count} in this session; this runs {them} first: gzia resume {args.session}")


def check(args: argparse.Namespace) -> None:
    """Refuse options that exclude each other; ``--input`` implies ``--json``."""
    if args.detach and (args.input or args.quiet):
        other = "--input" if args.input else "--quiet"
        raise UsageError(
            "invalid-arguments", f"--detach and {other} exclude each other.", "in the background nothing is printed"
        )
    if args.input:
        args.out.json = True


def carry_out(
    args: argparse.Namespace,
    wanted: Wanted,
    chosen: settings.Settings,
    registry: Registry,
    *,
    again: bool,
    held: bool = False,
) -> int:
    """Begin the session, or go on with it (``again``), and do what was asked for; ``held``: what waits there first."""
    limits = Limits(args.timeout or chosen.timeout, args.idle_timeout or chosen.idle_timeout)

    def done(view: View, work: Work) -> int:
        async def drive() -> int:
            return await Drive(Host(registry), view, limits, work).run(wanted, again=again)

        return asyncio.run(drive())

    if args.detach:
        return detach.run(
            lambda started: done(Background(), Turns(wanted.prompt, held=held, started=started)), args.out
        )
    if args.input:
        script = Script()
        return done(script, Feed(wanted.prompt, chosen.steer_fallback, script.problem, held=held))
    return done(view_of(args), Turns(wanted.prompt, held=held))


def agent_of(args: argparse.Namespace, chosen: settings.Settings, registry: Registry) -> AgentSpec:
    """The agent that was asked for, or the first real one that is installed."""
    if args.agent_command:
        spec = custom(args.agent_command, id=args.agent or "custom")
        registry.specs[spec.id] = spec
        return spec
    asked = args.agent or chosen.agent
    return registry.get(asked) if asked else registry.default()


def read_prompt(args: argparse.Namespace) -> str:
    """The prompt from the argument, the file or standard input; UsageError when it is empty."""
    if args.prompt is not None and args.file:
        raise UsageError("invalid-arguments", "The prompt was given twice.", "give it as an argument or with -f")
    if args.file:
        text = read_file(Path(args.file))
    elif args.prompt in (None, "-"):
        if args.prompt is None and sys.stdin.isatty():
            raise UsageError("no-prompt", "There is no prompt.", 'type gzia run "what to do"')
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    else:
        text = args.prompt
    if not text.strip():
        raise UsageError("no-prompt", "The prompt is empty.", 'type gzia run "what to do"')
    return text


def read_input_prompt(args: argparse.Namespace) -> str:
    """The prompt beside input lines, which have standard input to themselves; it may be left out."""
    if args.prompt == "-":
        message = "Standard input cannot hold the prompt and the input lines."
        raise UsageError("invalid-arguments", message, 'write the prompt as an input line: {"prompt": "…"}')
    return read_prompt(args) if args.prompt is not None or args.file else ""


def read_file(path: Path) -> str:
    """A prompt file as text."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(
            "prompt-file-unreadable", f"{path} cannot be read: {error.strerror}.", "check the name"
        ) from None


def view_of(args: argparse.Namespace) -> View:
    """How the turn is shown."""
    if args.out.json:
        return Script()
    return Quiet(args.out) if args.quiet else Person(args.out)
