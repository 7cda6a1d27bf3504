"""Commits made for the user: in their name, checked and signed as they want it, but never lost for it.

Signing comes last, as an amendment, so a signer that fails or waits for a passphrase nobody can type costs the
signature and nothing else.
"""

from __future__ import annotations

from gzia.errors import DeadlineError
from gzia.workspace.git import LOCKED, WORK, Answer, Git

NOBODY = ("user.name=gzia", "user.email=gzia@localhost")
NO_HOOKS = "core.hooksPath=/dev/null"

SPEECH = 300
"""Characters of what git or a hook said that an error repeats."""


def identity(git: Git) -> tuple[str, ...]:
    """Settings to commit with: none when the user has told git who they are.

    Otherwise gzia commits in its own name, instead of one that git would guess from the host.
    """
    strict = git.configured("user.useConfigOnly=true")
    known = all(strict.attempt("var", name).status == 0 for name in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"))
    return () if known else NOBODY


def commit(git: Git, message: str) -> str | None:
    """Commit the index with the user's hooks, unsigned; None when it went well, else why not."""
    return refusal(git, "commit", "--quiet", "--no-gpg-sign", "--message", message)


def save(git: Git, message: str, patience: float) -> tuple[str, ...]:
    """Commit the index, in spite of a hook that fails; notes for the user."""
    notes: tuple[str, ...] = ()
    if problem := commit(git, message):
        git.configured(NO_HOOKS).run("commit", "--quiet", "--no-gpg-sign", "--message", message, deadline=WORK)
        notes = (f"The session's changes were saved without your hooks, because: {problem}",)
    return notes + sign(git, patience)


def sign(git: Git, patience: float) -> tuple[str, ...]:
    """Sign the commit at HEAD if the user signs commits, within ``patience`` seconds; a note when it stays unsigned."""
    if git.attempt("config", "--type=bool", "--get", "commit.gpgSign").out.strip() != b"true":
        return ()
    problem = refusal(git.configured(NO_HOOKS), "commit", "--quiet", "--amend", "--no-edit", deadline=patience)
    return (f"The new commit is not signed, because: {problem}",) if problem else ()


def refusal(git: Git, *words: str, deadline: float = WORK) -> str | None:
    """Run ``git words…``; None when it went well, else why not, in one line."""
    try:
        answer = git.attempt(*words, deadline=deadline)
    except DeadlineError as problem:
        return problem.message
    return reason(answer) if answer.status else None


def reason(answer: Answer) -> str:
    """What git or a hook said last, in one line; of a long speech the last whole words."""
    if found := LOCKED.search(answer.err):
        return f"another git process is at work, or one died and left {found[1]}"
    said = " ".join((answer.err.strip() or answer.out.decode(errors="replace")).split())
    if len(said) > SPEECH:
        said = f"… {said[-SPEECH:].partition(' ')[2] or said[-SPEECH:]}"
    return said or f"exit status {answer.status}"
