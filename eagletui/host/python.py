"""A Python on the host that runs our small programs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from eagletui.host import shell
from eagletui.host.base import Host

# The system's own first: a shim of a version manager costs a fifth of a second each time.
USUAL = ("/usr/bin/python3", "python3", "/usr/local/bin/python3")
IS_NEW = "import sys; sys.exit(sys.version_info < (3, 8))"
_NAME = re.compile(r"python(?:\d+(?:\.\d+)*)?")
_FIND = r"""
new=$1; shift
for p in "$@"; do
  command -v "$p" >/dev/null 2>&1 || continue
  "$p" -I -S -c "$new" 2>/dev/null && exec echo "$p"
done
exit 127
"""


def interpreters(more: Sequence[str] = ()) -> tuple[str, ...]:
    """What may be tried as a Python, in order.

    Args:
        more: to try after the usual ones, the server's for one. What is not called python is left
            out: a person's script, for one, would do its own thing.
    """
    known = (path for path in more if path.startswith("/"))
    return (*USUAL, *(path for path in known if _NAME.fullmatch(posixpath.basename(path))))


async def find_python(host: Host, more: Sequence[str] = ()) -> str:
    """The first of `interpreters` that is 3.8 or later; "" where there is none.

    Raises:
        HostError: the host did not answer.
    """
    done = await host.run(shell.script(_FIND, IS_NEW, *interpreters(more)), timeout=20.0)
    return done.stdout.decode("utf-8", "replace").strip() if done.ok else ""
