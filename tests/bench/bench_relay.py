"""A flood of small updates through ``gzia acp serve``, journal on, against proxies on the official SDKs.

The contenders are outside the project: a folder with ``compare.py``, its agent and proxies, named by GZIA_RELAY_BENCH
or found beside the checkout; the TypeScript proxy needs a folder with the npm package
@agentclientprotocol/sdk, named by SDK_DIR (else it is fetched).  Without the contenders the bench says so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.report import Gate, Report

ROUNDS = 5
UPDATES = 20_000
SDK = "@agentclientprotocol/sdk@2.4.0"
CHECKOUT = Path(__file__).parents[2]


def measure(file: Path) -> Report:
    folder = Path(os.environ.get("GZIA_RELAY_BENCH") or CHECKOUT.parent / "shared/bench/relay")
    if not (folder / "compare.py").exists():
        return Report("relay: skipped, there are no contenders here (GZIA_RELAY_BENCH)", ("",), (), ())
    with tempfile.TemporaryDirectory() as scratch:
        rows = run(folder, file, os.environ.get("SDK_DIR") or fetched(Path(scratch)))
    gates = (
        Gate("updates a second, gzia / plain batching loop", rows["floor"]["ratio_first_to_this"], 0.5, at_least=True),
        Gate(
            "updates a second, gzia / TypeScript SDK proxy",
            rows["typescript"]["ratio_first_to_this"],
            3.0,
            at_least=True,
        ),
        Gate("updates a second, gzia / Python SDK proxy", rows["python"]["ratio_first_to_this"], 3.0, at_least=True),
    )
    return Report(
        f"{UPDATES} updates of 80 bytes, medians of {ROUNDS} rounds in turns",
        ("contender", "updates/s", "initialize ms", "gzia / this"),
        tuple(
            (name, str(row["updates_per_s"]), f"{row['init_s'] * 1000:.0f}", f"{row['ratio_first_to_this']:.2f}")
            for name, row in rows.items()
        ),
        gates,
    )


def run(folder: Path, file: Path, sdk: str) -> dict[str, dict[str, float]]:
    """The comparison's own result: contender -> figures."""
    contenders = {
        "gzia": f"{file} acp serve -p autonomous --agent-command 'AGENT'",
        "floor": f"{sys.executable} {folder}/batch_floor.py AGENT",
        "typescript": f"node {folder}/peer_tssdk_proxy.mjs AGENT",
        "python": f"{sys.executable} {folder}/peer_pysdk_proxy.py AGENT",
    }
    command = [sys.executable, str(folder / "compare.py"), "--json", "--rounds", str(ROUNDS), "--n", str(UPDATES)]
    command += [f"{name}={line}" for name, line in contenders.items()]
    env = {**os.environ, "SDK_DIR": sdk, "GZIA_PYTHON": sys.executable}
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    found: dict[str, dict[str, float]] = json.loads(done.stdout)
    return found


def fetched(scratch: Path) -> str:
    """A folder with the TypeScript SDK, from npm."""
    subprocess.run(
        ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", scratch, SDK], check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return str(scratch)
