"""``./build.sh bench [NAME…]``: run the benches and print their tables; status 1 when a gate is not passed.

    python -m tests.bench dist/gzia [NAME…]

A bench is a module ``tests/bench/bench_NAME.py`` with ``measure(file: Path) -> Report``; ``file`` is the built file.
Measure ratios between things that run in turns, never times alone: the machine has other work.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from tests.bench.report import Report

BENCHES = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))


def main(file: str, *names: str) -> int:
    if unknown := set(names) - set(BENCHES):
        print(f"no such bench: {', '.join(sorted(unknown))}; there are: {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    passed = True
    for name in names or BENCHES:
        report: Report = import_module(f"tests.bench.bench_{name}").measure(Path(file).resolve())
        print(*report.lines(), "", sep="\n", flush=True)
        passed = passed and all(gate.is_passed for gate in report.gates)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
