"""A Python on the host that runs our small programs."""

from __future__ import annotations

from collections.abc import Sequence

from eagletui.host import shell
from eagletui.host.base import Host

# The system's own first: a shim of a version manager costs a fifth of a second each time.
_USUAL = ("/usr/bin/python3", "python3", "/usr/local/bin/python3")
_FIND = r"""
for p in "$@"; do
  command -v "$p" >/dev/null 2>&1 || continue
  "$p" -I -S -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null && exec echo "$p"
done
exit 127
"""


async def find_python(host: Host, more: Sequence[str] = ()) -> str:
    """The first interpreter of 3.8 or later; "" where there is none.

    Args:
        more: to try after the usual ones, the server's for one.

    Raises:
        HostError: the host did not answer.
    """
    absolute = [path for path in more if path.startswith("/")]
    done = await host.run(shell.script(_FIND, *_USUAL, *absolute), timeout=20.0)
    return done.stdout.decode("utf-8", "replace").strip() if done.ok else ""
