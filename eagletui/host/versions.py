"""Which SGLang a server runs, and what belongs to it, without importing any of it."""

from __future__ import annotations

import posixpath
import re

from eagletui.host import shell
from eagletui.host.base import Host
from eagletui.host.processes import RawServer
from eagletui.model.errors import HostError
from eagletui.model.jsontext import read_json
from eagletui.model.text import visible

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
# Read from what pip wrote down, for importing torch takes seconds.
_ASK = """
import json
from importlib.metadata import distributions
exactly = ("sglang", "torch", "flashinfer-python")
found = {}
for d in distributions():
    name = (d.metadata["Name"] or "").lower().replace("_", "-")
    if name in exactly or name.startswith(("nvidia-nccl", "nvidia-cuda-runtime")):
        found.setdefault(name, d.version)
print(json.dumps(found))
"""
_NAMES = {"nvidia-nccl": "nccl", "nvidia-cuda-runtime": "cuda"}
_VERSION = re.compile(r"[0-9][\w.+!-]*\Z")
_ASK_SECONDS = 20.0


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
        return (await installed_versions(host, server.python)).get("sglang", "")
    except HostError:
        return ""


async def installed_versions(host: Host, python: str) -> dict[str, str]:
    """Versions of `sglang`, `torch`, `flashinfer-python`, `nccl` and `cuda` beside an interpreter.

    What it does not say is left out.

    Raises:
        HostError: the host did not answer.
    """
    # `-I`: nothing of the folder we happen to be in.
    done = await host.run([python, "-I", "-c", _ASK], timeout=_ASK_SECONDS, limit=65536)
    try:
        told = read_json(done.stdout) if done.ok else {}
    except ValueError:
        return {}
    found = {}
    for name, version in told.items() if isinstance(told, dict) else ():
        short = next((s for long, s in _NAMES.items() if name.startswith(long)), name)
        if isinstance(version, str) and _VERSION.match(version):
            found[visible(short)] = version
    return found


def _prefixes(server: RawServer) -> list[str]:
    environment = server.environment or {}
    prefixes = [
        posixpath.dirname(posixpath.dirname(path))
        for path in (server.python, server.exe)
        if path.startswith("/")
    ]
    prefixes += [environment.get("VIRTUAL_ENV", ""), environment.get("CONDA_PREFIX", "")]
    return list(dict.fromkeys(prefix for prefix in [*prefixes, "/usr/local", "/usr"] if prefix))
