"""The fast way through the lines a serving log is made of: batches and access lines.

One regular expression walks a block line by line and takes the numbers of all decode lines; what is
neither a batch nor an access line it hands out as it is, for the reader. A block whose decode lines
look different (hybrid models, PD, DSpark) is noticed by their count and read in full.
"""

from __future__ import annotations

import re
from itertools import compress
from typing import NamedTuple

import msgspec

DECODE_LITERAL = b"Decode batch"
# A block in which a launch begins is read in full, line by line in order.
_LAUNCH_LITERALS = (b"server_args=", b"Load weight begin", b"' is still supported")
# Texts of which one stands in every line that can become a verdict. Bars of a server that serves
# hold none.
_TELLING = (
    b"[2", b"[1", b"rror", b"raceback", b"xcept", b"atchdog", b"SIG", b"sig", b"usage", b"tracker",
)  # fmt: skip

# Negated single characters are what Python's engine runs through fastest. They may cross a line
# end, but then a `Decode batch` is swallowed and the count tells.
_OUTER = rb"\d{4}-\d\d-\d\dT\S+ (?:std(?:out|err) [FP] )?"  # docker, Kubernetes
_BATCH = {
    True: rb"Decode batch[.,] #running-req: ([^,]+), #token: [^.]+[^a]+accept len: ([^,]+)",
    False: rb"Decode batch[.,] #running-req: ([^,]+), (#)token: ",
}
_END = (
    rb"[^(]+\((?<=gen throughput \()token/s\): ([^,]+).*"
    rb"|Prefill batch[.,] #.*|INFO:     [0-9\[:].*)|(.*))"
)
# (whether decode lines have accept lengths, whether an outer program stamped every line) → pattern
_PATTERNS: dict[tuple[bool, bool], re.Pattern[bytes]] = {
    (speculative, outer): re.compile(
        rb"\n(?:" + (_OUTER if outer else b"") + rb"\[.{19}[^]]*\] (?:" + batch + _END
    )
    for speculative, batch in _BATCH.items()
    for outer in (False, True)
}

_integers = msgspec.json.Decoder(list[int])
_floats = msgspec.json.Decoder(list[float])


class Steady(NamedTuple):
    """A block taken apart.

    Attributes:
        running, accept_length, gen_throughput: columns of its decode lines; accept lengths are
            empty where the server does not speculate.
        others: the lines that are something else, by index.
        lines: how many lines the block has.
    """

    running: list[int]
    accept_length: list[float]
    gen_throughput: list[float]
    others: list[tuple[int, bytes]]
    lines: int


def read_steady(block: bytes) -> Steady | None:
    """Take apart a block of whole lines; None where it must be read in full."""
    count = block.count(DECODE_LITERAL)
    speculative = b", accept len: " in first_decode(block) if count else False
    pattern = _PATTERNS[speculative, block[:1].isdigit()]
    rows: list[tuple[bytes, bytes, bytes, bytes]] = pattern.findall(b"\n" + block)
    rows.pop()  # the empty rest after the last newline
    if not rows:
        return Steady([], [], [], [], 0)
    running, accept, throughput, rest = zip(*rows, strict=True)
    others = list(zip(compress(range(len(rest)), rest), filter(None, rest), strict=True))
    if any(literal in line for _, line in others for literal in _LAUNCH_LITERALS):
        return None
    try:
        steady = Steady(
            _integers.decode(b"[" + b",".join(filter(None, running)) + b"]"),
            _floats.decode(b"[" + b",".join(filter(None, accept)) + b"]") if speculative else [],
            _floats.decode(b"[" + b",".join(filter(None, throughput)) + b"]"),
            others,
            len(rows),
        )
    except msgspec.DecodeError:
        return None
    if not count == len(steady.running) == len(steady.gen_throughput):
        return None
    return steady


def first_decode(block: bytes) -> bytes:
    """The message of the first decode line."""
    start = block.find(DECODE_LITERAL)
    end = block.find(b"\n", start)
    return block[start : end if end >= 0 else len(block)]


def accept_line(block: bytes, index: int) -> tuple[int, bytes]:
    """The decode line with this accept length: its index among the lines, and its bytes."""
    seen = -1
    for number, line in enumerate(block.split(b"\n")):
        seen += DECODE_LITERAL in line
        if seen == index:
            return number, line
    raise IndexError(index)


def holds_only_bars(line: bytes) -> bool:
    """Whether nothing but progress bars can stand in this line."""
    return b"\r" in line and b"%" in line and not any(word in line for word in _TELLING)
