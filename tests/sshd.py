"""A real OpenSSH server for tests: own keys, own configuration, a free port on loopback."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from tests.guardian import MARK

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
MISSING = "no OpenSSH server binary (apt-get install openssh-server)"


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def keygen(path: Path, *, kind: str = "ed25519", passphrase: str = "", comment: str = "") -> Path:
    """A new key pair."""
    subprocess.run(
        ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", comment, "-f", str(path)],
        check=True,
    )
    return path


@dataclass
class Sshd:
    """A server that was started, and what a client needs to reach it.

    Attributes:
        folder: keys, configuration and log.
        config: a client configuration with the host `name` in it.
        known_hosts: the client's known_hosts file; the server's key is in it.
    """

    folder: Path
    port: int
    process: subprocess.Popen[bytes]
    client_key: Path
    host_key: Path
    known_hosts: Path
    config: Path
    name: str = "box"

    def stop(self) -> None:
        """End the listener and the connections it accepted."""
        for pid in _descendants(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        self.process.kill()
        self.process.wait()


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    for child in map(int, listed):
        found += [*_descendants(child), child]
    return found


def start_sshd(folder: Path, *, name: str = "box", options: Iterable[str] = ()) -> Sshd:
    """Start a server as the current user, with one client key that may log in.

    Call `stop` when done.
    """
    assert SSHD is not None, MISSING
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    host_key = keygen(folder / "host_key")
    client_key = keygen(folder / "client_key")
    (folder / "authorized_keys").write_bytes((folder / "client_key.pub").read_bytes())
    home = folder / "home"
    home.mkdir()
    port = free_port()
    lines = [
        f"Port {port}",
        "ListenAddress 127.0.0.1",
        f"HostKey {host_key}",
        f"PidFile {folder / 'sshd.pid'}",
        f"AuthorizedKeysFile {folder / 'authorized_keys'}",
        "StrictModes no",
        "UsePAM no",
        "PasswordAuthentication no",
        "PermitRootLogin yes",
        # The login shell reads nothing of the developer's own start-up files; the lock of a run
        # that was killed holds up no other.
        f"SetEnv HOME={home} {MARK}={os.environ.get(MARK, '')}"
        f" EAGLETUI_LOCK={folder / 'restart.lock'}",
        *options,
    ]
    (folder / "sshd_config").write_text("\n".join(lines) + "\n")
    if os.geteuid() == 0:
        # The separation folder of Debian's build, which its service file makes.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    process = _launch(folder)
    known_hosts = folder / "known_hosts"
    public = host_key.with_suffix(".pub").read_text().split()
    known_hosts.write_text(f"[127.0.0.1]:{port} {public[0]} {public[1]}\n")
    config = folder / "config"
    config.write_text(
        f"Host {name}\n"
        f"  HostName 127.0.0.1\n  Port {port}\n  User {getpass.getuser()}\n"
        f"  IdentityFile {client_key}\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {known_hosts}\n"
    )
    server = Sshd(folder, port, process, client_key, host_key, known_hosts, config, name)
    _await_port(server)
    return server


def restart(server: Sshd) -> Sshd:
    """Start a stopped server again: same port, same keys."""
    again = replace(server, process=_launch(server.folder))
    _await_port(again)
    return again


def _launch(folder: Path) -> subprocess.Popen[bytes]:
    assert SSHD is not None, MISSING
    with (folder / "sshd.log").open("ab") as log:
        return subprocess.Popen(
            [SSHD, "-D", "-e", "-f", str(folder / "sshd_config")],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def _await_port(server: Sshd) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            break
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", server.port)) == 0:
                return
        time.sleep(0.02)
    server.process.kill()
    raise RuntimeError(f"sshd did not start: {(server.folder / 'sshd.log').read_text()}")
