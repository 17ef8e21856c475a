"""The small script that looks at a host's processes, and its answer taken apart.

One `grep` over every command line finds the candidates; only those are looked at closely, and
only once: a process that was seen before (same PID, same start) costs one small read.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from eagletui.host import shell
from eagletui.model.base import Data

_SCRIPT = r"""
LC_ALL=C; export LC_ALL
mark=$1 known=$2
field() { printf '\n%s %s %s\n' "$mark" "$1" "$2"; }
linked() { field "$1" "$2"; readlink "$3" 2>/dev/null || echo '?'; }

field system 0
read -r up _ </proc/uptime; echo "$up"
getconf CLK_TCK 2>/dev/null || echo 100
cd /proc || exit 1
set -- [0-9]*; echo $#

pipes=
for p in $(grep -l sglang [0-9]*/cmdline 2>/dev/null); do
  p=${p%/cmdline}
  [ "$p" != $$ ] || continue
  line=$(tr '\0' ' ' <$p/cmdline 2>/dev/null)
  case $line in
    sglang::*) kind=worker;;
    *launch_server*|*"sglang serve"*) kind=server;;
    *) continue;;
  esac
  read -r stat <$p/stat || continue
  field $kind $p; printf '%s\n' "$stat"
  if [ $kind = worker ]; then field title $p; printf '%s\n' "$line"; continue; fi
  case " $known " in *" $p "*) continue;; esac
  field argv $p; cat $p/cmdline
  field environ $p; cat $p/environ 2>/dev/null || printf '?'
  field owner $p; stat -c '%u %U' $p
  field cgroup $p; cat $p/cgroup 2>/dev/null
  linked cwd $p $p/cwd
  linked exe $p $p/exe
  linked fd1 $p $p/fd/1
  linked fd2 $p $p/fd/2
  for f in 1 2; do
    l=$(readlink $p/fd/$f 2>/dev/null)
    case $l in pipe:*) case " $pipes " in *" $l "*) ;; *) pipes="$pipes $l";; esac;; esac
  done
done

# Who reads those pipes as its input; and who reads what that one writes.
for depth in 1 2 3; do
  [ -n "$pipes" ] || break
  next=
  set --
  for l in $pipes; do
    n=${l#pipe:[}
    set -- "$@" -o -lname "pipe:\\[${n%]}\\]"
  done
  shift
  for f in $(find [0-9]*/fd/0 -maxdepth 0 \( "$@" \) 2>/dev/null); do
    p=${f%%/*}
    field reader $p; readlink $f || echo '?'
    o=$(readlink $p/fd/1 2>/dev/null) || o='?'
    printf '%s\n' "$o"
    readlink $p/cwd 2>/dev/null || echo '?'
    cat $p/cmdline
    case $o in pipe:*) next="$next $o";; esac
  done
  pipes=$next
done
field end 0
"""


class Field(Data, frozen=True):
    """One answer of the script: what it is, of which process, as bytes."""

    name: str
    pid: int
    value: bytes


class Stat(Data, frozen=True):
    """What `/proc/PID/stat` says of a process."""

    ppid: int
    pgid: int
    sid: int
    start_ticks: int


def command(known: Iterable[int]) -> tuple[list[str], str]:
    """The argument vector that looks, and the mark its answer is parted by.

    Args:
        known: processes that were looked at closely before; only their state is told.
    """
    mark = secrets.token_hex(12)
    return shell.script(_SCRIPT, mark, " ".join(map(str, known))), mark


def fields(answer: bytes, mark: str) -> list[Field]:
    """The script's answer taken apart; what is cut off or not understood is left out."""
    found: list[Field] = []
    for part in answer.split(f"\n{mark} ".encode())[1:]:
        head, newline, value = part.partition(b"\n")
        name, _, pid = head.partition(b" ")
        if newline and pid.isdigit():
            found.append(Field(name=name.decode("ascii", "replace"), pid=int(pid), value=value))
    return found


def parse_stat(value: bytes) -> Stat | None:
    """`/proc/PID/stat`; the name in parentheses may hold anything."""
    words = value.rpartition(b")")[2].split()
    try:
        return Stat(
            ppid=int(words[1]), pgid=int(words[2]), sid=int(words[3]), start_ticks=int(words[19])
        )
    except (IndexError, ValueError):
        return None


def words(value: bytes) -> tuple[str, ...]:
    """`/proc/PID/cmdline`: NUL after each word."""
    text = value.decode("utf-8", "replace")
    return tuple(text.removesuffix("\0").split("\0")) if text else ()


def link(value: bytes) -> str | None:
    """What a symbolic link says; None where it may not be read."""
    text = value.decode("utf-8", "replace").removesuffix("\n")
    return None if text == "?" else text
