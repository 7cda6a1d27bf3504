#!/bin/sh
# gzia: this text finds a Python and hands the file over to it; a zip archive follows.  Made by ./build.sh.
# A process may read this text from one version of the file and then open the next one: `gzia_boot.main()` must stay.
p=${GZIA_PYTHON:-python3}
if [ -z "${GZIA_PYTHON-}" ] && ! command -v python3 >/dev/null 2>&1; then
	# Version managers put programs there that only say what is not installed: each must show that it runs.
	for n in 15 14 13 12 11 ''; do
		p=${n:+python3.$n}
		[ -n "$p" ] && command -v "$p" >/dev/null 2>&1 && "$p" -c '' >/dev/null 2>&1 && break
	done
elif ! command -v "$p" >/dev/null 2>&1; then
	echo "gzia: GZIA_PYTHON is $p, which is not a program" >&2
	exit 127
fi
[ -n "$p" ] && exec "$p" -I -S -X utf8 -c 'import sys
a = sys.argv
del a[0]
if sys.version_info < (3, 11):
    import os
    own = os.environ.get("GZIA_PYTHON")
    for p in [] if own else ["python3.%d" % n for n in (15, 14, 13, 12, 11)]:
        if os.system(p + " -c \"\" >/dev/null 2>&1") == 0:
            os.environ["GZIA_PYTHON"] = p
            os.execv("/bin/sh", ["sh"] + a)
    sys.stderr.write("gzia: needs Python 3.11 or newer; %s is %s (%s)\n" % (
        "GZIA_PYTHON" if own else "python3", sys.version.split()[0], sys.executable))
    sys.stderr.write("Hint: install one, or say where it is: GZIA_PYTHON=/path/to/python3.11\n")
    sys.exit(127)
import posix
f = 0
while f < 3:  # closed standard streams: the archive must not become one of them
    f = posix.open("/dev/null", 2)
posix.close(f)
z = "/proc/self/fd/%d" % posix.open(a[0], 0)
try:
    posix.stat(z)
except OSError:
    import os
    z = os.path.realpath(a[0])
sys.path[:0] = [z + "/" + sys.implementation.cache_tag, z + "/src"]
from gzia_boot import main
main()' "$0" "$@"
echo "gzia: needs Python 3.11 or newer, and there is no python3 in PATH" >&2
echo "Hint: install it, or say where it is: GZIA_PYTHON=/path/to/python3.11" >&2
exit 127
