"""The lab's SGLang servers: started in a session of their own, ended by id."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

LAB = Path(os.environ.get("SGLANG_LAB") or Path.home() / ".cache" / "sglang-lab")
"""Read once, before any test has a home of its own."""

SERVE = Path(__file__).parent / "lab" / "serve"
RELEASE = "0.5.23"
READY = b"The server is fired up and ready to roll!"
START_LIMIT = 900.0
"""Seconds; a start takes 20 on two idle cores, and minutes on two that others use."""

WAIT = 180.0
"""Seconds for what takes one, or none: a busy machine is slow, not wrong."""

# Threads that wait for each other come to a crawl when something else runs on their cores, and
# these models are too small to gain from two. SGLang binds threads to cores for AMX alone.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "SGLANG_CPU_OMP_THREADS_BIND": "0"}

# A scheduler that waits for requests keeps a whole core busy otherwise.
IDLE_QUIETLY = "--sleep-on-idle"

# How the log leaves the server: a bash script whose $1 is the log and whose rest is the command.
_REDIRECTS = {
    "file": 'log=$1; shift; exec "$@" >"$log" 2>&1',
    "tee": 'log=$1; shift; "$@" 2>&1 | tee "$log" >/dev/null',
    # Standard error keeps the old standard output: the common mistake, and SGLang logs there.
    "wrong order": 'log=$1; shift; exec "$@" 2>&1 >"$log"',
}


def why_not() -> str:
    """Why the lab cannot be used here, or ""."""
    if not (LAB / "ready").is_file():
        return f"no SGLang in {LAB}: run tests/live/lab/setup (3 GB, 90 s) or set SGLANG_LAB"
    return ""


def wait_until(
    what: str, true: Callable[[], bool], limit: float = WAIT, every: float = 0.1
) -> None:
    """Wait for something that another process does.

    Raises:
        AssertionError: it did not come true in time.
    """
    end = time.monotonic() + limit
    while not true():
        assert time.monotonic() < end, f"not within {limit} s: {what}"
        time.sleep(every)


class Answer(NamedTuple):
    """One `/generate` reply, as the server counts it."""

    completion_tokens: int
    verify_count: int
    latency: float


class LabServer:
    """One SGLang server on a free port of 127.0.0.1.

    Args:
        folder: where its log goes.
        name: of its log, for messages.
        algorithm: as `lab/serve` takes it; `off` is no speculation.
        flags: for SGLang; they come last and win.
        redirect: `file`, `tee` or `wrong order`.
        metrics: whether it serves `/metrics`.
        port: None takes a free one.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        algorithm: str = "EAGLE3",
        flags: Sequence[str] = (),
        *,
        redirect: str = "file",
        metrics: bool = True,
        environment: dict[str, str] | None = None,
        port: int | None = None,
    ) -> None:
        self.log = folder / f"{name}.log"
        self.port = port if port is not None else free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        environ = {
            **os.environ,
            "SGLANG_LAB": str(LAB),
            "PORT": str(self.port),
            "METRICS": "1" if metrics else "0",
            **ONE_THREAD,
            **(environment or {}),
        }
        self.started_at = time.time()
        self._process = subprocess.Popen(
            [
                "bash",
                "-c",
                _REDIRECTS[redirect],
                name,
                str(self.log),
                str(SERVE),
                algorithm,
                *flags,
            ],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.group = self._process.pid

    @property
    def pid(self) -> int:
        """The server's main process; it waits for it to be there."""
        wait_until("launch_server runs", lambda: self._find() is not None)
        found = self._find()
        assert found is not None
        return found

    def _find(self) -> int | None:
        for pid in group_members(self.group):
            words = command_line(pid)
            if "sglang.launch_server" in words and str(self.port) in words:
                return pid
        return None

    def child(self, title: str) -> int:
        """The worker whose process title begins like this, `sglang::scheduler`."""
        for pid in group_members(self.group):
            if " ".join(command_line(pid)).startswith(title):
                return pid
        raise AssertionError(f"no {title} among the processes of {self.log.name}")

    def text(self) -> bytes:
        """The log so far."""
        return self.log.read_bytes() if self.log.exists() else b""

    def wait_for(self, words: bytes, limit: float = START_LIMIT) -> None:
        """Wait until the log says this."""

        def said() -> bool:
            if words in self.text():
                return True
            assert self._process.poll() is None, f"it ended:\n{self.tail()}"
            return False

        wait_until(f"{words!r} in {self.log}", said, limit)

    def wait_ready(self) -> None:
        """Wait until it serves."""
        self.wait_for(READY)

    def wait_ended(self, limit: float = WAIT) -> None:
        """Wait until every process of it is gone."""
        wait_until(
            f"{self.log.name}'s processes end",
            lambda: self._process.poll() is not None and not group_members(self.group),
            limit,
        )

    def tail(self, size: int = 3000) -> str:
        """The end of the log, for messages."""
        return self.text()[-size:].decode("utf-8", "replace")

    def get(self, path: str) -> Any:
        """A JSON reply."""
        with urllib.request.urlopen(self.url + path, timeout=WAIT) as reply:
            return json.load(reply)

    def generate(self, prompt: str, tokens: int) -> Answer:
        """Generate exactly this many tokens."""
        sampling = {"max_new_tokens": tokens, "ignore_eos": True, "temperature": 0}
        request = urllib.request.Request(
            self.url + "/generate",
            json.dumps({"text": prompt, "sampling_params": sampling}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=900) as reply:
            meta = json.load(reply)["meta_info"]
        return Answer(
            completion_tokens=meta["completion_tokens"],
            verify_count=meta.get("spec_verify_ct", 0),
            latency=meta["e2e_latency"],
        )

    def load(self, requests: int, tokens: int, at_once: int = 2) -> list[Answer]:
        """Several requests, so many at a time."""
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            prompts = [f"def function_{index}(self, value):" for index in range(requests)]
            return list(pool.map(lambda prompt: self.generate(prompt, tokens), prompts))

    def decode_lines(self, begin: int = 0) -> list[dict[str, float]]:
        """The numbers of every `Decode batch` line from this byte of the log on."""
        return [
            {
                key.decode(): float(value)
                for key, value in re.findall(rb"([#a-z][a-z ()/#-]*): ([0-9.]+)", line)
            }
            for line in re.findall(rb"Decode batch, (.*)", self.text()[begin:])
        ]

    def stop(self) -> None:
        """End it: asked first, then by force. Nothing of it is left."""
        for sent, patience in ((signal.SIGTERM, 20.0), (signal.SIGKILL, 20.0)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.group, sent)
            with contextlib.suppress(AssertionError):
                self.wait_ended(patience)
                return


@contextlib.contextmanager
def started(
    folder: Path, name: str, algorithm: str, *flags: str, **options: Any
) -> Iterator[LabServer]:
    """A server that logs every fifth step, from the moment its process is there until it is ended.

    While it waits for requests it sleeps, and leaves the cores to what else is started.

    Args:
        options: of `LabServer`.
    """
    server = LabServer(
        folder,
        name,
        algorithm,
        [*flags, IDLE_QUIETLY, "--decode-log-interval", "5"],
        **options,
    )
    try:
        assert server.pid
        yield server
    finally:
        server.stop()


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def command_line(pid: int) -> list[str]:
    """The words of a process's command line, [] where it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return []


def processes() -> Iterator[tuple[int, int, int]]:
    """(pid, parent, process group) of every process that is not a zombie."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                stat = (entry / "stat").read_bytes()
                state, parent, group = stat[stat.rindex(b")") + 2 :].split()[:3]
                if state != b"Z":
                    yield int(entry.name), int(parent), int(group)


def group_members(group: int) -> list[int]:
    """The processes of a process group."""
    return [pid for pid, _, theirs in processes() if theirs == group]


def descendants(pid: int) -> list[int]:
    """Children, their children and so on."""
    children: dict[int, list[int]] = {}
    for child, parent, _ in processes():
        children.setdefault(parent, []).append(child)
    found, to_see = [], [pid]
    while to_see:
        new = children.get(to_see.pop(), [])
        found += new
        to_see += new
    return found
