"""A real server is switched through the real sshd: settings that work, a bad flag, a taken port."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.conftest import Command
from tests.live.server import (
    IDLE_QUIETLY,
    LAB,
    ONE_THREAD,
    READY,
    LabServer,
    command_line,
    group_members,
    wait_until,
)
from tests.live.ssh import ALIAS
from tests.sshd import Sshd

LIMIT = 900.0
"""Seconds for one switch: two cores that others use take minutes to import torch alone."""

MODELS = LAB / "models"
AMX = ("--prefill-attention-backend", "intel_amx", "--decode-attention-backend", "intel_amx")


def eagle3(steps: int) -> tuple[str, ...]:
    return (
        *AMX,
        "--speculative-algorithm",
        "EAGLE3",
        "--speculative-draft-model-path",
        str(MODELS / "tiny-eagle3"),
        "--speculative-num-steps",
        str(steps),
        "--speculative-eagle-topk",
        "1",
        "--speculative-num-draft-tokens",
        str(steps + 1),
    )


NGRAM = (*AMX, "--speculative-algorithm", "NGRAM", "--speculative-num-draft-tokens", "4")


class Switcher:
    """`eagletui launch` onto one port of the lab, over SSH."""

    def __init__(self, eagletui: Command, sshd: Sshd, port: int, folder: Path) -> None:
        self._eagletui = eagletui
        self._where = ("--host", ALIAS, "--ssh-config", sshd.config)
        self._folder = folder
        self.port = port
        self.pids: list[int] = []

    def launch(self, *flags: str, status: int = 0, force: bool = False) -> Any:
        told = self._eagletui(
            "launch", *self._where, "--yes", "--settle", "1", "--roll-back", "always",
            "--env", "SGLANG_USE_CPU_ENGINE=1",
            *(word for pair in ONE_THREAD.items() for word in ("--env", "=".join(pair))),
            "--workdir", self._folder, *(("--force",) if force else ()), "--",
            LAB / "venv" / "bin" / "python", "-m", "sglang.launch_server",
            "--model-path", MODELS / "tiny-llama", "--device", "cpu", "--host", "127.0.0.1",
            "--port", self.port, "--max-total-tokens", "20000", "--max-running-requests", "32",
            "--attention-backend", "torch_native", IDLE_QUIETLY, *flags,
            status=status, limit=LIMIT,
        )  # fmt: skip
        if isinstance(told, dict) and told.get("pid"):
            self.pids.append(told["pid"])
        return told

    def stop(self) -> Any:
        return self._eagletui("stop", *self._where, "--port", self.port, "--yes", limit=LIMIT)

    def running(self) -> Any:
        [server] = [
            server
            for server in self._eagletui("status", *self._where)["servers"]
            if server["port"] == self.port
        ]
        return server


@pytest.fixture
def switcher(eagletui: Command, sshd: Sshd, folder: Path) -> Iterator[Switcher]:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]
    switcher = Switcher(eagletui, sshd, port, folder)
    yield switcher
    for pid in switcher.pids:
        if str(port) in command_line(pid):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)


def test_from_eagle3_to_off_with_a_bad_flag_in_between(switcher: Switcher, folder: Path) -> None:
    with socket.create_server(("127.0.0.1", switcher.port)):
        taken = switcher.launch(*eagle3(3), status=1, force=True)
    assert taken["problem"]["code"] == "port-taken"
    assert taken["pid"] is None

    # What runs first was not started by eagletui.
    old = LabServer(
        folder,
        "switched",
        "EAGLE3",
        [IDLE_QUIETLY],
        port=switcher.port,
    )
    try:
        old.wait_for(READY, LIMIT)
        command = command_line(old.pid)
        refused = switcher.launch("--speculative-num-stepz", "5", status=1)
        assert "num-stepz" in refused
        told = switcher.launch("--speculative-num-stepz", "5", status=1, force=True)
        assert told["state"] == "rolled-back", told
        assert "num-stepz" in told["problem"]["title"] + told["problem"]["evidence"]
        assert command_line(told["pid"]) == command
        wait_until("the first one is gone", lambda: not group_members(old.group))
        for flags, algorithm, steps in (
            (eagle3(5), "EAGLE3", 5),
            (NGRAM, "NGRAM", None),
            ((), None, None),
        ):
            before = switcher.pids[-1]
            told = switcher.launch(*flags)
            assert told["state"] == "ready", told
            assert "weights/target" in told["phases"]
            assert not group_members(before), "workers of the one before are left"
            server = switcher.running()
            assert server["pid"] == told["pid"]
            assert server["ready"]
            assert server["speculative"]["algorithm"] == algorithm
            if steps is not None:
                assert server["speculative"]["num_steps"] == steps
        last = switcher.pids[-1]
        assert switcher.stop()["state"] == "stopped"
        assert not group_members(last)
    finally:
        old.stop()
