"""The agent of bench_steer: its turn lasts until it is cancelled, and it takes every steer.

    python steer_agent.py FILE

For each steer it writes the text and the nanoseconds of CLOCK_MONOTONIC at which it had read the frame into FILE.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

METHODS: dict[str, Any] = {
    "initialize": {"protocolVersion": 1, "agentCapabilities": {}, "_meta": {"steering": {"supported": True}}},
    "session/new": {"sessionId": "bench"},
    "_session/steering": {"outcome": "injected"},
}
UPDATE = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "working"}}


def main(file: str) -> None:
    prompt = None
    with Path(file).open("w", encoding="utf-8") as read_at:
        for line in sys.stdin.buffer:
            now = time.monotonic_ns()
            message = json.loads(line)
            match message["method"]:
                case "session/prompt":
                    prompt = message["id"]
                    say({"method": "session/update", "params": {"sessionId": "bench", "update": UPDATE}})
                case "session/cancel":
                    say({"id": prompt, "result": {"stopReason": "cancelled"}})
                case method:
                    say({"id": message["id"], "result": METHODS.get(method, {})})
                    if method == "_session/steering":
                        print(message["params"]["prompt"][0]["text"], now, file=read_at, flush=True)


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
