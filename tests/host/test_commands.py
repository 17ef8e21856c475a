"""Commands on a host: quoting, limits, ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from pathlib import Path

import pytest

from eagletui.host import shell
from eagletui.host.local import LocalHost
from eagletui.host.ssh import SshHost
from eagletui.model.errors import CommandTimeout, ConnectionLost, HostError

AnyHost = LocalHost | SshHost

AWKWARD = [
    "a b",
    "it's",
    'say "hi"',
    "two\nlines\n",
    "back\\slash\\\\n",
    "$HOME `id` $(id) !! %s",
    "",
    "*",
    "naïve 日本",
    "\t;&|<>#~",
    "-n",
]


async def test_arguments_arrive_unharmed(host: AnyHost) -> None:
    done = await host.run(["printf", "%s\\0", *AWKWARD])
    assert done.stdout.decode().split("\0")[:-1] == AWKWARD
    assert (done.status, done.stderr, done.ok) == (0, b"", True)


async def test_bytes_that_are_no_text_arrive(host: AnyHost) -> None:
    word = os.fsdecode(b"\xff\xfe/\x80")
    assert (await host.run(["printf", "%s", word])).stdout == b"\xff\xfe/\x80"


async def test_input_status_and_errors(host: AnyHost) -> None:
    body = bytes(range(256)) * 400
    done = await host.run(["sh", "-c", "cat; echo oops >&2; exit 3"], stdin=body)
    assert done.stdout == body
    assert done.stderr == b"oops\n"
    assert done.status == 3
    assert not done.ok


async def test_killed_by_a_signal_has_no_status(host: AnyHost) -> None:
    assert (await host.run(["sh", "-c", "kill -9 $$"])).status is None


async def test_command_not_found(host: AnyHost) -> None:
    done = await host.run(["no-such-command-here"])
    assert done.status == 127
    assert b"not found" in done.stderr


async def test_slow_command_is_killed_with_its_children(host: AnyHost, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"sleep 60 & echo $$ $! > {pids}; wait"
    began = time.monotonic()
    with pytest.raises(CommandTimeout, match="did not end within"):
        await host.run(["sh", "-c", script], timeout=0.5)
    assert time.monotonic() - began < 5
    for pid in pids.read_text().split():
        await gone(int(pid))


async def test_output_limit(host: AnyHost) -> None:
    with pytest.raises(HostError, match="more than 100000 bytes"):
        await host.run(["cat", "/dev/zero"], limit=100_000)
    assert (await host.run(["echo", "still here"])).stdout == b"still here\n"


async def test_many_commands_at_once(host: AnyHost) -> None:
    done = await asyncio.gather(*(host.run(["echo", str(i)]) for i in range(20)))
    assert [one.stdout for one in done] == [f"{i}\n".encode() for i in range(20)]


async def test_stream_ends_with_the_iteration(host: AnyHost, tmp_path: Path) -> None:
    pidfile = tmp_path / "pid"
    command = ["sh", "-c", f"echo $$ > {pidfile}; while echo x; do sleep 0.02; done"]
    async with contextlib.aclosing(host.stream(command)) as stream:
        assert (await anext(stream)).startswith(b"x")
    await gone(int(pidfile.read_text()))


async def test_stream_ends_when_the_command_does(host: AnyHost) -> None:
    parts = [part async for part in host.stream(["seq", "1", "100000"])]
    assert b"".join(parts) == b"".join(b"%d\n" % i for i in range(1, 100001))


async def test_a_slow_reader_does_not_fill_memory(host: AnyHost) -> None:
    count = 0
    async for data in host.stream(["head", "-c", "60000000", "/dev/zero"]):
        assert len(data) < 16 << 20
        count += len(data)
        await asyncio.sleep(0.001)
    assert count == 60_000_000


async def test_a_lease_that_is_not_renewed_ends_the_command(host: AnyHost) -> None:
    channel = await host.start(shell.guarded(["sh", "-c", "echo $$; exec sleep 60"], seconds=1))
    pid = int(await channel.read())
    # Renewed once, it lives on for as long again.
    await asyncio.sleep(0.7)
    channel.write(b".")
    await asyncio.sleep(0.7)
    assert _state(pid) == "S"
    await gone(pid)
    channel.close()


@pytest.mark.sshd
async def test_the_loss_of_the_connection_ends_everything(ssh: SshHost, tmp_path: Path) -> None:
    pidfile = tmp_path / "pid"
    stream = ssh.stream(["sh", "-c", f"echo $$ > {pidfile}; echo up; exec sleep 60"])
    assert await anext(stream) == b"up\n"
    parent = int((await ssh.run(["sh", "-c", "echo $PPID"])).stdout)
    waiting = asyncio.create_task(ssh.wait_lost())
    await asyncio.sleep(0)
    os.kill(parent, signal.SIGKILL)
    with pytest.raises(ConnectionLost):
        await anext(stream)
    assert await asyncio.wait_for(waiting, 5)
    with pytest.raises(ConnectionLost):
        await ssh.run(["true"])
    await gone(int(pidfile.read_text()))
    await ssh.connect()
    assert (await ssh.run(["echo", "again"])).stdout == b"again\n"


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


async def gone(pid: int, within: float = 10.0) -> None:
    """Wait until a process is no longer there (a zombie is gone)."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        state = ""
        with contextlib.suppress(OSError):
            state = _state(pid)
        if state in ("", "Z"):
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"process {pid} is still there")
