"""``gzia acp serve``: an ACP agent for an editor, on standard input and output."""

from __future__ import annotations

import argparse
import asyncio

from gzia.cli import faults, settings
from gzia.cli.run import agent_of
from gzia.driver.turn import PermissionLevel
from gzia.serve import stdio
from gzia.serve.options import Choices
from gzia.session.host import Host


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "-a", "--agent", metavar="AGENT", help="the agent that new sessions start with (see gzia agents)"
    )
    parser.add_argument("--agent-command", metavar="COMMAND", help="an ACP agent by its command line")
    parser.add_argument(
        "-p",
        "--permission",
        choices=[level.value for level in PermissionLevel],
        help="how much it may do without being asked",
    )
    parser.add_argument("--isolate", action="store_true", help="new sessions work in a worktree of their own")


def run(args: argparse.Namespace) -> int:
    """Serve until the editor goes away."""
    chosen = settings.load(args.directory)
    registry = chosen.registry()
    agent = agent_of(args, chosen, registry)
    choices = Choices(agent.id, args.isolate, str(args.permission or chosen.permission))
    return asyncio.run(stdio.serve(Host(registry), choices, faults.write_log))
