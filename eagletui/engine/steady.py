"""The fast way through the lines a serving log is made of: batches and access lines.

One regular expression walks a block line by line and takes the numbers of all decode lines; what is
neither a batch nor an access line it hands out as it is, for the reader. A block whose decode lines
look different (hybrid models, PD, DSpark) is noticed by their count and read in full.
"""

from __future__ import annotations

import re
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
# The same for the lines after the first, written for Python's engine: one literal to look for (a
# longer one is searched for more slowly), then as few literals as can be, because it pays for each
# and runs through negated characters fastest. These may cross a line end, but then a decode line is
# swallowed and the count tells.
_NUMBERS = {
    True: re.compile(rb"h[.,] #r[^ ]+ ([^,]+)[^l]+len: ([0-9]+\.[0-9]+),[^(]+[^ ]+ ([^,]+)"),
    False: re.compile(rb"h[.,] #r[^ ]+ ([^,]+)(,)[^(]+[^ ]+ ([^,]+)"),
}
_OUTER = rb"\d{4}-\d\d-\d\dT\S+ (?:std(?:out|err) [FP] )?"  # docker, Kubernetes
# Where a line begins that is no batch and no access line; by whether an outer program stamps lines.
_OTHER = {
    outer: re.compile(
        rb"\n(?!"
        + (_OUTER if outer else b"")
        + rb"\[[^]]+\] (?:Decode b|Prefill batch[.,] #|INFO:     [0-9\[:]))"
    )
    for outer in (False, True)
}

_floats = msgspec.json.Decoder(list[float])


class Steady(NamedTuple):
    """A block taken apart.

    Attributes:
        samples: how many decode lines.
        running: how many requests ran, every number once.
        accept_length: as the lines write it (`2.42`); empty where the server does not speculate.
        gen_throughput: tokens per second.
        others: the lines that are something else, by index.
        lines: how many lines the block has.
    """

    samples: int
    running: set[int]
    accept_length: tuple[bytes, ...]
    gen_throughput: list[float]
    others: list[tuple[int, bytes]]
    lines: int


def read_steady(block: bytes) -> Steady | None:
    """Take apart a block of whole lines; None where it must be read in full."""
    count = block.count(DECODE_LITERAL)
    usual = _USUAL.match(first_decode(block)) if count else None
    if count and usual is None:
        return None
    others = _others(block)
    if any(literal in line for _, line in others for literal in _LAUNCH_LITERALS):
        return None
    lines = block.count(b"\n")
    if usual is None:
        return Steady(0, set(), (), [], others, lines)
    speculative = usual["accept"] is not None
    rows: list[tuple[bytes, bytes, bytes]] = _NUMBERS[speculative].findall(block)
    if len(rows) != count:
        return None
    running, accept, throughput = zip(*rows, strict=True)
    try:
        return Steady(
            count,
            {*map(int, {*running})},
            accept if speculative else (),
            _floats.decode(b"[" + b",".join(throughput) + b"]"),
            others,
            lines,
        )
    except (ValueError, msgspec.DecodeError):
        return None


def _others(block: bytes) -> list[tuple[int, bytes]]:
    """The lines that are no batches and no access lines, each with its index."""
    pattern = _OTHER[block[:1].isdigit()]
    lines: list[tuple[int, bytes]] = []
    number = position = 0
    for match in pattern.finditer(b"\n" + block):
        start = match.start()  # of the newline in front, and of the line in `block`
        end = block.find(b"\n", start)
        if end > start:
            number += block.count(b"\n", position, start)
            position = start
            lines.append((number, block[start:end]))
    return lines


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
