"""The commands: name -> (module, what it does).  Help and completion need no command module to be imported.

A command module has ``add_arguments(parser)`` and ``run(args) -> int``, which returns the exit status.  ``args`` is the
parsed command line with, besides the command's own arguments, ``out`` (an ``Output``), ``directory`` (where to work, an
absolute Path), ``json`` and ``verbose``.  A name of two words is found by its two words.
"""

from __future__ import annotations

HOME = ("gzia.cli.home", "say what is here: agents, running sessions, what to try")

COMMANDS: dict[str, tuple[str, str]] = {
    "agents": ("gzia.cli.agents", "list the agents, or tell what one of them does at each permission level"),
    "run": ("gzia.cli.run", "run one turn of an agent in a session of its own"),
    "resume": ("gzia.cli.resume", "go on with a session: the turns that wait there, then a new one"),
    "list": ("gzia.cli.list", "list the sessions of this project"),
    "show": ("gzia.cli.show", "show one session's record"),
    "path": ("gzia.cli.path", "print the directory in which a session works"),
    "diff": ("gzia.cli.diff", "show what a session changed"),
    "read": ("gzia.cli.read", "show a session's conversation and its changes together"),
    "watch": ("gzia.cli.watch", "show what happens in a session, as it happens"),
    "merge": ("gzia.cli.merge", "bring a session's changes into the branch that is checked out here"),
    "wait": ("gzia.cli.wait", "wait until sessions are idle, need an answer, or are done"),
    "steer": ("gzia.cli.steer", "put a message into the turn that runs"),
    "cancel": ("gzia.cli.cancel", "stop the turn that runs and drop those that wait"),
    "kill": ("gzia.cli.kill", "end a session's agent and everything that it started"),
    "delete": ("gzia.cli.delete", "remove sessions with their worktrees and branches"),
    "events": ("gzia.cli.events", "print a session's action events"),
    "log": ("gzia.cli.log", "add an action event to a session"),
    "acp serve": ("gzia.cli.acp_serve", "be an agent for an editor, over ACP on standard input and output"),
    "acp attach": ("gzia.cli.acp_attach", "join a running session as an editor, on standard input and output"),
    "config": ("gzia.cli.config", "read and change the settings"),
    "completion": ("gzia.cli.completion", "print a completion script for bash, zsh or fish"),
}

ALIASES = {"get": "merge"}

GROUPS = {name.split()[0] for name in COMMANDS if " " in name}

GLOBAL_OPTIONS = (
    ("--json", "print JSON only: one document, or one object a line"),
    ("-C DIR", "work as if started in DIR"),
    ("--color WHEN", "auto, always or never"),
    ("-v", "log to standard error"),
    ("--version", "print the version"),
    ("-h, --help", "print this page, or a command's own"),
)


def help_page(group: str = "") -> str:
    """The page of ``gzia --help``, or of a group of commands such as ``acp``."""
    names = [name for name in COMMANDS if name.split()[0] == group or not group]
    commands = "\n".join(f"  {name:<13} {COMMANDS[name][1]}" for name in names)
    options = "\n".join(f"  {flags:<13} {meaning}" for flags, meaning in GLOBAL_OPTIONS)
    return (
        "Usage: gzia [options] [command] [arguments]\n\n"
        "Runs coding agents in worktrees of their own, for a person, an editor and a script.\n\n"
        f"Commands:\n{commands}\n\nOptions, before or after the command:\n{options}\n\n"
        "Run “gzia COMMAND --help” for one command.\n"
    )
