"""Completion scripts for bash (3.2 and later), zsh and fish.

One way in all three: find the command on the line, then offer its options after a dash, what the option before the
cursor takes, or what the command works on.  Names of sessions and agents are asked for when the key is pressed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Follow:
    """What can follow: ``kind`` is nothing, anything, words, sessions, agents, files or folders.

    ``words`` are the words with what each means (empty: it speaks for itself).
    """

    kind: str
    words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Option:
    """An option: its spellings, what it means, what follows it."""

    names: tuple[str, ...]
    meaning: str
    follow: Follow


@dataclass(frozen=True, slots=True)
class Command:
    """A command of no, one or two words (no word: none is typed yet), its options and what it works on."""

    name: str
    options: tuple[Option, ...]
    operands: Follow


NOTHING = Follow("nothing")

# Both lists are printed one name a line by hidden options of these commands.
ASK = {"sessions": "list --names", "agents": "agents --names"}


def bash(commands: Sequence[Command]) -> str:
    """The script for bash."""
    return _posix(commands, _BASH, {"words": 'compgen -W "{}" -- "$cur"', "files": 'compgen -f -- "$cur"',
                                    "folders": 'compgen -d -- "$cur"'})  # fmt: skip


def zsh(commands: Sequence[Command]) -> str:
    """The script for zsh."""
    return _posix(commands, _ZSH, {"words": "compadd -- {}", "files": "_files", "folders": "_files -/"})


def fish(commands: Sequence[Command]) -> str:
    """The script for fish."""
    lines = [_FISH.replace("@GROUPS@", " ".join(_groups(commands)) or "''")]
    for command in commands:
        here = f"complete -c gzia -n '__gzia_at \"{command.name}\"'"
        lines += [f"{here} {_fish_option(option)}" for option in command.options]
        lines += [f"{here} {each}" for each in _fish_operands(command.operands)]
    return "\n".join(lines) + "\n"


def _posix(commands: Sequence[Command], frame: str, ways: dict[str, str]) -> str:
    return (
        frame.replace("@CASES@", "\n".join(_case(command, ways) for command in commands))
        .replace("@GROUPS@", "|".join(_groups(commands)) or "''")
        .replace("@PATHS@", "|".join(_taking_paths(commands)) or "''")
    )


def _case(command: Command, ways: dict[str, str]) -> str:
    taking = [
        f"{'|'.join(option.names)}) {_way(option.follow, ways)} ;;"
        for option in command.options
        if option.follow.kind != "nothing"
    ]
    every = " ".join(name for option in command.options for name in option.names)
    inner = [
        *taking,
        f'*) case "$cur" in -*) {ways["words"].format(every)} ;; *) {_way(command.operands, ways)} ;; esac ;;',
    ]
    body = "\n".join(f"                {line}" for line in inner)
    return f'        "{command.name}")\n            case "$prev" in\n{body}\n            esac ;;'


def _way(follow: Follow, ways: dict[str, str]) -> str:
    if follow.kind in ASK:
        return ways["words"].format(f'$("$gzia" {ASK[follow.kind]} 2>/dev/null)')
    if follow.kind == "words":
        return ways["words"].format(" ".join(follow.words))
    return ways.get(follow.kind, ":")


def _fish_option(option: Option) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
    takes = "" if option.follow.kind == "nothing" else " -r " + _fish_follow(option.follow)
    return f"{names}{takes.rstrip()} -d {_quoted(option.meaning)}"


def _fish_operands(follow: Follow) -> list[str]:
    if follow.kind == "words":
        return [f"-a {word}" + (f" -d {_quoted(meaning)}" if meaning else "") for word, meaning in follow.words.items()]
    return [] if follow.kind in ("nothing", "anything") else [_fish_follow(follow)]


def _fish_follow(follow: Follow) -> str:
    if follow.kind in ASK:
        return f"-a '(__gzia_ask {ASK[follow.kind]})'"
    return {
        "words": f"-a '{' '.join(follow.words)}'",
        "files": "-F",
        "folders": "-a '(__fish_complete_directories)'",
    }.get(follow.kind, "")


def _taking_paths(commands: Iterable[Command]) -> list[str]:
    options = (option for command in commands for option in command.options)
    return list(
        dict.fromkeys(name for each in options if each.follow.kind in ("files", "folders") for name in each.names)
    )


def _groups(commands: Iterable[Command]) -> list[str]:
    return list(dict.fromkeys(command.name.split()[0] for command in commands if " " in command.name))


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_BASH = """\
# bash completion for gzia; load it with: source <(gzia completion bash)
_gzia_words() {
    local gzia="$1" name="$2" prev="$3" cur="$4"
    case "$name" in
@CASES@
    esac
}
_gzia() {
    local name="" i word IFS=$' \\t\\n'
    for ((i = 1; i < COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        case "$word" in
            -C|--color) ((i++)) ;;
            -*) ;;
            *) name="${name:+$name }$word"; case "$name" in @GROUPS@) ;; *) break ;; esac ;;
        esac
    done
    local found cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"
    found="$(_gzia_words "${COMP_WORDS[0]}" "$name" "$prev" "$cur")"
    case "$prev" in @PATHS@) compopt -o filenames 2>/dev/null ;; esac
    IFS=$'\\n'; COMPREPLY=($found)
}
complete -F _gzia gzia
"""

_ZSH = """\
#compdef gzia
# zsh completion for gzia; load it after compinit with: source <(gzia completion zsh)
_gzia() {
    local gzia="$words[1]" name="" prev="$words[CURRENT-1]" cur="$words[CURRENT]" word
    local -i i
    for ((i = 2; i < CURRENT; i++)); do
        word="$words[i]"
        case "$word" in
            -C|--color) ((i++)) ;;
            -*) ;;
            *) name="${name:+$name }$word"; case "$name" in @GROUPS@) ;; *) break ;; esac ;;
        esac
    done
    case "$name" in
@CASES@
    esac
}
compdef _gzia gzia
"""

_FISH = """\
# fish completion for gzia; load it with: gzia completion fish | source
function __gzia_at
    set -l name
    set -l words (commandline -opc)
    set -l i 2
    while test $i -le (count $words)
        switch $words[$i]
            case -C --color
                set i (math $i + 1)
            case '-*'
            case '*'
                set -a name $words[$i]
                contains -- "$name" @GROUPS@; or break
        end
        set i (math $i + 1)
    end
    test "$name" = "$argv[1]"
end
function __gzia_ask
    set -l words (commandline -opc)
    $words[1] $argv 2>/dev/null
end
complete -c gzia -f
"""
