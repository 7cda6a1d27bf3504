"""``gzia agents``: which agents there are, and what each permission level means to them."""

from __future__ import annotations

import argparse
import shlex

from gzia.agents.base import AgentSpec, summary
from gzia.cli import settings
from gzia.cli.output import Output

STEERED = {True: "yes", False: "no", None: "?"}
TAKES = {
    True: "yes, it takes messages into a running turn",
    False: "no, a message waits for the next turn",
    None: "not known before it runs",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """AGENT."""
    parser.add_argument("agent", nargs="?", metavar="AGENT", help="tell everything about this one")
    parser.add_argument("--names", action="store_true", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Print them all, or the one."""
    registry = settings.load(args.directory).registry()
    out: Output = args.out
    if args.names:
        out.text("".join(f"{id}\n" for id in registry.specs))
    elif args.agent:
        _one(registry.get(args.agent), out)
    elif args.json:
        out.document({"agents": [summary(spec) for spec in registry.specs.values()]})
    else:
        out.table(("AGENT", "NAME", "FOUND", "STEERED", "INSTALL"), [_row(spec) for spec in registry.specs.values()])
    return 0


def _row(spec: AgentSpec) -> list[str | tuple[str, str]]:
    found = ("yes", "green") if spec.located() else ("no", "dim")
    return [(spec.id, "bold"), spec.name, found, STEERED[spec.steering], "" if spec.located() else spec.install]


def _one(spec: AgentSpec, out: Output) -> None:
    if out.json:
        out.document(summary(spec))
        return
    out.line((spec.name, "bold"), f" ({spec.id})")
    out.line("found:     ", spec.located() or "no")
    out.line("driven:    ", "over ACP by " + shlex.join(spec.command))
    out.line("steered:   ", TAKES[spec.steering])
    if spec.install:
        out.line("install:   ", spec.install)
    for level, posture in spec.levels.items():
        out.line(f"{level}: {posture.note}")
