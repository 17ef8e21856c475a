"""Argument vectors and small scripts, carried to any login shell unharmed.

The login shell (bash, fish, csh, …) only ever sees one constant command; what is to be run
arrives as the first line of standard input and is read by `/bin/sh`. So no quoting rule but
that of POSIX sh matters, and a shell can be started before it is known what it will run.
"""

from __future__ import annotations

from collections.abc import Sequence

LAUNCHER = "exec /bin/sh -c 'IFS= read -r c; eval \"$c\"'"

# A client that is gone without a word (suspended, unplugged) renews no lease. Where there is no
# `timeout`, only the end of the connection ends the command.
LEASE_SECONDS = 60
RENEW_SECONDS = 15

_LEASE = """\
lease() {
  if timeout 5 true 2>/dev/null; then
    while [ -n "$(timeout LEASE dd bs=1 count=1 2>/dev/null)" ]; do :; done
  else
    cat >/dev/null
  fi
}
"""

_GUARD = """\
exec 3<&0 </dev/null
"$@" 3<&- & p=$!
( lease <&3; kill -TERM $p; sleep 1; kill -KILL $p ) >/dev/null 2>&1 & w=$!
exec 3<&-
wait $p; s=$?
kill -KILL $w 2>/dev/null
exit $s
"""


def quote(word: str) -> str:
    """One word for POSIX sh, on one line: `$n` holds a newline there."""
    if "\0" in word:
        raise ValueError("an argument cannot hold a NUL")
    return "'" + word.replace("'", "'\\''").replace("\n", "'\"$n\"'") + "'"


def first_line(argv: Sequence[str], token: str) -> bytes:
    """The line for the launcher: it answers `TOKEN PID` and becomes the command.

    What a login script prints before the token is not the command's output.
    """
    words = " ".join(quote(word) for word in argv)
    line = f"n=$(printf '\\nx');n=${{n%x}};echo {token} $$;exec {words}\n"
    return line.encode("utf-8", "surrogateescape")


def script(text: str, *arguments: str) -> list[str]:
    """The argument vector that runs a script with `$1`, `$2`, …"""
    return ["/bin/sh", "-c", text, "sh", *arguments]


def guarded(argv: Sequence[str], *, seconds: int = LEASE_SECONDS) -> list[str]:
    """A command that ends when its standard input ends or nobody renews its lease."""
    return script(with_lease(_GUARD, seconds=seconds), *argv)


def with_lease(text: str, *, seconds: int = LEASE_SECONDS) -> str:
    """A script that may call `lease`, which returns when nobody listens any more."""
    return _LEASE.replace("LEASE", str(seconds)) + text
