"""Sends a benchmark's requests from the host itself, so that no network is measured.

Standard input: one line of JSON, the job; after it anything now and then says that somebody still
listens, and a line `stop` ends it. Standard output: lines of JSON, `{"began"}`, `{"tokens",
"running"}` twice a second, `{"index", …}` for each request, `{"over"}`.

Standard library of Python 3.8 alone; `stream_meter` comes along with it.
"""

from __future__ import annotations

import collections
import errno
import gc
import json
import os
import selectors
import socket
import sys
import time
from typing import Any

from eagletui.hostside.stream_meter import StreamMeter

LEASE = 60.0
"""Seconds without a word on standard input, after which nobody listens any more."""

TELL_EVERY = 0.5
REST = 0.004
"""Seconds between two results. Streams of one length end together, and a result takes as long as a
hundred chunks: all at once, they would hold up the last chunks of those that still run."""

_READ = 1 << 16
_LONGEST_HEAD = 1 << 16
_SIZE = 16
"""Bytes of a chunk's size and its end, in the common case."""

_UNDER_WAY = (0, errno.EINPROGRESS, errno.EWOULDBLOCK)


class Malformed(Exception):
    """What came is no reply of HTTP/1.1."""


class Body:
    """Takes the frame of HTTP/1.1 off a reply: status, then the bytes inside."""

    def __init__(self) -> None:
        self.status = 0
        self.ended = False
        self._head = b""
        self._rest = b""
        self._left: int | None = None
        self._chunked = False

    def feed(self, data: bytes) -> bytes:
        """The body's bytes that these hold.

        Raises:
            Malformed: it is no HTTP reply, or its chunks are broken.
        """
        if not self.status:
            self._head += data
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                if len(self._head) > _LONGEST_HEAD or not b"HTTP/1.".startswith(self._head[:7]):
                    raise Malformed("the reply is not HTTP/1.1")
                return b""
            head, data = self._head[:end], self._head[end + 4 :]
            self._head = b""
            self._begin(head)
        if self._chunked:
            return self._chunks(data)
        if self._left is None:
            return data
        self._left -= len(data)
        self.ended = self._left <= 0
        return data

    def _begin(self, head: bytes) -> None:
        first, *lines = head.split(b"\r\n")
        words = first.split(None, 2)
        if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
            raise Malformed("the reply is not HTTP/1.1")
        self.status = int(words[1])
        for line in lines:
            name, _, value = line.partition(b":")
            name, value = name.strip().lower(), value.strip().lower()
            if name == b"transfer-encoding":
                self._chunked = b"chunked" in value
            elif name == b"content-length" and value.isdigit():
                self._left = int(value)
        self.ended = self._left == 0 and not self._chunked

    def _chunks(self, data: bytes) -> bytes:
        if self._rest:
            data = self._rest + data
        elif (line := data.find(b"\r\n", 0, _SIZE)) > 0 and data[:line].isalnum():
            # The common case: one chunk, whole.
            try:
                size = int(data[:line], 16)
            except ValueError:
                raise Malformed("a chunk has no size") from None
            if size and len(data) == line + 4 + size:
                return data[line + 2 : -2]
        out = []
        at = 0
        while True:
            line = data.find(b"\r\n", at)
            if line < 0:
                break
            try:
                size = int(data[at:line].split(b";", 1)[0], 16)
            except ValueError:
                raise Malformed("a chunk has no size") from None
            if size == 0:
                self.ended = True
                at = len(data)
                break
            end = line + 2 + size
            if len(data) < end + 2:
                break
            out.append(data[line + 2 : end])
            at = end + 2
        self._rest = data[at:]
        return out[0] if len(out) == 1 else b"".join(out)


class Stream:
    """One request on its own connection."""

    def __init__(self, index: int, request: bytes, native: bool, now: float) -> None:
        self.index = index
        self.meter = StreamMeter(native, now)
        self.body = Body()
        self.socket: socket.socket | None = None
        self._out = memoryview(request)
        self._said = b""

    def connect(self, where: tuple[Any, ...]) -> bool:
        """Begin to connect; False where that fails at once."""
        family, address = where
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        code = self.socket.connect_ex(address)
        if code not in _UNDER_WAY:
            self.meter.fail(f"no connection: {os.strerror(code)}")
            return False
        return True

    def write(self) -> bool:
        """Send what is left to send; whether all is sent or lost."""
        assert self.socket is not None
        try:
            self._out = self._out[self.socket.send(self._out) :]
        except BlockingIOError:
            return False
        except OSError as error:
            self.meter.fail(f"no connection: {error.strerror}")
            return True
        return not self._out

    def read(self) -> bool:
        """Take what came; whether the reply is over."""
        assert self.socket is not None
        try:
            data = self.socket.recv(_READ)
        except BlockingIOError:
            return False
        except OSError as error:
            self.meter.fail(f"the connection ended: {error.strerror}")
            return True
        now = time.perf_counter()
        if not data:
            self._close_status()
            return True
        try:
            inside = self.body.feed(data)
        except Malformed as error:
            self.meter.fail(str(error))
            return True
        if self.body.status in (0, 200):
            if inside:
                self.meter.feed(inside, now)
        else:
            self._said = (self._said + inside)[:2000]
        if self.body.ended:
            self._close_status()
        return self.body.ended

    def _close_status(self) -> None:
        if self.body.status not in (0, 200):
            words = " ".join(self._said.decode("utf-8", "replace").split())[:200]
            self.meter.fail(f"HTTP {self.body.status}: {words}")

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()
            self.socket = None


class Client:
    """All requests of one cell: a closed loop, or starts at given moments."""

    def __init__(self, job: dict[str, Any], where: tuple[Any, ...], out: Any) -> None:
        self._job = job
        self._where = where
        self._out = out
        self._selector = selectors.DefaultSelector()
        self._streams: dict[int, Stream] = {}
        self._next = 0
        self._began = time.perf_counter()
        self._tokens = 0
        self._finished_tokens = 0
        self._ready: collections.deque[Stream] = collections.deque()
        self._rested = self._last = self._began
        self._heard = self._began
        self.stopped = False

    def run(self, listen: bool = True, said: bytes = b"") -> None:
        """Send them all, telling as they end; `said` came behind the job already."""
        self._hear(said)
        if listen:
            os.set_blocking(0, False)
            self._selector.register(0, selectors.EVENT_READ, None)
        told = self._began = self._heard = self._last = time.perf_counter()
        self._tell({"began": time.time()})
        while not self.stopped and (self._streams or self._next < len(self._job["bodies"])):
            pause = min(self._start(), TELL_EVERY, REST if self._ready else TELL_EVERY)
            for key, _ in self._selector.select(max(pause, 0.0)):
                self._attend(key)
            now = time.perf_counter()
            if self._ready and now - self._rested > REST:
                self._tell_result(self._ready.popleft())
                self._rested = now
            if now - told >= TELL_EVERY:
                told = now
                self._judge(now)
                running = self._streams.values()
                tokens = self._finished_tokens + sum(s.meter.tokens for s in running)
                self._tell({"tokens": tokens, "running": len(self._streams)})
        seconds = self._last - self._began
        for stream in list(self._streams.values()):
            self._end(stream, "stopped")
            seconds = self._last - self._began
        self._tell_results()
        self._tell({"over": seconds})

    def _start(self) -> float:
        """Begin what may begin now; seconds until the next one is due."""
        bodies, starts = self._job["bodies"], self._job["starts"]
        while self._next < len(bodies) and len(self._streams) < self._job["concurrency"]:
            now = time.perf_counter()
            if starts and (wait := self._began + starts[self._next] - now) > 0:
                return float(wait)
            request = self._job["head"].encode("ascii") + b"%d\r\n\r\n" % len(bodies[self._next])
            request += bodies[self._next]
            stream = Stream(self._next, request, self._job["native"], now)
            self._next += 1
            if not stream.connect(self._where):
                self._end(stream)
                continue
            assert stream.socket is not None
            self._streams[stream.index] = stream
            self._selector.register(stream.socket, selectors.EVENT_WRITE, stream)
        return TELL_EVERY

    def _attend(self, key: selectors.SelectorKey) -> None:
        stream = key.data
        if stream is None:
            self._listen()
        elif key.events & selectors.EVENT_WRITE:
            if stream.write():
                if stream.meter.error:
                    self._end(stream)
                else:
                    self._selector.modify(stream.socket, selectors.EVENT_READ, stream)
        elif stream.read():
            self._end(stream)

    def _listen(self) -> None:
        said = os.read(0, 4096)
        self._heard = time.perf_counter()
        if not said:
            self.stopped = True
        self._hear(said)

    def _hear(self, said: bytes) -> None:
        # Signs of life are dots and ends of lines: anything else is `stop`, or a part of it.
        self.stopped = self.stopped or bool(said.strip(b".\n"))

    def _judge(self, now: float) -> None:
        if now - self._heard > LEASE:
            self.stopped = True
        for stream in list(self._streams.values()):
            meter = stream.meter
            patience = self._job["first_s" if meter.first is None else "gap_s"]
            if now - meter.heard > patience:
                self._end(stream, f"no token for {patience:g} s")

    def _end(self, stream: Stream, why: str = "") -> None:
        if why:
            stream.meter.fail(why)
        if stream.socket is not None and stream.index in self._streams:
            self._selector.unregister(stream.socket)
        self._streams.pop(stream.index, None)
        stream.close()
        self._finished_tokens += stream.meter.tokens
        self._last = time.perf_counter()
        self._ready.append(stream)
        if not stream.meter.tokens:
            # Enough failures in a row end it all: they are told at once, and in their order.
            self._tell_results()

    def _tell_results(self) -> None:
        while self._ready:
            self._tell_result(self._ready.popleft())

    def _tell_result(self, stream: Stream) -> None:
        began = stream.meter.began - self._began
        self._tell({"index": stream.index, "began": began, **stream.meter.result()})

    def _tell(self, line: dict[str, Any]) -> None:
        self._out.write(json.dumps(line, separators=(",", ":")).encode("ascii") + b"\n")
        self._out.flush()


def address(host: str, port: int) -> tuple[Any, ...]:
    """Family and address of the server."""
    family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    return family, where


def read_job(number: int) -> tuple[bytes, bytes]:
    """The first line, and what came behind it: a buffered reader would keep that to itself."""
    blocks = []
    while True:
        block = os.read(number, 1 << 16)
        line, end, rest = block.partition(b"\n")
        blocks.append(line)
        if end or not block:
            return b"".join(blocks), rest


def main() -> int:
    """Read the job, do it."""
    # It makes no cycles, and a collection would stand between a chunk and its time.
    gc.disable()
    out = sys.stdout.buffer
    line, said = read_job(0)
    job = json.loads(line)
    job["bodies"] = [body.encode("utf-8") for body in job["bodies"]]
    try:
        where = address(job["host"], job["port"])
    except OSError as error:
        out.write(json.dumps({"wrong": f"no such address: {error}"}).encode("ascii") + b"\n")
        return 1
    try:
        Client(job, where, out).run(said=said)
    except BrokenPipeError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
