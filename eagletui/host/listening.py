"""Who listens on a server's port, as `/proc` shows it: the server itself, or another process."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterable, Mapping

from eagletui.host import shell
from eagletui.host.base import Host
from eagletui.model.base import Data

# The table of the server's own network namespace begins with the sockets that listen (state 0A).
# A socket is a process's when one of its descriptors, or of its children's, leads to it.
_SCRIPT = r"""
LC_ALL=C; export LC_ALL
suspects=$1; shift
cd /proc || exit 1
holder() { find "$@" -maxdepth 1 -lname "socket:\\[$inode\\]" 2>/dev/null | head -n 1; }
for asked; do
  p=${asked%:*}
  ls $p/fd >/dev/null 2>&1 || continue
  echo "seen $p"
  own=$(printf '%s/fd ' $p $(cat $p/task/*/children 2>/dev/null))
  for table in tcp tcp6; do
    sed -n '1d; / 0A /!q; /:'${asked#*:}' [0-9A-F]*:0000 0A /p' $p/net/$table 2>/dev/null
  done | while read -r _ local _ _ _ _ _ _ _ inode _; do
    if [ -n "$(holder $own)" ]; then who=$p; else
      who=$(holder $(printf '%s/fd ' $suspects))
      who=${who%%/*}
    fi
    echo "listens $p ${local%:*} ${who:-0}"
  done
done
"""


class Listener(Data, frozen=True):
    """A socket that listens on a server's port; `pid` is who holds it, 0 where nobody knows."""

    address: str
    pid: int


async def listeners(
    host: Host, ports: Mapping[int, int], suspects: Iterable[int] = ()
) -> dict[int, tuple[Listener, ...]]:
    """What listens on the ports of these servers, as each one's network sees it.

    Args:
        ports: pid of a server → its port.
        suspects: processes that may be who holds a port that a server does not.

    Returns:
        By the server's pid. One whose files may not be read is missing: of it nothing is known.

    Raises:
        HostError: the host runs no commands.
    """
    asked = [f"{pid}:{port:04X}" for pid, port in ports.items()]
    done = await host.run(shell.script(_SCRIPT, " ".join(map(str, suspects)), *asked))
    return read_listeners(done.stdout)


def read_listeners(answer: bytes) -> dict[int, tuple[Listener, ...]]:
    """The script's answer; a line that is not understood is left out."""
    found: dict[int, tuple[Listener, ...]] = {}
    for line in answer.decode("ascii", "replace").splitlines():
        word, *values = line.split() or [""]
        if not all(value.isalnum() for value in values):
            continue
        if word == "seen" and len(values) == 1 and _is_pid(values[0]):
            found.setdefault(int(values[0]), ())
        elif word == "listens" and len(values) == 3 and _is_pid(values[0]) and _is_pid(values[2]):
            pid, address = int(values[0]), _address(values[1])
            if address:
                listener = Listener(address=address, pid=int(values[2]))
                found[pid] = (*found.get(pid, ()), listener)
    return found


def listens(pids: Collection[int], there: Iterable[Listener]) -> bool:
    """Whether a server, given with its workers, holds one of these sockets itself."""
    return any(listener.pid in pids for listener in there)


def stranger(pids: Collection[int], host: str, there: Iterable[Listener]) -> int | None:
    """The process that answers at a server's address in its place; None where none is known.

    A socket that nobody is known to hold may be the server's own, in a process not thought of.

    Args:
        pids: the server and its workers.
        host: the address it is asked at.
    """
    others = (listener for listener in there if listener.pid and _answers(listener.address, host))
    return None if listens(pids, there) else next((other.pid for other in others), None)


def _answers(address: str, host: str) -> bool:
    """Whether a socket bound to an address takes connections to a host."""
    return ipaddress.ip_address(address).is_unspecified or address == host.strip("[]")


def _is_pid(text: str) -> bool:
    return text.isdecimal() and text.isascii() and len(text) < 10


def _address(text: str) -> str:
    """`0100007F` → 127.0.0.1: words of the machine's byte order, which is little endian."""
    try:
        raw = bytes.fromhex(text)
        words = [raw[at : at + 4][::-1] for at in range(0, len(raw), 4)]
        return str(ipaddress.ip_address(b"".join(words)))
    except ValueError:
        return ""
