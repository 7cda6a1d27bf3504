"""``gzia`` alone: what is here, and three things to try."""

from __future__ import annotations

import argparse

from gzia.agents.base import AgentSpec
from gzia.cli import sessions, settings
from gzia.cli.output import Output
from gzia.session.service import Service
from gzia.version import VERSION


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None."""


def run(args: argparse.Namespace) -> int:
    """Print the orientation."""
    service = Service(args.directory)
    specs = settings.load(args.directory, root=service.root).registry().specs.values()
    found = [spec for spec in specs if spec.located()]
    running = [record for record in service.list().records if record.status == "running"]
    tries = _tries(found, running[-1].id if running else None)
    if args.json:
        args.out.document(
            {
                "version": VERSION,
                "agents": [spec.id for spec in found],
                "running": [sessions.document(record, service) for record in running],
                "try": tries,
            }
        )
        return 0
    out: Output = args.out
    out.line((f"gzia {VERSION}", "bold"), " runs coding agents in worktrees of their own.")
    out.line("Agents here:  ", ", ".join(spec.id for spec in found))
    if running:
        out.line("Running here:")
        sessions.table(running, service, out)
    out.line("Try:")
    for each in tries:
        out.line("  ", (each, "cyan"))
    return 0


def _tries(found: list[AgentSpec], running: str | None) -> list[str]:
    """Three commands: run an agent that is here, look at what runs, read on."""
    real = next((spec.id for spec in found if not spec.module), "demo")
    return [
        f'gzia run -a {real} "fix the failing test"',
        f"gzia diff {running}" if running else "gzia list",
        "gzia --help",
    ]
