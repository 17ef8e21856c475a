"""Which SGLang a server runs, without importing it."""

from __future__ import annotations

import posixpath
import re

from eagletui.host import shell
from eagletui.host.base import Host
from eagletui.host.processes import RawServer
from eagletui.model.errors import HostError

# Folders with the package's metadata: those the process has mapped libraries from, then those
# its interpreter would look into.
_SCRIPT = r"""
root=$1 pid=$2; shift 2
{ grep -o '/[^ ]*/\(site\|dist\)-packages/' "/proc/$pid/maps" 2>/dev/null | sort -u
  for prefix in "$@"; do
    for folder in "$root$prefix"/lib/python3*/site-packages/ \
                  "$root$prefix"/lib/python3*/dist-packages/ \
                  "$root$prefix"/lib/python3/dist-packages/; do
      [ -d "$folder" ] && printf '%s\n' "${folder#"$root"}"
    done
  done
} | while read -r folder; do
  for found in "$root$folder"sglang-*.dist-info "$root$folder"sglang-*.egg-info; do
    [ -e "$found" ] && printf '%s\n' "$found"
  done
done | head -n 20
"""
_NAME = re.compile(r"sglang-([0-9][^-/]*?)(?:-py[^/]*)?\.(?:dist|egg)-info\Z")
_ASK = "import importlib.metadata as m; print(m.version('sglang'))"
_VERSION = re.compile(r"[0-9][\w.+!-]*\Z")


async def sglang_version(host: Host, server: RawServer) -> str:
    """The version, "" when it cannot be known. Does not raise for a host that refuses."""
    root = f"/proc/{server.pid}/root" if server.container else ""
    prefixes = _prefixes(server)
    try:
        done = await host.run(shell.script(_SCRIPT, root, str(server.pid), *prefixes))
    except HostError:
        return ""
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        if found := _NAME.search(line):
            return found[1]
    if not server.python or server.container:
        return ""
    try:
        # `-I`: nothing of the folder we happen to be in.
        done = await host.run([server.python, "-I", "-c", _ASK], timeout=15.0, limit=65536)
    except HostError:
        return ""
    text = done.stdout.decode("utf-8", "replace").strip()
    return text if done.ok and _VERSION.match(text) else ""


def _prefixes(server: RawServer) -> list[str]:
    environment = server.environment or {}
    prefixes = [
        posixpath.dirname(posixpath.dirname(path))
        for path in (server.python, server.exe)
        if path.startswith("/")
    ]
    prefixes += [environment.get("VIRTUAL_ENV", ""), environment.get("CONDA_PREFIX", "")]
    return list(dict.fromkeys(prefix for prefix in [*prefixes, "/usr/local", "/usr"] if prefix))
