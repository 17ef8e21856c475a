"""The fast way through the lines a serving log is made of: batches and access lines.

One regular expression splits a block at its decode lines and takes their numbers; what stands
between them is prefill and access lines, and the rest is handed out as it is, for the reader. A
block with a decode line that looks different (hybrid models, PD, DSpark, glued to something) is
noticed by what was left over and read in full.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import NamedTuple

import msgspec

DECODE_LITERAL = b"Decode batch"
# A block in which a launch begins, or that keeps a decode line after the split, is read in full,
# line by line in order.
_READ_IN_FULL = (DECODE_LITERAL, b"server_args=", b"Load weight begin", b"' is still supported")
# Texts of which one stands in every line that can become a verdict. Bars of a server that serves
# hold none.
_TELLING = (
    b"[2", b"[1", b"rror", b"raceback", b"xcept", b"atchdog", b"SIG", b"sig", b"usage", b"tracker",
)  # fmt: skip

# The line that the fast way understands: releases 0.4.6 to 0.5.23, one node, no hybrid model.
_USUAL = re.compile(
    rb"Decode batch[.,] #running-req: \d+, #token: \d+, token usage: \d+\.\d+, "
    rb"(?P<accept>accept len: \d+\.\d+, )?(?P<rate>accept rate: \d+\.\d+, )?"
    rb"(?P<graph>cuda|cpu|npu) graph: (?:True|False), gen throughput \(token/s\): \d+\.\d+"
    rb"(?P<queue>, #queue-req: \d+)?(?P<end>,? ?)$"
)
_OUTER = rb"\d{4}-\d\d-\d\dT\S+ (?:std(?:out|err) [FP] )?"  # docker, Kubernetes
# Where a line begins that is no batch and no access line; by whether an outer program stamps lines.
# A line that something is glued to (`[` before its end) is none of them.
_OTHER = {
    outer: re.compile(
        rb"\n(?=[^\n])(?!"
        + (_OUTER if outer else b"")
        + rb"\[20[^]]+\] (?:Prefill batch[.,] #|INFO:     \[?[0-9:])[^[]+(?<=[\n"
        + (b" " if outer else b"")
        + rb"]))"
    )
    for outer in (False, True)
}
# Quantifiers that never give back are faster, but new in Python 3.11; here both match the same.
_RUN = b"++" if sys.version_info >= (3, 11) else b"+"


# What stands before a decode line, once more and to the letter.
_STAMP = rb"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{3})?(?: [A-Z_]+\d+)*\] "
_HEAD = {False: re.compile(_STAMP), True: re.compile(_OUTER + _STAMP)}


@lru_cache(maxsize=16)
def _decode_lines(
    outer: bool, graph: bytes, accept: bool, rate: bool, queue: bool, end: bytes
) -> re.Pattern[bytes]:
    """Splits at the usual decode lines: whole, with the newline in front.

    Every letter has to be there, so that a damaged line is left over and no match reaches into
    another line. Only the head may be anything up to its bracket, which is faster; `read_steady`
    looks at the few different ones.
    """
    decimal = rb"[0-9]+\.[0-9]+"
    pattern = (
        rb"\n("
        + (_OUTER if outer else b"")
        + rb"\[20[^]]+\] )Decode batch[.,] #running-req: ([0-9]{1,9}), #token: [0-9]+, "
        + rb"token usage: %b, " % decimal
        + (rb"accept len: (%b), " % decimal if accept else b"")
        + (rb"accept rate: %b, " % decimal if rate else b"")
        + (graph if accept else b"(" + graph + b")")
        + rb" graph: [A-Z][a-z]+, gen throughput \(token/s\): (%b)" % decimal
        + (rb", #queue-req: [0-9]+" if queue else b"")
        + re.escape(end)
        + rb"$"
    )
    return re.compile(pattern.replace(b"]+", b"]" + _RUN), re.MULTILINE)


_floats = msgspec.json.Decoder(list[float])


class Steady(NamedTuple):
    """A block taken apart.

    Attributes:
        samples: how many decode lines.
        running: how many requests ran, as the lines write it; digits.
        accept_length: as the lines write it (`2.42`); empty where the server does not speculate.
        gen_throughput: tokens per second.
        others: the lines that are something else, by index.
        lines: how many lines the block has.
    """

    samples: int
    running: list[bytes]
    accept_length: list[bytes]
    gen_throughput: list[float]
    others: list[tuple[int, bytes]]
    lines: int


def read_steady(block: bytes) -> Steady | None:
    """Take apart a block of whole lines; None where it must be read in full."""
    text = b"\n" + block
    outer = block[:1].isdigit()
    rows: list[bytes] = [text]
    speculative = False
    if DECODE_LITERAL in block:
        usual = _USUAL.match(first_decode(block))
        if usual is None:
            return None
        speculative = usual["accept"] is not None
        rows = _decode_lines(
            outer,
            usual["graph"],
            speculative,
            usual["rate"] is not None,
            usual["queue"] is not None,
            usual["end"],
        ).split(text)
    # The same lines, those of decode empty.
    rest = b"\n".join(rows[::5])
    if any(literal in rest for literal in _READ_IN_FULL):
        return None
    if not all(map(_HEAD[outer].fullmatch, set(rows[1::5]))):
        return None
    try:
        throughput = _floats.decode(b"[" + b",".join(rows[4::5]) + b"]")
    except msgspec.DecodeError:
        return None
    accept = rows[3::5] if speculative else []
    lines = rest.count(b"\n") - 1
    return Steady(len(throughput), rows[2::5], accept, throughput, _others(rest, outer), lines)


def _others(rest: bytes, outer: bool) -> list[tuple[int, bytes]]:
    """The lines that are no batches and no access lines, each with its index."""
    lines: list[tuple[int, bytes]] = []
    number = position = 0
    for match in _OTHER[outer].finditer(rest):
        start = match.start()
        number += rest.count(b"\n", position, start)
        position = start
        lines.append((number, rest[start + 1 : rest.find(b"\n", start + 1)]))
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
