"""A server's own secrets, hidden wherever they turn up, whatever stands around them.

`secrets` finds what looks like a secret. A key that eagletui knows, for it stands in the server's
command line or environment, is hidden by what it is: in its log and in its replies, in every
spelling of JSON, Python and addresses. What is hidden keeps its length, so that no offset moves.
"""

from __future__ import annotations

import contextlib
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from eagletui.model.secret_names import is_secret, is_secret_flag

SHORTEST = 6
"""Characters; anything shorter turns up by chance."""
_DIGITS = 12
"""The same of a number: logs are full of them."""
HIDDEN = b"*"
_WORDS = """
    admin anything apikey api-key api_key bearer changeme change-me default disabled dummy empty
    enabled example fake-key false foobar ignored local localhost lm-studio nokey no-key
    no-key-required none not-needed not-used nothing ollama openai optional passwd password
    placeholder random required secret server sglang sk-local sk-none sk-test sk-xxx string test
    testing test-key token unused user username vllm your-api-key
"""
_LINES = """
    decode batch, #running-req: token usage: accept len: accept rate: cuda graph: gen throughput
    (token/s): #queue-req: prefill batch, #new-seq: #new-token: #cached-token: mamba num:
    info: warning error traceback (most recent call last): - "post /generate http/1.1" 200 ok
    load weight begin. end. avail mem= gb loading safetensors checkpoint shards: completed
    capturing batches capture target draft verify extend bs= memory pool kv cache is allocated.
    scheduler detokenizer tokenizer_manager server_args=serverargs( init torch distributed
    uvicorn running on the server is fired up and ready to roll! application startup complete.
    sglang: process spec_accept_length model_name engine_type tp_rank metrics speculative
    eagle3 nextn standalone attention flashinfer triton signal sigterm sigquit killed exception
"""
ORDINARY = frozenset(_WORDS.split())
"""Words, in lower case, that many a command line has for a key: hidden everywhere, they would
take the sense out of a log."""
LINES = " ".join(_LINES.split())
"""What our readers look for, in lower case: what stands in it is never hidden."""

_LETTERS_AFTER = re.compile(r"%[0-9A-F]{2}")
# What writers of addresses leave as it is: all but letters, paths, and all that may stand there.
_UNQUOTED = ("", "/", "/:@!$&'()*+,;=~")


class Literals:
    """Secrets as bytes. Two that hold the same are equal; none of them is ever shown."""

    __slots__ = ("_longest", "_spellings")

    def __init__(self, values: Iterable[str] = ()) -> None:
        found = {spelling for value in values for spelling in _spellings(value)}
        self._spellings = tuple(sorted(found, key=lambda spelling: (-len(spelling), spelling)))
        self._longest = len(self._spellings[0]) if self._spellings else 0

    def __bool__(self) -> bool:
        return bool(self._spellings)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literals) and self._spellings == other._spellings

    def __hash__(self) -> int:
        return hash(self._spellings)

    def __or__(self, other: Literals) -> Literals:
        both = Literals()
        found = {*self._spellings, *other._spellings}
        both._spellings = tuple(sorted(found, key=lambda spelling: (-len(spelling), spelling)))
        both._longest = max(self._longest, other._longest)
        return both

    def __repr__(self) -> str:
        return f"Literals({len(self._spellings)} spellings)"

    def hide(self, data: bytes) -> bytes:
        """The bytes with every secret in them covered, as long as before."""
        shown: bytearray | None = None
        for spelling in self._spellings:
            at, done = data.find(spelling), 0
            while at >= 0:
                shown = bytearray(data) if shown is None else shown
                end = at + len(spelling)
                done = max(at, done)
                shown[done:end] = HIDDEN * (end - done)
                done = end
                at = data.find(spelling, at + 1)
        return data if shown is None else bytes(shown)

    def hide_text(self, text: str) -> str:
        """The same of a text."""
        if not self._spellings:
            return text
        return self.hide(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def begun(self, data: bytes) -> int:
        """How many of the last bytes may begin a secret; none goes over the end of a line."""
        most = 0
        if data.endswith(b"\n"):
            return 0
        for spelling in self._spellings:
            for length in range(min(len(spelling) - 1, len(data)), most, -1):
                if data.endswith(spelling[:length]):
                    most = length
                    break
        return most

    def tells(self, data: bytes) -> bool:
        """Whether no secret whose beginning is not there ends behind these bytes."""
        return len(data) >= self._longest or b"\n" in data

    def ended(self, data: bytes) -> int:
        """How many of the first bytes may be the end of a secret whose beginning is not there."""
        most = 0
        for spelling in self._spellings:
            for length in range(min(len(spelling) - 1, len(data)), max(most, SHORTEST - 1), -1):
                if data.startswith(spelling[-length:]):
                    most = length
                    break
        return most


class Shown(NamedTuple):
    """Bytes fit to be shown; `start` is the offset of the first in its file."""

    start: int
    data: bytes


class LiteralStream:
    """Hides secrets in a text that comes in pieces, wherever it is cut.

    What may be the beginning of one is held back until the next bytes tell; of a whole line,
    nothing is.
    """

    def __init__(self, literals: Literals) -> None:
        self.literals = literals
        self._held = b""
        self._shown = b""  # the same, as far as it was covered already
        self._end = 0
        self._adjacent = False

    def feed(self, start: int, data: bytes) -> Shown:
        """The next bytes, whose first is at `start`: fewer, or those held back before and these."""
        begin, text = start - len(self._held), self._held + data
        shown = _both(self._held, self._shown, self.literals.hide(text))
        kept = len(text) - self.literals.begun(text)
        if not self._adjacent and begin > 0:
            lost = self.literals.ended(text)
            shown = HIDDEN * lost + shown[lost:]
            # Too little to tell: the end of a secret may go on.
            kept = kept if self.literals.tells(text) else 0
        self._adjacent = self._adjacent or begin == 0 or kept > 0
        self._held, self._shown = text[kept:], shown[kept:]
        self._end = start + len(data)
        return Shown(begin, shown[:kept])

    def cut(self) -> Shown:
        """Nothing follows what came so far: what was held back."""
        held, shown = self._held, self._shown
        self._held, self._shown, self._adjacent = b"", b"", False
        most = HIDDEN * len(held) if len(held) >= SHORTEST else shown
        return Shown(self._end - len(held), most)


def _both(text: bytes, one: bytes, other: bytes) -> bytes:
    """What is covered in the one or in the other, of a text whose beginning `text` is."""
    if one == text:
        return other
    begun = bytes(o if o != t else n for t, o, n in zip(text, one, other))  # noqa: B905 - of the text
    return begun + other[len(text) :]


def literals_of(
    argv: Sequence[str], environment: Mapping[str, str] | None = None, *given: str | None
) -> Literals:
    """The secrets of a server: of its command line, of its environment, and others given.

    What is no secret elsewhere in them, a model's name for one, is none here either.
    """
    secret, plain = [value for value in given if value], set[str]()
    hide = False
    for word in argv:
        name, equals, value = word.partition("=")
        flag = word.startswith("-") and is_secret_flag(name)
        if hide and not flag:
            secret.append(word)
        elif flag and equals:
            secret.append(value)
        else:
            plain |= {word, value, word.rstrip("/").rpartition("/")[2]}
        hide = flag and not equals
    for name, value in (environment or {}).items():
        if is_secret(name, value):
            secret.append(value)
        else:
            plain.add(value)
    return Literals(value for value in secret if value not in plain)


def _is_telling(value: str) -> bool:
    """Whether a value is found nowhere by chance."""
    low = value.strip().lower()
    if len(low) < SHORTEST or low in ORDINARY or low in LINES:
        return False
    return not low.isdigit() or len(low) >= _DIGITS


def _spellings(value: str) -> Iterator[bytes]:
    for line in value.splitlines():
        if _is_telling(line):
            for spelled in _spelled(line):
                with contextlib.suppress(UnicodeError):  # half a character has no bytes
                    yield spelled.encode("utf-8", "surrogateescape")


def _spelled(value: str) -> Iterator[str]:
    yield value
    for ascii_only in (True, False):
        inner = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield inner
        yield inner.replace("/", "\\/")
        yield json.dumps(inner, ensure_ascii=ascii_only)[1:-1]
    yield repr(value)[1:-1]
    yield value.replace("\\", "\\\\").replace("'", "\\'")
    yield value.replace("'", "'\"'\"'")
    yield html.escape(value)
    try:
        data = value.encode("utf-8", "surrogateescape")
    except UnicodeError:
        return
    yield repr(data)[2:-1]
    quoted = [quote_plus(data)]
    quoted += [quote(data, safe=kept) for kept in _UNQUOTED]
    for spelled in quoted:
        yield spelled
        yield _LETTERS_AFTER.sub(lambda match: match[0].lower(), spelled)
