"""``gzia acp serve``: an ACP agent for an editor, on standard input and output."""

from __future__ import annotations

import argparse
import asyncio

from gzia.cli import faults, settings
from gzia.cli.run import add_agent_options, agent_of
from gzia.serve import stdio
from gzia.serve.options import Choices
from gzia.session.host import Host


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_agent_options(parser, "the agent that new sessions start with (see gzia agents)")
    parser.add_argument("--isolate", action="store_true", help="new sessions work in a worktree of their own")


def run(args: argparse.Namespace) -> int:
    """Serve until the editor goes away."""
    chosen = settings.load(args.directory)
    registry = chosen.registry()
    agent = agent_of(args, chosen, registry)
    choices = Choices(agent.id, args.isolate, str(args.permission or chosen.permission))
    return asyncio.run(stdio.serve(Host(registry), choices, faults.write_log))
