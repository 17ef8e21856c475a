# ruff: noqa: ASYNC221 - quick commands
"""Logs followed wherever they go; facts and GPUs read."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.host import logs
from eagletui.host.base import Completed, FileChunk, FilePosition
from eagletui.host.facts import _clock, read_facts
from eagletui.host.gpus import Blocks, GpuProcess, GpuReader, GpusUnknown, parse_nvidia, parse_rocm
from eagletui.host.local import LocalHost
from eagletui.host.logentries import docker_entries, journal_entries
from eagletui.host.logs import follow_log, new_lines
from eagletui.host.ssh import SshHost
from eagletui.model.errors import CommandTimeout, HostError
from eagletui.model.server import Gpu, LogPlace

AnyHost = LocalHost | SshHost


async def read(follow: AsyncGenerator[FileChunk, None], size: int) -> list[FileChunk]:
    """Chunks until there are so many bytes."""
    chunks: list[FileChunk] = []

    async def collect() -> None:
        async for chunk in follow:
            chunks.append(chunk)
            if sum(len(c.data) for c in chunks) >= size:
                return

    try:
        await asyncio.wait_for(collect(), 20)
    finally:
        await follow.aclose()
    return chunks


def text(chunks: list[FileChunk]) -> bytes:
    return b"".join(chunk.data for chunk in chunks)


# --- files ---------------------------------------------------------------------------------------


async def test_newest_match_then_a_newer_one(
    local: LocalHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "_QUIET", 0.2)
    folder = tmp_path / "with space"
    folder.mkdir()
    for age, name in ((50, "a"), (10, "b"), (90, "c")):
        (folder / f"{name}.log").write_text(f"{name}\n")
        os.utime(folder / f"{name}.log", (time.time() - age, time.time() - age))
    follow = follow_log(local, LogPlace(kind="given", target=f"{folder}/*.log"))
    first = await asyncio.wait_for(anext(follow), 10)
    assert first.data == b"b\n"
    (folder / "d.log").write_text("d\n")
    second = await asyncio.wait_for(anext(follow), 10)
    assert (second.data, second.gap, second.start) == (b"d\n", "replaced", 0)
    await follow.aclose()


async def test_no_match(local: LocalHost, tmp_path: Path) -> None:
    with pytest.raises(HostError, match="No file matches"):
        await anext(follow_log(local, LogPlace(kind="given", target=f"{tmp_path}/*.log")))


def test_a_place_without_a_log(local: LocalHost) -> None:
    with pytest.raises(HostError, match="no log to follow"):
        follow_log(local, LogPlace(kind="terminal", detail="a terminal"))


# --- journald and docker, played by small scripts ------------------------------------------------


class Tools:
    """A folder of fake tools in front of PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, name: str, script: str) -> None:
        path = self.folder / name
        path.write_text(f'#!/bin/sh\necho "$@" >> {self.folder}/{name}.calls\n{script}\n')
        path.chmod(0o755)

    def calls(self, name: str) -> list[str]:
        return (self.folder / f"{name}.calls").read_text().splitlines()


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return Tools(folder)


JOURNAL = (
    b"__CURSOR=s=1\n__REALTIME_TIMESTAMP=1000001\nMESSAGE=one\n\n"
    b"__REALTIME_TIMESTAMP=1000002\nMESSAGE\n\x07\0\0\0\0\0\0\0two\nand\n_PID=3\n\n"
    b"__REALTIME_TIMESTAMP=99999999999999999\nMESSAGE=three\n\n"
)


def test_journal_entries_in_any_pieces() -> None:
    for cut in range(len(JOURNAL)):
        first, rest = journal_entries(JOURNAL[:cut])
        second, rest = journal_entries(rest + JOURNAL[cut:])
        assert first + second == [
            (1000001, b"one\n"),
            (1000002, b"two\nand\n"),
            (99999999999999999, b"three\n"),
        ]
        assert rest == b""


async def test_journal_is_taken_up_where_it_was_left(local: LocalHost, tools: Tools) -> None:
    (tools.folder / "export").write_bytes(JOURNAL)
    tools.add("journalctl", f"cat {tools.folder}/export; exec sleep 60")
    place = LogPlace(kind="journal", target="sglang.service", user_unit=True)
    chunks = await read(follow_log(local, place, history=2000), 18)
    assert text(chunks) == b"one\ntwo\nand\nthree\n"
    resumed = await read(
        follow_log(local, place, position=FilePosition(inode=1000001, offset=4)), 14
    )
    assert text(resumed) == b"two\nand\nthree\n"
    assert resumed[0].start == 4
    assert resumed[-1].position == FilePosition(inode=99999999999999999, offset=18)
    first, second = tools.calls("journalctl")
    assert "--user-unit=sglang.service" in first
    assert "--lines=10" in first
    assert "--since=@1 " in second


async def test_another_users_unit_is_asked_for_by_its_owner(local: LocalHost, tools: Tools) -> None:
    """`--user-unit` would show root only root's own units."""
    tools.add("journalctl", f"cat {tools.folder}/export; exec sleep 60")
    (tools.folder / "export").write_bytes(JOURNAL)
    place = LogPlace(kind="journal", target="sglang.service", user_unit=True, uid=1001)
    assert text(await read(follow_log(local, place), 18)) == b"one\ntwo\nand\nthree\n"
    (call,) = tools.calls("journalctl")
    assert call.endswith(
        " _UID=1001 _SYSTEMD_USER_UNIT=sglang.service + _UID=1001 USER_UNIT=sglang.service"
    )
    assert "--user-unit" not in call


REMOTE = shutil.which("systemd-journal-remote", path="/usr/lib/systemd:/lib/systemd")
MESSAGES = [
    b"plain",
    b"two\nlines of one record",
    b"\x1b[31mred\x1b[0m bar\rbar 2",
    b"\xff\xfe raw \0 nul",
    b"",
    b"x" * 100_000,
]


def exported(at: int, uid: int, message: bytes) -> bytes:
    """One entry of a user's unit in journald's export format, its message as binary."""
    size = len(message).to_bytes(8, "little")
    return (
        f"__REALTIME_TIMESTAMP={at}\n__MONOTONIC_TIMESTAMP={at % 10**9}\n_BOOT_ID={'1' * 32}\n"
        f"_UID={uid}\n_SYSTEMD_USER_UNIT=sglang.service\nMESSAGE\n"
    ).encode() + b"%s%s\n\n" % (size, message)


@pytest.mark.skipif(
    REMOTE is None or shutil.which("journalctl") is None,
    reason="no journalctl and systemd-journal-remote here",
)
async def test_a_real_journal_of_another_user(
    local: LocalHost, tools: Tools, tmp_path: Path
) -> None:
    assert REMOTE is not None
    began = 1768877000 * 10**6
    entries = [exported(began + i, 1001, message) for i, message in enumerate(MESSAGES)]
    entries += [exported(began + 50, 1002, b"not ours")]
    journal = tmp_path / "a.journal"
    subprocess.run([REMOTE, "-o", journal, "-"], input=b"".join(entries), check=True)
    real = shutil.which("journalctl")
    tools.add("journalctl", f'exec {real} --file={journal} "$@"')
    place = LogPlace(kind="journal", target="sglang.service", user_unit=True, uid=1001)
    whole = b"".join(message + b"\n" for message in MESSAGES)
    chunks = await read(follow_log(local, place), len(whole))
    assert text(chunks) == whole
    resumed = await read(
        follow_log(local, place, position=FilePosition(inode=began + 1, offset=0)),
        len(whole) - len(b"plain\ntwo\nlines of one record\n"),
    )
    assert text(resumed) == whole.removeprefix(b"plain\ntwo\nlines of one record\n")


def test_docker_entries() -> None:
    entries, rest = docker_entries(
        b"2026-01-20T02:40:29.123456789Z Load weight end.\n"
        b"2026-01-20T02:40:29.2+00:00 \xff\r|\n"
        b"2026-01-20T02:40:30Z \n2026-01-2"
    )
    assert entries == [
        (1768876829123456, b"Load weight end.\n"),
        (1768876829200000, b"\xff\r|\n"),
        (1768876830000000, b"\n"),
    ]
    assert rest == b"2026-01-2"


async def test_docker_is_taken_up_where_it_was_left(local: LocalHost, tools: Tools) -> None:
    tools.add(
        "docker",
        "echo '2026-01-20T02:40:29.1Z one' >&2; echo '2026-01-20T02:40:29.2Z two'; exec sleep 60",
    )
    place = LogPlace(kind="docker", target="0123abc")
    assert text(await read(follow_log(local, place), 8)) == b"one\ntwo\n"
    position = FilePosition(inode=1768876829100000, offset=4)
    (chunk,) = await read(follow_log(local, place, position=position), 4)
    assert (chunk.data, chunk.start, chunk.live) == (b"two\n", 4, False)
    assert tools.calls("docker") == [
        "logs --follow --timestamps 0123abc",
        "logs --follow --timestamps --since 1768876829 0123abc",
    ]


async def test_docker_says_why_not(local: LocalHost, tools: Tools) -> None:
    tools.add("docker", "echo 'permission denied while trying to connect' >&2; exit 1")
    with pytest.raises(HostError, match="permission denied"):
        await anext(follow_log(local, LogPlace(kind="docker", target="x")))


# --- tmux ----------------------------------------------------------------------------------------


def test_new_lines() -> None:
    assert new_lines([], [b"a", b"b"]) == [b"a", b"b"]
    assert new_lines([b"a", b"b"], [b"a", b"b", b"c"]) == [b"c"]
    assert new_lines([b"a", b"b"], [b"b", b"c"]) == [b"c"]
    assert new_lines([b"a", b"a"], [b"a", b"a", b"a"]) == [b"a"]
    assert new_lines([b"a", b"b"], [b"a", b"b"]) == []
    assert new_lines([b"a"], [b"x", b"y"]) == [b"x", b"y"]


@pytest.fixture
async def pane(tmp_path: Path) -> AsyncIterator[LogPlace]:
    if shutil.which("tmux") is None:
        pytest.skip("no tmux")
    socket = tmp_path / "s"
    tmux = ["tmux", "-S", str(socket), "-f", "/dev/null"]
    with contextlib.suppress(KeyError):
        os.environ.pop("TMUX")
    subprocess.run([*tmux, "new-session", "-d", "-x", "40", "-y", "10", "sh"], check=True)
    yield LogPlace(kind="tmux", target=f"{socket} %0")
    subprocess.run([*tmux, "kill-server"], check=False)


async def test_tmux_pane(local: LocalHost, pane: LogPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_TMUX_INTERVAL", 0.05)
    socket = pane.target.split()[0]

    def say(line: str) -> None:
        subprocess.run(["tmux", "-S", socket, "send-keys", "-t", "%0", line, "Enter"], check=True)

    follow = follow_log(local, pane)
    seen = b""

    async def until(word: bytes) -> None:
        nonlocal seen
        while word not in seen:
            seen += (await asyncio.wait_for(anext(follow), 10)).data

    say("clear; seq 1 30; echo A-$((40+2))")
    await until(b"A-42\n")
    say("printf '%090d\\n' 7; echo B-$((40+2))")
    await until(b"B-42\n")
    lines = seen.split(b"\n")
    assert [line for line in lines if line.isdigit() and len(line) < 3] == [
        b"%d" % i for i in range(1, 31)
    ]
    assert b"0" * 89 + b"7" in lines
    assert lines.count(b"A-42") == 1
    await follow.aclose()


# --- GPUs ----------------------------------------------------------------------------------------

H200 = (
    b"0, NVIDIA H200, GPU-aa, 98, 612.45, 700.00, 131071, 143771, 61, 1830, 0x0000000000000004\n"
    b"1, NVIDIA H200, GPU-bb, [N/A], [Not Supported], 700.00, 4, 143771, [N/A], 345, 0x1\n"
)


def test_nvidia() -> None:
    first, second = parse_nvidia(H200)
    assert first == Gpu(
        index=0,
        name="NVIDIA H200",
        uuid="GPU-aa",
        utilization=98,
        power=612.45,
        power_limit=700,
        memory_used=131071,
        memory_total=143771,
        temperature=61,
        clock=1830,
        throttled="power cap",
    )
    assert (second.utilization, second.power, second.temperature) == (None, None, None)
    assert second.throttled == ""
    assert parse_nvidia(b"NVIDIA-SMI has failed because it couldn't communicate\n") == ()


@given(st.binary(max_size=300))
def test_any_gpu_text_is_survived(data: bytes) -> None:
    parse_nvidia(data)
    parse_rocm(data)
    parse_rocm(b"{" + data)


def test_blocks_in_any_pieces() -> None:
    stream = H200 * 3
    for size in (1, 7, 100, 1000):
        blocks = Blocks(2)
        got = [g for i in range(0, len(stream), size) for g in blocks.feed(stream[i : i + size])]
        assert [[gpu.index for gpu in gpus] for gpus in got] == [[0, 1]] * 3


def test_rocm() -> None:
    data = b"""WARNING: x
{"card1": {"GPU use (%)": "0", "Card series": "MI300X"},
 "card0": {"Device ID": "0x74a1", "Unique ID": "0xab", "GPU use (%)": "97",
  "Current Socket Graphics Package Power (W)": "631.0", "Max Graphics Package Power (W)": "750.0",
  "VRAM Total Memory (B)": "206141652992", "VRAM Total Used Memory (B)": "1048576",
  "Temperature (Sensor junction) (C)": "62.0", "sclk clock speed:": "(2104Mhz)",
  "Card Series": "AMD Instinct MI300X"}, "system": {"Driver version": "6"}}"""
    first, second = parse_rocm(data)
    assert first == Gpu(
        index=0,
        name="AMD Instinct MI300X",
        uuid="0xab",
        utilization=97,
        power=631,
        power_limit=750,
        memory_used=1,
        memory_total=206141652992 / 2**20,
        temperature=62,
        clock=2104,
    )
    assert second.name == "MI300X"


async def test_reader(local: LocalHost, tools: Tools) -> None:
    (tools.folder / "out").write_bytes(H200)
    tools.add(
        "nvidia-smi",
        f"""case "$*" in
  *compute-apps*) echo '4242, GPU-bb, 1000'; echo '[N/A], GPU-aa, [N/A]';;
  *query-gpu=uuid*) echo 'GPU-aa, 0'; echo 'GPU-bb, 1';;
  *loop*) while :; do cat {tools.folder}/out; sleep 0.05; done;;
  *) cat {tools.folder}/out;;
esac""",
    )
    reader = GpuReader(local)
    assert len(await reader.read()) == 2
    assert await reader.processes() == (GpuProcess(pid=4242, gpu=1, memory=1000.0),)
    async with contextlib.aclosing(reader.stream(0.5)) as stream:
        for _ in range(4):
            assert [gpu.index for gpu in await anext(stream)] == [0, 1]
    assert "--loop-ms=500" in tools.calls("nvidia-smi")[-1]


async def test_no_gpu(local: LocalHost, tools: Tools) -> None:
    tools.add("nvidia-smi", "exit 127")
    tools.add("rocm-smi", "exit 127")
    with pytest.raises(GpusUnknown, match="no GPU"):
        await GpuReader(local).read()
    tools.add("nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9")
    with pytest.raises(GpusUnknown, match="NVIDIA-SMI has failed"):
        await GpuReader(local).read()


# --- facts ---------------------------------------------------------------------------------------


async def test_facts(host: AnyHost) -> None:
    seen = await read_facts(host)
    assert seen.name == os.uname().nodename
    assert seen.kernel.startswith(os.uname().sysname)
    assert seen.utc_offset == -time.timezone
    assert seen.round_trip is not None
    assert 0 < seen.round_trip < 10
    assert abs(seen.clock_offset) <= seen.round_trip


async def test_facts_of_an_account_without_a_name(local: LocalHost, tools: Tools) -> None:
    """`id -un` says the number and fails: the lines after it must not move."""
    tools.add("id", "case $1 in -un) echo 1003; exit 1;; *) echo 1003;; esac")
    seen = await read_facts(local)
    assert (seen.user, seen.name) == ("1003", os.uname().nodename)
    assert seen.kernel.startswith(os.uname().sysname)


def test_clocks() -> None:
    assert _clock("1764430000.500000000 +0200") == (1764430000.5, 7200.0)
    assert _clock("1764430000.N -0330") == (1764430000.0, -12600.0)
    assert _clock("nonsense") == (None, 0.0)


@pytest.mark.parametrize("number", ["[N/A]", "9" * 5000, "", "-1"])
async def test_a_tool_that_talks_nonsense_names_no_process(number: str) -> None:
    class Talking(LocalHost):
        async def run(self, argv: Sequence[str], **_: Any) -> Completed:
            cells = ["GPU-1", number] if "uuid,index" in argv[1] else [number, "GPU-1", "5"]
            return Completed(status=0, stdout=", ".join(cells).encode(), stderr=b"")

    assert await GpuReader(Talking()).processes() == ()


def test_a_cell_without_end_is_no_gpu() -> None:
    assert parse_nvidia(b'"' + b"x" * 200_000 + b"\n" + H200) == parse_nvidia(H200)
    assert parse_rocm(b'{"card0":' * 100_000) == ()


async def test_a_home_that_is_not_there_hides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/nonexistent/home")
    done = await LocalHost().run(["pwd"])
    assert (done.stdout, done.status) == (b"/\n", 0)
    assert (await LocalHost().run(["no-such-command"])).status == 127


async def test_a_killed_command_is_awaited_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    host = LocalHost()
    for _ in range(20):
        with pytest.raises(CommandTimeout):
            await host.run(["sleep", "60"], timeout=0.01)
    sleeping = await host.start(["sleep", "60"])
    sleeping.close()
    await host.close()
    assert sleeping.closed
    assert caplog.messages == []
