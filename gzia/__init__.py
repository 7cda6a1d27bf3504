"""gzia runs coding agents for a person, an editor and a script.  This page is the map.

Rooms, from the bottom up; each may import only what tests/test_architecture.py lists for it:

errors       GziaError: code, sentence, hint, exit status
jsonrpc      PURE  bytes <-> messages, ids, what is in flight; knows no ACP
acp          PURE  the protocol's words and rules, both sides
driver       PURE  the contract between a session and whatever runs a turn
system       byte pumps, processes and their groups, atomic files, locks, clocks, paths
workspace    every git call: worktree, diff, merge, preserve
events       action events: model and append-only store
agents       one small module per agent program, and the registry
transports   one per kind of channel: runs a turn, yields observations
session      record, store, journal, Conversation (the live session), Service (the verbs)
serve        the ACP agent that an editor sees, and the door by which others join a session
cli          one file per command; the only room that prints
testing      the demo agent and scripted agents; nothing imports it, it is started as a process
packaging    what makes and starts the single file

Two walks worth knowing:

1. An editor's prompt: serve -> session.Conversation.prompt -> transports.acp -> the agent.  Back: bytes -> jsonrpc ->
   sequencer -> journal -> whoever reads the journal by cursor (serve, the terminal, a script).
2. `gzia run`: cli -> session.Service (worktree, record) -> the same Conversation, read by the terminal instead.

Decisions and their reasons: gzia/decisions.md.
"""
