"""Looks at a host before a start: SGLang's version, models, the port, files, disk.

Called as `python - JSON` with this text on standard input; answers with one JSON document. It
changes nothing, imports nothing but the standard library and runs on Python 3.8.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from typing import Any

CONFIG_LIMIT = 1 << 20


def installation() -> dict[str, Any]:
    """SGLang's version and when it was installed."""
    from importlib import metadata

    found: dict[str, Any] = {
        "python": sys.executable,
        "version": "",
        "changed": 0.0,
        "sglang_problem": "",
    }
    try:
        distribution = metadata.distribution("sglang")
    except metadata.PackageNotFoundError:
        found["sglang_problem"] = f"{sys.executable} has no SGLang."
        return found
    found["version"] = distribution.version
    folder = getattr(distribution, "_path", None)
    if folder is not None and os.path.exists(str(folder)):
        found["changed"] = os.stat(str(folder)).st_mtime
    return found


def model(path: str, workdir: str) -> dict[str, Any]:
    """A model's folder: what is wrong with it, and its config.json."""
    said: dict[str, Any] = {"path": path, "problem": "", "local": True, "config": {}}
    folder = os.path.join(workdir, os.path.expanduser(path))
    if os.path.isfile(folder):
        said["problem"] = "" if os.access(folder, os.R_OK) else "it may not be read"
        return said
    if not os.path.isdir(folder):
        if path.startswith(("/", ".", "~")) or path.count("/") > 1:
            said["problem"] = "there is no such folder"
            return said
        said["local"] = False
        snapshot = cached(path)
        if snapshot is None:
            return said
        folder = snapshot
    elif not os.access(folder, os.R_OK | os.X_OK):
        said["problem"] = "the folder may not be read"
        return said
    return with_config(said, folder)


def with_config(said: dict[str, Any], folder: str) -> dict[str, Any]:
    """The same with what its config.json says."""
    file = os.path.join(folder, "config.json")
    try:
        with open(file, "rb") as opened:
            config = json.loads(opened.read(CONFIG_LIMIT).decode("utf-8"))
        if isinstance(config, dict):
            said["config"] = config
        else:
            said["problem"] = "its config.json is no JSON object"
    except FileNotFoundError:
        if not os.path.exists(os.path.join(folder, "params.json")):
            said["problem"] = "the folder has no config.json"
    except PermissionError:
        said["problem"] = "its config.json may not be read"
    except (OSError, ValueError, RecursionError):
        said["problem"] = "its config.json is no valid JSON"
    return said


def cached(name: str) -> str | None:
    """The newest snapshot of a hub's model, None where it was not fetched."""
    home = os.environ.get("HF_HOME") or os.path.join(
        os.path.expanduser("~"), ".cache", "huggingface"
    )
    hub = os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub")
    folder = os.path.join(hub, "models--" + name.replace("/", "--"), "snapshots")
    try:
        snapshots = [os.path.join(folder, entry) for entry in os.listdir(folder)]
    except OSError:
        return None
    with_files = [s for s in snapshots if os.path.exists(os.path.join(s, "config.json"))]
    return max(with_files, key=os.path.getmtime) if with_files else None


def port_taken(address: str, port: int) -> bool:
    """Whether somebody listens there."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address, port))
        except PermissionError:
            return False
        except (OSError, OverflowError):
            return True
    return False


def holder(port: int) -> tuple[int | None, str]:
    """Who listens on a port: (pid or None, words). Others' processes show only their user."""
    sockets = listeners(port)
    if not sockets:
        return None, "another process"
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            names = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for name in names:
            try:
                inode = os.readlink(f"/proc/{pid}/fd/{name}")
            except OSError:
                continue
            if inode[8:-1] in sockets and inode.startswith("socket:["):
                return int(pid), command(pid)
    return None, f"a process of user {user(next(iter(sockets.values())))}"


def listeners(port: int) -> dict[str, str]:
    """Inode → uid of the sockets that listen on this port."""
    found: dict[str, str] = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table) as opened:
                rows = [line.split() for line in opened.readlines()[1:]]
        except OSError:
            continue
        for row in rows:
            if len(row) > 9 and row[3] == "0A" and row[1].endswith(f":{port:04X}"):
                found[row[9]] = row[7]
    return found


def command(pid: int | str) -> str:
    """The name of a process, without arguments: those may hold secrets."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as opened:
            return opened.read().strip()
    except OSError:
        return "a process"


def user(uid: str) -> str:
    """A user's name, or the number."""
    try:
        import pwd

        return pwd.getpwuid(int(uid)).pw_name
    except (ImportError, KeyError, ValueError):
        return str(uid)


def free(path: str) -> int | None:
    """Bytes free where this path will be, None where that cannot be told."""
    while path and not os.path.isdir(path):
        parent = os.path.dirname(path)
        if parent == path:
            return None
        path = parent
    try:
        return shutil.disk_usage(path or ".").free
    except OSError:
        return None


def main() -> None:
    """Answer one question."""
    asked = json.loads(sys.argv[1])
    workdir = os.path.expanduser(asked["workdir"] or "~")
    answer: dict[str, Any] = installation() if asked["sglang"] else {"python": sys.executable}
    for name in ("target", "draft"):
        if asked[name]:
            answer[name] = model(asked[name], workdir)
    answer["port_taken"] = port_taken(asked["address"], asked["port"])
    if answer["port_taken"] and os.path.isdir("/proc/self"):
        answer["port_pid"], answer["port_holder"] = holder(asked["port"])
    answer["log_free"] = free(os.path.join(workdir, os.path.expanduser(asked["log"])))
    answer["readable"] = {
        path: os.access(os.path.join(workdir, os.path.expanduser(path)), os.R_OK)
        for path in asked["files"]
    }
    answer["names"] = {str(pid): command(pid) for pid in asked["pids"]}
    sys.stdout.write("\n" + json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
