"""The small script that follows a file on the host, with tools every Linux has.

It writes the file's bytes as they are, and between them control lines that begin with a key no
file can hold: the path of `tail` with a random, meaningless detour in it. GNU tail puts the
path by which it was called before its own messages, so that its `file truncated` stands in the
same pipe, at the exact byte, in the same form.

Control words:
    at INODE OFFSET BASE    bytes of this file follow; those before BASE were there when we came
    ok | bad                the bytes since `at` are what it says | must be forgotten
    head INODE OFFSET BASE  as `at` and `ok`: the first part of a long history
    skip                    the next `at` leaves bytes out on purpose
    file truncated          the bytes that follow start at offset 0 of the same file
    shrunk                  the file is shorter than where reading stopped
    lost                    the file where reading stopped cannot be found any more
    end OFFSET              another file took the name; this one was read to OFFSET
    waiting                 there is no such file yet
    missing | denied | directory | special
"""

from __future__ import annotations

import secrets

from eagletui.host import shell

_SCRIPT = r"""
LC_ALL=C; export LC_ALL
path=$1 inode=$2 offset=$3 overlap=$4 history=$5 detour=$6 wait=$7 base=$8
exec 4<&0 </dev/null
( lease <&4; kill -TERM $$ ) >/dev/null 2>&1 & guard=$!
exec 4<&-
a=
trap 'kill $a $guard 2>/dev/null' EXIT
trap 'exit 143' TERM HUP INT PIPE

case $path in "~/"*) path=$HOME/${path#"~/"};; esac
tail=$(command -v tail)
key=${tail%/*}/${detour}tail
printf '%s\n' "$key"
say() { printf '%s: %s\n' "$key" "$*"; }
st() { stat -L -c '%i %s %d' -- "$1" 2>/dev/null; }
if sleep 0.01 2>/dev/null; then tick=0.02 poll=0.2; else tick=1 poll=1; fi

# hold FILE: keep it open, so that no renaming changes what is read
hold() { command exec 5<"$1"; } 2>/dev/null
# part FROM TO: bytes of the file that is held
part() { tail -c +$(($1 + 1)) /dev/fd/5 | head -c $(($2 - $1)); }

# past FILE INODE FROM: what is left of a file that was renamed
past() {
  hold "$1" || return 0
  set -- "$2" "$3" $(st /dev/fd/5)
  [ "$1" = "$3" ] || return 0
  if [ "$2" -gt "$4" ]; then say shrunk; set -- "$1" 0 "$3" "$4"; fi
  say at "$1" "$2" "${base:-$4}"
  say ok
  if [ "$4" -gt "$2" ]; then part "$2" "$4"; fi
}

siblings() { ls -1tri -- "$path".[0-9]* "$path"-[0-9]* "$path".old 2>/dev/null; }

# older INODE: the renamed file where reading stopped, then those renamed after it but not INODE
older() {
  siblings | {
    found=1
    while read -r i f; do
      case $f in *.gz|*.xz|*.bz2|*.zst) continue;; esac
      if [ "$found" = 1 ]; then
        [ "$i" = "$inode" ] || continue
        found=0
        past "$f" "$i" "$offset"
      elif [ "$i" != "$1" ]; then
        past "$f" "$i" 0
      fi
    done
    exit $found
  }
}

# renamed INODE: the path where a file lies now
renamed() {
  siblings | while read -r i f; do [ "$i" != "$1" ] || { printf '%s\n' "$f"; break; }; done
}

waited=
while set -- $(st "$path") && [ -z "$1" ]; do
  if [ -z "$wait" ]; then
    folder=${path%/*}
    if [ -d "$folder/" ] && ! [ -x "$folder/" ]; then say denied; else say missing; fi
    exit 0
  fi
  [ -n "$waited" ] || { say waiting; waited=1; }
  sleep 1
done
if [ -d "$path" ]; then say directory; exit 0; fi
if ! [ -f "$path" ]; then say special; exit 0; fi
if ! [ -r "$path" ]; then say denied; exit 0; fi

file=$path
if [ -z "$inode" ]; then inode=$1 offset=0 overlap=0; fi
if [ "$inode" != "$1" ]; then
  # Nobody writes to the new file yet: the process may go on writing to the renamed one.
  old=$(renamed "$inode")
  if [ "$2" = 0 ] && [ -n "$old" ]; then
    file=$old
  else
    offset=$((offset - overlap))
    older "$1" || say lost
    inode=$1 offset=0 overlap=0
  fi
fi
real=$(readlink -f -- "$file" 2>/dev/null) || real=$file
# The link of a descriptor (/proc/PID/fd/2) still opens a file that was deleted; its name does not.
[ -e "$real" ] || real=$file
hold "$real" || { say bad; exit 0; }
set -- $(st /dev/fd/5)
if [ "$1" != "$inode" ]; then say bad; exit 0; fi
size=$2 dev=$3
[ -n "$base" ] || base=$size
if [ "$offset" -gt "$size" ]; then say shrunk; offset=0 overlap=0; fi
offset=$((offset - overlap))
if [ -n "$history" ] && [ $((size - offset)) -gt "$history" ]; then
  head=$((history / 8))
  say head "$inode" "$offset" "$base"
  part "$offset" $((offset + head))
  say skip
  offset=$((size - history + head))
fi

gnu=
case $(tail --version 2>/dev/null) in *"GNU coreutils"*) gnu=1;; esac
if [ -z "$gnu" ]; then
  # A tail that does not say what it does, and looks once a second: do its work.
  say at "$inode" "$offset" "$base"
  say ok
  last=
  while :; do
    set -- $(st /dev/fd/5)
    if [ "$2" -lt "$offset" ]; then say file truncated; offset=0; fi
    if [ "$2" -gt "$offset" ]; then part "$offset" "$2"; offset=$2 last=; continue; fi
    set -- $(st "$path")
    if [ -n "$1" ] && [ "$1:$3" != "$inode:$dev" ] && [ "$2" -gt 0 ]; then
      if [ -n "$last" ]; then say end "$offset"; exit 0; fi
      last=1
    fi
    sleep $poll
  done
fi

say at "$inode" "$offset" "$base"
"$key" --pid=$$ -s 0.5 -c +$((offset + 1)) -f -- "$real" 2>&1 5<&- & a=$!
fd= tries=0
while [ -z "$fd" ] && [ $tries -lt 100 ] && kill -0 $a 2>/dev/null; do
  # Until it becomes tail, the child is this shell and still has what we hold.
  if ! [ /proc/$a/exe -ef /proc/$$/exe ]; then
    for f in /proc/$a/fd/[3-9]; do
      set -- $(st "$f")
      if [ "$1:$3" = "$inode:$dev" ]; then fd=${f##*/}; break; fi
    done
  fi
  [ -n "$fd" ] || sleep $tick
  tries=$((tries + 1))
done
if [ -z "$fd" ]; then kill $a 2>/dev/null; wait $a 2>/dev/null; say bad; exit 0; fi
say ok

last=
while sleep 1; do
  [ -e /proc/$a/fd/$fd ] || exit 0
  set -- $(st "$path")
  [ -n "$1" ] || continue
  [ "$1:$3" != "$inode:$dev" ] || { last=; continue; }
  # Another file has the name. Leave the old one only when somebody writes to the new one and
  # the old one was read to its end and stays quiet.
  pos=
  { while read -r k v; do [ "$k" != pos: ] || pos=$v; done </proc/$a/fdinfo/$fd; } 2>/dev/null
  [ -n "$pos" ] || exit 0
  now=$2
  set -- $(st /proc/$a/fd/$fd)
  if [ "$now" -gt 0 ] && [ "$pos" = "$2" ] && [ "$pos" = "$last" ]; then
    kill $a; wait $a 2>/dev/null; a=
    say end "$pos"
    exit 0
  fi
  last=$pos
done
"""


def command(
    path: str,
    *,
    inode: int | None,
    offset: int,
    overlap: int,
    history: int | None,
    wait: bool,
    live: bool,
) -> list[str]:
    """The argument vector that follows a file from one exact byte.

    Args:
        overlap: bytes before `offset` to send again, to tell whether they are still the same.
        wait: whether a file that is not there is waited for.
        live: whether even what is already in the file counts as live.
    """
    bits = secrets.randbits(48)
    detour = "".join("./" if bits >> i & 1 else ".//" for i in range(48))
    return shell.script(
        shell.with_lease(_SCRIPT),
        path,
        "" if inode is None else str(inode),
        str(offset),
        str(overlap),
        "" if history is None else str(history),
        detour,
        "1" if wait else "",
        "0" if live else "",
    )
