"""The small script that looks at a host's processes, and its answer taken apart.

One `grep` over every command line finds the candidates, and one each reads what all of them are
called and when they started. Only what may be a server is looked at closely, and only once: to
start a command costs as much as to read a hundred files.
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
nl='
'
link() { field "$1" "$2"; printf '%s\n' "$3"; }
# links PID: where its folder, its program and its output are
links() {
  p=$1 IFS=$nl
  set -- $(readlink $p/cwd $p/exe $p/fd/1 $p/fd/2 2>/dev/null)
  unset IFS
  # One that may not be read is missing from the answer, and a name of two lines is one too many.
  if [ $# != 4 ]; then
    set --
    for f in cwd exe fd/1 fd/2; do
      l=$(readlink $p/$f 2>/dev/null) || l='?'
      set -- "$@" "$l"
    done
  fi
  link cwd $p "$1"; link exe $p "$2"; link fd1 $p "$3"; link fd2 $p "$4"
  for l in "$3" "$4"; do
    case $l in pipe:*) case " $pipes " in *" $l "*) ;; *) pipes="$pipes $l";; esac;; esac
  done
}

field system 0
read -r up _ </proc/uptime; echo "$up"
getconf CLK_TCK 2>/dev/null || echo 100
cd /proc || exit 1
set -- [0-9]*; echo $#
# Everybody may read this of everybody, unless /proc is mounted with hidepid.
{ read -r _ <1/stat; } 2>/dev/null && echo all || echo own
everybody=$*

# Word by word, and not as a pattern: the shell would look at every file that fits.
set -- $(grep -l sglang $(printf '%s/cmdline ' "$@") 2>/dev/null)
field titles 0; [ $# = 0 ] || grep -aoH '^sglang::[[:graph:]]*' "$@" 2>/dev/null
field stats 0; [ $# = 0 ] || grep -aH '' $(for f; do echo "${f%cmdline}stat"; done) 2>/dev/null
[ $# = 0 ] || set -- $(grep -al -e launch_server -e http_server -e 'serve[^r]' "$@" 2>/dev/null)

new= pipes=
for f; do
  p=${f%/cmdline}
  case " $known $$ " in *" $p "*) ;; *) new="$new $p";; esac
done
if [ -n "$new" ]; then
  of() { printf "%s/$1 " $new; }
  field files 0; grep -aH '' $(of cmdline) $(of environ) $(of cgroup) 2>/dev/null
  field owners 0; stat -c '%n/owner:%u %U' $new 2>/dev/null
  for p in $new; do links $p; done
fi

# Who reads those pipes as its input; and who reads what that one writes.
inputs=
if [ -n "$pipes" ]; then
  inputs=$(ls -ln $(printf '%s/fd/0 ' $everybody) 2>/dev/null |
    sed -n 's|.* \([0-9]*\)/fd/0 -> \(pipe:\[[0-9]*\]\)$|\1 \2|p')
fi
for depth in 1 2 3; do
  [ -n "$pipes" ] || break
  next=
  while read -r p l; do
    case " $pipes " in *" $l "*) ;; *) continue;; esac
    field reader $p; printf '%s\n' "$l"
    o=$(readlink $p/fd/1 2>/dev/null) || o='?'
    printf '%s\n' "$o"
    readlink $p/cwd 2>/dev/null || echo '?'
    cat $p/cmdline
    case $o in pipe:*) next="$next $o";; esac
  done <<END
$inputs
END
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


def by_file(value: bytes) -> dict[int, dict[str, bytes]]:
    """What `grep -H` found, by process and file: `PID/FILE:LINE` on each line.

    A file's last newline is not there: whether it had one, `grep` does not say.
    """
    found: dict[int, dict[str, list[bytes]]] = {}
    for line in value.split(b"\n"):
        name, colon, text = line.partition(b":")
        pid, _, file = name.partition(b"/")
        if colon and pid.isdigit() and len(pid) < 10:
            files = found.setdefault(int(pid), {})
            files.setdefault(file.decode("ascii", "replace"), []).append(text)
    return {
        pid: {file: b"\n".join(lines) for file, lines in files.items()}
        for pid, files in found.items()
    }


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
