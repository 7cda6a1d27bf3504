#!/bin/sh
# What can be done with a checkout.  Needs Python 3.11 or newer with its venv module, and git; the rest is fetched, as
# locked in gzia/packaging/locks, into .cache.
usage="Usage: ./build.sh [COMMAND]

  (none)      make dist/gzia, unless it is up to date
  demo        make it and show what it does, in a throw-away repository
  test        all checks and tests; arguments go to pytest
  test-long   the tests with the full counts
  test-real   the tests with real agents
  bench       measure; arguments name benches
  lock        ask PyPI for newer dependencies and write gzia/packaging/locks"

set -eu
cd "$(dirname "$0")"
umask 022
cache=$PWD/.cache
mkdir -p "$cache"

# Whatever a tool keeps is kept in .cache, and the caller's Python settings do not reach the build.
unset PYTHONHOME PYTHONPATH PYTHONSTARTUP PYTHONOPTIMIZE PYTHONWARNINGS PYTHONDONTWRITEBYTECODE PYTHONSAFEPATH PIP_TARGET
export PYTHONPYCACHEPREFIX="$cache/bytecode" PIP_USER=0 RUFF_CACHE_DIR="$cache/ruff" MYPY_CACHE_DIR="$cache/mypy"
export HYPOTHESIS_STORAGE_DIRECTORY="$cache/hypothesis"

fail() {
	printf 'build.sh: %s\n' "$1" >&2
	exit 1
}

# How a program that is missing is installed here: as Debian calls it, as others do.
install_command() {
	for how in "apt-get install $1" "dnf install $2" "pacman -S $2" "apk add $2" "brew install $2"; do
		command -v "${how%% *}" >/dev/null 2>&1 && echo "$how" && return
	done
	echo "ask your system's package manager for $2"
}

# The first Python whose version fits a condition, as its own path: version managers' shims cost a start each time.
find_python() {
	condition=$1
	if [ -n "${GZIA_PYTHON-}" ]; then
		set -- "$GZIA_PYTHON"
	else
		set -- python3 python3.13 python3.12 python3.11 python3.14 python3.15
	fi
	for candidate; do
		"$candidate" -c "import sys; $condition or sys.exit(1); print(sys.executable)" 2>/dev/null && return
	done
	return 1
}

# The environment with what is locked under a name, made if it is not there: prints its Python.
environment() {
	case $1 in
	dev) fits="(3, 11) <= sys.version_info < (3, 15)" wanted="Python 3.11 to 3.14" ;;
	*) fits="(3, 11) <= sys.version_info" wanted="Python 3.11 or newer" ;;
	esac
	python=$(find_python "$fits") || fail "${GZIA_PYTHON:-what is in PATH} is not $wanted;\
 install it: $(install_command python3 python3), or name it: GZIA_PYTHON=/path/to/python3.11"
	lock=gzia/packaging/locks/$1.txt
	id=$("$python" -c "$digest" "$lock" with)
	venv=$cache/$1-$id
	if [ ! -e "$venv/complete" ]; then
		"$python" -c 'import ensurepip, venv' 2>/dev/null ||
			fail "$python has no venv module; install it: $(install_command python3-venv python3)"
		echo "build.sh: fetching what $lock lists" >&2
		rm -rf "$venv"
		{ "$python" -m venv "$venv" &&
			"$venv/bin/python" -m pip install $pip_options --requirement "$lock" >&2 &&
			touch "$venv/complete"; } || fail "$venv could not be made"
	fi
	echo "$venv/bin/python"
}

# Names a lock file's content in 12 characters; a second argument adds the Python that asks.
digest='import hashlib, sys
python = sys.version + sys.prefix if sys.argv[2:] else ""
print(hashlib.sha256(open(sys.argv[1], "rb").read() + python.encode()).hexdigest()[:12])'
pip_options="--quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all:"

build() {
	command -v git >/dev/null 2>&1 || fail "git is missing; install it: $(install_command git git)"
	builder=$(environment build)
	lock=gzia/packaging/locks/runtime.txt
	dependencies=$cache/dependencies-$("$builder" -c "$digest" "$lock").pyz
	if [ ! -e "$dependencies" ]; then
		"$builder" -m shiv --reproducible --output-file "$dependencies.new" $pip_options --requirement "$lock" >&2 &&
			mv "$dependencies.new" "$dependencies" || fail "shiv could not lay out what $lock lists"
	fi
	"$builder" -m gzia.packaging.pack "$dependencies" dist/gzia
}

# The tests run programs from this checkout that keep no promise about caches.  The many short ones share the processors;
# the long ones and those with real agents watch the clock and each other's machine.
run_tests() {
	build
	dev=$(environment dev)
	trap 'find gzia tests -type d -name __pycache__ -prune -exec rm -rf {} +' EXIT
	"$dev" -m gzia.packaging.checks protocol/acp/v1.json gzia/acp/_checks.py
	spread=
	if [ "$command" = test ]; then
		check
		spread="--numprocesses auto --dist worksteal"
	fi
	"$dev" -m pytest $spread -m "$@"
}

check() {
	"$dev" -m ruff format --check .
	"$dev" -m ruff check .
	"$dev" -m mypy
}

command=${1:-build}
[ $# -eq 0 ] || shift
case $command in
build)
	build
	;;
demo)
	build
	exec "$builder" -m gzia.packaging.demo dist/gzia
	;;
test)
	run_tests "not long and not real" "$@"
	;;
test-long)
	run_tests long "$@"
	;;
test-real)
	run_tests real "$@"
	;;
bench)
	build
	dev=$(environment dev)
	exec "$dev" -m tests.bench dist/gzia "$@"
	;;
lock)
	builder=$(environment build)
	exec "$builder" -m gzia.packaging.lock
	;;
help | -h | --help)
	echo "$usage"
	;;
*)
	echo "$usage" >&2
	exit 2
	;;
esac
