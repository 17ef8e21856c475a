"""An OpenSSH server of the tests' own: high port, own keys, own configuration."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import subprocess
from pathlib import Path

from tests.live.server import descendants, free_port, wait_until

ALIAS = "lab"
"""What this machine is called in the ssh configuration that `Sshd` writes."""

SERVER_CONFIG = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
"""

CLIENT_CONFIG = """\
Host {alias}
  HostName 127.0.0.1
  Port {port}
  User {user}
  IdentityFile {folder}/user_key
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known_hosts
"""


def sshd_program() -> str | None:
    """Where sshd is; it insists on being called by its whole path."""
    return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


class Sshd:
    """One sshd on a free port of 127.0.0.1, and an ssh configuration that knows it as `lab`."""

    def __init__(self, folder: Path) -> None:
        program = sshd_program()
        assert program is not None
        self.port = free_port()
        self.config = folder / "ssh_config"
        for name in ("host_key", "user_key"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)],
                check=True,
            )
        host_key = (folder / "host_key.pub").read_text()
        (folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {host_key}")
        (folder / "sshd_config").write_text(SERVER_CONFIG.format(port=self.port, folder=folder))
        self.config.write_text(
            CLIENT_CONFIG.format(alias=ALIAS, port=self.port, user=getpass.getuser(), folder=folder)
        )
        self._log = folder / "sshd.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [program, "-D", "-e", "-f", str(folder / "sshd_config")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_until("sshd listens", self._listens)

    def _listens(self) -> bool:
        said = self._log.read_text()
        assert self._process.poll() is None, said
        return "Server listening on" in said

    def sessions(self) -> list[int]:
        """Every process that serves a connection, and what runs in it."""
        return descendants(self._process.pid)

    def drop(self) -> list[int]:
        """Cut every connection without a word to the other side; returns what was cut."""
        cut = [pid for pid in self.sessions() if self._is_sshd(pid)]
        for pid in cut:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return cut

    def _is_sshd(self, pid: int) -> bool:
        with contextlib.suppress(OSError):
            return Path(f"/proc/{pid}/comm").read_text().startswith("sshd")
        return False

    def stop(self) -> None:
        """End it and every connection."""
        self.drop()
        self._process.terminate()
        self._process.wait(10)
