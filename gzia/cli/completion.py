"""``gzia completion SHELL``: a completion script, made from the commands and their parsers."""

from __future__ import annotations

import argparse
from dataclasses import replace

from gzia.cli import shells
from gzia.cli.arguments import parser_for
from gzia.cli.commands import ALIASES, COMMANDS, GROUPS

SCRIPTS = {"bash": shells.bash, "zsh": shells.zsh, "fish": shells.fish}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """SHELL."""
    parser.add_argument("shell", metavar="SHELL", choices=tuple(SCRIPTS), help="bash, zsh or fish")
    parser.epilog = (
        "bash: source <(gzia completion bash)\n"
        "zsh:  source <(gzia completion zsh), after compinit\n"
        "fish: gzia completion fish | source"
    )


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    script = SCRIPTS[args.shell]([start(), *groups(), *(described(name) for name in (*COMMANDS, *ALIASES))])
    if args.json:
        args.out.document({"shell": args.shell, "script": script})
    else:
        args.out.text(script)
    return 0


def start() -> shells.Command:
    """What can be typed after ``gzia`` itself: the commands, and the options that all of them take."""
    first = {name.split()[0]: COMMANDS[ALIASES.get(name, name)][1] for name in (*COMMANDS, *ALIASES)}
    return replace(described(""), operands=shells.Follow("words", first))


def groups() -> list[shells.Command]:
    """The first words of commands of two words, each with the second words."""
    return [
        shells.Command(group, (), shells.Follow("words", {
            name.split()[1]: summary for name, (_, summary) in COMMANDS.items() if name.startswith(f"{group} ")
        }))
        for group in sorted(GROUPS)
    ]  # fmt: skip


def described(name: str) -> shells.Command:
    """What can be typed after one command."""
    command = ALIASES.get(name, name)
    parser, _ = parser_for(command)
    options = tuple(
        shells.Option(tuple(action.option_strings), action.help or "", _follows(action))
        for action in parser.shown()
        if action.option_strings
    )
    operands = next((_follows(action) for action in parser.shown() if not action.option_strings), shells.NOTHING)
    return shells.Command(name, options, operands)


def _follows(action: argparse.Action) -> shells.Follow:
    """What follows an option or stands as an operand: by its choices, else by the name that stands for it."""
    if action.nargs == 0:
        return shells.NOTHING
    if action.choices:
        return shells.Follow("words", dict.fromkeys(map(str, action.choices), ""))
    kinds = {"ID": "sessions", "AGENT": "agents", "FILE": "files", "DIR": "folders"}
    return shells.Follow(kinds.get(str(action.metavar), "anything"))
