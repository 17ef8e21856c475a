"""One streamed reply, measured: bytes and times in, one dictionary out.

It runs in the user's program and, sent along with `bench_client.py`, in the host's Python, so that
both give the same numbers. Standard library of Python 3.8 alone, and no JSON is parsed while
tokens come: 32,000 chunks a second leave 31 microseconds for each.

How many tokens a chunk holds is what the server says (`completion_tokens` of the continuous usage
or of `meta_info`), never the number of chunks. What one read brings is one arrival: its n tokens
give n gaps of a nth each.
"""

from __future__ import annotations

import json
import re
from typing import Any

LONGEST_TEXT = 1 << 20
"""Bytes of an answer that are kept to see whether it loops."""

TAIL = 128
"""Words at an answer's end that are looked at for a loop: most begin well."""

FEWEST = 64
"""Words of which it can be said whether they loop."""

_COUNT = b'"completion_tokens":'
# A quote inside a JSON string is escaped, so that no generated text can look like one of these.
_TEXT = re.compile(
    rb'"(?:content|reasoning_content|reasoning|text)":\s*"((?:[^"\\]|\\.)+)"', re.DOTALL
)
# The same for the one plain event that most reads bring.
_PLAIN = (b'ontent":"', b'"text":"')
_BACKSLASH = 92
_NUMBER = re.compile(rb"\s*(\d{1,12})")
_LONE_USAGE = re.compile(rb'"choices":\s*\[\s*\]')
_ERROR = re.compile(rb'(?:^|\n)data:\s*(\{\s*"(?:error"|object":\s*"error").*)')
_ABORTED = re.compile(rb'"(?:type|finish_reason)":\s*"abort"')
_PROMPT = re.compile(rb'"prompt_tokens":\s*(\d+)')
_CACHED = re.compile(rb'"cached_tokens":\s*(\d+)')
_VERIFIED = re.compile(rb'"spec_verify_ct":\s*(\d+)')
# 0.5.12 to 0.5.20 write both and both say the same; 0.5.9 to 0.5.11 have the second alone.
_HISTOGRAM = re.compile(rb'"spec_(?:correct_drafts|accept)_histogram":\s*\[([\d,\s]*)\]')
# A word, a character of a script without spaces, or a sign.
_WORDS = re.compile("[\u2e80-\u9fff\uac00-\ud7af]|\\w+|[^\\w\\s]")


class StreamMeter:
    """One reply while it comes.

    Args:
        native: whether it is `/generate`, whose chunks carry `meta_info` and mostly repeat the
            whole text, rather than one of OpenAI's.
        began: when the request was sent, on the clock of `feed`.

    Attributes:
        heard: when bytes came last.
        first, last: when tokens came first and last; None before.
        tokens: how many the server has counted so far.
        done: whether the reply is complete.
        error: what went wrong; "" for nothing.
    """

    __slots__ = (
        "_at",
        "_buffer",
        "_counts",
        "_gaps",
        "_kept",
        "_name",
        "_native",
        "_pieces",
        "_repeats",
        "_special",
        "_usage",
        "began",
        "done",
        "error",
        "first",
        "heard",
        "last",
        "tokens",
    )

    def __init__(self, native: bool, began: float) -> None:
        self._native = native
        self.began = began
        self.heard = began
        self.first: float | None = None
        self.last: float | None = None
        self.tokens = 0
        self.done = False
        self.error = ""
        self._counts: bool | None = True if native else None
        self._repeats: bool | None = None if native else False
        # Gap, tokens, gap, tokens, …: a pair each would be one more thing for the collector.
        self._gaps: list[float] = []
        self._buffer = b""
        # Where the last event's text stood, and behind which name.
        self._at = 0
        self._name = _PLAIN[0]
        self._usage = b""
        self._special = b""
        self._pieces: list[bytes] = []
        self._kept = 0

    def feed(self, data: bytes, now: float) -> None:
        """Take what one read of the reply's body brought."""
        self.heard = now
        if self._counts and not self._native and not self._buffer and self._common(data, now):
            return
        if self._buffer:
            data = self._buffer + data
            self._buffer = b""
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        if not data.endswith(b"\n\n"):
            end = data.rfind(b"\n\n") + 2
            self._buffer = data[end:] if end > 1 else data
            if end < 2:
                return
            data = data[:end]
        self._take(data, now)

    def fail(self, why: str) -> None:
        """Note what ended it; the first reason stays."""
        if not self.error and not self.done:
            self.error = why

    def _common(self, data: bytes, now: float) -> bool:
        """Take one event like the one before; False where it needs a closer look.

        The common case is left as soon as it is known to be one: a scan of a chunk for a word that
        is not there costs as much as all the rest of it.
        """
        # Events of one reply are alike up to their text, which so begins where it began before.
        if not data.startswith(self._name, self._at):
            self._name = next((name for name in _PLAIN if name in data), _PLAIN[0])
            self._at = data.find(self._name)
            if self._at < 0:
                return False
        start = self._at + len(self._name)
        end = data.find(b'"', start)
        if end <= start or data[end - 1] == _BACKSLASH or data.find(b"\n\n", end) != len(data) - 2:
            return False
        at = data.rfind(_COUNT)
        if at < end or b"\r" in data or not (number := _NUMBER.match(data, at + len(_COUNT))):
            return False
        count = int(number.group(1))
        if count <= self.tokens:
            return False
        self._usage = data
        if self.last is None:
            self.first = now
        else:
            self._gaps += (now - self.last, count - self.tokens)
        self.last = now
        self.tokens = count
        if self._kept < LONGEST_TEXT:
            self._pieces.append(data[start:end])
            self._kept += end - start
        return True

    def _take(self, block: bytes, now: float) -> None:
        """Whole events that came together."""
        at = block.rfind(_COUNT)
        if block.endswith(b"[DONE]\n\n"):
            self.done = True
        if b'"error"' in block and (wrong := _ERROR.search(block)):
            self.error = self.error or _message(wrong.group(1))
        if b'"abort"' in block and _ABORTED.search(block):
            self.error = self.error or "the server aborted it"
        texts = [] if self._repeats else _TEXT.findall(block)
        if self._counts is None and (texts or at >= 0):
            self._counts = at >= 0 and not _LONE_USAGE.search(block)
        if at >= 0:
            self._usage = block
            number = _NUMBER.match(block, at + len(_COUNT))
            count = int(number.group(1)) if number else 0
            if count > self.tokens:
                if self._counts:
                    self._arrived(count - self.tokens, now)
                self.tokens = count
        if texts:
            if not self._counts:
                self._arrived(0, now)
            if self._repeats is None:
                self._settle(texts[-1])
            else:
                self._keep(texts)
        if not self._native and b'"spec_' in block:
            self._special = block

    def _arrived(self, tokens: int, now: float) -> None:
        if self.last is None:
            self.first = now
        else:
            self._gaps += (now - self.last, tokens)
        self.last = now

    def _settle(self, text: bytes) -> None:
        """Whether `/generate` repeats its text: servers may be told to send only what is new."""
        if self._pieces:
            self._repeats = text.startswith(self._pieces[0])
        if self._repeats:
            self._pieces = []
        else:
            self._keep([text])

    def _keep(self, texts: list[bytes]) -> None:
        for text in texts:
            if self._kept < LONGEST_TEXT:
                self._pieces.append(text)
                self._kept += len(text)

    # --- when it is over ----------------------------------------------------------------------

    def text(self) -> str:
        """The answer, reasoning included, as far as it was kept."""
        if self._repeats or (self._native and self._repeats is None):
            found = _TEXT.findall(self._usage)
            pieces = found[-1:]
        else:
            pieces = self._pieces
        return _decoded(b"".join(pieces))

    def result(self) -> dict[str, Any]:
        """What was measured; times in seconds since `began`.

        `gaps` holds pairs: microseconds between two arrivals, and tokens of the second (0 where
        the server does not count while it streams). `tail_bigrams` is that of the last words.
        """
        if not self.error and _ABORTED.search(self._usage):
            self.error = "the server aborted it"
        if not self.done:
            self.fail("the stream ended before it was complete")
        usage = self._usage[max(self._usage.rfind(b'"meta_info"'), 0) :]
        special = self._special or usage
        words = _WORDS.findall(self.text())
        lists = _HISTOGRAM.findall(special)
        return {
            "ttft": None if self.first is None else self.first - self.began,
            "latency": None if self.last is None or self.error else self.last - self.began,
            "prompt_tokens": _last(_PROMPT, usage),
            "cached_tokens": _last(_CACHED, usage),
            "output_tokens": self.tokens,
            "verify_steps": _last(_VERIFIED, special) or None,
            "accepted": [int(n) for n in lists[-1].split(b",") if n.strip()] if lists else [],
            "distinct_bigrams": distinct_bigrams(words),
            "tail_bigrams": distinct_bigrams(words[-TAIL:]) if len(words) >= FEWEST else None,
            "counted": bool(self._counts),
            "gaps": [
                [round(gap * 1e6), int(tokens)]
                for gap, tokens in zip(self._gaps[::2], self._gaps[1::2])  # noqa: B905
            ],
            "error": self.error,
        }


def distinct_bigrams(words: list[str]) -> float | None:
    """Distinct pairs of neighbours over all of them; None for fewer than two words."""
    pairs = len(words) - 1
    if pairs < 1:
        return None
    return len(set(zip(words, words[1:]))) / pairs  # noqa: B905, RUF007 - Python 3.8


def _last(pattern: re.Pattern[bytes], block: bytes) -> int | None:
    found = pattern.findall(block)
    return int(found[-1]) if found and len(found[-1]) < 16 else None


def _decoded(piece: bytes) -> str:
    """A JSON string's inside as text."""
    try:
        text = json.loads(b'"' + piece + b'"')
    except ValueError:
        return piece.decode("utf-8", "replace")
    return text if isinstance(text, str) else ""


def _message(event: bytes) -> str:
    """The words of an error event."""
    try:
        said = json.loads(event.split(b"\n", 1)[0])
    except ValueError:
        said = {}
    inside = said.get("error", said) if isinstance(said, dict) else {}
    words = inside.get("message") if isinstance(inside, dict) else inside
    return f"the server said: {str(words or 'error')[:200]}"
