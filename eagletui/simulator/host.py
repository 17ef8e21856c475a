"""A simulated host: an SSH server on loopback whose commands, processes and files are real."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import socket
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

from eagletui.model.base import Data
from eagletui.model.errors import UsageError
from eagletui.simulator.folder import Folder
from eagletui.simulator.outside import Up, UpServer
from eagletui.simulator.processes import hold_lease
from eagletui.simulator.releases import RELEASES, Release
from eagletui.simulator.scenarios import SCENARIOS, Scenario, ServerPlan
from eagletui.simulator.ssh import SshServer

USER = "demo"


class RunningServer(Data, frozen=True):
    """A server that was started: its plan, process, HTTP port and log file."""

    plan: ServerPlan
    pid: int
    port: int
    log: str


def find_scenario(name: str) -> Scenario:
    """The scenario of this name.

    Raises:
        UsageError: there is none.
    """
    if name not in SCENARIOS:
        raise UsageError(
            f"There is no scenario called {name}.",
            advice=f"Known: {', '.join(SCENARIOS)}.",
        )
    return SCENARIOS[name]


def find_release(version: str) -> Release:
    """The release of this version.

    Raises:
        UsageError: the simulation does not know it.
    """
    if version not in RELEASES:
        raise UsageError(
            f"SGLang {version} cannot be simulated.", advice=f"Known: {', '.join(RELEASES)}."
        )
    return RELEASES[version]


class SimulatedHost:
    """A machine running SGLang that is not there.

    Everything of it lies in one temporary folder and ends with `close`, with the program, or when
    the program is killed.

    Args:
        scenario: a name from `SCENARIOS`.
        speed: how many times faster than life it loads; serving is never faster.
        release: an SGLang version from `RELEASES`; None is the scenario's own.
        usual_ports: take SGLang's usual port 30000 where it is free, instead of any free one.
    """

    def __init__(
        self,
        scenario: str,
        *,
        speed: float = 30.0,
        release: str | None = None,
        usual_ports: bool = False,
    ) -> None:
        self.scenario = find_scenario(scenario)
        self.release = find_release(release or self.scenario.release)
        if not speed > 0:
            raise UsageError("The speed must be greater than 0.")
        self.speed = speed
        self.name = self.scenario.host
        self.host = "127.0.0.1"
        self.port = 0
        self.user = USER
        self.servers: tuple[RunningServer, ...] = ()
        self._usual = usual_ports
        self._folder: Folder | None = None
        self._keeper: subprocess.Popen[bytes] | None = None
        self._ssh: SshServer | None = None
        self._lease: int | None = None
        self._claims: list[int] = []
        self._processes: list[asyncio.subprocess.Process] = []

    async def __aenter__(self) -> SimulatedHost:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    # --- where it is ---------------------------------------------------------------------------

    @property
    def folder(self) -> Path:
        """The temporary folder with all of it."""
        assert self._folder is not None, "start the host first"
        return self._folder.root

    @property
    def client_key(self) -> Path:
        """The private key that opens the host."""
        return self.folder / "ssh" / "id_ed25519"

    @property
    def known_hosts(self) -> Path:
        """A known_hosts file with the host's key."""
        return self.folder / "ssh" / "known_hosts"

    @property
    def ssh_config(self) -> Path:
        """An ssh config file in which the host goes by `name`; nothing has to be asked."""
        return self.folder / "ssh" / "config"

    def up(self) -> Up:
        """All of this as plain data."""
        return Up(
            name=self.name,
            host=self.host,
            port=self.port,
            user=self.user,
            ssh_config=str(self.ssh_config),
            client_key=str(self.client_key),
            known_hosts=str(self.known_hosts),
            folder=str(self.folder),
            servers=tuple(
                UpServer(model=s.plan.model, pid=s.pid, port=s.port, log=s.log)
                for s in self.servers
            ),
        )

    # --- life ----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Bring up the host and start its servers."""
        ports = self._choose_ports()
        folder = self._folder = await asyncio.to_thread(_new_folder)
        self._keeper = _start_keeper(folder)
        try:
            self._lease = hold_lease(folder.root)
            await asyncio.to_thread(folder.fill, self.scenario, self.release, self.speed, ports)
            environment = folder.environment(self.user)
            self._ssh = SshServer(folder.home, environment, self._note)
            self.port = await self._ssh.start(self.host, self.user, folder.ssh)
            self._write_config()
            self.servers = tuple(
                [await self._launch(plan, ports[plan.port]) for plan in self.scenario.servers]
            )
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End everything and remove the folder. Calling it again does nothing."""
        if self._ssh is not None:
            await self._ssh.close()
            self._ssh = None
        while self._claims:
            os.close(self._claims.pop())
        if self._lease is not None:
            os.close(self._lease)
            self._lease = None
        if self._keeper is not None:
            keeper, self._keeper = self._keeper, None
            assert keeper.stdin is not None
            keeper.stdin.close()
            await asyncio.to_thread(keeper.wait)
        for process in self._processes:
            await process.wait()
        self._processes.clear()

    def _choose_ports(self) -> dict[int, int]:
        ports: dict[int, int] = {}
        for plan in self.scenario.servers:
            usual = plan.port if self._usual else 0
            if usual and not self._claimed(usual):
                usual = 0
            ports[plan.port] = _free_port(usual, taken=set(ports.values()))
        return ports

    def _claimed(self, port: int) -> bool:
        """Whether no other simulated host means to use this port: its server binds it late."""
        claim = claim_port(port)
        if claim is not None:
            self._claims.append(claim)
        return claim is not None

    def _write_config(self) -> None:
        self.ssh_config.write_text(
            f"Host {self.name}\n"
            f"  HostName {self.host}\n"
            f"  Port {self.port}\n"
            f"  User {self.user}\n"
            f'  IdentityFile "{self.client_key}"\n'
            "  IdentitiesOnly yes\n"
            f'  UserKnownHostsFile "{self.known_hosts}"\n'
            "  StrictHostKeyChecking yes\n"
        )

    async def _launch(self, plan: ServerPlan, port: int) -> RunningServer:
        folder = self._folder
        assert folder is not None
        arguments = plan.arguments(self.release)
        arguments[arguments.index("--port") + 1] = str(port)
        log = folder.home / plan.log
        with log.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                str(folder.python),
                "-m",
                "sglang.launch_server",
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=folder.home,
                env=folder.environment(self.user) | plan.environment,
                start_new_session=True,
            )
        self._note(process.pid, True)
        self._processes.append(process)
        return RunningServer(plan=plan, pid=process.pid, port=port, log=str(log))

    def _note(self, group: int, came: bool) -> None:
        """Tell the keeper of a process group."""
        keeper = self._keeper
        if keeper is not None and keeper.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                keeper.stdin.write(f"{'+' if came else '-'}{group}\n".encode())
                keeper.stdin.flush()


def _new_folder() -> Folder:
    return Folder(Path(tempfile.mkdtemp(prefix="eagletui-")).resolve())


def _start_keeper(folder: Folder) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        folder.keeper_command(), stdin=subprocess.PIPE, start_new_session=True, cwd="/"
    )


def claim_port(port: int) -> int | None:
    """A file descriptor that claims a port while it is open; None where another has claimed it."""
    path = Path(tempfile.gettempdir()) / f"eagletui-{os.getuid()}-port-{port}.lock"
    try:
        claim = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(claim)
        return None
    return claim


def _free_port(usual: int, *, taken: set[int]) -> int:
    """The usual port where it is free and not ours already, else any free one."""
    for wanted in (usual, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", wanted))
            except OSError:
                continue
            port: int = probe.getsockname()[1]
            if port not in taken:
                return port
    return _free_port(0, taken=taken)
