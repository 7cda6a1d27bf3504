"""Writes the dependency locks: every version pinned, every wheel that a supported machine may choose known by its hash.

``python -m gzia.packaging.lock`` (called by ``./build.sh lock``) asks PyPI, through pip, and rewrites ``locks/*.txt``:

- ``runtime``: what is shipped.  Pure Python only, so one wheel a package; NOT_SHIPPED says what is left out and why.
- ``build``: what lays the runtime out (shiv and what it needs).  Pure Python, so that any Python >= 3.11 can build.
- ``dev``: what the checks and tests need, for the Pythons and platforms of TARGETS.

The lists are installed with ``--no-deps --require-hashes``: what is not in a list is never fetched.  Run it with Python
3.11, the oldest one supported: pip evaluates environment markers for the Python that runs it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

PACKAGING = Path(__file__).parent
LOCKS = PACKAGING / "locks"
PYPROJECT = PACKAGING.parent.parent / "pyproject.toml"

NOT_SHIPPED = {
    "rpds-py": "compiled; gzia/packaging/rpds.py stands in",
    "pygments": "only for rich's highlighting of source text",
    "markdown-it-py": "only for rich's rendering of Markdown",
    "mdurl": "only for markdown-it-py",
}

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    "Linux x86_64": ("manylinux_2_28_x86_64", "manylinux2014_x86_64", "manylinux_2_12_x86_64"),
    "Linux aarch64": ("manylinux_2_28_aarch64", "manylinux2014_aarch64"),
    "macOS arm64": ("macosx_12_0_arm64", "macosx_11_0_arm64"),
    "macOS x86_64": ("macosx_11_0_x86_64", "macosx_10_12_x86_64", "macosx_10_9_x86_64"),
}

HEADER = "# Written by ./build.sh lock; do not edit.\n"

Report = list[dict[str, Any]]


def resolve(requirements: Iterable[str], *options: str) -> Report:
    """What pip would install, as its installation report says it; nothing is downloaded but metadata.

    Report format: https://pip.pypa.io/en/stable/reference/installation-report/
    """
    # Without the user's pip settings: a mirror's own builds would have other hashes than PyPI's.
    command = [sys.executable, "-m", "pip", "install", "--isolated", "--disable-pip-version-check", "--quiet"]
    command += ["--dry-run", "--ignore-installed", "--only-binary", ":all:", "--report", "-", *options, *requirements]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return list(json.loads(done.stdout)["install"])


def pins(report: Report) -> dict[str, str]:
    """Package name -> version."""
    return {each["metadata"]["name"].lower().replace("_", "-"): each["metadata"]["version"] for each in report}


def hashes(pinned: Mapping[str, str], targets: Iterable[tuple[str, ...]]) -> dict[str, set[str]]:
    """Package name -> the hashes of the wheels that pip chooses for any of ``targets`` (pip options)."""
    found: dict[str, set[str]] = {name: set() for name in pinned}
    for target in targets:
        report = resolve([f"{name}=={version}" for name, version in pinned.items()], "--no-deps", *target)
        for each, name in zip(report, pins(report), strict=True):
            found[name].add(each["download_info"]["archive_info"]["hashes"]["sha256"])
    return found


def every_target() -> list[tuple[str, ...]]:
    """pip's options for each supported Python on each supported platform."""
    return [
        ("--python-version", python, *(part for tag in tags for part in ("--platform", tag)), "--target", "unused")
        for python in PYTHONS
        for tags in PLATFORMS.values()
    ]


def text(pinned: Mapping[str, str], known: Mapping[str, set[str]]) -> str:
    """The lock as a pip requirements file."""
    return HEADER + "".join(
        " \\\n    ".join([f"{name}=={pinned[name]}", *(f"--hash=sha256:{digest}" for digest in sorted(known[name]))])
        + "\n"
        for name in sorted(pinned)
    )


def main() -> None:
    if sys.version_info[:2] != (3, 11):
        raise SystemExit("the lists are made with the oldest Python: GZIA_PYTHON=python3.11 ./build.sh lock")
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    groups = project["dependency-groups"]
    shipped = pins(resolve(project["project"]["dependencies"]))
    lists = {
        "runtime": {name: version for name, version in shipped.items() if name not in NOT_SHIPPED},
        "build": pins(resolve(groups["build"])),
        # The tests run on the very versions that are shipped.
        "dev": pins(resolve([*groups["dev"], *(f"{name}=={version}" for name, version in shipped.items())])),
    }
    for name, pinned in lists.items():
        targets = every_target() if name == "dev" else [()]
        (LOCKS / f"{name}.txt").write_text(text(pinned, hashes(pinned, targets)), encoding="utf-8")


if __name__ == "__main__":
    main()
