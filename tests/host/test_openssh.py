"""Real OpenSSH servers, one behind the other."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from eagletui.host.processes import find_servers
from eagletui.host.ssh import SshHost
from eagletui.model.errors import AuthenticationFailed, HostError, HostKeyChanged
from tests import sshd
from tests.host.people import Person

pytestmark = [
    pytest.mark.sshd,
    pytest.mark.skipif(sshd.SSHD is None, reason=sshd.MISSING),
]


async def test_through_two_servers(tmp_path: Path) -> None:
    first = sshd.start_sshd(tmp_path / "1", name="jump")
    last = sshd.start_sshd(tmp_path / "2", name="gpu")
    config = tmp_path / "config"
    config.write_text(f"{first.config.read_text()}\n{last.config.read_text()}  ProxyJump jump\n")
    host = SshHost("gpu", asker=Person(), config=[str(config)])
    try:
        await host.connect()
        assert (await host.run(["echo", "far"])).stdout == b"far\n"
        assert host.address == f"127.0.0.1:{last.port}"
        waiting = asyncio.create_task(host.wait_lost())
        await asyncio.sleep(0)
        first.stop()
        assert await asyncio.wait_for(waiting, 10)
        # The jump host comes back with the key of another machine.
        first.known_hosts.write_text(
            last.known_hosts.read_text().replace(str(last.port), str(first.port))
        )
        again = sshd.restart(first)
        with pytest.raises(HostKeyChanged, match="host key of jump"):
            await host.connect()
        again.stop()
    finally:
        await host.close()
        last.stop()


async def test_too_many_sessions_and_no_forwarding(tmp_path: Path) -> None:
    server = sshd.start_sshd(tmp_path / "1", options=["MaxSessions 2", "AllowTcpForwarding no"])
    host = SshHost("box", asker=Person(), config=[str(server.config)])
    try:
        await host.connect()
        stream = host.stream(["sh", "-c", "echo up; sleep 60"])
        assert await anext(stream) == b"up\n"
        # The spare session is the second one; it becomes the command.
        assert (await host.run(["echo", "x"])).stdout == b"x\n"
        second = host.stream(["sh", "-c", "echo up; sleep 60"])
        assert await anext(second) == b"up\n"
        with pytest.raises(HostError, match="opens no more sessions"):
            await host.run(["true"])
        import aiohttp

        async with aiohttp.ClientSession(connector=host.http()) as session:
            with pytest.raises(aiohttp.ClientConnectorError, match="AllowTcpForwarding"):
                async with session.get("http://127.0.0.1:9/"):
                    pass
        await stream.aclose()
        await second.aclose()
    finally:
        await host.close()
        server.stop()


async def test_an_account_without_a_shell(tmp_path: Path) -> None:
    server = sshd.start_sshd(tmp_path / "1", options=["ForceCommand echo go away"])
    host = SshHost("box", asker=Person(), config=[str(server.config)])
    try:
        await host.connect()
        with pytest.raises(HostError, match="go away"):
            await host.run(["true"])
    finally:
        await host.close()
        server.stop()


async def test_chatter_of_login_scripts_is_no_output(tmp_path: Path) -> None:
    server = sshd.start_sshd(
        tmp_path / "1",
        options=[
            'ForceCommand echo "Welcome to gpu1"; echo warn >&2; eval "$SSH_ORIGINAL_COMMAND"'
        ],
    )
    host = SshHost("box", asker=Person(), config=[str(server.config)])
    log = tmp_path / "a.log"
    log.write_bytes(b"line\n")
    try:
        await host.connect()
        assert (await host.run(["echo", "x"])).stdout == b"x\n"
        async with contextlib.aclosing(host.follow(str(log))) as follow:
            assert (await anext(follow)).data == b"line\n"
        assert (await find_servers(host)).looked_at
    finally:
        await host.close()
        server.stop()


async def test_wrong_key(tmp_path: Path, server: sshd.Sshd) -> None:
    other = sshd.keygen(tmp_path / "other")
    config = tmp_path / "config"
    config.write_text(server.config.read_text().replace(str(server.client_key), str(other)))
    host = SshHost(server.name, asker=Person(), config=[str(config)])
    with pytest.raises(AuthenticationFailed) as caught:
        await host.connect()
    assert str(other) in caught.value.meaning
    assert "authorized_keys" in caught.value.advice


async def test_a_login_without_any_way_is_given_up_at_once(tmp_path: Path) -> None:
    """Failed tries count: some hosts lock addresses out that make many."""
    server = sshd.start_sshd(tmp_path / "sshd")
    try:
        config = tmp_path / "config"
        config.write_text(server.config.read_text().replace(str(server.client_key), "/nowhere"))
        host = SshHost(server.name, asker=Person(), config=[str(config)])
        with pytest.raises(AuthenticationFailed):
            await host.connect()
        log = (server.folder / "sshd.log").read_text()
        assert "maximum authentication attempts" not in log
    finally:
        server.stop()
