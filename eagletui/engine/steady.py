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

# The line that the fast way understands: releases 0.4.6 to 0.5.23, one node, no hybrid model.
_USUAL = re.compile(
    rb"Decode batch[.,] #running-req: \d+, #token: \d+, token usage: \d+\.\d+, "
    rb"(?P<accept>accept len: \d+\.\d+, (?:accept rate: \d+\.\d+, )?)?"
    rb"(?:cuda|cpu|npu) graph: (?:True|False), gen throughput \(token/s\): \d+\.\d+, "
)
# The same for lines after the first, with as few literals as can be: Python's engine pays for every
# one, and runs through negated characters fastest. These may cross a line end, but then a decode
# line is swallowed and the count tells.
_NUMBERS = {
    True: rb"Decode b[^:]+: ([^,]+)[^.]+[^l]+len: ([^,]+)[^(]+[^ ]+ ([^,]+)",
    False: rb"Decode b[^:]+: ([^,]+)(,)[^(]+[^ ]+ ([^,]+)",
}
_OUTER = rb"\d{4}-\d\d-\d\dT\S+ (?:std(?:out|err) [FP] )?"  # docker, Kubernetes
# (whether decode lines have accept lengths, whether an outer program stamped every line) → pattern
_PATTERNS: dict[tuple[bool, bool], re.Pattern[bytes]] = {
    (speculative, outer): re.compile(
        rb"\n(?:"
        + (_OUTER if outer else b"")
        + rb"\[[^]]*\] (?:"
        + numbers
        + rb".*|Prefill batch[.,] #.*|INFO:     [0-9\[:].*)|(.*))"
    )
    for speculative, numbers in _NUMBERS.items()
    for outer in (False, True)
}

_floats = msgspec.json.Decoder(list[float])


class Steady(NamedTuple):
    """A block taken apart.

    Attributes:
        samples: how many decode lines.
        running: the most requests in one of them.
        accept_length, gen_throughput: their columns; the first is empty where the server does not
            speculate.
        others: the lines that are something else, by index.
        lines: how many lines the block has.
    """

    samples: int
    running: int
    accept_length: list[float]
    gen_throughput: list[float]
    others: list[tuple[int, bytes]]
    lines: int


def read_steady(block: bytes) -> Steady | None:
    """Take apart a block of whole lines; None where it must be read in full."""
    count = block.count(DECODE_LITERAL)
    usual = _USUAL.match(first_decode(block)) if count else None
    if count and usual is None:
        return None
    speculative = usual is not None and usual["accept"] is not None
    pattern = _PATTERNS[speculative, block[:1].isdigit()]
    rows: list[tuple[bytes, bytes, bytes, bytes]] = pattern.findall(b"\n" + block)
    rows.pop()  # the empty rest after the last newline
    if not rows:
        return Steady(0, 0, [], [], [], 0)
    running, accept, throughput, rest = zip(*rows, strict=True)
    others = list(zip(compress(range(len(rest)), rest), filter(None, rest), strict=True))
    if any(literal in line for _, line in others for literal in _LAUNCH_LITERALS):
        return None
    try:
        steady = Steady(
            count,
            max(map(int, {*running} - {b""}), default=0),
            _floats.decode(b"[" + b",".join(filter(None, accept)) + b"]") if speculative else [],
            _floats.decode(b"[" + b",".join(filter(None, throughput)) + b"]"),
            others,
            len(rows),
        )
    except (ValueError, msgspec.DecodeError):
        return None
    if len(steady.gen_throughput) != count or (speculative and len(steady.accept_length) != count):
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
