"""``gzia resume ID [PROMPT]``: go on with a session: first the turns that still wait there, then a new one."""

from __future__ import annotations

import argparse

from gzia.cli import run as running
from gzia.cli import sessions, settings
from gzia.errors import UsageError
from gzia.session.host import Wanted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ID, the prompt and how to run it."""
    parser.add_argument("id", metavar="ID", help="the session")
    parser.add_argument("prompt", nargs="?", help="what the agent shall do then; - reads standard input")
    parser.add_argument("--agent-command", metavar="COMMAND", help="its agent, where gzia does not know it")
    running.add_turn_options(parser)
    parser.set_defaults(agent=None)


def run(args: argparse.Namespace) -> int:
    """Run them; the exit status is that of the last turn."""
    running.check(args)
    with sessions.service_of(args) as service:
        waiting = service.ledger(service.get(args.id).id).waiting
    prompt = read_prompt(args)
    if not (prompt or waiting or args.input):
        message = f"No turn of session {args.id} is waiting."
        raise UsageError("nothing-to-resume", message, f"say what to do: gzia resume {args.id} “…”")
    chosen = settings.load(args.directory)
    registry = chosen.registry()
    agent = running.agent_of(args, chosen, registry).id if args.agent_command else ""
    wanted = Wanted(args.directory, agent, id=args.id, model=args.model or "", prompt=prompt)
    return running.carry_out(args, wanted, chosen, registry, again=True, held=True)


def read_prompt(args: argparse.Namespace) -> str:
    """The prompt, which may be left out."""
    if args.input:
        return running.read_input_prompt(args)
    return running.read_prompt(args) if args.prompt is not None or args.file else ""
